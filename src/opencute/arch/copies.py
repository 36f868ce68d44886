# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copy atoms: what one thread, or a group of threads, moves with one instruction.

In: an atom's name, as in the attribute ``atom`` of ``cute.copy``. Out: a frozen `CopyAtom`::

    >>> copy_atom("universal_copy").widths
    (8, 16, 32, 64, 128, 256)
    >>> str(copy_atom("ldmatrix.x4").src)
    '(32,8):(8,1)'

A matrix of ``ldmatrix`` and ``stmatrix`` is 8 rows of 16 bytes. In memory, one thread holds the
address of each row; in registers, every thread holds two neighbours of 16 bits of each matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.arch.target import Target
from opencute.base.errors import ArgumentError
from opencute.layout import Layout

__all__ = ["COPY_ATOMS", "CopyAtom", "copy_atom"]


@dataclass(frozen=True)
class CopyAtom:
    """A way to copy.

    Args:
        name: name in the IR.
        threads: threads that take part in one instruction.
        widths: bits that one thread may move at once, ascending powers of two.
        spaces: allowed (source, destination) memory spaces; empty: all that a thread can address.
        since: first compute capability times ten.
        grain: bits of the elements that the layouts count; 0 where a thread moves a plain run.
        src: (thread, value) to the place in what is copied, for the source.
        dst: the same for the destination.
        matrices: for ``ldmatrix`` and ``stmatrix``, how many.
        trans: whether rows in memory are columns in registers.
        shape: of a matrix and its elements, as in ``ptx.ldmatrix``.
        unpack: bits of the elements that a row has in memory, 0 where they are those of registers:
            16 of them lie at the beginning of its 16 bytes, and become bytes.
        cache: for ``cp.async``, ``ca`` or ``cg``.
    """

    name: str
    threads: int
    widths: tuple[int, ...]
    spaces: tuple[tuple[str, str], ...] = ()
    since: int = 80
    grain: int = 0
    src: Layout | None = None
    dst: Layout | None = None
    matrices: int = 0
    trans: bool = False
    shape: str = "8x8.b16"
    unpack: int = 0
    cache: str = ""

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in zip(self.widths, self.widths[1:], strict=False))
        if not self.widths or not ascending or any(w & (w - 1) for w in self.widths):
            raise ArgumentError(f"atom {self.name}: widths {self.widths}", code="OC2912")
        if self.threads < 1 or self.threads & (self.threads - 1):
            raise ArgumentError(f"atom {self.name}: {self.threads} threads", code="OC2912")
        if (self.src is None) != (self.grain == 0) or (self.src is None) != (self.dst is None):
            raise ArgumentError(f"atom {self.name}: layouts and grain", code="OC2912")
        for layout in (self.src, self.dst):
            if layout is not None:
                self._check(layout)

    def _check(self, layout: Layout) -> None:
        """Every place of the tile is some thread's; registers hold each place once."""
        places = layout.offsets()
        total = self.rows * 128 // self.grain * self.matrices
        if layout[0].size() != self.threads or set(places) != set(range(total)):
            raise ArgumentError(
                f"atom {self.name}: a layout does not cover its {total} elements",
                code="OC2912", found=str(layout),
            )  # fmt: skip
        if layout is self.registers and len(places) != total:
            raise ArgumentError(f"atom {self.name}: registers repeat", code="OC2912")

    @property
    def rows(self) -> int:
        """Rows of a matrix, of 16 bytes each."""
        return 16 if self.shape.startswith("16x16") else 8

    @property
    def held(self) -> int:
        """Registers of 32 bits that a thread holds."""
        return self.matrices * self.rows // 8

    @property
    def loads(self) -> bool:
        """Whether a matrix atom goes from shared memory to registers."""
        return self.name.startswith("ldmatrix")

    @property
    def registers(self) -> Layout | None:
        """The layout of the side that is in registers."""
        return self.dst if self.loads else self.src

    def max_bits(self, target: Target, space: str, asked: int = 0) -> int:
        """Widest access in `space`; `asked` (0: no limit) is the user's own cap."""
        most = min(self.widths[-1], target.max_access_bits(space))
        return min(most, asked) if asked else most


def _matrix(kind: str, count: int, trans: bool) -> CopyAtom:
    rows = Layout((32, 8), (8, 1))
    if count < 4:
        # The addresses of further threads are not looked at: they repeat the first ones.
        rows = Layout(((8 * count, 4 // count), 8), ((8, 0), 1))
    if trans:
        own = Layout(((4, 8), (2, count)), ((16, 1), (8, 64)))
        if count == 1:
            own = Layout(((4, 8), 2), ((16, 1), 8))
    else:
        own = Layout((32, (2, count)), (2, (1, 64))) if count > 1 else Layout((32, 2), (2, 1))
    load = kind == "ldmatrix"
    return CopyAtom(
        f"{kind}.x{count}{'.trans' if trans else ''}", 32, (128,),
        ((("smem", "rmem"),) if load else (("rmem", "smem"),)), 80 if load else 90, 16,
        rows if load else own, own if load else rows, count, trans,
    )  # fmt: skip


def _bytes(kind: str, count: int, *, tall: bool = False, unpack: int = 0) -> CopyAtom:
    """Matrices of bytes: of 16 rows transposed (`tall`), stored transposed, or unpacked."""
    rows = 16 if tall else 8
    groups = 32 // (rows * count)
    memory = Layout(((rows * count, groups), 16), ((16, 0), 1)) if groups > 1 else (
        Layout((32, 16), (16, 1))
    )  # fmt: skip
    if tall:  # four neighbours of a column in a register, of two columns eight apart
        own = Layout(((4, 8), (4, 2, count)), ((64, 1), (16, 8, 256)))
    elif kind == "stmatrix":
        own = Layout(((4, 8), (2, 2, count)), ((32, 1), (16, 8, 128)))
    else:
        own = Layout((32, (4, count)), (4, (1, 128)))
    load = kind == "ldmatrix"
    packed = f"x16.b{unpack}x16_p{128 - 16 * unpack}" if unpack else ""
    shape = f"{'16x16' if tall else '8x16' if load else '16x8'}.b8{packed}"
    trans = tall or not load
    form = shape.partition(".")[0] + (f".b{unpack}" if unpack else "")
    return CopyAtom(
        f"{kind}.{form}.x{count}{'.trans' if trans else ''}", 32, (128,),
        ((("smem", "rmem"),) if load else (("rmem", "smem"),)), 100, 8,
        memory if load else own, own if load else memory, count, trans, shape, unpack,
    )  # fmt: skip


def _matrices_of_bytes() -> tuple[CopyAtom, ...]:
    return (
        *(_bytes("ldmatrix", n, tall=True, unpack=u) for u in (0, 4, 6) for n in (1, 2)),
        *(_bytes("ldmatrix", n, unpack=u) for u in (4, 6) for n in (1, 2, 4)),
        *(_bytes("stmatrix", n) for n in (1, 2, 4)),
    )


def _rows() -> tuple[CopyAtom, ...]:
    async_ = (("gmem", "smem"),)
    return (
        CopyAtom("universal_copy", 1, (8, 16, 32, 64, 128, 256)),
        CopyAtom("cp_async.ca", 1, (32, 64, 128), async_, cache="ca"),
        CopyAtom("cp_async.cg", 1, (128,), async_, cache="cg"),
        *(
            _matrix(kind, count, trans)
            for kind in ("ldmatrix", "stmatrix")
            for count in (1, 2, 4)
            for trans in (False, True)
        ),
        *_matrices_of_bytes(),
    )


COPY_ATOMS: dict[str, CopyAtom] = {a.name: a for a in _rows()}


def copy_atom(name: str) -> CopyAtom:
    """The record of a copy atom.

    Raises:
        ArgumentError: no such atom.
    """
    if name in COPY_ATOMS:
        return COPY_ATOMS[name]
    raise ArgumentError(
        f"no copy atom is called {name!r}",
        code="OC2913", expected=", ".join(COPY_ATOMS), found=name,
    )  # fmt: skip
