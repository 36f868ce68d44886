# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integer instructions of inline PTX against Python's integers, over edge values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.sim.asm.compute import find

pytestmark = pytest.mark.t0

EDGES = {
    1: [0, 1],
    16: [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234],
    32: [0, 1, 2, 5, 31, 32, 33, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000,
         0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678, 0xDEADBEEF],
    64: [0, 1, 2, 63, 64, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
         0x123456789ABCDEF0],
}  # fmt: skip
SMALL = [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 255, 256]


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >> (width - 1) else x


def of(kind: str, x: int, width: int) -> int:
    return signed(x, width) if kind == "s" else x


def truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def run(name: str, columns: list[list[int]]) -> list[int]:
    known = find(name)
    assert known is not None, name
    arrays = [
        np.array([c], np.bool_ if w == 1 else f"u{w // 8}")
        for c, w in zip(columns, known.args, strict=True)
    ]
    with np.errstate(all="ignore"):
        out = np.broadcast_to(known.fn(*arrays), (1, len(columns[0])))
    assert out.dtype == (np.bool_ if known.result == 1 else np.dtype(f"u{known.result // 8}")), name
    return [int(v) for v in out[0]]


def check(name: str, values: list[list[int]], oracle: Callable[..., int]) -> None:
    known = find(name)
    assert known is not None, name
    rows = list(itertools.product(*values))
    if len(rows) > 20_000:
        rows = rows[:: len(rows) // 20_000]
    got = run(name, [list(c) for c in zip(*rows, strict=True)])
    mask = (1 << known.result) - 1
    for row, value in zip(rows, got, strict=True):
        assert value == oracle(*row) & mask, (name, [hex(v) for v in row], hex(value))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("kind", ["u", "s"])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_arithmetic(op: str, kind: str, width: int) -> None:
    e = EDGES[width]
    check(f"{op}.{kind}{width}", [e, e],
          lambda a, b: BINARY[op](of(kind, a, width), of(kind, b, width)))  # fmt: skip


@pytest.mark.parametrize("op", ["min", "max"])
def test_minimum_with_relu(op: str) -> None:
    e = EDGES[32]
    best = BINARY[op]
    check(f"{op}.relu.s32", [e, e], lambda a, b: max(best(signed(a, 32), signed(b, 32)), 0))


@pytest.mark.parametrize("op", ["add", "min", "max"])
@pytest.mark.parametrize("kind", ["u", "s"])
def test_pairs_of_sixteen_bits(op: str, kind: str) -> None:
    def oracle(a: int, b: int) -> int:
        parts = [
            BINARY[op](of(kind, (a >> n) & 0xFFFF, 16), of(kind, (b >> n) & 0xFFFF, 16)) & 0xFFFF
            for n in (0, 16)
        ]
        return parts[0] | parts[1] << 16

    check(f"{op}.{kind}16x2", [EDGES[32], EDGES[32]], oracle)


@pytest.mark.parametrize("kind", ["u", "s"])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_products(kind: str, width: int) -> None:
    e = EDGES[width]

    def product(a: int, b: int) -> int:
        return of(kind, a, width) * of(kind, b, width)

    check(f"mul.lo.{kind}{width}", [e, e], product)
    check(f"mul.hi.{kind}{width}", [e, e], lambda a, b: product(a, b) >> width)
    check(f"mad.lo.{kind}{width}", [e, e, e], lambda a, b, c: product(a, b) + c)
    check(f"mad.hi.{kind}{width}", [e, e, e], lambda a, b, c: (product(a, b) >> width) + c)
    if width < 64:
        check(f"mul.wide.{kind}{width}", [e, e], product)
        check(f"mad.wide.{kind}{width}", [e, e, EDGES[2 * width]],
              lambda a, b, c: product(a, b) + c)  # fmt: skip


def test_saturating_sums() -> None:
    e = EDGES[32]

    def clamp(x: int) -> int:
        return max(min(x, (1 << 31) - 1), -(1 << 31))

    check("add.sat.s32", [e, e], lambda a, b: clamp(signed(a, 32) + signed(b, 32)))
    check("sub.sat.s32", [e, e], lambda a, b: clamp(signed(a, 32) - signed(b, 32)))


@pytest.mark.parametrize("kind", ["u", "s"])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_quotients(kind: str, width: int) -> None:
    e = EDGES[width]
    divisors = [b for b in e if b]

    def quotient(a: int, b: int) -> int:
        return truncated(of(kind, a, width), of(kind, b, width))

    check(f"div.{kind}{width}", [e, divisors], quotient)
    check(f"rem.{kind}{width}", [e, divisors],
          lambda a, b: of(kind, a, width) - quotient(a, b) * of(kind, b, width))  # fmt: skip


@pytest.mark.parametrize("width", [16, 32, 64])
def test_logic_and_signs(width: int) -> None:
    e = EDGES[width]
    check(f"and.b{width}", [e, e], lambda a, b: a & b)
    check(f"or.b{width}", [e, e], lambda a, b: a | b)
    check(f"xor.b{width}", [e, e], lambda a, b: a ^ b)
    check(f"not.b{width}", [e], lambda a: ~a)
    check(f"cnot.b{width}", [e], lambda a: int(a == 0))
    check(f"neg.s{width}", [e], lambda a: -a)
    check(f"abs.s{width}", [e], lambda a: abs(signed(a, width)))
    check(f"sad.u{width}", [e, e, e[:4]], lambda a, b, c: c + abs(a - b))
    check(f"sad.s{width}", [e, e, e[:4]],
          lambda a, b, c: c + abs(signed(a, width) - signed(b, width)))  # fmt: skip


def test_predicates() -> None:
    check("and.pred", [[0, 1], [0, 1]], lambda a, b: a & b)
    check("not.pred", [[0, 1]], lambda a: 1 - a)
    check("xor.pred", [[0, 1], [0, 1]], lambda a, b: a ^ b)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts(width: int) -> None:
    e = EDGES[width]
    check(f"shl.b{width}", [e, SMALL], lambda a, n: a << n if n < width else 0)
    check(f"shr.u{width}", [e, SMALL], lambda a, n: a >> n)
    check(f"shr.s{width}", [e, SMALL], lambda a, n: signed(a, width) >> n)


@pytest.mark.parametrize("side", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(side: str, mode: str) -> None:
    def oracle(a: int, b: int, n: int) -> int:
        n = n & 31 if mode == "wrap" else min(n, 32)
        whole = b << 32 | a
        return (whole << n) >> 32 if side == "l" else whole >> n

    check(f"shf.{side}.{mode}.b32", [EDGES[32], EDGES[32], SMALL], oracle)


@pytest.mark.parametrize("width", [32, 64])
def test_bit_fields(width: int) -> None:
    e = EDGES[width]

    def unsigned(a: int, pos: int, n: int) -> int:
        return (a >> (pos & 255)) & ((1 << (n & 255)) - 1)

    def extended(a: int, pos: int, n: int) -> int:
        # PTX ISA, bfe: bits from pos up, sign bit min(pos + len - 1, msb).
        pos, n = pos & 255, n & 255
        if n == 0:
            return 0
        sign = a >> min(pos + n - 1, width - 1) & 1
        return sum(
            (((a >> (i + pos)) & 1) if i < n and pos + i < width else sign) << i
            for i in range(width)
        )

    check(f"bfe.u{width}", [e, SMALL, SMALL], unsigned)
    check(f"bfe.s{width}", [e, SMALL, SMALL], extended)

    def inserted(a: int, b: int, pos: int, n: int) -> int:
        pos, n = pos & 255, n & 255
        for i in range(n):
            if pos + i < width:
                b = (b & ~(1 << (pos + i))) | (((a >> i) & 1) << (pos + i))
        return b

    check(f"bfi.b{width}", [e[:9], e[-4:], SMALL, SMALL], inserted)
    check(f"brev.b{width}", [e], lambda a: int(f"{a:0{width}b}"[::-1], 2))
    check(f"popc.b{width}", [e], lambda a: a.bit_count())
    check(f"clz.b{width}", [e], lambda a: width - a.bit_length())
    check(f"bfind.u{width}", [e], lambda a: a.bit_length() - 1)
    check(f"bfind.shiftamt.u{width}", [e], lambda a: width - a.bit_length() if a else -1)
    check(f"bfind.s{width}", [e],
          lambda a: (~signed(a, width) if a >> (width - 1) else a).bit_length() - 1)  # fmt: skip


def test_masks_and_extension() -> None:
    def mask(pos: int, n: int) -> int:
        return ((1 << min(n, 32)) - 1) << min(pos, 32)

    check("bmsk.clamp.b32", [SMALL, SMALL], mask)
    check("bmsk.wrap.b32", [SMALL, SMALL], lambda p, n: mask(p & 31, n & 31))

    def szext(a: int, n: int) -> int:
        n = min(n, 32)
        low = a & ((1 << n) - 1)
        return low - (1 << n) if n and low >> (n - 1) else low

    check("szext.clamp.s32", [EDGES[32], SMALL], szext)
    check("szext.clamp.u32", [EDGES[32], SMALL], lambda a, n: a & ((1 << min(n, 32)) - 1))


def test_three_input_logic() -> None:
    def oracle(a: int, b: int, c: int, table: int) -> int:
        return sum(
            (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
            for i in range(32)
        )

    tables = [0, 0xFF, 0x96, 0xE8, 0xCA, 0x80, 0xFE, 0x1A]
    check("lop3.b32", [EDGES[32][-6:], EDGES[32][-6:], EDGES[32][-6:], tables], oracle)


def test_byte_permutation() -> None:
    def oracle(a: int, b: int, selector: int) -> int:
        data = list((b << 32 | a).to_bytes(8, "little"))
        out = 0
        for i in range(4):
            s = selector >> (4 * i) & 15
            byte = data[s & 7]
            out |= (0xFF if byte & 0x80 else 0) << 8 * i if s & 8 else byte << 8 * i
        return out

    selectors = [0x3210, 0x7654, 0x5410, 0x7632, 0x0123, 0xBA98, 0x8888, 0xFFFF, 0x6420, 0x37C1]
    check("prmt.b32", [EDGES[32], EDGES[32], selectors], oracle)

    def modes(a: int, b: int, c: int, pick: Callable[[int], list[int]]) -> int:
        return oracle(a, b, sum(s << 4 * i for i, s in enumerate(pick(c & 3))))

    e = EDGES[32]
    check("prmt.b32.f4e", [e, e, [0, 1, 2, 3, 7]],
          lambda a, b, c: modes(a, b, c, lambda k: [k, k + 1, k + 2, k + 3]))  # fmt: skip
    check("prmt.b32.b4e", [e, e, [0, 1, 2, 3]],
          lambda a, b, c: modes(a, b, c, lambda k: [(k - i) % 8 for i in range(4)]))  # fmt: skip
    check("prmt.b32.rc8", [e, e, [0, 1, 2, 3]],
          lambda a, b, c: modes(a, b, c, lambda k: [k] * 4))  # fmt: skip


def test_dot_products() -> None:
    def oracle(a: int, b: int, c: int) -> int:
        return c + sum(signed(a >> 8 * i & 255, 8) * signed(b >> 8 * i & 255, 8) for i in range(4))

    check("dp4a.s32.s32", [EDGES[32], EDGES[32], [0, 5, 0x7FFFFFFF]], oracle)


def test_choices() -> None:
    e = EDGES[32]
    check("selp.b32", [e, e, [0, 1]], lambda a, b, c: a if c else b)
    check("slct.u32.s32", [e, e, e], lambda a, b, c: a if signed(c, 32) >= 0 else b)


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("kind", ["u", "s"])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_comparisons(op: str, kind: str, width: int) -> None:
    e = EDGES[width]
    check(f"setp.{op}.{kind}{width}", [e, e],
          lambda a, b: COMPARE[op](of(kind, a, width), of(kind, b, width)))  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["add.b32", "add.u8", "mul.u32", "and.u32", "shl.u32", "setp.lo.s32", "prmt.b64", "popc.u32",
     "add.wrong.u32", "lop3.b64", "frobnicate.b32", "bfe.b32", "min.b32", "shf.x.wrap.b32"],
)  # fmt: skip
def test_what_ptx_does_not_have(name: str) -> None:
    assert find(name) is None
