# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Framework tensors: the documented cases of the two marks, facts, printing, pointers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack, make_ptr

pytestmark = pytest.mark.t0


def array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """A NumPy array with these strides (in elements), possibly of more memory than there is."""
    base = np.zeros(1, dtype)
    return np.lib.stride_tricks.as_strided(
        base, shape, tuple(s * base.itemsize for s in strides), writeable=False
    )


# The guide's tensors: a is (8,4,16,2):(2,16,64,1), b has several modes of extent 1.
def a() -> Any:
    return from_dlpack(array((8, 4, 16, 2), (2, 16, 64, 1)))


def b() -> Any:
    return from_dlpack(array((1, 4, 1, 32, 1), (1, 1, 1, 4, 1)))


def text(t: Any) -> str:
    return t.layout_attr().text().replace("i64 ", "").replace("{i64}", "")


def test_a_tensor_is_static_at_first() -> None:
    x = np.zeros((30, 20), np.float32)
    t = from_dlpack(x)
    assert (t.shape, t.stride, t.element_type) == ((30, 20), (20, 1), cutlass.Float32)
    assert t.memspace.name == "generic" and t.leading_dim == 1
    assert str(t) == f"Tensor<0x{x.ctypes.data:016x}@generic o (30, 20):(20, 1)>"
    assert t.type == "tensor<ptr<f32, generic> o (30,20):(20,1)>"
    assert isinstance(t, cute.Tensor) and t.size_in_bytes == 2400


@pytest.mark.parametrize(
    ("make", "lead", "want"),
    [
        (a, None, "(?,?,?,?):(?,?,?,1)"),
        (b, 0, "(?,?,?,?,?):(1,?,?,?,?)"),
        (b, 2, "(?,?,?,?,?):(?,?,1,?,?)"),
        (b, -1, "(?,?,?,?,?):(?,?,?,?,1)"),
        (lambda: from_dlpack(array((2, 2), (8, 2))), None, "(?,?):(?,?)"),
        (lambda: from_dlpack(array((3, 4, 2, 5), (5, 0, 0, 1))), None, "(?,?,?,?):(?,0,0,1)"),
        (b, None, "(?,?,?,?,?):(?,1,?,?,?)"),
        (lambda: from_dlpack(array((1, 1), (1, 1))), None, "(?,?):(?,1)"),
        (lambda: from_dlpack(array((1, 1, 1), (1, 1, 1))), None, "(?,?,?):(?,?,1)"),
        (lambda: from_dlpack(array((2, 2, 3, 4), (2, 1, 4, 12))), 1, "(?,?,?,?):(?,1,?,?)"),
        (lambda: from_dlpack(array((7,), (1,))), None, "(?):(1)"),
        (lambda: from_dlpack(array((0, 4), (4, 1))), None, "(?,?):(?,1)"),
        (lambda: from_dlpack(np.float32([[1]])[0, 0:1].reshape(())), None, "():()"),
    ],
)
def test_mark_layout_dynamic(make: Any, lead: int | None, want: str) -> None:
    assert text(make().mark_layout_dynamic(leading_dim=lead)) == want


@pytest.mark.parametrize(
    ("make", "lead", "code", "found"),
    [
        (a, 1, "OC2106", "16"),
        (b, 3, "OC2106", "4"),
        (a, 4, "OC2105", "4"),
        (a, -5, "OC2105", "-5"),
        (lambda: from_dlpack(array((2, 2, 3, 4), (2, 1, 4, 12))), 0, "OC2106", "2"),
        (lambda: from_dlpack(array((4, 4), (1, 1))), None, "OC2107", "(4, 4):(1, 1)"),
    ],
)
def test_mark_layout_dynamic_refuses(make: Any, lead: Any, code: str, found: str) -> None:
    with pytest.raises(ArgumentError) as e:
        make().mark_layout_dynamic(leading_dim=lead)
    assert e.value.code == code and str(e.value.found) == found


def test_32_bit_strides() -> None:
    t = from_dlpack(np.zeros((4, 8), np.float32), use_32bit_stride=True).mark_layout_dynamic()
    assert t.layout_attr().text() == "(?,?):(?,1)"
    wide = from_dlpack(np.zeros((4, 8), np.float32)).mark_layout_dynamic()
    assert wide.layout_attr().text() == "(?,?):(?{i64},1)"
    huge = array((10**9, 10**9), (10**9, 1))
    for mark in (lambda t: t.mark_layout_dynamic(), lambda t: t.mark_compact_shape_dynamic(0)):
        with pytest.raises(ArgumentError, match="OC2104"):
            mark(from_dlpack(huge, use_32bit_stride=True))
        mark(from_dlpack(huge))
    reach = array((3, 1 << 30), (1 << 30, 1))  # each stride fits, the offsets do not
    with pytest.raises(ArgumentError, match="OC2104"):
        from_dlpack(reach, use_32bit_stride=True).mark_layout_dynamic()


@pytest.mark.parametrize(
    ("make", "marks", "want"),
    [
        (a, [{"mode": 0, "divisibility": 2}], "(?{div=2},4,16,2):(2,?{div=4},?{div=16},1)"),
        (a, [{"mode": 1, "divisibility": 2}], "(8,?{div=2},16,2):(2,16,?{div=32},1)"),
        (
            a,
            [{"mode": 1, "divisibility": 2}, {"mode": 3, "divisibility": 2}],
            "(8,?{div=2},16,?{div=2}):(?{div=2},?{div=16},?{div=32},1)",
        ),
        (b, [{"mode": 2, "stride_order": (3, 0, 2, 4, 1)}], "(1,4,?,32,1):(0,1,4,?{div=4},0)"),
        (b, [{"mode": 2, "stride_order": (2, 3, 4, 0, 1)}], "(1,4,?,32,1):(0,1,128,4,0)"),
        # An order once given holds for later marks.
        (
            b,
            [{"mode": 2, "stride_order": (3, 0, 2, 4, 1)}, {"mode": -2}],
            "(1,4,?,?,1):(0,1,4,?{div=4},0)",
        ),
    ],
)
def test_mark_compact_shape_dynamic(make: Any, marks: list[Any], want: str) -> None:
    t = make()
    for m in marks:
        t = t.mark_compact_shape_dynamic(**m)
    assert text(t) == want


@pytest.mark.parametrize(
    ("make", "args", "code"),
    [
        (lambda: a().mark_compact_shape_dynamic(1, divisibility=2),
         {"mode": 3, "divisibility": 5, "stride_order": (0, 1, 2, 3)}, "OC2109"),
        (a, {"mode": 3, "divisibility": 5, "stride_order": (0, 1, 2, 3)}, "OC2110"),
        (b, {"mode": 0, "divisibility": 4}, "OC2109"),
        (b, {"mode": 30, "divisibility": 5, "stride_order": (3, 0, 2, 4, 1)}, "OC2105"),
        (b, {"mode": 3, "divisibility": 5, "stride_order": (2, 1, 2, 3, 4)}, "OC2109"),
        (b, {"mode": 3, "divisibility": 5, "stride_order": (0, 1, 2, 3, 4, 5)}, "OC2109"),
        (b, {"mode": 0, "divisibility": 4, "stride_order": (3, 2, 4, 0, 1)}, "OC2108"),
        (b, {"mode": 0, "divisibility": 1, "stride_order": (2, 1, 3, 0, 4)}, "OC2110"),
        (lambda: from_dlpack(array((2, 2), (8, 2))), {"mode": 0}, "OC2110"),
        (a, {"mode": 0, "divisibility": 0}, "OC2108"),
    ],
)  # fmt: skip
def test_mark_compact_shape_dynamic_refuses(make: Any, args: Any, code: str) -> None:
    t = make()
    with pytest.raises(ArgumentError) as e:
        t.mark_compact_shape_dynamic(**args)
    assert e.value.code == code


@pytest.mark.parametrize("offset", range(9))
@pytest.mark.parametrize("columns", [8, 12, 9, 16])
def test_facts_are_true_and_as_good_as_16_bytes(offset: int, columns: int) -> None:
    base = np.zeros(4 * columns + 16, np.float16)
    start = (-base.ctypes.data // 2) % 8 + offset
    t = from_dlpack(base[start : start + 3 * columns].reshape(3, columns)).mark_layout_dynamic()
    align, stride = t.facts()
    assert align == math.gcd(16, offset * 2) if offset % 8 else align == 16
    assert t.data_ptr % align == 0 and columns % stride == 0
    assert stride == math.gcd(columns, align // 2)


def test_assumed_alignment() -> None:
    base = np.zeros(64, np.float32)
    start = (-base.ctypes.data // 4) % 8
    t = from_dlpack(base[start:], assumed_align=32)
    assert t.facts()[0] == 32 and t.assumed_align == 32
    with pytest.raises(ArgumentError, match="OC2102"):
        from_dlpack(base[start + 1 :], assumed_align=16)
    with pytest.raises(ArgumentError, match="OC2101"):
        from_dlpack(base, assumed_align=12)


def test_element_type_may_be_set_for_types_that_frameworks_lack() -> None:
    t = from_dlpack(np.zeros(16, np.uint8))
    t.element_type = cutlass.Float8E4M3FN
    assert t.element_type is cutlass.Float8E4M3FN
    with pytest.raises(ArgumentError, match="OC2103"):
        t.element_type = cutlass.Float16


def test_pointers() -> None:
    p = make_ptr(cutlass.Float16, 64, cutlass.AddressSpace.gmem, assumed_align=32)
    assert str(p) == "ptr<f16, gmem, align<32>>" and p.value_type is cutlass.Float16
    with pytest.raises(ArgumentError, match="OC2102"):
        make_ptr(cutlass.Float16, 66, assumed_align=32)


@pytest.mark.parametrize("thing", [3, "x", [1, 2], None, np.complex64(1)])
def test_what_is_no_tensor(thing: Any) -> None:
    with pytest.raises((ArgumentError, TypeError)):
        from_dlpack(thing)
