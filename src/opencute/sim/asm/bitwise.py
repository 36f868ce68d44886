# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions of PTX on bits: logic, shifts and fields, counting; on unsigned arrays."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from opencute.sim.asm.integers import as_bits, integer, integer_type
from opencute.sim.asm.record import Compute, family, signed, uint
from opencute.sim.values import Array

__all__: list[str] = []


# ---------------------------------------------------------------------- logic
def _logic(p: list[str], args: int, fn: Callable[..., Array]) -> Compute | None:
    if len(p) != 2:
        return None
    if p[1] == "pred":
        return Compute((1,) * args, 1, fn)
    return integer(p, args, "b", (16, 32, 64), lambda k, w: fn)


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
    return integer(p, 1, "b", (16, 32, 64), lambda k, w: lambda a: a == 0)


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
    type = integer_type(p[-1])
    left = p[0] == "shl"
    if len(p) != 2 or type is None or type[2] or type[1] == 8 or (left and type[0] != "b"):
        return None
    kind, width, _ = type
    fn = _shifted(left, kind == "s", width)
    return Compute((width, 32), width, lambda a, n: as_bits(fn(a, n), width), kind == "s")


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
    type = integer_type(p[-1])
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
    type = integer_type(p[-1])
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

    return integer(p, 1, "b", (32, 64), fn)
