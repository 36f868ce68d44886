# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Floating-point instructions of PTX, on the bits of their operands.

Arithmetic on f16, bf16 and f32 is done in f64 rounded to odd and then rounded once, as the
instruction says; f64 is rounded to nearest only. Approximations (``ex2.approx`` and the like) are
correctly rounded here: the hardware may differ by the ulps that the PTX ISA allows. A NaN that
comes out of arithmetic is the hardware's (0x7fffffff, 0x7fff).
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.numeric.convert import convert_bits
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.sim.asm.record import Compute, family, lanewise, uint
from opencute.sim.numbers.exact import fma, round_to_odd, two_product, two_sum
from opencute.sim.values import Array

__all__ = [
    "ROUNDINGS",
    "Format",
    "float_binary",
    "float_compare",
    "float_div",
    "float_minmax",
    "float_sign",
    "fused",
]

ROUNDINGS: dict[str, Rounding] = {"rn": "rne", "rz": "rtz", "rm": "rd", "rp": "ru", "rna": "rna"}
_APPROX = ("approx", "full", "ftz")


@dataclass(frozen=True)
class Format:
    """A float type of an instruction.

    Args:
        word: PTX's name without ``x2``.
        lanes: values in a register.
    """

    word: str
    lanes: int = 1

    @property
    def dtype(self) -> DType:
        """The element type."""
        return DTYPES[self.word]

    @property
    def width(self) -> int:
        """Bits of one value."""
        return self.dtype.width

    def compute(self, args: int, fn: Callable[..., Array]) -> Compute:
        """An instruction on values of this format."""
        one = Compute((self.width,) * args, self.width, fn)
        return lanewise(one, self.lanes) if self.lanes > 1 else one


def format_of(word: str) -> Format | None:
    """The format of a type word, None if it is none."""
    base, lanes = (word[:-2], 2) if word.endswith("x2") else (word, 1)
    if base not in ("f16", "bf16", "f32", "f64") or (base == "f64" and lanes > 1):
        return None
    return Format(base, lanes)


def _wide(bits: Array, dtype: DType) -> Array:
    """The values, as f64."""
    if dtype.name == "f64":
        return bits.view(np.float64)
    if dtype.name == "f32":
        return bits.view(np.float32).astype(np.float64)
    return convert_bits(bits, dtype, DTYPES["f64"]).view(np.float64)


def _canonical(bits: Array, dtype: DType) -> Array:
    """NaNs as arithmetic makes them."""
    if dtype.name == "f64":
        return bits
    magnitude = bits & bits.dtype.type((1 << (dtype.width - 1)) - 1)
    infinity = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    return np.where(magnitude > infinity, bits.dtype.type((1 << (dtype.width - 1)) - 1), bits)


def _rounded(value: Array, dtype: DType, mode: Rounding) -> Array:
    """f64 values (rounded to odd) as bits of a format."""
    if dtype.name == "f64":
        return np.ascontiguousarray(value).view(np.uint64)
    bits = np.ascontiguousarray(value).view(np.uint64)
    return _canonical(convert_bits(bits, DTYPES["f64"], dtype, mode, False), dtype)


def _flush(bits: Array, dtype: DType) -> Array:
    """Subnormal numbers as zeros."""
    exponent = bits & bits.dtype.type(((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits)
    sign = bits & bits.dtype.type(1 << (dtype.width - 1))
    return np.where(exponent == 0, sign, bits)


def _saturate(bits: Array, dtype: DType) -> Array:
    """Clamped to 0 to 1; NaN is 0."""
    value = _wide(bits, dtype)
    one = bits.dtype.type(dtype.bias << dtype.mantissa_bits)
    return np.where(value >= 1, one, np.where(value > 0, bits, bits.dtype.type(0)))


def _finished(fn: Callable[..., Array], f: Format, words: list[str]) -> Callable[..., Array]:
    """A function of bits with what the modifiers ask for around it."""
    dtype = f.dtype

    def run(*args: Array) -> Array:
        if "ftz" in words:
            args = tuple(_flush(a, dtype) for a in args)
        out = fn(*args)
        if "ftz" in words:
            out = _flush(out, dtype)
        if "sat" in words:
            out = _saturate(out, dtype)
        if "relu" in words:
            value = _wide(out, dtype)
            out = np.where(value > 0, out, np.where(value != value, out, out.dtype.type(0)))
        return out

    return run


def _mode(words: list[str], f: Format, allowed: tuple[str, ...]) -> Rounding | None:
    """The rounding that the modifiers name, None if they mean nothing here."""
    named = [w for w in words if w in ROUNDINGS]
    rest = [w for w in words if w not in ROUNDINGS]
    if any(w not in allowed for w in rest) or len(named) > 1 or "rna" in named:
        return None
    mode = ROUNDINGS[named[0]] if named else "rne"
    if mode != "rne" and f.word != "f32":
        return None
    return mode


def _sum(a: Array, b: Array) -> Array:
    total, error = two_sum(a, b)
    return round_to_odd(total, np.where(np.isfinite(total), np.sign(np.nan_to_num(error)), 0))


def _zero_down(total: Array, a: Array, b: Array) -> Array:
    """A sum that is exactly zero is negative when rounding down, unless both terms are +0."""
    same = (a == 0) & (b == 0) & (np.signbit(a) == np.signbit(b))
    return np.where((total == 0) & ~same, -0.0, total)


def float_binary(p: list[str]) -> Compute | None:
    """``add``, ``sub`` and ``mul``."""
    f = format_of(p[-1])
    words = p[1:-1]
    mode = _mode(words, f, ("ftz", "sat")) if f else None
    if f is None or mode is None:
        return None
    dtype = f.dtype

    def run(x: Array, y: Array) -> Array:
        a, b = np.broadcast_arrays(_wide(x, dtype), _wide(y, dtype))
        if p[0] == "mul":
            exact = a * b
        else:
            b = -b if p[0] == "sub" else b
            exact = a + b if dtype.name == "f64" else _sum(a, b)
        if mode == "rd" and p[0] != "mul":
            exact = _zero_down(exact, a, b)
        return _rounded(exact, dtype, mode)

    return f.compute(2, _finished(run, f, words))


@family("fma")
def fused(p: list[str]) -> Compute | None:
    """``fma``, and ``mad`` on floats."""
    f = format_of(p[-1])
    words = p[1:-1]
    mode = _mode(words, f, ("ftz", "sat", "relu")) if f else None
    if f is None or mode is None:
        return None
    dtype = f.dtype

    def run(x: Array, y: Array, z: Array) -> Array:
        a, b, c = np.broadcast_arrays(*(_wide(v, dtype) for v in (x, y, z)))
        if dtype.name == "f64":
            return np.ascontiguousarray(fma(a, b, c, np.dtype(np.float64))).view(np.uint64)
        product = a * b
        exact = _sum(product, c)
        return _rounded(_zero_down(exact, product, c) if mode == "rd" else exact, dtype, mode)

    return f.compute(3, _finished(run, f, words))


def _quotient(a: Array, b: Array) -> Array:
    """a / b rounded to odd."""
    q = a / b
    p, e = two_product(q, b)
    rest = (a - p) - e
    known = np.isfinite(q) & np.isfinite(b) & (q != 0)
    return round_to_odd(q, np.where(known, np.sign(np.nan_to_num(rest)) * np.sign(b), 0))


def _root(x: Array) -> Array:
    s = np.sqrt(x)
    p, e = two_product(s, s)
    known = np.isfinite(s) & (s > 0)
    return round_to_odd(s, np.where(known, np.sign(np.nan_to_num((x - p) - e)), 0))


def float_div(p: list[str]) -> Compute | None:
    """``div`` on floats."""
    f = format_of(p[-1])
    words = p[1:-1]
    mode = _mode([w for w in words if w not in ("approx", "full")], f, ("ftz",)) if f else None
    if f is None or mode is None or f.word not in ("f32", "f64") or f.lanes > 1:
        return None
    dtype = f.dtype

    def run(x: Array, y: Array) -> Array:
        a, b = np.broadcast_arrays(_wide(x, dtype), _wide(y, dtype))
        return _rounded(a / b if dtype.name == "f64" else _quotient(a, b), dtype, mode)

    return f.compute(2, _finished(run, f, words))


_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], str]] = {
    "rcp": (lambda x: _quotient(np.ones_like(x), x), "f32 f64"),
    "sqrt": (_root, "f32 f64"),
    "rsqrt": (lambda x: 1.0 / np.sqrt(x), "f32 f64"),
    "sin": (np.sin, "f32"),
    "cos": (np.cos, "f32"),
    "lg2": (np.log2, "f32"),
    "ex2": (np.exp2, "f32 f16 bf16"),
    "tanh": (np.tanh, "f32 f16 bf16"),
}


@family(*_FUNCTIONS)
def _function(p: list[str]) -> Compute | None:
    f = format_of(p[-1])
    fn, types = _FUNCTIONS[p[0]]
    words = p[1:-1]
    plain = [w for w in words if w != "approx"]
    mode = _mode(plain, f, ("ftz",)) if f else None
    if f is None or mode is None or f.word not in types.split() or (f.width == 32 and f.lanes > 1):
        return None
    exact_kinds = p[0] in ("rcp", "sqrt")
    if not exact_kinds and "approx" not in words:
        return None
    dtype = f.dtype

    def run(x: Array) -> Array:
        value = _wide(x, dtype)
        if dtype.name == "f64":
            plainly = {"rcp": lambda v: 1.0 / v, "sqrt": np.sqrt}.get(p[0], fn)
            return np.ascontiguousarray(plainly(value)).view(np.uint64)
        return _rounded(fn(value), dtype, mode)

    return f.compute(1, _finished(run, f, words))


def float_sign(p: list[str]) -> Compute | None:
    """``abs`` and ``neg``, which work on the sign bit."""
    f = format_of(p[-1])
    if f is None or any(w != "ftz" for w in p[1:-1]):
        return None
    sign = 1 << (f.width - 1)
    small = uint(f.width).type

    def run(x: Array) -> Array:
        return x & small(sign - 1) if p[0] == "abs" else x ^ small(sign)

    return f.compute(1, _finished(run, f, p[1:-1]))


@family("copysign")
def _copysign(p: list[str]) -> Compute | None:
    f = format_of(p[-1])
    if f is None or len(p) != 2 or f.word not in ("f32", "f64") or f.lanes > 1:
        return None
    sign = uint(f.width).type(1 << (f.width - 1))
    return f.compute(2, lambda a, b: (a & sign) | (b & ~sign))


def float_minmax(p: list[str]) -> Compute | None:
    """``min`` and ``max``: a number wins over NaN, unless the modifier says otherwise."""
    f = format_of(p[-1])
    words = p[1:-1]
    if f is None or any(w not in ("ftz", "NaN", "xorsign", "abs") for w in words):
        return None
    dtype, small = f.dtype, uint(f.width).type
    sign = small(1 << (f.width - 1))
    lesser = p[0] == "min"

    def run(x: Array, y: Array) -> Array:
        x, y = np.broadcast_arrays(x, y)
        xor = (x ^ y) & sign
        if "xorsign" in words:
            x, y = x & ~sign, y & ~sign
        a, b = _wide(x, dtype), _wide(y, dtype)
        tie = (a == b) & ((x & sign != 0) == lesser)
        first = tie | (a < b if lesser else a > b) | (b != b)
        out = np.where(first & ~(a != a) | (b != b), x, y)
        bad = (a != a) | (b != b) if "NaN" in words else (a != a) & (b != b)
        out = np.where(bad, small(sign - small(1)), out)
        return out | xor if "xorsign" in words else out

    return f.compute(2, _finished(run, f, [w for w in words if w == "ftz"]))


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _comparison(word: str) -> Callable[[Array, Array], Array] | None:
    def nan(a: Array, b: Array) -> Array:
        return (a != a) | (b != b)

    if word == "num":
        return lambda a, b: ~nan(a, b)
    if word == "nan":
        return nan
    if word == "ne":
        return lambda a, b: (a != b) & ~nan(a, b)
    if word == "neu":
        return lambda a, b: (a != b) | nan(a, b)
    if word in _COMPARE:
        return _COMPARE[word]
    ordered = _COMPARE.get(word.removesuffix("u"))
    return (lambda a, b: ordered(a, b) | nan(a, b)) if ordered and word.endswith("u") else None


def float_compare(p: list[str]) -> Compute | None:
    """``setp`` on floats."""
    f = format_of(p[-1])
    compare = _comparison(p[1])
    if f is None or compare is None or f.lanes > 1 or any(w != "ftz" for w in p[2:-1]):
        return None
    dtype: Any = f.dtype

    def run(x: Array, y: Array) -> Array:
        if "ftz" in p:
            x, y = _flush(x, dtype), _flush(y, dtype)
        return compare(_wide(x, dtype), _wide(y, dtype))

    return Compute((f.width, f.width), 1, run)


@family("testp")
def _testp(p: list[str]) -> Compute | None:
    f = format_of(p[-1])
    if f is None or len(p) != 3 or f.word not in ("f32", "f64") or f.lanes > 1:
        return None
    smallest = 2.0 ** (1 - f.dtype.bias)
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda v: v == v,
        "notanumber": lambda v: v != v,
        "normal": lambda v: np.isfinite(v) & (np.abs(v) >= smallest),
        "subnormal": lambda v: (v != 0) & (np.abs(v) < smallest),
    }
    test, dtype = tests.get(p[1]), f.dtype
    return Compute((f.width,), 1, lambda x: test(_wide(x, dtype))) if test else None
