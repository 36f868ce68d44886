# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX's ``cvt``: between all integer and float types, scalar and packed, bit for bit.

>>> from opencute.sim.asm.record import FAMILIES
>>> FAMILIES["cvt"](["cvt", "rn", "bf16x2", "f32"]).args
(32, 32)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from opencute.numeric.convert import convert_bits
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.sim.asm.floats import ROUNDINGS
from opencute.sim.asm.record import Compute, family, uint
from opencute.sim.values import Array

__all__: list[str] = []

_INTEGRAL: dict[str, Rounding] = {"rni": "rne", "rzi": "rtz", "rmi": "rd", "rpi": "ru"}
_NARROW = {"e4m3": "f8e4m3fn", "e5m2": "f8e5m2", "e2m1": "f4e2m1fn", "e2m3": "f6e2m3fn",
           "e3m2": "f6e3m2fn", "ue8m0": "f8e8m0fnu"}  # fmt: skip
_PLAIN = ("f16", "bf16", "f32", "f64", "tf32")


def _dtype(word: str) -> DType | None:
    integer = re.fullmatch(r"([us])(8|16|32|64)", word)
    if integer:
        return DTYPES[("i" if integer[1] == "s" else "u") + integer[2]]
    name = _NARROW.get(word, word if word in _PLAIN else "")
    return DTYPES.get(name)


def _flush(bits: Array, dtype: DType) -> Array:
    exponent = bits & bits.dtype.type(((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits)
    return np.where(exponent == 0, bits & bits.dtype.type(1 << (dtype.width - 1)), bits)


@family("cvt")
def _cvt(p: list[str]) -> Compute | None:
    if len(p) < 3:
        return None
    words, to, source = p[1:-2], p[-2], p[-1]
    if p[1:2] == ["pack"]:
        return _pack(p)
    if to.endswith("x2"):
        return _packed(words, to[:-2], source)
    if source.endswith("x2"):
        return None
    dst, src = _dtype(to), _dtype(source)
    if dst is None or src is None or dst.width < 8 or source == "tf32":
        return None
    fn = _scalar(words, dst, src)
    return Compute((src.width,), dst.width, fn, to[0] == "s") if fn is not None else None


def _scalar(words: list[str], dst: DType, src: DType) -> Callable[[Array], Array] | None:
    known = {*ROUNDINGS, *_INTEGRAL, "ftz", "sat", "relu", "satfinite"}
    modes = [w for w in words if w in ROUNDINGS or w in _INTEGRAL]
    if any(w not in known for w in words) or len(modes) > 1:
        return None
    every: dict[str, Rounding] = {**ROUNDINGS, **_INTEGRAL}
    mode = every[modes[0]] if modes else None
    integral = bool(modes) and modes[0] in _INTEGRAL
    if not src.is_float and not dst.is_float:
        return None if modes else _between_integers(dst, src, "sat" in words)
    if src.is_float and not dst.is_float:
        if not integral:
            return None
        return lambda x: convert_bits(
            _flush(x, src) if "ftz" in words else x, src, dst, mode
        )  # fmt: skip
    if integral and not (src.is_float and src is dst):
        return None
    narrows = not src.is_float or dst.width < src.width or dst.name == "tf32"
    if (narrows and mode is None) or (not narrows and mode is not None and src is not dst):
        return None
    return _to_float(words, dst, src, mode, integral)


def _between_integers(dst: DType, src: DType, saturate: bool) -> Callable[[Array], Array]:
    low, high = int(dst.min), int(dst.max)

    def run(x: Array) -> Array:
        value = x.view(f"i{x.dtype.itemsize}") if src.signed else x
        if saturate:
            first = max(low, int(src.min))
            last = min(high, int(src.max))
            value = np.clip(value, value.dtype.type(first), value.dtype.type(last))
        return value.astype(uint(dst.width))

    return run


def _to_float(
    words: list[str], dst: DType, src: DType, mode: Rounding | None, integral: bool
) -> Callable[[Array], Array]:
    satfinite = "satfinite" in words

    def run(x: Array) -> Array:
        if "ftz" in words and src.name == "f32":
            x = _flush(x, src)
        if integral:
            wide = convert_bits(x, src, DTYPES["f64"]).view(np.float64)
            whole = {"rne": np.rint, "rtz": np.trunc, "rd": np.floor, "ru": np.ceil}[mode or "rne"]
            bits = convert_bits(whole(wide).view(np.uint64), DTYPES["f64"], dst)
        elif src is dst:
            bits = x
        else:
            bits = convert_bits(x, src, dst, mode, satfinite)
        if "ftz" in words and dst.name == "f32":
            bits = _flush(bits, dst)
        return _adjusted(bits, dst, words)

    return run


def _adjusted(bits: Array, dst: DType, words: list[str]) -> Array:
    """What `.sat` and `.relu` make of a result."""
    if "sat" not in words and "relu" not in words:
        return bits
    value = convert_bits(bits, dst, DTYPES["f64"]).view(np.float64)
    zero = bits.dtype.type(0)
    if "relu" in words:
        return np.where((value > 0) | (value != value), bits, zero)
    one = bits.dtype.type(dst.bias << dst.mantissa_bits)
    return np.where(value >= 1, one, np.where(value > 0, bits, zero))


# ---------------------------------------------------------------------- packed
def _packed(words: list[str], to: str, source: str) -> Compute | None:
    """``cvt.rn.bf16x2.f32 d, a, b``: a above b; and between pairs of narrow floats."""
    dst = _dtype(to)
    if dst is None or not dst.is_float:
        return None
    if source == "f32":
        src = DTYPES["f32"]
        fn = _scalar(words, dst, src) if to not in _NARROW else _to_narrow(words, dst, src)
        if fn is None:
            return None
        size = 16 if dst.width == 16 else 8
        return Compute((32, 32), 2 * size if dst.name != "f4e2m1fn" else 8, _joined(fn, dst))
    if source.endswith("x2"):
        return _pair_to_pair(words, to, dst, source[:-2])
    return None


def _joined(fn: Callable[[Array], Array], dst: DType) -> Callable[[Array, Array], Array]:
    half = 4 if dst.name == "f4e2m1fn" else max(dst.width, 8)
    wide = uint(2 * half)

    def run(a: Array, b: Array) -> Array:
        return (fn(a).astype(wide) << wide.type(half)) | fn(b).astype(wide)

    return run


def _to_narrow(words: list[str], dst: DType, src: DType) -> Callable[[Array], Array] | None:
    allowed = {"rn", "rz", "rp", "satfinite", "relu"}
    modes = [w for w in words if w in ROUNDINGS]
    if any(w not in allowed for w in words) or len(modes) != 1:
        return None
    saturates = "satfinite" in words
    if not saturates and dst.name != "f8e8m0fnu":
        return None

    def run(x: Array) -> Array:
        bits = convert_bits(x, src, dst, ROUNDINGS[modes[0]], saturates)
        return _adjusted(bits, dst, ["relu"]) if "relu" in words else bits

    return run


def _pair_to_pair(words: list[str], to: str, dst: DType, source: str) -> Compute | None:
    src = _dtype(source)
    if src is None or not src.is_float:
        return None
    if source in _NARROW and to in ("f16", "bf16"):
        if words not in (["rn"], ["rn", "relu"]):
            return None
        modes: list[str] = words
    elif source in ("f16", "bf16") and to in ("e4m3", "e5m2"):
        if "satfinite" not in words or "rn" not in words:
            return None
        modes = words
    else:
        return None
    half = 4 if src.name == "f4e2m1fn" else max(src.width, 8)

    def run(x: Array) -> Array:
        low = (x & x.dtype.type((1 << half) - 1)).astype(src.bits_dtype)
        high = (x >> x.dtype.type(half)).astype(src.bits_dtype)
        parts = [
            _adjusted(convert_bits(v, src, dst, "rne", "satfinite" in modes), dst, modes)
            for v in (low, high)
        ]
        size = max(dst.width, 8)
        wide = uint(2 * size)
        return parts[0].astype(wide) | (parts[1].astype(wide) << wide.type(size))

    return Compute((2 * half,), 2 * max(dst.width, 8), run)


def _pack(p: list[str]) -> Compute | None:
    """``cvt.pack.sat.u8.s32.b32 d, a, b, c`` and the forms without c."""
    if p[2:3] != ["sat"] or len(p) not in (5, 6):
        return None
    dst, src = _dtype(p[3]), _dtype(p[4])
    if dst is None or src is None or src.name != "i32" or dst.is_float or dst.width > 16:
        return None
    fn = _between_integers(dst, src, True)
    bits = np.uint32(dst.width)

    def two(a: Array, b: Array) -> Array:
        return (fn(a).astype(np.uint32) << bits) | fn(b).astype(np.uint32)

    if len(p) == 5:
        return Compute((32, 32), 32, two) if dst.width == 16 else None
    if p[5] != "b32" or dst.width != 8:
        return None
    return Compute((32, 32, 32), 32, lambda a, b, c: two(a, b) | (c << np.uint32(16)))
