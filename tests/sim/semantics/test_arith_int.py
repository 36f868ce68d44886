# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integers of every width against Python's: for lanes that differ, that agree, and vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import SimulationError
from opencute.dialects import arith, cute, math, vector
from opencute.dialects.arith import CMPI, INT_BINARY
from opencute.ir.core import Value
from opencute.ir.types import I1, I64, IntegerType
from opencute.sim import Simulator
from sim.building import const, function_module, kernel_module, launch, mul, ptr, thread

pytestmark = pytest.mark.t0
WIDTHS = (1, 2, 4, 7, 8, 16, 24, 32, 64)


def signed(x: int, w: int) -> int:
    x &= (1 << w) - 1
    return x - (1 << w) if x >> (w - 1) and w > 1 else x


def s_(x: int, w: int) -> int:
    """The signed reading; a set single bit is -1."""
    return -(x & 1) if w == 1 else x


def u_(x: int, w: int) -> int:
    return x & ((1 << w) - 1)


def trunc(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


ORACLE: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "divsi": lambda a, b, w: trunc(s_(a, w), s_(b, w)),
    "divui": lambda a, b, w: u_(a, w) // u_(b, w),
    "remsi": lambda a, b, w: s_(a, w) - s_(b, w) * trunc(s_(a, w), s_(b, w)),
    "remui": lambda a, b, w: u_(a, w) % u_(b, w),
    "floordivsi": lambda a, b, w: s_(a, w) // s_(b, w),
    "ceildivsi": lambda a, b, w: -(-s_(a, w) // s_(b, w)),
    "ceildivui": lambda a, b, w: -(-u_(a, w) // u_(b, w)),
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "shli": lambda a, b, w: a << u_(b, w) if u_(b, w) < w else 0,
    "shrsi": lambda a, b, w: s_(a, w) >> min(u_(b, w), w - 1),
    "shrui": lambda a, b, w: u_(a, w) >> u_(b, w) if u_(b, w) < w else 0,
    "maxsi": lambda a, b, w: max(s_(a, w), s_(b, w)),
    "maxui": lambda a, b, w: max(u_(a, w), u_(b, w)),
    "minsi": lambda a, b, w: min(s_(a, w), s_(b, w)),
    "minui": lambda a, b, w: min(u_(a, w), u_(b, w)),
}
DIVISIONS = {n for n in INT_BINARY if "div" in n or "rem" in n}


def interesting(w: int) -> list[int]:
    top = 1 << (w - 1)
    near = [-top, -top + 1, -w, -3, -2, -1, 0, 1, 2, 3, 7, w - 1, w, w + 1, top - 2, top - 1]
    return sorted({signed(x, w) for x in near})


def narrow(v: Value, type: IntegerType) -> Value:
    return v if type.width == 64 else arith.cast("trunci", v, type)


def widen(v: Value) -> Value:
    return v if v.type == I64 else arith.cast("extsi", v, I64)


def on_lanes(w: int, op: Callable[..., Value], *columns: list[int]) -> list[int]:
    """Each lane computes `op` on its row of the columns; results as signed 64-bit."""
    type = IntegerType(w)

    def body(*pointers: Any) -> None:
        args = [narrow(cute.load(cute.ptr_add(p, thread(), 8)), type) for p in pointers[:-1]]
        cute.store(widen(op(*args)), cute.ptr_add(pointers[-1], thread(), 8))

    n = len(columns[0])
    out = np.zeros(n, np.int64)
    arrays = [np.array(c, np.int64) for c in columns]
    launch(kernel_module([ptr(I64, 8)] * (len(columns) + 1), body), n, 1, *arrays, out)
    return out.tolist()


def binary(name: str) -> Callable[[Value, Value], Value]:
    return lambda a, b: arith.binary(name, a, b)


def right_constant(name: str, k: int, type: IntegerType) -> Callable[[Value], Value]:
    return lambda a: arith.binary(name, a, const(k, type))


def left_constant(name: str, k: int, type: IntegerType) -> Callable[[Value], Value]:
    return lambda b: arith.binary(name, const(k, type), b)


def cast(name: str, type: IntegerType) -> Callable[[Value], Value]:
    return lambda v: arith.cast(name, v, type)


def int_unary(name: str) -> Callable[[Value], Value]:
    return lambda v: math.int_unary(name, v)


def on_host(w: int, op: Callable[..., Value], *values: int) -> int:
    """The same on one lane, with plain Python numbers."""
    type = IntegerType(w)
    module = function_module(
        [I64] * len(values), [I64], lambda *a: [widen(op(*(narrow(v, type) for v in a)))]
    )
    return Simulator().run_function(module, "f", values)


def expected(name: str, w: int, a: int, b: int) -> int:
    return s_(signed(ORACLE[name](a, b, w), w), w)


def rows(name: str, w: int) -> list[tuple[int, int]]:
    values = interesting(w)
    return [(a, b) for a in values for b in values if b or name not in DIVISIONS]


@pytest.mark.parametrize("w", WIDTHS)
@pytest.mark.parametrize("name", INT_BINARY)
def test_boundary_values_on_differing_lanes(name: str, w: int) -> None:
    pairs = rows(name, w)
    got = on_lanes(w, binary(name), *map(list, zip(*pairs, strict=True)))
    assert got == [expected(name, w, a, b) for a, b in pairs]


@pytest.mark.parametrize("w", (1, 4, 32, 64))
@pytest.mark.parametrize("name", INT_BINARY)
def test_boundary_values_on_agreeing_lanes(name: str, w: int) -> None:
    type = IntegerType(w)
    module = function_module(
        [I64, I64],
        [I64],
        lambda a, b: [widen(arith.binary(name, narrow(a, type), narrow(b, type)))],
    )
    sim = Simulator()
    for a, b in rows(name, w):
        assert sim.run_function(module, "f", [a, b]) == expected(name, w, a, b), (a, b)


@pytest.mark.parametrize("name", INT_BINARY)
@pytest.mark.parametrize("w", (8, 32))
def test_one_operand_agrees(name: str, w: int) -> None:
    values = interesting(w)
    for k in (-3, 1, w - 1, w + 1):
        k = signed(k, w)
        type = IntegerType(w)
        left = on_lanes(w, right_constant(name, k, type), values)
        assert left == [expected(name, w, a, k) for a in values], k
        divisors = [v for v in values if v or name not in DIVISIONS]
        right = on_lanes(w, left_constant(name, k, type), divisors)
        assert right == [expected(name, w, k, b) for b in divisors], k


@pytest.mark.parametrize("name", INT_BINARY)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_random_values(name: str, data: st.DataObject) -> None:
    w = data.draw(st.sampled_from(WIDTHS))
    value = st.integers(-(1 << (w - 1)), (1 << (w - 1)) - 1) if w > 1 else st.integers(0, 1)
    second = value.filter(bool) if name in DIVISIONS else value
    pairs = data.draw(st.lists(st.tuples(value, second), min_size=1, max_size=20))
    got = on_lanes(w, binary(name), *map(list, zip(*pairs, strict=True)))
    assert got == [expected(name, w, a, b) for a, b in pairs]


@pytest.mark.parametrize("w", WIDTHS)
@pytest.mark.parametrize("name", CMPI)
def test_comparisons(name: str, w: int) -> None:
    ops: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    read = u_ if name[0] == "u" else s_
    fn = ops[name if name in ops else name[1:]]
    pairs = [(a, b) for a in interesting(w) for b in interesting(w)]
    want = [fn(read(a, w), read(b, w)) for a, b in pairs]
    got = on_lanes(w, lambda a, b: arith.cmpi(name, a, b), *map(list, zip(*pairs, strict=True)))
    assert [bool(g) for g in got] == want
    type = IntegerType(w)
    module = function_module(
        [I64] * 2, [I64], lambda a, b: [widen(arith.cmpi(name, narrow(a, type), narrow(b, type)))]
    )
    sim = Simulator()
    for (a, b), r in list(zip(pairs, want, strict=True))[::7]:
        assert bool(sim.run_function(module, "f", [a, b])) == r


@pytest.mark.parametrize("name", sorted(DIVISIONS))
def test_division_by_zero_names_the_thread(name: str) -> None:
    with pytest.warns(RuntimeWarning, match=r"OC3003.*by zero.*block \(2, 0, 0\)") as seen:
        got = on_lanes(32, binary(name), [5, 6, 7], [1, 2, 0])
    assert seen[0].lineno == 1
    assert list(map(int, got[:2])) == ([0, 0] if name.startswith("rem") else [5, 3])
    assert int(got[2]) == (7 if name.startswith("rem") else -1)
    with pytest.raises(SimulationError, match="on the host") as e:
        on_host(32, lambda a: arith.binary(name, a, const(0)), 5)
    assert e.value.code == "OC3003"


@pytest.mark.parametrize("src", WIDTHS)
@pytest.mark.parametrize("dst", WIDTHS)
def test_width_changes(src: int, dst: int) -> None:
    values = interesting(src)
    if src == dst:
        return
    type = IntegerType(dst)
    for name in ("extsi", "extui") if src < dst else ("trunci",):
        want = [s_(signed(u_(v, src) if name == "extui" else s_(v, src), dst), dst) for v in values]
        got = on_lanes(src, cast(name, type), values)
        assert got == want, name
        assert [on_host(src, cast(name, type), v) for v in values] == want


@pytest.mark.parametrize("w", WIDTHS)
def test_bit_counts_and_magnitude(w: int) -> None:
    values = interesting(w)

    def zeros(text: str) -> int:
        return len(text) - len(text.lstrip("0"))

    texts = [format(u_(v, w), f"0{w}b") for v in values]
    want = {
        "ctpop": [t.count("1") for t in texts],
        "ctlz": [zeros(t) for t in texts],
        "cttz": [zeros(t[::-1]) for t in texts],
        "absi": [abs(s_(v, w)) for v in values],
    }
    for name, expect in want.items():
        got = on_lanes(w, int_unary(name), values)
        assert got == [s_(signed(e, w), w) for e in expect], name
        assert on_host(w, int_unary(name), values[-1]) == got[-1]


def test_select_and_constants() -> None:
    def op(a: Value, b: Value) -> Value:
        return arith.select(arith.cmpi("slt", a, b), const(-7, a.type), b)

    assert on_lanes(32, op, [1, 5, 3], [2, 2, 3]) == [-7, 2, 3]
    assert on_host(32, op, 1, 2) == -7
    assert on_lanes(64, lambda a: const((1 << 63) + 1, I64), [0]) == [-(1 << 63) + 1]


@pytest.mark.parametrize("name", INT_BINARY)
def test_vectors_are_element_by_element(name: str) -> None:
    values = [v for v in interesting(16) if v][:8]
    type = IntegerType(16)

    def body(a: Any, b: Any, out: Any) -> None:
        at = mul(thread(), const(8))
        tile = cute.LayoutAttr((8,), (1,))
        va, vb = (cute.tile_load(cute.ptr_add(p, at, 2), tile) for p in (a, b))
        cute.tile_store(arith.binary(name, va, vb), cute.ptr_add(out, at, 2), tile)

    a = np.array([values, values[::-1]], np.int16)
    b = np.array([values[3:] + values[:3], values], np.int16)
    out = np.zeros_like(a)
    launch(kernel_module([ptr(type, 2)] * 3, body), 1, 2, a, b, out)
    want = [
        [expected(name, 16, int(x), int(y)) for x, y in zip(r, s, strict=True)]
        for r, s in zip(a, b, strict=True)
    ]
    assert out.tolist() == want


def test_reductions_of_integers() -> None:
    values = [5, -3, 7, 2]
    want = {"add": 11, "mul": -210, "minsi": -3, "maxsi": 7, "and": 0, "xor": 5 ^ -3 ^ 7 ^ 2,
            "or": 5 | -3 | 7 | 2, "minui": 2, "maxui": -3}  # fmt: skip
    for kind, expect in want.items():
        module = function_module(
            [IntegerType(32)] * 4,
            [IntegerType(32)],
            lambda *a, kind=kind: [vector.reduction(kind, vector.from_elements(a))],
        )
        assert Simulator().run_function(module, "f", values) == expect, kind
    assert IntegerType(1) == I1
