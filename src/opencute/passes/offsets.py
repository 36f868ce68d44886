# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where the elements of a tile lie, and with which accesses they are best reached.

In: a layout of static size whose strides may be dynamic, and what is known of the pointer's
alignment. Out: for each element its offset as `Offset` (dynamic part and static part), and from
these `Access` records: runs of consecutive elements that one aligned access covers::

    (4,2):(1,?)   at f32, align 16   ->   elements 0..3 at 0, elements 4..7 at 1*dyn0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from opencute.dialects.cute import Dyn, LayoutAttr

__all__ = ["Access", "Offset", "accesses", "element_offsets", "flatten"]

Terms = tuple[tuple[int, int], ...]


class Offset(NamedTuple):
    """An offset in elements: ``sum(factor * dyns[index]) + static``.

    Args:
        terms: (index of a dynamic integer among the layout's, factor) pairs, ascending.
        static: the rest.
    """

    terms: Terms
    static: int


class Access(NamedTuple):
    """One load or store.

    Args:
        terms: dynamic part of the address, in elements.
        static: static part of the address, in elements.
        align: alignment of the address in bytes, not above what one instruction may use.
        elements: linear indices of the tile's elements that it covers, in memory order. For a place
            that several elements share: the last of them.
    """

    terms: Terms
    static: int
    align: int
    elements: tuple[int, ...]


def flatten(tree: Any) -> list[int | Dyn]:
    """The leaves of a shape or stride."""
    if isinstance(tree, tuple):
        items = cast("tuple[Any, ...]", tree)
        return [leaf for item in items for leaf in flatten(item)]
    assert isinstance(tree, int | Dyn)
    return [tree]


@lru_cache(maxsize=1024)
def element_offsets(layout: LayoutAttr) -> tuple[Offset, ...]:
    """The offset of each element, in the order of the linear coordinate."""
    out = [Offset((), 0)]
    dyn = sum(isinstance(leaf, Dyn) for leaf in flatten(layout.shape))
    assert dyn == 0, "the size of a tile is static"
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        assert isinstance(extent, int)
        if isinstance(stride, Dyn):
            index, dyn = dyn, dyn + 1
            out = [_plus(o, index, i) for i in range(extent) for o in out]
        else:
            out = [Offset(o.terms, o.static + i * stride) for i in range(extent) for o in out]
    return tuple(out)


@lru_cache(maxsize=1024)
def _dynamic(layout: LayoutAttr) -> tuple[Dyn, ...]:
    return tuple(layout.dyns())


def _plus(offset: Offset, index: int, factor: int) -> Offset:
    if factor == 0:
        return offset
    return Offset((*offset.terms, (index, factor)), offset.static)


def accesses(
    layout: LayoutAttr,
    wanted: Sequence[int],
    bits: int,
    align: int,
    max_bits: int,
    supposed: int = 0,
    *,
    single: bool = False,
) -> list[Access]:
    """The accesses that reach the elements `wanted` of a tile.

    Args:
        layout: the tile's layout.
        wanted: linear indices.
        bits: width of one element in memory.
        align: alignment of the tile's pointer in bytes.
        max_bits: widest access.
        supposed: alignment in bytes that dynamic strides are supposed to have.
        single: whether no access may be wider than its alignment.
    """
    offsets = element_offsets(layout)
    leaves = _dynamic(layout)
    groups: dict[Terms, dict[int, int]] = {}
    for i in wanted:
        groups.setdefault(offsets[i].terms, {})[offsets[i].static] = i
    out: list[Access] = []
    for terms, places in groups.items():
        step = math.gcd(
            align * 8, *(math.lcm(f * leaves[i].div * bits, supposed * 8 or 1) for i, f in terms)
        )
        base = _power(step)
        for start, elements in _runs(places):
            out += _pieces(terms, start, elements, bits, base, max_bits, single)
    return out


def _runs(places: dict[int, int]) -> list[tuple[int, list[int]]]:
    """Maximal runs of consecutive offsets, as (first offset, elements)."""
    runs: list[tuple[int, list[int]]] = []
    last: int | None = None
    for place in sorted(places):
        if last is None or place != last + 1:
            runs.append((place, []))
        runs[-1][1].append(places[place])
        last = place
    return runs


def _power(n: int) -> int:
    """The largest power of two that divides n; 0 is divided by all."""
    return n & -n if n else 1 << 20


def _pieces(
    terms: Terms, start: int, elements: list[int], bits: int, base: int, max_bits: int,
    single: bool,
) -> list[Access]:  # fmt: skip
    """Cut a run so that every piece has a power of two of elements and starts aligned.

    A piece may be wider than one instruction: its alignment then says how it is cut further.
    """
    out: list[Access] = []
    best = min(base, max_bits)
    unit = math.lcm(bits, 8) // bits if bits < 8 else 1  # elements that make whole bytes
    i = 0
    while i < len(elements):
        known = min(best, _power((start + i) * bits))
        count = 1 << ((len(elements) - i).bit_length() - 1)
        if single or known < best:  # up to the next better aligned place
            count = min(count, max(known // bits, unit))
        align = max(min(known, 1 << (count * bits).bit_length() - 1) // 8, 1)
        out.append(Access(terms, start + i, align, tuple(elements[i : i + count])))
        i += count
    return out
