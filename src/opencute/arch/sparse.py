# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse MMA atoms: D = A B + C where half of each small run along k of A is zero and left out.

In: an atom's name, as in the attribute ``atom`` of ``ptx.mma_sp``. Out: a frozen `SparseMmaAtom`::

    >>> atom = sparse_mma_atom("sp.m16n8k32.f32.f16.f16.f32")
    >>> str(atom.a), str(atom.e)
    ('((4,8),(2,2,2)):((32,1),(16,8,128))', '((2,2,8),(16,2)):((256,0,1),(16,8))')

A holds the kept elements only, as the dense instruction of half that k does. Which they are says
the metadata: of every run of elements the places of the kept ones, four bits for a run. `e` maps
(thread, value) to the elements of the whole A that a thread's metadata is about, in the order of
its bits. Threads that the selector does not choose repeat those of others. Facts are from the PTX
ISA, "mma.sp", and from the layouts of the BSD-licensed CuTe headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from opencute.arch.mma import ELEMENT_BITS, MmaAtom, mma_atom
from opencute.base.errors import ArgumentError
from opencute.layout import Layout

__all__ = [
    "PAIRS", "SPARSE_MMA_ATOMS", "TF32_CODES", "SparseMmaAtom", "metadata_layout", "run_of",
    "sparse_mma_atom",
]  # fmt: skip

TF32_CODES = {0b0100: 0, 0b1110: 1}
"""Which of two tf32 elements is kept, by the four bits of metadata."""
PAIRS = tuple(i | j << 2 for j in range(4) for i in range(j))
"""The four bits for two kept elements out of four, in ascending order of places."""


def run_of(type: str) -> tuple[int, int]:
    """How many elements of A are kept of how many neighbours."""
    return (1, 2) if ELEMENT_BITS[type] == 32 else (2, 4)


@dataclass(frozen=True)
class SparseMmaAtom:
    """One multiply-accumulate instruction with a sparse A.

    Args:
        name: ``sp.``, shape and types of D, A, B and C.
        mnk: shape of the tile, before anything is left out.
        types: names of the types of D, A, B, C.
        a: (thread, value) to the place in the M x K / 2 tile of kept elements.
        b: (thread, value) to the place in the N x K tile.
        c: (thread, value) to the place in the M x N tile; D is distributed alike.
        e: (thread, value) to the place in the M x K tile that metadata is about.
        selectors: how many choices there are of the threads whose metadata counts.
        since: first compute capability times ten.
        ptx: lowest PTX version, two digits.
    """

    name: str
    mnk: tuple[int, int, int]
    types: tuple[str, str, str, str]
    a: Layout
    b: Layout
    c: Layout
    e: Layout
    selectors: int
    since: int = 80
    ptx: int = 85
    threads: int = 32

    def __post_init__(self) -> None:
        m, n, k = self.mnk
        sides = (("A", self.a, m * k // 2), ("B", self.b, n * k), ("C", self.c, m * n))
        for what, layout, size in sides:
            if sorted(layout.offsets()) != list(range(size)):
                raise ArgumentError(
                    f"atom {self.name}: the layout of {what} does not cover its tile once",
                    code="OC2915", expected=f"{size} places", found=str(layout),
                )  # fmt: skip
        said, per = self.e.offsets(), self.e[0].size()
        chosen = [place for t in self.contributors(0) for place in said[t::per]]
        bits = len(said) // per * 4 // run_of(self.types[1])[1]
        if sorted(chosen) != list(range(m * k)) or bits != 32:
            raise ArgumentError(
                f"atom {self.name}: the metadata does not say everything once", code="OC2915",
                expected=f"{m * k} places, 32 bits of a thread",
                found=f"{len(set(chosen))} places, {bits} bits",
            )  # fmt: skip

    def contributors(self, selector: int) -> tuple[int, ...]:
        """The threads of a warp whose metadata counts."""
        each = 4 // self.selectors
        return tuple(t for t in range(32) if t % 4 // each == selector)

    @cached_property
    def registers(self) -> tuple[int, int, int]:
        """Registers of one thread for A, B and C."""
        sides = zip((self.a, self.b, self.c), self.types[1:], strict=True)
        a, b, c = (x.size() // 32 * ELEMENT_BITS[t] // 32 for x, t in sides)
        return a, b, c

    @property
    def values(self) -> tuple[int, int, int]:
        """Elements of one thread of A (kept ones), B and C."""
        return self.a.size() // 32, self.b.size() // 32, self.c.size() // 32

    @property
    def dense(self) -> MmaAtom:
        """The instruction that would multiply the kept elements, of half the k."""
        m, n, k = self.mnk
        return mma_atom(f"m{m}n{n}k{k // 2}.{'.'.join(self.types)}")

    @property
    def instruction(self) -> str:
        """The instruction in PTX."""
        shape = "m{}n{}k{}".format(*self.mnk)
        head = "mma.sp::ordered_metadata.sync.aligned"
        return f"{head}.{shape}.row.col.{'.'.join(self.types)}"

    @property
    def flops(self) -> int:
        """Operations of one instruction, those on zeros counted."""
        m, n, k = self.mnk
        return 2 * m * n * k


def metadata_layout(m: int, k: int, bits: int) -> Layout:
    """Which elements of an m x k tile of a warp (m is 16) each thread's metadata is about.

    A thread says 16 elements of each of two rows, eight apart (8 elements of tf32); elements of 8
    bits are said by rows of 32. Further threads of a group go on along k.
    """
    if bits == 8:
        far = 32 * m if k > 32 else 0
        return Layout(((2, 2, 8), 32), ((8, far, 1), m))
    run = 16 if bits == 16 else 8
    near = run * m if k > run else 0
    return Layout(((2, 2, 8), (run, 2)), ((near, 0, 1), (m, 8)))


def _atom(
    k: int, types: tuple[str, str, str, str], since: int = 80, ptx: int = 85
) -> SparseMmaAtom:
    name = f"m16n8k{k}.{'.'.join(types)}"
    bits = ELEMENT_BITS[types[1]]
    a = mma_atom(f"m16n8k{k // 2}.{'.'.join(types)}")
    contributors = 16 * k * 4 // run_of(types[1])[1] // 8 // 32
    return SparseMmaAtom(
        f"sp.{name}", (16, 8, k), types, a.a, _right(8, k, bits), a.c,
        metadata_layout(16, k, bits), 4 // contributors, since, ptx,
    )  # fmt: skip


def _right(n: int, k: int, bits: int) -> Layout:
    """B: a register holds neighbours along k, and runs of four registers' worth of k are shared
    out over the threads of a group, as in dense instructions."""
    e = max(32 // bits, 1)
    threads = ((4, 8), (e * n, 1))
    if e == 1:
        return Layout((threads[0], k // 4), (threads[1], 4 * n))
    return Layout((threads[0], (e, k // (4 * e))), (threads[1], (n, 4 * e * n)))


def _rows() -> Iterator[SparseMmaAtom]:
    for k in (16, 32):
        yield _atom(k, ("f32", "f16", "f16", "f32"))
        yield _atom(k, ("f16", "f16", "f16", "f16"))
        yield _atom(k, ("f32", "bf16", "bf16", "f32"))
    for k in (8, 16):
        yield _atom(k, ("f32", "tf32", "tf32", "f32"))
    for k in (32, 64):
        for a in ("s8", "u8"):
            for b in ("s8", "u8"):
                yield _atom(k, ("s32", a, b, "s32"))
    for acc, since, ptx in (("f32", 89, 85), ("f16", 120, 87)):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                yield _atom(64, (acc, a, b, acc), since, ptx)


SPARSE_MMA_ATOMS: dict[str, SparseMmaAtom] = {atom.name: atom for atom in _rows()}


def sparse_mma_atom(name: str) -> SparseMmaAtom:
    """The record of a sparse MMA atom.

    Raises:
        ArgumentError: no such atom.
    """
    if name in SPARSE_MMA_ATOMS:
        return SPARSE_MMA_ATOMS[name]
    raise ArgumentError(
        f"no sparse MMA atom is called {name!r}", code="OC2916",
        expected="a name such as sp.m16n8k32.f32.f16.f16.f32", found=name,
    )  # fmt: skip
