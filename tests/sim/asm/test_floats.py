# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Float instructions of inline PTX against exact rational arithmetic, over edge values."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from opencute.sim.asm.compute import find

pytestmark = pytest.mark.t0

# Bits of f32, f16 and bf16 numbers at the edges: zeros, subnormals, one, largest, infinity, NaN.
F32 = [0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3F800001, 0x40490FDB, 0x4B800001, 0x7F7FFFFF,
       0x7F800000, 0x7FC00001, 0x33800000, 0x3EAAAAAB, 0x41200000]  # fmt: skip
F32 += [x | 0x80000000 for x in F32]
F16 = [0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x4248, 0x7BFF, 0x7C00, 0x7E01, 0x3555, 0x1400]
F16 += [x | 0x8000 for x in F16]
BF16 = [0, 1, 0x7F, 0x80, 0x3F80, 0x3F81, 0x4049, 0x7F7F, 0x7F80, 0x7FC1, 0x3EAB, 0x3380]
BF16 += [x | 0x8000 for x in BF16]
# Width, exponent bits, mantissa bits of each format.
FORMATS = {"f32": (32, 8, 23, F32), "f16": (16, 5, 10, F16), "bf16": (16, 8, 7, BF16)}


def value(bits: int, fmt: str) -> float:
    width, exponent, mantissa, _ = FORMATS[fmt]
    sign = -1.0 if bits >> (width - 1) else 1.0
    e = bits >> mantissa & ((1 << exponent) - 1)
    m = bits & ((1 << mantissa) - 1)
    bias = (1 << (exponent - 1)) - 1
    if e == (1 << exponent) - 1:
        return math.nan if m else sign * math.inf
    if e == 0:
        return sign * math.ldexp(m, 1 - bias - mantissa)
    return sign * math.ldexp(m | 1 << mantissa, e - bias - mantissa)


def rounded(exact: Fraction, fmt: str, mode: str, sign: int = 0) -> int:
    """Bits of an exact number in a format; `sign` is that of a zero."""
    width, exponent, mantissa, _ = FORMATS[fmt]
    bias = (1 << (exponent - 1)) - 1
    if exact == 0:
        return sign << (width - 1)
    negative = exact < 0
    x = abs(exact)
    e = max(x.numerator.bit_length() - x.denominator.bit_length() - 1, 1 - bias)
    while Fraction(2) ** (e + 1) <= x:
        e += 1
    step = Fraction(2) ** (e - mantissa)
    units, rest = divmod(x, step)
    up = {
        "rn": 2 * rest > step or (2 * rest == step and units % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    units = int(units) + up
    limit = 1 << (mantissa + 1)
    if units == limit:
        units, e = units // 2, e + 1
    top = (1 << exponent) - 1
    if e + bias >= top:
        infinite = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
        bits = top << mantissa if infinite else (top << mantissa) - 1
    elif units < 1 << mantissa:
        bits = units
    else:
        bits = ((e + bias) << mantissa) | (units - (1 << mantissa))
    return bits | negative << (width - 1)


def run(name: str, columns: list[list[int]]) -> list[int]:
    known = find(name)
    assert known is not None, name
    arrays = [np.array([c], f"u{w // 8}") for c, w in zip(columns, known.args, strict=True)]
    with np.errstate(all="ignore"):
        return [int(v) for v in np.broadcast_to(known.fn(*arrays), (1, len(columns[0])))[0]]


def check(name: str, fmt: str, args: int, oracle: Callable[..., int | None]) -> None:
    """Compare over all combinations; None from the oracle stands for a NaN."""
    width, _, _, edges = FORMATS[fmt]
    nan = (1 << (width - 1)) - 1
    rows = list(itertools.product(edges, repeat=args))[:: 1 if args < 3 else 3]
    got = run(name, [list(c) for c in zip(*rows, strict=True)])
    for row, bits in zip(rows, got, strict=True):
        want = oracle(*row)
        assert bits == (nan if want is None else want), (name, [hex(v) for v in row], hex(bits))


def special(a: float, b: float, c: float, fmt: str, mode: str) -> int | None:
    """``a * b + c`` where something is not finite: as f64 has it."""
    product = (
        a * b if not (math.isinf(a) and b == 0) and not (math.isinf(b) and a == 0) else math.nan
    )
    out = product + c
    if math.isnan(out):
        return None
    width, exponent, mantissa, _ = FORMATS[fmt]
    return ((1 << exponent) - 1) << mantissa | (out < 0) << (width - 1)


def fused(x: int, y: int, z: int, fmt: str, mode: str) -> int | None:
    a, b, c = (value(v, fmt) for v in (x, y, z))
    if not all(map(math.isfinite, (a, b, c))):
        return special(a, b, c, fmt, mode)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    product_sign = math.copysign(1, a) * math.copysign(1, b) < 0
    addend_sign = math.copysign(1, c) < 0
    if Fraction(a) * Fraction(b) == 0 and c == 0:
        sign = product_sign if product_sign == addend_sign else mode == "rm"
    else:
        sign = mode == "rm"
    return rounded(exact, fmt, mode, int(sign))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f32_arithmetic_in_every_rounding(mode: str) -> None:
    one = 0x3F800000
    check(f"add.{mode}.f32", "f32", 2, lambda a, b: fused(a, one, b, "f32", mode))
    check(f"sub.{mode}.f32", "f32", 2, lambda a, b: fused(a, one, b ^ 1 << 31, "f32", mode))
    check(f"fma.{mode}.f32", "f32", 3, lambda a, b, c: fused(a, b, c, "f32", mode))

    def product(a: int, b: int) -> int | None:
        zero = (a ^ b) & 1 << 31  # a zero of the product's sign changes nothing
        return fused(a, b, zero, "f32", mode)

    check(f"mul.{mode}.f32", "f32", 2, product)


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_narrow_arithmetic(fmt: str) -> None:
    one = 0x3C00 if fmt == "f16" else 0x3F80
    check(f"add.rn.{fmt}", fmt, 2, lambda a, b: fused(a, one, b, fmt, "rn"))
    check(f"fma.rn.{fmt}", fmt, 3, lambda a, b, c: fused(a, b, c, fmt, "rn"))
    check(f"mul.rn.{fmt}", fmt, 2, lambda a, b: fused(a, b, (a ^ b) & 1 << 15, fmt, "rn"))


def test_pairs_work_on_each_half() -> None:
    low, high = F16[:12], F16[12:]
    both = [h << 16 | v for v, h in zip(low, high, strict=True)]
    got = run("fma.rn.f16x2", [both, [0x3C003C00] * 12, both])
    one = [run("fma.rn.f16", [half, [0x3C00] * 12, half]) for half in (low, high)]
    assert got == [h << 16 | v for v, h in zip(*one, strict=True)]
    assert run("neg.bf16x2", [[0x3F80BF80]]) == [0xBF803F80]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_quotients_and_roots(mode: str) -> None:
    def quotient(x: int, y: int) -> int | None:
        a, b = value(x, "f32"), value(y, "f32")
        sign = (x ^ y) >> 31
        infinity = 0x7F800000 | sign << 31
        if math.isnan(a) or math.isnan(b) or (a == b == 0) or (math.isinf(a) and math.isinf(b)):
            return None
        if math.isinf(a) or b == 0:
            return infinity
        if math.isinf(b):
            return sign << 31
        return rounded(Fraction(a) / Fraction(b), "f32", mode, sign)

    check(f"div.{mode}.f32", "f32", 2, quotient)
    check(f"rcp.{mode}.f32", "f32", 1, lambda x: quotient(0x3F800000, x))

    def root(x: int) -> int | None:
        a = value(x, "f32")
        if math.isnan(a) or (a < 0):
            return None
        if a == 0 or math.isinf(a):
            return x
        exact = Fraction(a)
        scale = 1 << 200  # far more digits than any rounding looks at
        near = Fraction(math.isqrt(exact.numerator * scale * scale // exact.denominator), scale)
        if near * near != exact:
            near += Fraction(1, 4 * scale)  # not exact: off any boundary, on the right side
        return rounded(near, "f32", mode)

    check(f"sqrt.{mode}.f32", "f32", 1, root)


def test_flushing_and_saturation() -> None:
    def flush(x: int) -> int:
        return x & 1 << 31 if x & 0x7F800000 == 0 else x

    def oracle(a: int, b: int) -> int | None:
        out = fused(flush(a), 0x3F800000, flush(b), "f32", "rn")
        return None if out is None else flush(out)

    check("add.rn.ftz.f32", "f32", 2, oracle)

    def saturated(a: int, b: int) -> int:
        out = fused(a, 0x3F800000, b, "f32", "rn")
        if out is None or value(out, "f32") <= 0:
            return 0
        return min(out, 0x3F800000)

    check("add.rn.sat.f32", "f32", 2, saturated)


@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
def test_minimum_and_maximum(fmt: str) -> None:
    width = FORMATS[fmt][0]

    def order(x: int) -> tuple[float, int]:
        return value(x, fmt), -(x >> (width - 1))  # -0 is less than +0

    def best(pick: Callable[..., int], nan_wins: bool) -> Callable[[int, int], int | None]:
        def oracle(a: int, b: int) -> int | None:
            bad = [math.isnan(value(v, fmt)) for v in (a, b)]
            if all(bad) or (nan_wins and any(bad)):
                return None
            return b if bad[0] else a if bad[1] else pick(a, b, key=order)

        return oracle

    check(f"min.{fmt}", fmt, 2, best(min, False))
    check(f"max.{fmt}", fmt, 2, best(max, False))
    check(f"max.NaN.{fmt}", fmt, 2, best(max, True))
    check(f"abs.{fmt}", fmt, 1, lambda a: a & ~(1 << (width - 1)))
    check(f"neg.{fmt}", fmt, 1, lambda a: a ^ 1 << (width - 1))


def test_comparisons() -> None:
    plain: dict[str, Callable[[float, float], bool]] = {
        "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    rows = list(itertools.product(F32, F32))
    columns = [list(c) for c in zip(*rows, strict=True)]
    numbers = [(value(a, "f32"), value(b, "f32")) for a, b in rows]
    bad = [a != a or b != b for a, b in numbers]
    for name, fn in plain.items():
        assert run(f"setp.{name}.f32", columns) == [fn(a, b) for a, b in numbers]
        assert run(f"setp.{name}u.f32", columns) == [
            fn(a, b) or n for (a, b), n in zip(numbers, bad, strict=True)
        ]
    assert run("setp.nan.f32", columns) == bad
    assert run("setp.num.f32", columns) == [not n for n in bad]
    assert run("setp.neu.f32", columns) == [a != b for a, b in numbers]
    assert run("setp.ne.f32", columns) == [
        a != b and not n for (a, b), n in zip(numbers, bad, strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "fn", "edges"),
    [
        ("ex2.approx.f32", lambda x: 2.0**x, [-150.0, -1.5, 0.0, 0.5, 1.0, 10.25, 127.0]),
        ("lg2.approx.f32", math.log2, [1e-40, 0.5, 1.0, 3.0, 1e30]),
        ("rsqrt.approx.f32", lambda x: 1 / math.sqrt(x), [1e-30, 0.25, 2.0, 9.0]),
        ("tanh.approx.f32", math.tanh, [-20.0, -0.5, 0.0, 1e-5, 3.0]),
        ("sin.approx.f32", math.sin, [-3.0, 0.0, 1.0]),
        ("cos.approx.f32", math.cos, [-3.0, 0.0, 1.0]),
        ("sqrt.approx.f32", math.sqrt, [0.0, 2.0, 1e30]),
        ("rcp.approx.f32", lambda x: 1 / x, [-3.0, 0.1, 7.0]),
    ],
)
def test_approximations(name: str, fn: Callable[[float], float], edges: list[float]) -> None:
    singles = np.array(edges, np.float32)
    got = np.array(run(name, [singles.view(np.uint32).tolist()]), np.uint32).view(np.float32)
    want = np.array([fn(float(x)) for x in singles]).astype(np.float32)
    assert (np.abs(got - want) <= np.spacing(np.abs(want))).all()


def test_double_precision_is_the_hosts() -> None:
    a, b = 0.1, 0.3
    bits = [struct.unpack("<Q", struct.pack("<d", v))[0] for v in (a, b)]
    (total,) = run("add.rn.f64", [[bits[0]], [bits[1]]])
    assert struct.unpack("<d", struct.pack("<Q", total))[0] == a + b
    assert find("add.rz.f64") is None  # only rounding to nearest is simulated


CLASSES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_narrowing_conversions(fmt: str) -> None:
    for mode in ("rn", "rz"):
        check_cvt = find(f"cvt.{mode}.{fmt}.f32")
        assert check_cvt is not None
        got = run(f"cvt.{mode}.{fmt}.f32", [F32])
        for x, bits in zip(F32, got, strict=True):
            number = value(x, "f32")
            if math.isnan(number):
                assert bits == 0x7FFF
            elif math.isinf(number):
                assert math.isinf(value(bits, fmt))
            else:
                assert bits == rounded(Fraction(number), fmt, mode, x >> 31), hex(x)
    single = np.array(F32, np.uint32).view(np.float32)
    packed = run(f"cvt.rn.{fmt}x2.f32", [F32, F32[::-1]])
    with np.errstate(over="ignore"):
        halves = single.astype(CLASSES[fmt])
    for i, word in enumerate(packed):
        if not np.isnan(single[i]):
            assert word >> 16 == int(halves[i].view(np.uint16))
        if not np.isnan(single[-1 - i]):
            assert word & 0xFFFF == int(halves[-1 - i].view(np.uint16))
    edges = FORMATS[fmt][3]
    wide = run(f"cvt.f32.{fmt}", [edges])
    for x, bits in zip(edges, wide, strict=True):
        a, b = value(x, fmt), value(bits, "f32")
        assert a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("kind", ["s", "u"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_floats_to_integers(kind: str, width: int) -> None:
    low = -(1 << (width - 1)) if kind == "s" else 0
    high = (1 << (width - 1)) - 1 if kind == "s" else (1 << width) - 1
    functions = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}
    for mode, fn in functions.items():
        got = run(f"cvt.{mode}.{kind}{width}.f32", [F32])
        for x, bits in zip(F32, got, strict=True):
            number = value(x, "f32")
            if math.isnan(number):
                assert bits == (1 << 63 if width == 64 else 0)
                continue
            whole = (high if number > 0 else low) if math.isinf(number) else fn(number)
            assert bits == max(min(whole, high), low) & ((1 << width) - 1), (mode, hex(x))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_integers_to_floats(mode: str) -> None:
    edges = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x01000001, 0x12345679, 0xFF000001]
    for kind in "su":
        got = run(f"cvt.{mode}.f32.{kind}32", [edges])
        for x, bits in zip(edges, got, strict=True):
            number = x - (1 << 32) if kind == "s" and x >> 31 else x
            assert bits == rounded(Fraction(number), "f32", mode), (kind, hex(x))


def test_integers_to_integers() -> None:
    edges = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    assert run("cvt.u8.u32", [edges]) == [x & 255 for x in edges]
    assert run("cvt.sat.s8.s32", [edges]) == [
        max(min(x - (1 << 32) if x >> 31 else x, 127), -128) & 255 for x in edges
    ]
    assert run("cvt.sat.u8.u32", [edges]) == [min(x, 255) for x in edges]
    assert run("cvt.s64.s32", [edges]) == [
        (x - (1 << 32) if x >> 31 else x) & (1 << 64) - 1 for x in edges
    ]


def test_narrow_pairs() -> None:
    single = np.array([0.0, 1.5, -3.25, 500.0, -1000.0, 0.001], np.float32)
    bits = single.view(np.uint32).tolist()
    for name, cls, top in (("e4m3", ml_dtypes.float8_e4m3fn, 448.0),
                           ("e5m2", ml_dtypes.float8_e5m2, 57344.0)):  # fmt: skip
        want = np.clip(single, -top, top).astype(cls).view(np.uint8)
        got = run(f"cvt.rn.satfinite.{name}x2.f32", [bits, bits[::-1]])
        assert got == [int(h) << 8 | int(v) for h, v in zip(want, want[::-1], strict=True)]
        back = run(f"cvt.rn.f16x2.{name}x2", [got])
        assert [w >> 16 for w in back] == [
            int(v.view(np.uint16)) for v in want.view(cls).astype(np.float16)
        ]
    assert find("cvt.rn.e4m3x2.f32") is None  # PTX wants satfinite there
