# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Warpgroup MMA atoms: D += A B on a tile of 64 rows, by four warps, asynchronously.

In: an atom's name, as in the attribute ``atom`` of ``cute.wgmma``. Out: a frozen `WgmmaAtom`::

    >>> atom = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.rs")
    >>> str(atom.c), str(atom.a)
    ('((4,8,4),(2,2,2)):((128,1,16),(64,8,512))', '((4,8,4),(2,2,2)):((128,1,16),(64,8,512))')

B, and A unless it is in registers (``rs``), is read from shared memory through a matrix descriptor
(`opencute.arch.descriptors`); its layout then says that every thread sees the whole tile. Facts are
from the PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from opencute.arch.mma import ELEMENT_BITS
from opencute.base.errors import ArgumentError
from opencute.layout import Layout, flatten_to_tuple

__all__ = ["ROWS", "THREADS", "WgmmaAtom", "wgmma_atom", "wgmma_names", "wgmma_shapes"]

ROWS = 64
"""M of every instruction."""
THREADS = 128
"""Threads of a warpgroup."""

_F8 = ("e4m3", "e5m2")
_I8 = ("s8", "u8")


def _types() -> Iterator[tuple[str, str, str]]:
    for d in ("f32", "f16"):
        yield d, "f16", "f16"
        yield from ((d, a, b) for a in _F8 for b in _F8)
    yield "f32", "bf16", "bf16"
    yield "f32", "tf32", "tf32"
    yield from (("s32", a, b) for a in _I8 for b in _I8)


TYPES: tuple[tuple[str, str, str], ...] = tuple(_types())
"""Types of D, A and B that there are instructions for."""


def wgmma_shapes(d: str) -> tuple[int, ...]:
    """The extents N that there are instructions for, by the type of D."""
    if d == "s32":
        return (8, 16, 24, *range(32, 257, 16))
    return tuple(range(8, 257, 8))


@dataclass(frozen=True)
class WgmmaAtom:
    """One multiply-accumulate instruction of a warpgroup.

    Args:
        name: shape, types of D, A and B, and where A is.
        mnk: shape of the tile.
        types: names of the types of D, A, B, C.
        a: (thread, value) to the place in the M x K tile.
        b: (thread, value) to the place in the N x K tile.
        c: (thread, value) to the place in the M x N tile; D is distributed alike.
        a_in_registers: whether A is in registers.
        sparse: whether half of each small run along k of A is left out, see `arch.sparse`; then
            `a` is about the kept elements.
    """

    name: str
    mnk: tuple[int, int, int]
    types: tuple[str, str, str, str]
    a: Layout
    b: Layout
    c: Layout
    a_in_registers: bool = False
    threads: int = THREADS
    since: int = 90
    ptx: int = 80
    sparse: bool = False

    def __post_init__(self) -> None:
        m, n, k = self.mnk
        sides = (("C", self.c, m * n, False), ("A", self.a, m * self.a_k, not self.a_in_registers),
                 ("B", self.b, n * k, True))  # fmt: skip
        for what, layout, size, shared in sides:
            if layout[0].size() != THREADS or not _covers(layout[1] if shared else layout, size):
                raise ArgumentError(
                    f"atom {self.name}: the layout of {what} does not cover its tile",
                    code="OC2915", expected=f"{size} places", found=str(layout),
                )  # fmt: skip

    @property
    def a_k(self) -> int:
        """K of A as it is stored."""
        return self.mnk[2] // 2 if self.sparse else self.mnk[2]

    @property
    def selectors(self) -> int:
        """How many choices there are of the threads whose metadata counts; 0 if there is none."""
        if not self.sparse:
            return 0
        return 1 if ELEMENT_BITS[self.types[1]] == 8 else 2

    @property
    def values(self) -> tuple[int, int, int]:
        """Elements of A, B and C that a thread holds or sees."""
        t = self.threads
        return self.a.size() // t, self.b.size() // t, self.c.size() // t

    @property
    def registers(self) -> tuple[int, int]:
        """32-bit registers of a thread for A (0 in shared memory) and C."""
        va, _, vc = self.values
        a = va * ELEMENT_BITS[self.types[1]] // 32 if self.a_in_registers else 0
        return a, vc * ELEMENT_BITS[self.types[3]] // 32

    @property
    def mn_major(self) -> bool:
        """Whether operands in shared memory may be contiguous along M or N: 16-bit types only."""
        return ELEMENT_BITS[self.types[1]] == 16

    @property
    def instruction(self) -> str:
        """The instruction in PTX, without operands."""
        m, n, k = self.mnk
        d, a, b, _ = self.types
        sparse = ".sp" if self.sparse else ""
        return f"wgmma.mma_async{sparse}.sync.aligned.m{m}n{n}k{k}.{d}.{a}.{b}"

    def modifiers(self, a_mn: bool, b_mn: bool) -> tuple[str, ...]:
        """The operands after scale-d, in PTX.

        Args:
            a_mn: A is contiguous along M; only where it is in shared memory.
            b_mn: B is contiguous along N.
        """
        if self.types[0] == "s32":
            return ()
        scales = ("1", "1")
        if not self.mn_major:
            return scales
        if self.a_in_registers:
            return (*scales, str(int(b_mn)))
        return (*scales, str(int(a_mn)), str(int(b_mn)))

    @property
    def flops(self) -> int:
        """Operations of one instruction."""
        m, n, k = self.mnk
        return 2 * m * n * k


def _covers(layout: Layout, size: int) -> bool:
    """Whether a layout takes every place from 0 to size - 1 once: its strides, in ascending order,
    are the products of the extents before."""
    modes = sorted(
        (d, s)
        for s, d in zip(
            flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True
        )
        if s != 1
    )
    reach = 1
    for stride, extent in modes:
        if stride != reach:
            return False
        reach *= extent
    return reach == size


def _accumulator(n: int) -> Layout:
    """Warp w has rows 16 w to 16 w + 15, distributed as in the instructions of a warp."""
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


def _left(bits: int, k: int) -> Layout:
    """A in registers: a register holds neighbours along k, then rows go down by 8."""
    e = 32 // bits
    threads = ((4, 8, 4), (64 * e, 1, 16))
    if e == 1:
        return Layout((threads[0], (2, 2)), (threads[1], (8, 256)))
    return Layout((threads[0], (e, 2, k // (4 * e))), (threads[1], (64, 8, 256 * e)))


def _shared(extent: int, k: int) -> Layout:
    return Layout((THREADS, (extent, k)), (0, (1, extent)))


_NAME = re.compile(r"wgmma\.(sp\.)?m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)\.(ss|rs)")


@lru_cache(maxsize=1024)
def wgmma_atom(name: str) -> WgmmaAtom:
    """The record of a warpgroup's instruction.

    Raises:
        ArgumentError: no such instruction.
    """
    found = _NAME.fullmatch(name)
    if found is not None:
        sparse, n, k = found[1] is not None, int(found[2]), int(found[3])
        d, a, b = found[4], found[5], found[6]
        kept = 256 // ELEMENT_BITS.get(a, 1)
        if (d, a, b) in TYPES and n in wgmma_shapes(d) and k == (2 * kept if sparse else kept):
            rs = found[7] == "rs"
            left = _left(ELEMENT_BITS[a], kept) if rs else _shared(ROWS, kept)
            return WgmmaAtom(
                name, (ROWS, n, k), (d, a, b, d), left, _shared(n, k), _accumulator(n), rs,
                ptx=82 if sparse else 80, sparse=sparse,
            )  # fmt: skip
    raise ArgumentError(
        f"no warpgroup MMA atom is called {name!r}", code="OC2916",
        expected="a name such as wgmma.m64n128k16.f32.f16.f16.ss", found=name,
    )  # fmt: skip


def wgmma_names() -> Iterator[str]:
    """The names of all atoms."""
    for d, a, b in TYPES:
        k = 256 // ELEMENT_BITS[a]
        for n in wgmma_shapes(d):
            for source in ("ss", "rs"):
                yield f"wgmma.m64n{n}k{k}.{d}.{a}.{b}.{source}"
