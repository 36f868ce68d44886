# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.prefetch`: what a later copy will read, brought into a cache.

In: a copy atom and the copy's source. Out: one PTX `prefetch` for each cache line of it that is
known to be one, or TMA's own prefetch of tiles::

    cute.prefetch(tiled_copy, thread_source[None, None, k + 2])

In the simulator only the addresses are checked.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# Nested tuples of any depth; annotations cannot say more.

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import ptx_memory
from opencute.lang import algebra as la
from opencute.lang.pointers import AddressSpace
from opencute.lang.tensors import TracedTensor
from opencute.lang.tiled.atoms import CopyAtom
from opencute.lang.tiled.calls import operand
from opencute.layout import Layout

__all__ = ["prefetch"]

_LINE = 128  # bytes of a cache line
_SPACES = (AddressSpace.gmem, AddressSpace.generic)


def prefetch(
    atom: Any, src: Any, *, level: str = "L2", loc: Any = None, ip: Any = None, **options: Any
) -> None:
    """Bring a copy's source into a cache.

    Args:
        atom: the CopyAtom, TiledCopy or ThrCopy of the copy, or an atom of `make_tiled_tma_atom`.
        src: tensor of shape (V, Rest...) in global memory, such as ``thr_copy.partition_S(t)``, or
            TMA coordinates.
        level: "L2" or "L1"; TMA fetches into L2.
        options: for TMA, `tma_desc_ptr` and `cache_policy`.

    Raises:
        TypeMismatchError: no copy atom, or no tensor in global memory.
        ArgumentError: OC2237, there is no such cache.
    """
    if hasattr(atom, "copy_tensors"):  # an atom that knows itself what it copies
        from opencute.lang.hopper.tma_atoms import tma_atom_of

        tma_atom_of(atom).prefetch_tensors(src, **options)
        return
    if options:
        name = next(iter(options))
        raise TypeMismatchError(
            f"prefetch() has no argument {name!r} for {atom}", code="OC1267", expected="level"
        )
    if not isinstance(atom, CopyAtom):
        raise TypeMismatchError("prefetch: not a copy atom", code="OC1237", found=repr(atom))
    if level not in ptx_memory.LEVELS:
        raise ArgumentError(
            "prefetch: there is no such cache", code="OC2237", found=repr(level),
            expected=" or ".join(ptx_memory.LEVELS),
        )  # fmt: skip
    s = operand("prefetch", "src", src)
    if s.iterator.memspace not in _SPACES:
        raise TypeMismatchError(
            "prefetch: the source is not in global memory", code="OC1277", found=str(src)
        )
    for offset in _lines(s):
        ptx_memory.prefetch((s.iterator + offset).value, level)


def _lines(s: TracedTensor) -> list[Any]:
    """An offset in each cache line, as far as the layout tells which elements share one."""
    align = min(max(s.iterator.alignment, 32), _LINE)
    per_line = max(align * 8 // s.element_type.width, 1)
    if la.is_static(s.layout):
        return _first_of_each(s.layout, per_line)
    # Strides of the rest are only known at run time: the lines of each use of the atom.
    inner = s.layout[0] if la.rank(s.layout) > 1 else s.layout
    rest = la.select(s.layout, list(range(1, la.rank(s.layout)))) if la.rank(s.layout) > 1 else None
    firsts = _first_of_each(inner, per_line) if la.is_static(inner) else _all(inner)
    if rest is None:
        return firsts
    return [outer + first for outer in _all(rest) for first in firsts]


def _all(layout: Layout) -> list[Any]:
    return [layout(i) for i in range(la.size(layout))]


def _first_of_each(layout: Layout, per_line: int) -> list[int]:
    lines: dict[int, int] = {}
    for offset in sorted(_all(layout)):
        lines.setdefault(offset // per_line, offset)
    return list(lines.values())
