# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Thread-value layouts of tiled copies and MMAs, on layouts alone.

In: a tensor's layout, a thread-value layout of a tile, and an atom's layouts. Out: the tensor's
layout seen as ``(threads, (values, rest...))``, from which one thread's part is a slice::

    copy_view(L((8,8)), L((4,16),(16,1)), (8,8), same, ref)   # (4, (16, 1, 1))

Modes of the tensor beyond those that the tile covers are part of the rest.
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from opencute import layout as la
from opencute.layout import Layout, make_layout

__all__ = [
    "atom_reference",
    "by_tiler",
    "copy_view",
    "mma_layout_tv",
    "mma_view",
    "restrict",
    "retiled",
    "thread_layout",
]


def atom_reference(reference: Layout, target: Layout) -> Layout:
    """From (thread, value) of one side of an atom to (thread, value) of its reference side.

    Args:
        reference: (thread, value) to the places in an atom, for the side that tilings speak of.
        target: the same for the side of interest.
    """
    if reference == target:
        return target_domain(reference)
    return la.composition(la.right_inverse(reference), target)


def target_domain(layout: Layout) -> Layout:
    """The identity on a layout's domain, mode by mode."""
    threads = la.size(layout, mode=[0])
    return make_layout((threads, la.size(layout, mode=[1])))


def copy_view(layout: Layout, layout_tv: Layout, tiler: Any, atom: Any, to_reference: Any) -> Any:
    """A tensor's layout as (threads, (values, rest...)).

    Args:
        layout: the tensor's layout.
        layout_tv: (thread, value) to place in the tile.
        tiler: shape of the tile, or a layout for each mode.
        atom: (threads, values) of the atom.
        to_reference: from (thread, value) of one side of the atom to that of the reference; None
            if they are the same.
    """
    divided = la.zipped_divide(layout, tiler)
    tv = la.zipped_divide(layout_tv, atom)  # ((thr, val), (rest_thr, rest_val)) -> place
    if to_reference is not None:
        tv = la.composition(tv, (to_reference, None))
    zipped = la.coalesce(la.zip_modes(tv), (1, (1, 1)))  # ((thr, rest), (val, rest)) -> place
    return _with_rest(la.composition(divided, (zipped, None)))


def _with_rest(both: Layout) -> Any:
    """((thr, val), (rest...)) as (thr, (val, rest...))."""
    tv, rest = both[0], both[1]
    modes = [rest[i] for i in range(la.rank(rest))]
    return tv[0], make_layout(tv[1], *modes)


def retiled(layout: Layout, layout_tv: Layout, tiler: Any, num_values: int) -> Layout:
    """A register tensor of another partition as this tiling's (values, rest...).

    Args:
        layout: the register tensor's layout; its first mode holds the first values of the tile.
        layout_tv: (thread, value) to place in the tile.
        tiler: shape of the tile.
        num_values: values of the atom.
    """
    values = la.size(layout, mode=[0])
    threads = la.size(layout_tv, mode=[0])
    shape = _tile_shape(tiler)
    places = la.with_shape(la.right_inverse(layout_tv), shape)
    fragments = la.upcast(threads * values, places)  # place -> which further group of values
    inner = la.logical_product(make_layout(values), la.right_inverse(fragments))
    order = la.zipped_divide(inner, make_layout(num_values))  # (atom, rest) -> (v, m, n)
    tiled = la.zipped_divide(layout, (values, *la.product_each(fragments.shape)))
    viewed = la.composition(tiled, (order, None))  # ((atom, rest), (1, RestM, RestN, ...))
    rest = viewed[1]
    return make_layout(viewed[0], *[rest[i] for i in range(1, la.rank(rest))])


def _tile_shape(tiler: Any) -> Any:
    return tuple(la.size(t) if isinstance(t, Layout) else la.product(t) for t in tiler)


def thread_layout(thr_id: Layout, atoms: Layout) -> Layout:
    """(V, M, N, K) to the thread index, for atoms of the threads `thr_id`."""
    return la.tiled_product(thr_id, atoms)


def mma_view(layout: Layout, tile: Any, atom: Any, atom_tv: Layout, threads: Any) -> Any:
    """An operand's layout as (threads, (values, rest...)); threads are ``(V, (first, second))``.

    Args:
        layout: the operand's layout, with the tile's modes first.
        tile: for both modes the size of a tile, or a layout that permutes it.
        atom: extents of the atom in both modes.
        atom_tv: the atom's (thread, value) layout on them.
        threads: how many atoms lie side by side in both modes.
    """
    permuted = la.logical_divide(layout, tile)
    divided = la.zipped_divide(permuted, tuple(make_layout(a) for a in atom))
    tv = la.composition(divided, (atom_tv, None))  # ((thr, val), (Rest0, Rest1, ...))
    rest = tv[1]
    first, second = (la.logical_divide(rest[i], make_layout(n)) for i, n in enumerate(threads))
    more = [rest[i] for i in range(2, la.rank(rest))]
    who = make_layout(tv[0][0], make_layout(first[0], second[0]))
    return who, make_layout(tv[0][1], first[1], second[1], *more)


def mma_layout_tv(view: Any, threads: Layout, modes: tuple[int, int]) -> Layout:
    """(thread index, value) to place, from the `mma_view` of the tile's own layout.

    Args:
        view: what `mma_view` gave for the column-major tile.
        threads: (V, M, N, K) to the thread index.
        modes: which of M, N, K (1, 2, 3) the operand has.
    """
    who, values = view
    v, pair = who[0], who[1]
    # A thread in a mode that the operand does not have sees what the others see.
    modes_of: list[Layout] = [v]
    for mode in (1, 2, 3):
        if mode in modes:
            modes_of.append(pair[modes.index(mode)])
        else:
            modes_of.append(Layout(threads.shape[mode], la.repeat_like(0, threads.shape[mode])))
    places = make_layout(*modes_of)  # (V, M, N, K) -> place
    inverse = la.right_inverse(make_layout(threads, la.complement(threads)))
    index = la.composition(inverse, make_layout(la.size(threads)))
    return make_layout(la.composition(places, index), values)


def by_tiler(layout_tv: Layout, shape: Any) -> tuple[Layout, Any]:
    """A thread-value layout that reaches part of a tile, on that part alone.

    Args:
        layout_tv: (thread, value) to place in a tile of `shape`.
        shape: the tile.

    Returns:
        The layout on the part, and the tiler (a layout for each mode) that picks the part.
    """
    zeros = la.repeat_like(0, shape)
    tiler = tuple(
        la.filter(la.composition(Layout(shape, la.replace(zeros, i, 1)), layout_tv))
        for i in range(len(shape))
    )
    part = la.composition(make_layout(shape), tiler)
    return la.composition(la.left_inverse(part), layout_tv), tiler


def restrict(layout_tv: Layout, values: int) -> Layout:
    """The first `values` values of each thread."""
    return la.composition(layout_tv, make_layout((la.size(layout_tv, mode=[0]), values)))
