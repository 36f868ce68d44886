# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each dynamic field from the call through the host function into a kernel, which writes down what
it sees. With ``OPENCUTE_TEST_TARGET=cuda`` the same goes through machine code."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_tensor

pytestmark = pytest.mark.t0


@cute.kernel
def note_kernel(t: cute.Tensor, out: cute.Tensor):
    if cute.arch.thread_idx()[0] == 0:
        for i in cutlass.range_constexpr(cute.rank(t)):
            out[i] = cutlass.Int64(t.shape[i])
            out[cute.rank(t) + i] = cutlass.Int64(t.stride[i])


@cute.jit
def note(t: cute.Tensor, out: cute.Tensor):
    note_kernel(t, out).launch(grid=1, block=32)


def seen_by(compiled: Any, t: Any, rank: int) -> tuple[list[int], list[int]]:
    out = np.full(2 * rank, -1, np.int64)
    compiled(t, out)
    return out[:rank].tolist(), out[rank:].tolist()


def example(rank: int) -> Any:
    return from_dlpack(np.zeros(2 * rank, np.int64)).mark_layout_dynamic()


VIEWS: dict[str, Any] = {
    "rows": lambda x: x,
    "a view": lambda x: x[:, 1:6, :4],
    "transposed": lambda x: x.transpose(2, 0, 1),
    "every other": lambda x: x[::2, ::3],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("narrow", [False, True])
def test_marked_layouts(view: str, narrow: bool) -> None:
    base = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
    x = VIEWS[view](base)
    t = from_dlpack(x, use_32bit_stride=narrow).mark_layout_dynamic()
    compiled = cute.compile(note, t, example(3))
    strides = [s // 4 for s in x.strides]
    assert seen_by(compiled, t, 3) == (list(x.shape), strides)
    assert seen_by(compiled, x[:2], 3) == ([2, *x.shape[1:]], strides)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
@pytest.mark.parametrize("widths", [(32, 32, 32), (64, 64, 64), (32, 64, 32)])
@pytest.mark.parametrize("narrow", [False, True])
def test_symbolic_extents(order: Any, widths: Any, narrow: bool) -> None:
    symbols = tuple(cute.sym_int(w, divisibility=d) for w, d in zip(widths, (1, 2, 4), strict=True))
    fake = make_fake_compact_tensor(
        cute.Float32, symbols, stride_order=order, use_32bit_stride=narrow
    )
    compiled = cute.compile(note, fake, example(3))
    shape = (3, 6, 8)
    modes = sorted(range(3), key=lambda m: -order[m])  # outermost first
    flat = np.zeros([shape[m] for m in modes], np.float32)
    x = flat.transpose([modes.index(m) for m in range(3)])
    assert seen_by(compiled, x, 3) == (list(shape), [s // 4 for s in x.strides])


def test_static_and_symbolic_modes_mixed() -> None:
    step = cute.sym_int64(divisibility=2)
    fake = make_fake_tensor(cute.Float32, (cute.sym_int(), 4), stride=(step, 1))
    compiled = cute.compile(note, fake, example(2))
    x = np.zeros((5, 10), np.float32)
    assert seen_by(compiled, x[:, :4], 2) == ([5, 4], [10, 1])


def far(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """More memory than there is; nobody reads it."""
    one = np.zeros(1, np.uint8)
    return np.lib.stride_tricks.as_strided(one, shape, strides, writeable=False)


@pytest.mark.skipif(sys.maxsize < 1 << 40, reason="needs 64-bit sizes")
def test_strides_and_extents_beyond_31_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "sim")  # a GPU would get a copy of the memory

    @cute.jit
    def host(t: cute.Tensor):
        return t.shape[0], t.shape[1], t.stride[0]

    x = far((3, 5), (1 << 33, 1))
    assert host(from_dlpack(x).mark_layout_dynamic()) == (3, 5, 1 << 33)
    wide = make_fake_compact_tensor(cutlass.Uint8, (2, cute.sym_int64()), stride_order=(1, 0))
    n = (1 << 32) + 5
    assert cute.compile(host, wide)(far((2, n), (n, 1))) == (2, n, n)
    narrow = make_fake_compact_tensor(cutlass.Uint8, (2, cute.sym_int()), stride_order=(1, 0))
    with pytest.raises(ArgumentError, match="OC2113"):
        cute.compile(host, narrow)(far((2, n), (n, 1)))


NUMBERS = {
    cutlass.Int8: -7, cutlass.Uint8: 200, cutlass.Int16: -300, cutlass.Uint16: 60000,
    cutlass.Int32: -(1 << 31), cutlass.Uint32: (1 << 32) - 1, cutlass.Int64: -(1 << 62),
    cutlass.Boolean: True, cutlass.Float16: 1.5, cutlass.BFloat16: -2.25, cutlass.Float32: 0.125,
    cutlass.Float64: -1e10,
}  # fmt: skip


@cute.kernel
def numbers_kernel(ints: cute.Tensor, floats: cute.Tensor, numbers: tuple, last: cutlass.Int32):
    if cute.arch.thread_idx()[0] == 0:
        for i in cutlass.range_constexpr(8):
            ints[i] = cutlass.Int64(numbers[i])
        for i in cutlass.range_constexpr(4):
            floats[i] = cutlass.Float64(numbers[8 + i])
        ints[8] = cutlass.Int64(last)


@cute.jit
def note_numbers(ints: cute.Tensor, numbers: tuple, floats: cute.Tensor, last: cutlass.Int32):
    numbers_kernel(ints, floats, numbers, last).launch(grid=1, block=32)


def test_numbers_of_every_type() -> None:
    ints, floats = np.zeros(9, np.int64), np.zeros(4)
    note_numbers(ints, tuple(c(v) for c, v in NUMBERS.items()), floats, 77)
    assert ints.tolist() == [int(v) for v in list(NUMBERS.values())[:8]] + [77]
    assert floats.tolist() == list(NUMBERS.values())[8:]


def test_read_only_arrays_may_be_read() -> None:
    @cute.kernel
    def add_kernel(a: cute.Tensor, b: cute.Tensor):
        i = cute.arch.thread_idx()[0]
        b[i] = a[i] + 1

    @cute.jit
    def add(a: cute.Tensor, b: cute.Tensor):
        add_kernel(a, b).launch(grid=1, block=cute.size(a))

    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    a.setflags(write=False)
    add(a, b)
    assert b.tolist() == [1, 2, 3, 4]
