# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copy atoms: what one thread, or a group of threads, moves with one instruction.

In: an atom's name, as in the attribute ``atom`` of ``cute.copy``. Out: a frozen `CopyAtom`::

    >>> copy_atom("universal_copy").widths
    (8, 16, 32, 64, 128, 256)
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.arch.target import Target
from opencute.base.errors import ArgumentError

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
    """

    name: str
    threads: int
    widths: tuple[int, ...]
    spaces: tuple[tuple[str, str], ...] = ()
    since: int = 80

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in zip(self.widths, self.widths[1:], strict=False))
        if not self.widths or not ascending or any(w & (w - 1) for w in self.widths):
            raise ArgumentError(f"atom {self.name}: widths {self.widths}", code="OC2912")
        if self.threads < 1 or self.threads & (self.threads - 1):
            raise ArgumentError(f"atom {self.name}: {self.threads} threads", code="OC2912")

    def max_bits(self, target: Target, space: str, asked: int = 0) -> int:
        """Widest access in `space`; `asked` (0: no limit) is the user's own cap."""
        most = min(self.widths[-1], target.max_access_bits(space))
        return min(most, asked) if asked else most


COPY_ATOMS: dict[str, CopyAtom] = {
    a.name: a for a in (CopyAtom("universal_copy", 1, (8, 16, 32, 64, 128, 256)),)
}


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
