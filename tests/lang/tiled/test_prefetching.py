# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.prefetch`: one instruction per cache line; addresses are checked in the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, OutOfBoundsError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack


@cute.kernel
def tile_kernel(t: cute.Tensor, out: cute.Tensor, row: cutlass.Int32, level: cutlass.Constexpr):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), t.element_type, num_bits_per_copy=128)
    threads, values = cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((1, 4))
    copy = cute.make_tiled_copy_tv(atom, threads, values)
    mine = copy.get_slice(cute.arch.thread_idx()[0])
    source = mine.partition_S(cute.local_tile(t, (4, 64), (row, 0)))
    cute.prefetch(copy, source, level=level)
    fragment = cute.make_fragment_like(source)
    cute.copy(copy, source, fragment)
    cute.copy(copy, fragment, mine.partition_D(out))


@cute.jit
def tile(t: cute.Tensor, out: cute.Tensor, row: cutlass.Int32, level: cutlass.Constexpr):
    tile_kernel(t, out, row, level).launch(grid=1, block=32)


def arguments(dynamic: bool = False) -> tuple[Any, Any, Any, Any]:
    x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    out = np.zeros((4, 64), np.float32)
    t, o = from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16)
    if dynamic:
        t.mark_layout_dynamic()
    return x, out, t, o


@pytest.mark.t0
@pytest.mark.parametrize("dynamic", [False, True])
def test_it_changes_nothing(dynamic: bool) -> None:
    x, out, t, o = arguments(dynamic)
    with KNOBS.override(target="sim", sim_check=True):
        tile(t, o, 2, "L2")
    assert np.array_equal(out, x[8:12])


@pytest.mark.t0
def test_addresses_outside_of_the_tensor_are_found() -> None:
    _, _, t, o = arguments()
    with KNOBS.override(target="sim"), pytest.raises(OutOfBoundsError, match="prefetch outside"):
        tile(t, o, 4, "L2")


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_machine_code(arch: str) -> None:
    """A thread reads 16 bytes at two places 128 bytes apart: two lines."""
    for dynamic in (False, True):
        _, _, t, o = arguments(dynamic)
        code = cute.compile(tile, t, o, 2, "L2", options=f"--gpu-arch {arch}")
        lines = [line.strip() for line in code.__ptx__.splitlines() if "prefetch" in line]
        assert len(lines) == 2 and all(x.startswith("prefetch.global.L2 [") for x in lines)
        assert code.__sass__.count("CCTL.E.PF2") == 2


@pytest.mark.t2
@pytest.mark.parametrize("where", ["cuda", "sim"])
def test_on_a_gpu(where: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(16 * 64, dtype=torch.float32, device="cuda").reshape(16, 64)
    out = torch.zeros(4, 64, device="cuda")
    with KNOBS.override(target=where):
        tile(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16), 1, "L1")
    assert torch.equal(out, x[4:8])


@cute.kernel
def wrong_kernel(t: cute.Tensor, what: cutlass.Constexpr):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), t.element_type)
    if cutlass.const_expr(what == "level"):
        cute.prefetch(atom, t, level="L3")
    elif cutlass.const_expr(what == "registers"):
        cute.prefetch(atom, cute.make_rmem_tensor(4, t.element_type))
    elif cutlass.const_expr(what == "atom"):
        cute.prefetch(t, t)
    else:
        cute.prefetch(atom, t.load())


@cute.jit
def wrong(t: cute.Tensor, what: cutlass.Constexpr):
    wrong_kernel(t, what).launch(grid=1, block=1)


@pytest.mark.t0
@pytest.mark.parametrize(
    ("what", "code"),
    [("level", "OC2237"), ("registers", "OC1277"), ("atom", "OC1237"), ("vector", "OC1236")],
)
def test_wrong_uses(what: str, code: str) -> None:
    with pytest.raises((ArgumentError, TypeMismatchError)) as e:
        wrong(from_dlpack(np.zeros(8, np.float32)), what)
    assert e.value.code == code and e.value.loc is not None
