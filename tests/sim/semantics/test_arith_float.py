# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Floats against exact rational arithmetic, rounded once by the rule of each format."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects import arith, cute
from opencute.dialects import math as mathd
from opencute.dialects.arith import CMPF
from opencute.ir.core import Value
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    FloatType,
    IntegerType,
    Type,
)  # fmt: skip
from opencute.sim import Simulator
from opencute.sim.values import dtype_of
from sim.building import const, function_module, kernel_module, launch, ptr, thread

pytestmark = pytest.mark.t0
TYPES = (F16, BF16, F32, F64)
# (bits of precision, smallest exponent of a normal number, largest exponent)
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127),
           "f64": (53, -1022, 1023)}  # fmt: skip


def rounded(x: Fraction, type: FloatType) -> float:
    """The float nearest to an exact value, ties to even."""
    if x == 0:
        return 0.0
    p, low, high = FORMATS[type.name]
    e = abs(x.numerator).bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** e:
        e -= 1
    e = max(e, low)
    ulp = Fraction(2) ** (e - p + 1)
    n = round(x / ulp)  # Python rounds halves to even
    value = n * ulp
    if abs(value) >= Fraction(2) ** (high + 1):
        return math.inf if value > 0 else -math.inf
    return float(value)


def specials(type: FloatType) -> list[float]:
    p, low, high = FORMATS[type.name]
    tiny, normal = 2.0 ** (low - p + 1), 2.0**low
    largest = (2.0 - 2.0 ** (1 - p)) * 2.0**high
    some = [0.0, tiny, 3 * tiny, normal, 1.0, 1.0 + 2.0 ** (1 - p), 1.5, 3.0, largest]
    return [*some, *(-v for v in some), math.inf, -math.inf, math.nan]


def on_lanes(type: FloatType, op: Callable[..., Value], *columns: Any) -> Any:
    """Each lane computes `op` on its row of the columns."""
    arrays = [np.asarray(c, dtype_of(type)) for c in columns]
    out: list[Any] = []

    def body(*pointers: Any) -> None:
        args = [cute.load(cute.ptr_add(p, thread(), 1)) for p in pointers[:-1]]
        cute.store(op(*args), cute.ptr_add(pointers[-1], thread(), 1))

    probe = function_module([type] * len(columns), [], lambda *a: out.append(op(*a).type) or [])
    del probe
    result: Type = out[0]
    array = np.zeros(len(arrays[0]), np.bool_ if str(result) == "i1" else dtype_of(result))
    pointers = [ptr(type)] * len(columns) + [ptr(result)]
    launch(kernel_module(pointers, body), len(array), 1, *arrays, array)
    return array


def binary(name: str) -> Callable[[Value, Value], Value]:
    return lambda a, b: arith.binary(name, a, b)


def on_host(type: FloatType, op: Callable[..., Value], *values: Any) -> Any:
    results: list[Type] = []
    function_module([type] * len(values), [], lambda *a: results.append(op(*a).type) or [])
    module = function_module([type] * len(values), results, lambda *a: [op(*a)])
    return Simulator().run_function(module, "f", values)


def floats(type: FloatType) -> st.SearchStrategy[float]:
    """All bit patterns of the narrow types, Hypothesis' own choice of the wide ones."""
    if type.width > 16:
        return st.floats(width=type.width)  # type: ignore[arg-type]
    return st.integers(0, 0xFFFF).map(
        lambda bits: float(np.array([bits], np.uint16).view(dtype_of(type))[0])
    )


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
}


def oracle(name: str, type: FloatType, a: float, b: float) -> float:
    """What IEEE 754 says."""
    special = {
        "addf": lambda: a + b, "subf": lambda: a - b, "mulf": lambda: a * b,
        "divf": lambda: float(np.float64(a) / np.float64(b)),
    }[name]  # fmt: skip
    finite = math.isfinite(a) and math.isfinite(b) and (name != "divf" or b != 0)
    if not finite:
        with np.errstate(all="ignore"):
            return special()
    exact = EXACT[name](Fraction(a), Fraction(b))
    if exact == 0:
        sign = {"mulf": math.copysign(1, a) * math.copysign(1, b)}
        sign["divf"] = sign["mulf"]
        return math.copysign(0.0, sign[name]) if name in sign else special()
    out = rounded(exact, type)
    return math.copysign(out, 1 if exact > 0 else -1)


def same(got: Any, want: Any) -> bool:
    g, w = float(got), float(want)
    return (g != g and w != w) or (g == w and math.copysign(1, g) == math.copysign(1, w))


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_on_special_values(name: str, type: FloatType) -> None:
    pairs = [(a, b) for a in specials(type) for b in specials(type)]
    got = on_lanes(type, binary(name), *zip(*pairs, strict=True))
    for (a, b), g in zip(pairs, got, strict=True):
        assert same(g, oracle(name, type, a, b)), (a, b, g)


@pytest.mark.parametrize("type", TYPES, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_arithmetic_rounds_once(type: FloatType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(floats(type), floats(type)), min_size=1, max_size=20))
    for name in EXACT:
        got = on_lanes(type, binary(name), *zip(*pairs, strict=True))
        for (a, b), g in zip(pairs, got, strict=True):
            assert same(g, oracle(name, type, a, b)), (name, a, b, g)
        a, b = pairs[0]
        assert same(on_host(type, binary(name), a, b), got[0])


@pytest.mark.parametrize("type", TYPES, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_fma_rounds_once(type: FloatType, data: st.DataObject) -> None:
    any_float = floats(type)
    triples = data.draw(st.lists(st.tuples(any_float, any_float, any_float), min_size=1))
    # Sums that nearly cancel, or lie just beside a tie, are where double rounding shows.
    with np.errstate(all="ignore"):
        for a, b, _ in list(triples):
            if math.isfinite(a * b):
                near = [-(a * b), -(a * b) * 2.0**12, -(a * b) * 2.0**-24]
                triples += [(a, b, float(dtype_of(type).type(c))) for c in near]
    got = on_lanes(type, mathd.fma, *zip(*triples, strict=True))
    for (a, b, c), g in zip(triples, got, strict=True):
        assert same(g, fma_oracle(type, a, b, c)), (a, b, c, g)
    assert same(on_host(type, mathd.fma, *triples[-1]), got[-1])


def fma_oracle(type: FloatType, a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        product = a * b if not (math.isfinite(a) and math.isfinite(b)) else 0.0
        return product + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        sign = math.copysign(1, a) * math.copysign(1, b)
        both_negative = sign < 0 and math.copysign(1, c) < 0
        if Fraction(a) * Fraction(b) != 0:
            return 0.0
        return -0.0 if both_negative else 0.0
    return math.copysign(rounded(exact, type), 1 if exact > 0 else -1)


def test_fma_where_f64_would_round_twice() -> None:
    """The product plus the sum needs 54 bits: a tie in f32 decided by the last one."""
    a, b = 1 + 2.0**-23, 1 + 2.0**-23
    c = 2.0**30 + 2.0**7
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert on_lanes(F32, mathd.fma, [a], [b], [c])[0] == rounded(exact, F32)
    tie = on_lanes(F32, mathd.fma, [1.0], [2.0**-60], [1 + 2.0**-23])
    assert tie[0] == np.float32(1 + 2.0**-23)
    # 1 + 2^-24 is a tie in f32; 2^-80 more must round it up.
    up = on_lanes(F32, mathd.fma, [2.0**-40], [2.0**-40], [1.0])
    assert up[0] == 1.0
    x = np.float32(1 + 2.0**-12)
    exact = Fraction(float(x)) ** 2 + Fraction(1, 2**100)
    assert on_lanes(F32, mathd.fma, [x], [x], [2.0**-100])[0] == rounded(exact, F32)


def test_fma_of_f64_at_the_ends_of_its_range() -> None:
    rows = [
        (2.0**1000, 2.0**1000, -math.inf), (2.0**600, 2.0**600, -(2.0**1023)),
        (2.0**-600, 2.0**-600, 2.0**-1074), (1 + 2.0**-52, 2.0**-1022, -(2.0**-1022)),
        (2.0**900, 1 + 2.0**-52, -(2.0**900)), (2.0**-1074, 0.5, 2.0**-1074),
        (-(2.0**-1074), 0.5, 0.0), (2.0**-540, 2.0**-540, -(2.0**-1074)),
    ]  # fmt: skip
    got = on_lanes(F64, mathd.fma, *zip(*rows, strict=True))
    for row, g in zip(rows, got, strict=True):
        assert same(g, fma_oracle(F64, *row)), (row, g)


PREDICATES: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "ne": lambda a, b: a < b or a > b,
}  # fmt: skip


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", CMPF)
def test_comparisons(name: str, type: FloatType) -> None:
    pairs = [(a, b) for a in specials(type) for b in specials(type)]
    got = on_lanes(type, lambda a, b: arith.cmpf(name, a, b), *zip(*pairs, strict=True))
    for (a, b), g in zip(pairs, got, strict=True):
        unordered = a != a or b != b
        if name in ("true", "false"):
            want = name == "true"
        elif name in ("ord", "uno"):
            want = unordered == (name == "uno")
        else:
            want = (unordered and name[0] == "u") or (not unordered and PREDICATES[name[1:]](a, b))
        assert bool(g) == want, (a, b)
    a, b = pairs[-2]
    assert on_host(type, lambda x, y: arith.cmpf(name, x, y), a, b) is bool(got[-2])


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", ("maximumf", "minimumf", "maxnumf", "minnumf"))
def test_min_and_max(name: str, type: FloatType) -> None:
    pairs = [(a, b) for a in specials(type) for b in specials(type)]
    got = on_lanes(type, binary(name), *zip(*pairs, strict=True))
    for (a, b), g in zip(pairs, got, strict=True):
        if a != a or b != b:
            want = math.nan if "num" not in name else b if a != a else a
        else:
            key = lambda v: (v, math.copysign(1, v))  # noqa: E731
            want = max(a, b, key=key) if "max" in name else min(a, b, key=key)
        assert same(g, want), (a, b, g)
    for (a, b), g in list(zip(pairs, got, strict=True))[::17]:
        assert same(on_host(type, binary(name), a, b), g)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_remainder_and_signs(type: FloatType) -> None:
    pairs = [(a, b) for a in specials(type) for b in specials(type)]
    columns = tuple(zip(*pairs, strict=True))
    got = on_lanes(type, lambda a, b: arith.binary("remf", a, b), *columns)
    sign = on_lanes(type, lambda a, b: mathd.binary("copysign", a, b), *columns)
    for (a, b), g, s in zip(pairs, got, sign, strict=True):
        bad = math.isinf(a) or b == 0 or a != a or b != b
        assert same(g, math.nan if bad else math.fmod(a, b)), (a, b, g)
        if a == a and b == b:
            assert same(s, math.copysign(a, b))
    values = specials(type)
    assert all(same(g, -v) for g, v in zip(on_lanes(type, arith.negf, values), values, strict=True))
    got = on_lanes(type, lambda x: mathd.unary("absf", x), values)
    assert all(same(g, abs(v)) for g, v in zip(got, values, strict=True))
    assert same(on_host(type, arith.negf, 0.0), -0.0)


@pytest.mark.parametrize("source", TYPES, ids=str)
@pytest.mark.parametrize("target", TYPES, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_float_conversions_round_once(
    source: FloatType, target: FloatType, data: st.DataObject
) -> None:
    if source.width == target.width:
        return
    name = "extf" if source.width < target.width else "truncf"
    values = data.draw(st.lists(floats(source), min_size=1, max_size=20)) + specials(source)
    if source == F64:
        # Just beside a tie of the target: rounding to f32 first would land on the tie.
        tie = 1 + 2.0 ** -FORMATS[target.name][0]
        values += [tie, math.nextafter(tie, 2), math.nextafter(tie, 0), -math.nextafter(tie, 2)]
        values += [math.nextafter(tie * 2.0**-14, 1), math.nextafter(tie * 2.0**-126, 1)]
    got = on_lanes(source, lambda x: arith.cast(name, x, target), values)
    for v, g in zip(values, got, strict=True):
        finite = math.isfinite(v)
        want = math.copysign(rounded(Fraction(v), target), v) if finite else v
        assert same(g, want), (v, g)


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("width", (4, 8, 16, 32, 64))
@pytest.mark.parametrize("sign", "su")
def test_float_to_integer_truncates_and_clamps(type: FloatType, width: int, sign: str) -> None:
    low = -(1 << (width - 1)) if sign == "s" else 0
    high = (1 << (width - 1 if sign == "s" else width)) - 1
    p, _, limit = FORMATS[type.name]
    values = [*specials(type), 0.99, -0.99, 1.5, -1.5, 2.5]
    for k in (width - 1, width):
        if k <= limit:
            values += [2.0**k, -(2.0**k), 2.0**k * (1 - 2.0**-p), -(2.0**k) * (1 + 2.0 ** (1 - p))]
    values = [float(dtype_of(type).type(v)) for v in values]

    def op(x: Value) -> Value:
        r = arith.cast(f"fpto{sign}i", x, IntegerType(width))
        return r if width == 64 else arith.cast("extsi", r, I64)

    got = on_lanes(type, op, values)
    for v, g in zip(values, got, strict=True):
        if v != v:
            want = 0
        elif math.isinf(v):
            want = high if v > 0 else low
        else:
            want = min(max(int(v), low), high)
        want &= (1 << width) - 1
        assert int(g) & ((1 << width) - 1) == want, (v, g)
    assert on_host(type, op, values[3]) == got[3]


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("source", (I8, I16, I32, I64), ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_integer_to_float_rounds_once(
    type: FloatType, source: IntegerType, data: st.DataObject
) -> None:
    w = source.width
    half = 1 << (w - 1)
    values = data.draw(st.lists(st.integers(-half, half - 1), min_size=1, max_size=20))
    values += [-half, half - 1, 0, -1]
    for p in (8, 11, 24, 53):  # beside ties at every precision
        for e in range(p + 1, w - 1):
            tie = (1 << e) + (1 << (e - p))
            values += [tie - 1, tie, tie + 1, -tie - 1]
    out = np.zeros(len(values), dtype_of(type))
    unsigned = out.copy()

    def body(x: Any, s: Any, u: Any) -> None:
        v = cute.load(cute.ptr_add(x, thread(), 1))
        cute.store(arith.cast("sitofp", v, type), cute.ptr_add(s, thread(), 1))
        cute.store(arith.cast("uitofp", v, type), cute.ptr_add(u, thread(), 1))

    module = kernel_module([ptr(source), ptr(type), ptr(type)], body)
    launch(module, len(values), 1, np.array(values, f"i{w // 8}"), out, unsigned)
    for v, g, u in zip(values, out, unsigned, strict=True):
        assert same(g, rounded(Fraction(v), type)), v
        assert same(u, rounded(Fraction(v % (1 << w)), type)), v
    module = function_module([source], [type], lambda x: [arith.cast("sitofp", x, type)])
    assert same(Simulator().run_function(module, "f", [values[0]]), out[0])


def test_bitcasts_keep_every_bit() -> None:
    bits = [0x7FC00001, 0x7F800001, -0x400000, 0x3F800000, 0]
    out = np.zeros(5, np.int32)

    def body(x: Any, o: Any) -> None:
        f = arith.cast("bitcast", cute.load(cute.ptr_add(x, thread(), 4)), F32)
        cute.store(arith.cast("bitcast", arith.negf(f), I32), cute.ptr_add(o, thread(), 4))

    x = np.array(bits, np.int32)
    launch(kernel_module([ptr(I32), ptr(I32)], body), 5, 1, x, out)
    np.testing.assert_array_equal(out.view(np.uint32), x.view(np.uint32) ^ 0x80000000)
    module = function_module([F16], [I16], lambda v: [arith.cast("bitcast", v, I16)])
    assert Simulator().run_function(module, "f", [-2.0]) == -0x4000
    module = function_module([], [I32], lambda: [arith.cast("bitcast", const(1.0, F32), I32)])
    assert Simulator().run_function(module, "f", []) == 0x3F800000
