# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native structs: fields keep their types, change in place, and cross branches, loops, kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@cute.native_struct
class Pair:
    a: cutlass.Int32
    b: cutlass.Float32


@cute.native_struct
class Nested:
    first: Pair
    count: cutlass.Int64
    name: cutlass.Constexpr = "n"

    def step(self, by: Any) -> None:
        self.count += by
        self.first.a += 1


@cute.native_struct(zero_init=False, packed=True)
class Packed:
    tag: cutlass.Int8
    value: cutlass.Int64


def test_the_layout_is_that_of_c() -> None:
    assert (Pair.size_in_bytes, Pair.alignment) == (8, 4)
    assert (Nested.size_in_bytes, Nested.alignment) == (16, 8)
    assert Nested.__native_fields__ == {"first": (Pair, 0), "count": (cutlass.Int64, 8)}
    assert (Packed.size_in_bytes, Packed.alignment) == (9, 1)


def test_constructors() -> None:
    p = Pair(3, b=1.5)
    assert type(p.a) is cutlass.Int32 and int(p.a) == 3 and float(p.b) == 1.5
    assert int(Pair().a) == 0 and Nested().name == "n" and Nested(name="x").name == "x"
    with pytest.raises(TypeError, match="repeated"):
        Pair(1, a=2)
    with pytest.raises(TypeError, match="at most 2"):
        Pair(1, 2, 3)


def test_fields_keep_their_class_and_refuse_others() -> None:
    p = Pair()
    p.a = cutlass.Float32(2.9)
    assert type(p.a) is cutlass.Int32 and int(p.a) == 2
    with pytest.raises(AttributeError, match="no field 'c'"):
        p.c = 1
    with pytest.raises(TypeMismatchError, match="OC1258"):
        Nested().first = 1
    with pytest.raises(TypeMismatchError, match="OC1258"):

        @cute.native_struct
        class _Wrong:
            x: list


def test_a_field_without_value() -> None:
    s = Packed(tag=1)
    with pytest.raises(LanguageError, match="OC1127"):
        s.value + 1
    s.value = 5
    assert int(s.value) == 5


def test_branches_and_loops_change_fields() -> None:
    @cute.jit
    def f(i: Any) -> Any:
        s = Nested()
        if i > 1:
            s.first.b = i
            s.step(2)
        elif i == 1:
            s = Nested(Pair(7), 9)
        else:
            s.first = Pair(5)
        for k in range(i):
            s.step(k)
            if k == 2:
                break
        n = 0
        while n < i:
            n += 1
            s.first.b += 0.5
        assert type(s.count) is cutlass.Int64 and type(s.first.b) is cutlass.Float32
        return s.first.a * 1000 + s.count * 10 + s.first.b

    def plain(i: int) -> float:
        a, b, count = 0, 0.0, 0
        if i > 1:
            a, b, count = 1, float(i), 2
        elif i == 1:
            a, count = 7, 9
        else:
            a = 5
        for k in range(min(i, 3)):
            a, count = a + 1, count + k
        return a * 1000 + count * 10 + b + 0.5 * i

    out = np.zeros(5, np.float32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = f(i)

    on_device(body, out, block=5)
    assert out.tolist() == [plain(i) for i in range(5)]


def test_an_argument_is_passed_by_value() -> None:
    @cute.kernel
    def kernel(p: Nested, o: cute.Tensor):
        if o[0] > 0:
            p.step(5)
        o[1] = p.count.to(cutlass.Int32) + p.first.a

    @cute.jit
    def host(p: Nested, o: cute.Tensor):
        kernel(p, o).launch()
        kernel(p, o).launch()

    out = np.array([1, 0], np.int32)
    host(Nested(Pair(2), 30), from_dlpack(out))
    assert out.tolist() == [1, 38]


def test_a_struct_of_a_function() -> None:
    @cute.jit
    def f(i: Any) -> Any:
        @cute.native_struct
        class Local:
            n: cutlass.Int32

        s = Local(i)
        for _ in range(3):
            if s.n > 2:
                s.n -= 2
        return s.n

    out = np.zeros(6, np.int32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = f(i)

    on_device(body, out, block=6)
    assert out.tolist() == [0, 1, 2, 1, 2, 1]
