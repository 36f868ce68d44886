# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integer instructions of PTX, on arrays of unsigned integers."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.sim.asm.record import Compute, family, lanewise, signed, uint
from opencute.sim.values import Array

__all__ = ["as_bits", "integer", "integer_type"]

_TYPE = re.compile(r"([usb])(8|16|32|64)(x2)?\Z")


def integer_type(word: str) -> tuple[str, int, bool] | None:
    """Kind, bits and whether packed, of an integer type."""
    found = _TYPE.match(word)
    return (found[1], int(found[2]), bool(found[3])) if found else None


def _of(kind: str, x: Array) -> Array:
    return signed(x) if kind == "s" else x


def as_bits(x: Array, width: int) -> Array:
    """The low bits of integers."""
    return np.asarray(x).astype(uint(width), copy=False)


def integer(
    p: list[str], args: int, kinds: str, widths: tuple[int, ...], fn: Callable[[str, int], Any],
    modifiers: tuple[str, ...] = (),
) -> Compute | None:  # fmt: skip
    """An instruction whose operands and result have the type at the end of its name."""
    type = integer_type(p[-1])
    if type is None or type[0] not in kinds or type[1] not in widths:
        return None
    if any(m not in modifiers for m in p[1:-1]):
        return None
    kind, width, packed = type
    made = fn(kind, width)
    one = Compute((width,) * args, width, lambda *a: as_bits(made(*a), width), kind == "s")
    if packed:
        return lanewise(one, 2) if width == 16 else None
    return one


def _saturated(op: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        wide = op(signed(a).astype(np.int64), signed(b).astype(np.int64))
        return np.clip(wide, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32)

    return run


@family("sub")
def _sub(p: list[str]) -> Compute | None:
    return _add_sub(p, operator.sub)


@family("add")
def _add(p: list[str]) -> Compute | None:
    return _add_sub(p, operator.add)


def _add_sub(p: list[str], op: Callable[[Any, Any], Any]) -> Compute | None:
    from opencute.sim.asm.floats import float_binary

    if "sat" in p and p[-1] == "s32":
        return Compute((32, 32), 32, _saturated(op), True) if p[1:] == ["sat", "s32"] else None
    found = integer(p, 2, "us", (16, 32, 64), lambda k, w: op)
    return found or float_binary(p)


def _high(kind: str, width: int) -> Callable[..., Array]:
    def run(a: Array, b: Array) -> Array:
        if width < 64:
            wide = np.int64 if kind == "s" else np.uint64
            product = _of(kind, a).astype(wide) * _of(kind, b).astype(wide)
            return as_bits((product >> wide(width)).view(np.uint64), width)
        objects = _of(kind, a).astype(object) * _of(kind, b).astype(object)
        low = (1 << 64) - 1
        return np.asarray(np.vectorize(lambda v: (v >> 64) & low, otypes=[np.uint64])(objects))

    return run


def _wide(kind: str, width: int) -> Callable[..., Array]:
    target = np.dtype(f"{'i' if kind == 's' else 'u'}{width // 4}")

    def run(a: Array, b: Array) -> Array:
        return (_of(kind, a).astype(target) * _of(kind, b).astype(target)).view(uint(2 * width))

    return run


def _product(p: list[str]) -> tuple[Callable[..., Array], str, int, int] | None:
    """The product of `mul` and `mad`: function, kind, bits of operands, bits of the result."""
    type = integer_type(p[-1])
    if type is None or type[2] or type[0] == "b" or len(p) != 3:
        return None
    kind, width, _ = type
    if p[1] == "lo" and width >= 16:
        return lambda a, b: a * b, kind, width, width
    if p[1] == "hi" and width >= 16:
        return _high(kind, width), kind, width, width
    if p[1] == "wide" and width in (16, 32):
        return _wide(kind, width), kind, width, 2 * width
    return None


@family("mul")
def _mul(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_binary

    found = _product(p)
    if found is None:
        return float_binary(p)
    fn, kind, width, result = found
    return Compute((width, width), result, lambda a, b: as_bits(fn(a, b), result), kind == "s")


@family("mad")
def _mad(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import fused

    if p[-1] in ("f32", "f64"):
        return fused(p)
    if p[1:] == ["hi", "sat", "s32"]:
        high = _high("s", 32)
        add = _saturated(operator.add)
        return Compute((32, 32, 32), 32, lambda a, b, c: add(high(a, b), c), True)
    found = _product(p)
    if found is None:
        return None
    fn, kind, width, result = found
    return Compute(
        (width, width, result), result,
        lambda a, b, c: as_bits(fn(a, b), result) + c, kind == "s",
    )  # fmt: skip


def _low24(kind: str, x: Array) -> Array:
    return signed(x << np.uint32(8)) >> np.int32(8) if kind == "s" else x & np.uint32(0xFFFFFF)


@family("mul24", "mad24")
def _mul24(p: list[str]) -> Compute | None:
    type = integer_type(p[-1])
    if len(p) != 3 or p[1] not in ("lo", "hi") or type not in (("u", 32, False), ("s", 32, False)):
        return None
    kind, shift = type[0], 16 if p[1] == "hi" else 0

    def product(a: Array, b: Array) -> Array:
        whole = _low24(kind, a).astype(np.int64) * _low24(kind, b).astype(np.int64)
        return (whole >> np.int64(shift)).astype(np.uint64).astype(np.uint32)

    if p[0] == "mul24":
        return Compute((32, 32), 32, product, kind == "s")
    return Compute((32, 32, 32), 32, lambda a, b, c: product(a, b) + c, kind == "s")


def _division(kind: str, width: int, remainder: bool) -> Callable[..., Array]:
    def run(a: Array, b: Array) -> Array:
        x, y = _of(kind, a), _of(kind, b)
        zero = y == 0
        y = np.where(zero, y.dtype.type(1), y)
        # numpy floors; PTX truncates. The smallest number by -1 wraps in both.
        q = np.floor_divide(x, y)
        r = x - q * y
        if kind == "s":
            fix = (r != 0) & ((x < 0) != (y < 0))
            q, r = q + fix.astype(q.dtype), np.where(fix, r - y, r)
        out = (
            np.where(zero, x, r)
            if remainder
            else np.where(zero, q.dtype.type(-1) if kind == "s" else ~q.dtype.type(0), q)
        )
        return as_bits(out.view(uint(width)), width)

    return run


@family("rem")
def _rem(p: list[str]) -> Compute | None:
    return integer(p, 2, "us", (16, 32, 64), lambda k, w: _division(k, w, True))


@family("div")
def _div(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_div

    found = integer(p, 2, "us", (16, 32, 64), lambda k, w: _division(k, w, False))
    return found or float_div(p)


@family("sad")
def _sad(p: list[str]) -> Compute | None:
    def fn(kind: str, width: int) -> Callable[..., Array]:
        return lambda a, b, c: c + np.where(
            _of(kind, a) < _of(kind, b), b - a, a - b
        )  # fmt: skip

    return integer(p, 3, "us", (16, 32, 64), fn)


@family("abs")
def _abs(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_sign

    found = integer(p, 1, "s", (16, 32, 64), lambda k, w: lambda a: np.abs(signed(a)).view(uint(w)))
    return found or float_sign(p)


@family("neg")
def _neg(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_sign

    return integer(p, 1, "s", (16, 32, 64), lambda k, w: lambda a: ~a + a.dtype.type(1)) or (
        float_sign(p)
    )


@family("min", "max")
def _minmax(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_minmax

    best = np.minimum if p[0] == "min" else np.maximum
    relu = "relu" in p

    def fn(kind: str, width: int) -> Callable[..., Array]:
        def run(a: Array, b: Array) -> Array:
            out = best(_of(kind, a), _of(kind, b))
            return (np.maximum(out, out.dtype.type(0)) if relu else out).view(uint(width))

        return run

    if relu and not re.match(r"s(16x2|32)\Z", p[-1]):
        return float_minmax(p)
    return integer(p, 2, "us", (16, 32, 64), fn, ("relu",)) or float_minmax(p)


@family("dp4a", "dp2a")
def _dot(p: list[str]) -> Compute | None:
    """Products of the bytes of two registers, summed into a third."""
    half = p[1:2] if p[0] == "dp2a" else []
    kinds = p[1 + len(half) :]
    if half not in ([], ["lo"], ["hi"]) or (p[0] == "dp2a") != bool(half):
        return None
    if len(kinds) != 2 or any(k not in ("u32", "s32") for k in kinds):
        return None

    def lane(x: Array, bits: int, i: int, kind: str) -> Array:
        part = (x >> np.uint32(bits * i)).astype(uint(bits))
        return (signed(part) if kind == "s32" else part).astype(np.int64)

    def run(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        first = 2 if half == ["hi"] else 0
        for i in range(4 if not half else 2):
            left = lane(a, 16 if half else 8, i, kinds[0])
            total = total + left * lane(b, 8, first + i, kinds[1])
        return total.astype(np.uint64).astype(np.uint32)

    return Compute((32, 32, 32), 32, run, True)


# ---------------------------------------------------------------------- choosing
@family("selp")
def _selp(p: list[str]) -> Compute | None:
    if len(p) != 2 or (width := _any_width(p[1])) is None:
        return None
    return Compute((width, width, 1), width, lambda a, b, c: np.where(c, a, b), p[1][0] == "s")


@family("slct")
def _slct(p: list[str]) -> Compute | None:
    words = [w for w in p[1:] if w != "ftz"]
    if len(words) != 2 or words[1] not in ("s32", "f32") or (width := _any_width(words[0])) is None:
        return None

    def run(a: Array, b: Array, c: Array) -> Array:
        keep = signed(c) >= 0 if words[1] == "s32" else c.view(np.float32) >= 0
        return np.where(keep, a, b)

    return Compute((width, width, 32), width, run)


def _any_width(word: str) -> int | None:
    found = re.fullmatch(r"[usbf](16|32|64)", word)
    return int(found[1]) if found else None


_COMPARE: dict[str, tuple[Any, str]] = {
    "eq": (operator.eq, "sub"), "ne": (operator.ne, "sub"), "lt": (operator.lt, "su"),
    "le": (operator.le, "su"), "gt": (operator.gt, "su"), "ge": (operator.ge, "su"),
    "lo": (operator.lt, "u"), "ls": (operator.le, "u"), "hi": (operator.gt, "u"),
    "hs": (operator.ge, "u"),
}  # fmt: skip


@family("setp")
def _setp(p: list[str]) -> Compute | None:
    """A comparison as a predicate; combining it with another is the expansion's work."""
    from opencute.sim.asm.floats import float_compare

    type = integer_type(p[-1])
    if type is None:
        return float_compare(p)
    known = _COMPARE.get(p[1])
    kind, width, packed = type
    if len(p) != 3 or known is None or kind not in known[1] or packed or width < 16:
        return None
    compare = known[0]
    return Compute((width, width), 1, lambda a, b: compare(_of(kind, a), _of(kind, b)))
