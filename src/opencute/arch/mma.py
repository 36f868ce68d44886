# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""MMA atoms: D = A B + C on a small tile, by one instruction of a warp or of a thread.

In: an atom's name, as in the attribute ``atom`` of ``cute.gemm`` and ``ptx.mma``. Out: a frozen
`MmaAtom`, whose layouts say which thread holds which elements::

    >>> str(mma_atom("m16n8k16.f32.f16.f16.f32").a)
    '((4,8),(2,2,2)):((32,1),(16,8,128))'

A layout maps (thread, value) to the element's place in its tile: ``m + M*k`` for A, ``n + N*k``
for B, ``m + M*n`` for C and D. Facts are from the PTX ISA, "Warp-Level Matrix Multiply-Accumulate
Instructions"; every fragment there follows one rule, which `_fragments` states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from opencute.base.errors import ArgumentError
from opencute.layout import Layout

__all__ = ["ELEMENT_BITS", "MMA_ATOMS", "MmaAtom", "mma_atom"]

ELEMENT_BITS = {
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip
"""Bits of an element by its name in PTX."""


@dataclass(frozen=True)
class MmaAtom:
    """One multiply-accumulate instruction.

    Args:
        name: shape and types of D, A, B and C, as PTX orders them.
        mnk: shape of the tile.
        types: names of the types of D, A, B, C.
        threads: threads that execute it together.
        a: (thread, value) to the place in the M x K tile.
        b: (thread, value) to the place in the N x K tile.
        c: (thread, value) to the place in the M x N tile; D is distributed alike.
        since: first compute capability times ten.
        ptx: lowest PTX version, two digits.
        bit_op: for one-bit elements, what takes the place of a product: ``and`` or ``xor``.
    """

    name: str
    mnk: tuple[int, int, int]
    types: tuple[str, str, str, str]
    threads: int
    a: Layout
    b: Layout
    c: Layout
    since: int = 80
    ptx: int = 70
    bit_op: str = ""
    text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        m, n, k = self.mnk
        for what, layout, size in (
            ("A", self.a, m * k),
            ("B", self.b, n * k),
            ("C", self.c, m * n),
        ):
            if layout.shape and _threads(layout) != self.threads:
                raise ArgumentError(
                    f"atom {self.name}: {what} is spread over {_threads(layout)} threads",
                    code="OC2915", expected=self.threads, found=str(layout),
                )  # fmt: skip
            places = sorted(layout.offsets())
            if places != list(range(size)):
                raise ArgumentError(
                    f"atom {self.name}: the layout of {what} does not cover its tile once",
                    code="OC2915", expected=f"{size} places", found=str(layout),
                )  # fmt: skip
        for what, layout, type in zip("ABC", (self.a, self.b, self.c), self.types[1:], strict=True):
            bits = ELEMENT_BITS[type]
            if self.threads > 1 and (layout.size() // self.threads * bits) % 32:
                raise ArgumentError(
                    f"atom {self.name}: {what} of a thread fills no whole registers", code="OC2915"
                )

    @cached_property
    def registers(self) -> tuple[int, int, int]:
        """Registers of one thread for A, B and C (64-bit ones for f64)."""
        return (
            self._registers(self.a, self.types[1]),
            self._registers(self.b, self.types[2]),
            self._registers(self.c, self.types[3]),
        )

    def _registers(self, layout: Layout, type: str) -> int:
        bits = ELEMENT_BITS[type]
        return layout.size() // self.threads * bits // max(bits, 32)

    @property
    def values(self) -> tuple[int, int, int]:
        """Elements of one thread of A, B and C."""
        t = self.threads
        return self.a.size() // t, self.b.size() // t, self.c.size() // t

    @property
    def instruction(self) -> str:
        """The instruction in PTX; empty for an fma of one thread."""
        return self.text

    @property
    def flops(self) -> int:
        """Operations of one instruction."""
        m, n, k = self.mnk
        return 2 * m * n * k


def _threads(layout: Layout) -> int:
    return layout[0].size()


def _mode(*modes: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(m[0] for m in modes), tuple(m[1] for m in modes)


def _layout(threads: list[tuple[int, int]], values: list[tuple[int, int]]) -> Layout:
    """A layout from (extent, stride) pairs; values of extent 1 are left out."""
    kept = [v for v in values if v[0] > 1] or [(1, 0)]
    shape, stride = _mode(*threads)
    if len(kept) == 1:
        return Layout((shape, kept[0][0]), (stride, kept[0][1]))
    vshape, vstride = _mode(*kept)
    return Layout((shape, vshape), (stride, vstride))


def _fragments(mnk: tuple[int, int, int], bits: int) -> tuple[Layout, Layout, Layout]:
    """The layouts of an instruction whose A and B elements have `bits` bits.

    Thread t of a warp is in group g = t // 4, with place p = t % 4 in it. A register holds
    e = 32 / bits neighbours along k (one element if those are wider). Row g of A (column g of B)
    belongs to group g, and k-steps of 4 e elements are shared out over the four threads. Further
    registers go down 8 rows first, then on along k. Of C, a thread holds columns 2 p and 2 p + 1 of
    row g, then of row g + 8.
    """
    m, n, k = mnk
    e = max(32 // bits, 1)
    steps = k // (4 * e)
    a = _layout([(4, e * m), (8, 1)], [(e, m), (m // 8, 8), (steps, 4 * e * m)])
    b = _layout([(4, e * n), (8, 1)], [(e, n), (steps, 4 * e * n)])
    c = _layout([(4, 2 * m), (8, 1)], [(2, m), (m // 8, 8)])
    return a, b, c


def _warp(
    mnk: tuple[int, int, int], types: tuple[str, str, str, str], since: int = 80, ptx: int = 70,
    *, bit_op: str = "", kind: str = "", name: str = "",
) -> MmaAtom:  # fmt: skip
    a, b, c = _fragments(mnk, ELEMENT_BITS[types[1]])
    shape = "m{}n{}k{}".format(*mnk)
    head = f"mma.sync.aligned.{shape}.row.col{kind}"
    tail = f".{bit_op}.popc" if bit_op else ""
    dotted = ".".join(types)
    full = name or f"{shape}.{dotted}{'.' + bit_op if bit_op else ''}"
    text = f"{head}.{dotted}{tail}"
    return MmaAtom(full, mnk, types, 32, a, b, c, since, ptx, bit_op, text)


def _universal(type: str) -> MmaAtom:
    one = Layout((1, 1), (0, 0))
    return MmaAtom(f"fma.{type}", (1, 1, 1), (type, type, type, type), 1, one, one, one)


def _rows() -> Iterator[MmaAtom]:
    for t in ("f16", "bf16", "f32", "f64"):
        yield _universal(t)
    for k in (8, 16):
        yield _warp((16, 8, k), ("f32", "f16", "f16", "f32"))
        yield _warp((16, 8, k), ("f16", "f16", "f16", "f16"))
        yield _warp((16, 8, k), ("f32", "bf16", "bf16", "f32"))
    for k in (4, 8):
        yield _warp((16, 8, k), ("f32", "tf32", "tf32", "f32"))
    double = ("f64", "f64", "f64", "f64")
    yield _warp((8, 8, 4), double)
    for k in (4, 8, 16):
        yield _warp((16, 8, k), double, 90, 78)
    for widths, shapes in (
        (("s8", "u8"), ((8, 8, 16), (16, 8, 16), (16, 8, 32))),
        (("s4", "u4"), ((8, 8, 32), (16, 8, 32), (16, 8, 64))),
    ):
        for shape in shapes:
            for ta in widths:
                for tb in widths:
                    yield _warp(shape, ("s32", ta, tb, "s32"))
    for shape in ((8, 8, 128), (16, 8, 128), (16, 8, 256)):
        for bit_op in ("xor", "and"):
            ptx = 71 if bit_op == "and" else 70
            yield _warp(shape, ("s32", "b1", "b1", "s32"), 80, ptx, bit_op=bit_op)
    for acc, ptx in (("f32", 84), ("f16", 87)):
        for k in (16, 32):
            for ta in ("e4m3", "e5m2"):
                for tb in ("e4m3", "e5m2"):
                    version = 87 if k == 16 else ptx
                    yield _warp((16, 8, k), (acc, ta, tb, acc), 89, version)


MMA_ATOMS: dict[str, MmaAtom] = {atom.name: atom for atom in _rows()}


def mma_atom(name: str) -> MmaAtom:
    """The record of an MMA atom.

    Raises:
        ArgumentError: no such atom.
    """
    if name in MMA_ATOMS:
        return MMA_ATOMS[name]
    raise ArgumentError(
        f"no MMA atom is called {name!r}", code="OC2916",
        expected="a name such as m16n8k16.f32.f16.f16.f32", found=name,
    )  # fmt: skip
