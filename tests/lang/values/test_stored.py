# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A store converts only what its elements hold; the rest says `.to`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import CLASSES, NUMPY, on_device
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.lang.values.stored import keeps

pytestmark = pytest.mark.t0

F32, F16, BF16, I8, I32 = (
    cutlass.Float32, cutlass.Float16, cutlass.BFloat16, cutlass.Int8, cutlass.Int32
)  # fmt: skip


def zeros(cls: Any, n: int = 8) -> Any:
    return np.zeros(n, NUMPY[cls])


@pytest.mark.parametrize("dst", CLASSES)
@pytest.mark.parametrize("src", CLASSES)
def test_what_may_be_converted_without_a_word(src: Any, dst: Any) -> None:
    """NumPy's safe casts, and besides: an integer to a float of 32 bits or more or to one of its
    own width, and anything to Boolean."""
    a, b = NUMPY[src], NUMPY[dst]
    safe = np.can_cast(a, b, "safe")
    if BF16 in (src, dst) and src is not dst:  # ml_dtypes says less than what is true
        small = (I8, cutlass.Uint8, cutlass.Boolean)
        safe = dst in (F32, cutlass.Float64) if src is BF16 else src in small
    whole = not src.dtype.is_float
    more = whole and not dst.dtype.is_float and src.width == dst.width
    more = more or (whole and dst in (F32, cutlass.Float64)) or dst is cutlass.Boolean
    more = more or src is cutlass.Boolean
    if whole and not dst.dtype.is_float and src.width <= dst.width:
        more = True  # a negative number keeps its bits, as in C
    assert keeps(src.dtype, dst.dtype) == (safe or more)


STORES: list[Any] = [
    lambda x, y, i: y.__setitem__(i, x[i]),
    lambda x, y, i: y.store(x.load()),
    lambda x, y, i: y.__setitem__((None,), x.load()),
    lambda x, y, i: y.store(x),
    lambda x, y, i: y.fill(x[i]),
    lambda x, y, i: (y.iterator + i).store(x[i]),
    lambda x, y, i: y.data_ptr().store(x.load()),
    lambda x, y, i: y.data_ptr().store(x.load(), is_volatile=True),
    lambda x, y, i: y.data_ptr().masked_store(x.load(), x.load() == x.load()),
    lambda x, y, i: y.data_ptr().__setitem__(i, x[i]),
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("src", "dst"), [(F32, F16), (F32, I8), (BF16, F16), (I32, I8)])
def test_a_store_that_would_lose_something_is_refused(store: Any, src: Any, dst: Any) -> None:
    def body(x: Any, y: Any) -> None:
        with pytest.raises(TypeMismatchError, match="OC1238") as e:
            store(x, y, cute.arch.thread_idx()[0])
        assert e.value.hint == f"say that it is converted: value.to({dst.__name__})"

    on_device(body, zeros(src), zeros(dst))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("src", "dst"), [(F16, F32), (BF16, F32), (I8, I32), (I32, F32), (I32, cutlass.Uint32)]
)
def test_a_store_that_keeps_all_values_is_done(store: Any, src: Any, dst: Any) -> None:
    x, y = np.arange(8).astype(NUMPY[src]), zeros(dst)
    on_device(lambda x, y: store(x, y, 0), x, y)
    whole = np.arange(8).astype(NUMPY[dst])
    assert (y == whole).all() or y[0] == whole[0]


def test_an_offset_may_be_stored_to_32_bits() -> None:
    """Where a layout's strides have 64 bits, so have offsets; a vector of Int64 is somebody's."""

    def body(x: Any, y: Any) -> None:
        y[0] = x[3]
        (y.iterator + 1).store(x[2])
        with pytest.raises(TypeMismatchError, match="OC1238"):
            y.store(x.load())

    x, y = np.arange(8), zeros(I32)
    on_device(body, x, y)
    assert y.tolist() == [3, 2, 0, 0, 0, 0, 0, 0]


def test_constants_are_stored_where_they_fit() -> None:
    def body(h: Any, b: Any) -> None:
        h[0], h[1], h[2] = 1, 0.1, F32(0.25)  # floats are rounded, as everywhere
        h[3] = cutlass.Float64(0.5)
        b[0], b[1], b[2], b[3] = 3, 4.0, I32(-5), F32(6.0)
        b[4] = True
        for wrong in (0.5, F32(6.5), I32(300), float("nan"), np.float64(0.5)):
            with pytest.raises(TypeMismatchError, match="OC1238"):
                b[5] = wrong
            with pytest.raises(TypeMismatchError, match="OC1238"):
                b.fill(wrong)
        with pytest.raises(TypeMismatchError, match="OC1243"):
            b[5] = 300

    h, b = zeros(F16), zeros(I8)
    on_device(body, h, b)
    assert h[:4].tolist() == [1, np.float16(0.1), 0.25, 0.5]
    assert b.tolist() == [3, 4, -5, 6, 1, 0, 0, 0]


def test_a_packed_element_is_refused_too() -> None:
    def body(x: Any) -> None:
        four = cute.make_rmem_tensor(8, cutlass.Float4E2M1FN)
        with pytest.raises(TypeMismatchError, match="OC1238"):
            four[0] = x[0]
        four[0] = x[0].to(cutlass.Float4E2M1FN)
        x[1] = four[0]

    x = zeros(F32)
    x[0] = 1.5
    on_device(body, x)
    assert x[1] == 1.5
