# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integer, bit and logic instructions of PTX, on arrays of unsigned integers."""

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

__all__: list[str] = []

_TYPE = re.compile(r"([usb])(8|16|32|64)(x2)?\Z")


def _type(word: str) -> tuple[str, int, bool] | None:
    """Kind, bits and whether packed, of an integer type."""
    found = _TYPE.match(word)
    return (found[1], int(found[2]), bool(found[3])) if found else None


def _of(kind: str, x: Array) -> Array:
    return signed(x) if kind == "s" else x


def _bits(x: Array, width: int) -> Array:
    return np.asarray(x).astype(uint(width), copy=False)


def _integer(
    p: list[str], args: int, kinds: str, widths: tuple[int, ...], fn: Callable[[str, int], Any],
    modifiers: tuple[str, ...] = (),
) -> Compute | None:  # fmt: skip
    """An instruction whose operands and result have the type at the end of its name."""
    type = _type(p[-1])
    if type is None or type[0] not in kinds or type[1] not in widths:
        return None
    if any(m not in modifiers for m in p[1:-1]):
        return None
    kind, width, packed = type
    made = fn(kind, width)
    one = Compute((width,) * args, width, lambda *a: _bits(made(*a), width), kind == "s")
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
    found = _integer(p, 2, "us", (16, 32, 64), lambda k, w: op)
    return found or float_binary(p)


def _high(kind: str, width: int) -> Callable[..., Array]:
    def run(a: Array, b: Array) -> Array:
        if width < 64:
            wide = np.int64 if kind == "s" else np.uint64
            product = _of(kind, a).astype(wide) * _of(kind, b).astype(wide)
            return _bits((product >> wide(width)).view(np.uint64), width)
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
    type = _type(p[-1])
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
    return Compute((width, width), result, lambda a, b: _bits(fn(a, b), result), kind == "s")


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
        lambda a, b, c: _bits(fn(a, b), result) + c, kind == "s",
    )  # fmt: skip


def _low24(kind: str, x: Array) -> Array:
    return signed(x << np.uint32(8)) >> np.int32(8) if kind == "s" else x & np.uint32(0xFFFFFF)


@family("mul24", "mad24")
def _mul24(p: list[str]) -> Compute | None:
    type = _type(p[-1])
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
        return _bits(out.view(uint(width)), width)

    return run


@family("rem")
def _rem(p: list[str]) -> Compute | None:
    return _integer(p, 2, "us", (16, 32, 64), lambda k, w: _division(k, w, True))


@family("div")
def _div(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_div

    found = _integer(p, 2, "us", (16, 32, 64), lambda k, w: _division(k, w, False))
    return found or float_div(p)


@family("sad")
def _sad(p: list[str]) -> Compute | None:
    def fn(kind: str, width: int) -> Callable[..., Array]:
        return lambda a, b, c: c + np.where(
            _of(kind, a) < _of(kind, b), b - a, a - b
        )  # fmt: skip

    return _integer(p, 3, "us", (16, 32, 64), fn)


@family("abs")
def _abs(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_sign

    found = _integer(
        p, 1, "s", (16, 32, 64), lambda k, w: lambda a: np.abs(signed(a)).view(uint(w))
    )
    return found or float_sign(p)


@family("neg")
def _neg(p: list[str]) -> Compute | None:
    from opencute.sim.asm.floats import float_sign

    return _integer(p, 1, "s", (16, 32, 64), lambda k, w: lambda a: ~a + a.dtype.type(1)) or (
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
    return _integer(p, 2, "us", (16, 32, 64), fn, ("relu",)) or float_minmax(p)


# ---------------------------------------------------------------------- logic
def _logic(p: list[str], args: int, fn: Callable[..., Array]) -> Compute | None:
    if len(p) != 2:
        return None
    if p[1] == "pred":
        return Compute((1,) * args, 1, fn)
    return _integer(p, args, "b", (16, 32, 64), lambda k, w: fn)


@family("and")
def _and(p: list[str]) -> Compute | None:
    return _logic(p, 2, operator.and_)


@family("or")
def _or(p: list[str]) -> Compute | None:
    return _logic(p, 2, operator.or_)


@family("xor")
def _xor(p: list[str]) -> Compute | None:
    return _logic(p, 2, operator.xor)


@family("not")
def _not(p: list[str]) -> Compute | None:
    return _logic(p, 1, np.invert)


@family("cnot")
def _cnot(p: list[str]) -> Compute | None:
    return _integer(p, 1, "b", (16, 32, 64), lambda k, w: lambda a: a == 0)


def _lop3_table(a: Array, b: Array, c: Array, table: Array) -> Array:
    out = np.zeros((), np.uint32)
    for i in range(8):
        term = (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        out = out | np.where((table >> np.uint32(i)) & np.uint32(1) != 0, term, np.uint32(0))
    return out


@family("lop3")
def _lop3(p: list[str]) -> Compute | None:
    return Compute((32, 32, 32, 32), 32, _lop3_table) if p == ["lop3", "b32"] else None


# ---------------------------------------------------------------------- shifts and fields
def _shifted(left: bool, arithmetic: bool, width: int) -> Callable[[Array, Array], Array]:
    def run(a: Array, n: Array) -> Array:
        over = n >= width
        small = np.where(over, 0, n).astype(a.dtype)
        x = signed(a) if arithmetic else a
        out = x << small.astype(x.dtype) if left else x >> small.astype(x.dtype)
        if arithmetic:
            return np.where(over, np.where(x < 0, -1, 0).astype(x.dtype), out).view(a.dtype)
        return np.where(over, a.dtype.type(0), out)

    return run


@family("shl", "shr")
def _shift(p: list[str]) -> Compute | None:
    type = _type(p[-1])
    left = p[0] == "shl"
    if len(p) != 2 or type is None or type[2] or type[1] == 8 or (left and type[0] != "b"):
        return None
    kind, width, _ = type
    fn = _shifted(left, kind == "s", width)
    return Compute((width, 32), width, lambda a, n: _bits(fn(a, n), width), kind == "s")


@family("shf")
def _funnel(p: list[str]) -> Compute | None:
    if len(p) != 4 or p[1] not in ("l", "r") or p[2] not in ("wrap", "clamp") or p[3] != "b32":
        return None

    def run(a: Array, b: Array, n: Array) -> Array:
        n = n & np.uint32(31) if p[2] == "wrap" else np.minimum(n, np.uint32(32))
        whole = (b.astype(np.uint64) << np.uint64(32)) | a
        amount = n.astype(np.uint64)
        if p[1] == "l":
            return ((whole << amount) >> np.uint64(32)).astype(np.uint32)
        return (whole >> amount).astype(np.uint32)

    return Compute((32, 32, 32), 32, run)


def _low_bits(n: Array) -> Array:
    """Masks of n ones, n up to 64."""
    return np.where(n >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(n, 63)) - np.uint64(1))


@family("bfe")
def _bfe(p: list[str]) -> Compute | None:
    type = _type(p[-1])
    if len(p) != 2 or type is None or type[0] == "b" or type[1] < 32 or type[2]:
        return None
    kind, width, _ = type

    def run(a: Array, pos: Array, length: Array) -> Array:
        first = (pos & np.uint32(255)).astype(np.uint64)
        n = (length & np.uint32(255)).astype(np.uint64)
        x = a.astype(np.uint64)
        field = np.where(first < width, x >> np.minimum(first, 63), np.uint64(0)) & _low_bits(n)
        if kind == "s":
            top = np.minimum(first + n - np.uint64(1), np.uint64(width - 1))
            sign = (x >> top) & np.uint64(1)
            missing = np.minimum(n, np.where(first < width, width - first, 0).astype(np.uint64))
            field = np.where((n > 0) & (sign != 0), field | ~_low_bits(missing), field)
        return field.astype(uint(width))

    return Compute((width, 32, 32), width, run, kind == "s")


@family("bfi")
def _bfi(p: list[str]) -> Compute | None:
    width = {"b32": 32, "b64": 64}.get(p[-1], 0)
    if len(p) != 2 or not width:
        return None

    def run(a: Array, b: Array, pos: Array, length: Array) -> Array:
        first = (pos & np.uint32(255)).astype(np.uint64)
        n = (length & np.uint32(255)).astype(np.uint64)
        near = np.minimum(first, 63)
        mask = np.where(first < width, _low_bits(n) << near, np.uint64(0))
        placed = np.where(first < width, a.astype(np.uint64) << near, np.uint64(0))
        return ((b.astype(np.uint64) & ~mask) | (placed & mask)).astype(uint(width))

    return Compute((width, width, 32, 32), width, run)


@family("bmsk")
def _bmsk(p: list[str]) -> Compute | None:
    if len(p) != 3 or p[1] not in ("clamp", "wrap") or p[2] != "b32":
        return None

    def run(pos: Array, length: Array) -> Array:
        first, n = pos.astype(np.uint64), length.astype(np.uint64)
        if p[1] == "wrap":
            first, n = first & np.uint64(31), n & np.uint64(31)
        first, n = np.minimum(first, 32), np.minimum(n, 32)
        return (_low_bits(n) << first).astype(np.uint32)

    return Compute((32, 32), 32, run)


@family("szext")
def _szext(p: list[str]) -> Compute | None:
    if len(p) != 3 or p[1] not in ("clamp", "wrap") or p[2] not in ("u32", "s32"):
        return None

    def run(a: Array, n: Array) -> Array:
        n = (n & np.uint32(31) if p[1] == "wrap" else np.minimum(n, 32)).astype(np.uint64)
        low = a & _low_bits(n).astype(np.uint32)
        if p[2] == "u32":
            return low
        sign = (n > 0) & ((a >> np.maximum(n, 1).astype(np.uint32) - np.uint32(1)) & 1 != 0)
        return np.where(sign, low | ~_low_bits(n).astype(np.uint32), low).astype(np.uint32)

    return Compute((32, 32), 32, run, p[2] == "s32")


def _prmt_bytes(a: Array, b: Array, select: Array) -> Array:
    whole = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    out = np.zeros((), np.uint32)
    for i in range(4):
        nibble = (select >> np.uint32(4 * i)) & np.uint32(15)
        byte = (whole >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))).astype(
            np.uint8
        )
        sign = np.where(byte & np.uint8(0x80), np.uint8(0xFF), np.uint8(0))
        picked = np.where(nibble & np.uint32(8) != 0, sign, byte)
        out = out | (picked.astype(np.uint32) << np.uint32(8 * i))
    return out


_PRMT = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@family("prmt")
def _prmt(p: list[str]) -> Compute | None:
    if p == ["prmt", "b32"]:
        return Compute((32, 32, 32), 32, _prmt_bytes)
    if len(p) != 3 or p[1] != "b32" or p[2] not in _PRMT:
        return None
    selectors = np.array(
        [sum(byte << (4 * i) for i, byte in enumerate(row)) for row in _PRMT[p[2]]], np.uint32
    )
    return Compute(
        (32, 32, 32), 32, lambda a, b, c: _prmt_bytes(a, b, selectors[(c & np.uint32(3))])
    )


# ---------------------------------------------------------------------- counting
def _popcount(x: Array) -> Array:
    out = np.zeros(x.shape, np.uint32)
    for i in range(x.dtype.itemsize * 8):
        out += ((x >> x.dtype.type(i)) & x.dtype.type(1)).astype(np.uint32)
    return out


def _smear(x: Array) -> Array:
    for step in (1, 2, 4, 8, 16, 32):
        if step < x.dtype.itemsize * 8:
            x = x | (x >> x.dtype.type(step))
    return x


@family("popc", "clz")
def _count(p: list[str]) -> Compute | None:
    width = {"b32": 32, "b64": 64}.get(p[-1], 0)
    if len(p) != 2 or not width:
        return None
    if p[0] == "popc":
        return Compute((width,), 32, _popcount)
    return Compute((width,), 32, lambda a: np.uint32(width) - _popcount(_smear(a)))


@family("bfind")
def _bfind(p: list[str]) -> Compute | None:
    type = _type(p[-1])
    amount = p[1:-1] == ["shiftamt"]
    if type is None or type[0] == "b" or type[1] < 32 or type[2] or (p[1:-1] and not amount):
        return None
    kind, width, _ = type

    def run(a: Array) -> Array:
        x = np.where(signed(a) < 0, ~a, a) if kind == "s" else a
        n = _popcount(_smear(x))
        place = np.uint32(width) - n if amount else n - np.uint32(1)
        return np.where(n == 0, np.uint32(0xFFFFFFFF), place)

    return Compute((width,), 32, run)


@family("brev")
def _brev(p: list[str]) -> Compute | None:
    def fn(kind: str, width: int) -> Callable[..., Array]:
        def run(a: Array) -> Array:
            out = np.zeros(a.shape, a.dtype)
            for i in range(width):
                bit = (a >> a.dtype.type(i)) & a.dtype.type(1)
                out |= bit << a.dtype.type(width - 1 - i)
            return out

        return run

    return _integer(p, 1, "b", (32, 64), fn)


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

    type = _type(p[-1])
    if type is None:
        return float_compare(p)
    known = _COMPARE.get(p[1])
    kind, width, packed = type
    if len(p) != 3 or known is None or kind not in known[1] or packed or width < 16:
        return None
    compare = known[0]
    return Compute((width, width), 1, lambda a, b: compare(_of(kind, a), _of(kind, b)))
