# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Counts of the simulator: a total over everything that ran, also over code that is gone."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.bounded import Recent
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit import calls
from opencute.jit.runners import simulated

pytestmark = pytest.mark.t0


@cute.kernel
def _fill(x: cute.Tensor, value: cutlass.Constexpr[int]):
    x[cute.arch.thread_idx()[0]] = value


@cute.jit
def fill(x: cute.Tensor, value: cutlass.Constexpr[int]):
    _fill(x, value).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_counts_outlive_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_runners", Recent[Any, Any](1))
    x = np.zeros(32, np.int16)
    with KNOBS.override(target="sim"):
        before = simulated().accesses["write", "gmem", 2]
        for n in range(1, 4):
            cute.compile(fill, x, n)(x)
            gc.collect()
            assert simulated().accesses["write", "gmem", 2] == before + 32 * n


@cute.kernel
def _read(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i]


@cute.jit
def read(x: cute.Tensor, y: cute.Tensor):
    _read(x, y).launch(grid=1, block=32)


def at(phase: int, n: int = 32) -> np.ndarray[Any, Any]:
    """An array whose address is `phase` past a multiple of 256, as an allocation of its own."""
    memory = np.zeros(4 * n + 512, np.uint8)
    address = memory.__array_interface__["data"][0]
    begin = -address % 256 + phase
    return np.frombuffer(memoryview(memory)[begin : begin + 4 * n], np.float32)


def sectors(x: Any) -> int:
    y = np.zeros(32, np.float32)
    with KNOBS.override(target="sim", sim_profile=True):
        before = simulated().sectors["read", "gmem"]
        read(x, y)
        return simulated().sectors["read", "gmem"] - before


@pytest.mark.parametrize("phase", [0, 4, 16, 20, 240])
def test_counts_do_not_depend_on_addresses(phase: int) -> None:
    """128 bytes are four sectors, wherever the host's allocator put the array."""
    assert sectors(at(phase)) == 4


def test_views_are_counted_as_parts_of_their_array() -> None:
    x = at(16, 64)
    assert sectors(x[8:40]) == 4
    assert sectors(x[4:36]) == 5  # begins in the middle of a sector


def test_views_of_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(68)
    assert sectors(x[:32]) == 4 and sectors(x[4:36]) == 5


def test_counts_of_bare_pointers() -> None:
    @cute.jit
    def host(p: cute.Pointer, y: cute.Tensor):
        _read(cute.make_tensor(p, cute.make_layout(32)), y).launch(grid=1, block=32)

    for phase, want in ((0, 4), (16, 4), (240, 4), (4, 5)):
        x, y = at(phase), np.zeros(32, np.float32)
        p = cute.runtime.make_ptr(
            cutlass.Float32, x.__array_interface__["data"][0], cute.AddressSpace.gmem,
            assumed_align=4,
        )  # fmt: skip
        with KNOBS.override(target="sim", sim_profile=True):
            before = simulated().sectors["read", "gmem"]
            host(p, y)
            assert simulated().sectors["read", "gmem"] - before == want


@cute.kernel
def _masked(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    got = cute.make_rmem_tensor(8, cutlass.Float32)
    got.fill(-1.0)
    inside = cute.make_rmem_tensor(8, cutlass.Boolean)
    for k in cutlass.range_constexpr(8):
        inside[k] = 8 * i + k < n
    cute.copy(atom, x[i, None], got, pred=inside)
    cute.autovec_copy(got, y[i, None])


@cute.jit
def masked(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    _masked(x, y, n).launch(grid=1, block=32)


@pytest.mark.parametrize(("n", "want"), [(256, {16: 64}), (96, {16: 24}), (99, {16: 24, 4: 3})])
@pytest.mark.parametrize("shift", [0, 1])
def test_a_predicate_for_each_element_leaves_accesses_wide(
    n: int, want: dict[int, int], shift: int
) -> None:
    """As in machine code: where all elements of a thread are inside, and the addresses aligned."""
    x = at(0, 260)[shift : shift + 256]
    x[:] = np.arange(256)
    y = np.zeros((32, 8), np.float32)
    with KNOBS.override(target="sim", sim_profile=True):
        before = simulated().accesses.copy()
        masked(from_dlpack(x.reshape(32, 8)), from_dlpack(y), n)
        seen = simulated().accesses - before
    expected = np.where(np.arange(256) < n, np.arange(256), -1).reshape(32, 8)
    np.testing.assert_array_equal(y, expected)
    reads = {key[2]: k for key, k in seen.items() if key[:2] == ("read", "gmem")}
    assert reads == (want if not shift else {4: n})


@cute.kernel
def _turned(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    mine = cute.flat_divide(y, (2, 4))[None, None, i // 4, i % 4]  # two rows, four columns
    held = cute.make_rmem_tensor((2, 4), cutlass.Float32)  # whose columns are contiguous
    held.fill(1.0)
    cute.autovec_copy(held, mine)


@cute.jit
def turned(x: cute.Tensor, y: cute.Tensor):
    _turned(x, y).launch(grid=1, block=32)


def test_accesses_are_joined_as_machine_code_joins_them() -> None:
    """In the order of memory, not in that of the tile's modes."""
    y = np.zeros((16, 16), np.float32)
    with KNOBS.override(target="sim", sim_profile=True):
        before = simulated()
        counts = before.sectors["write", "gmem"], dict(before.by_line)
        turned(y, y)
        after = simulated()
    assert y.all() and after.sectors["write", "gmem"] - counts[0] == 32
    (line,) = (r for k, r in after.by_line.items() if k not in counts[1] and r.verb == "write")
    assert (line.width, line.instructions, line.waste) == (16, 2, 1.0)
