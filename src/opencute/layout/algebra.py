# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Coalesce, filter, composition and complement of layouts.

In: layouts, composed layouts, tilers. Out: layouts with fewer or other modes::

    coalesce(Layout((2, (1, 6)), (1, (6, 2))))                      # 12:1
    composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))     # ((2,2),3):((24,2),8)
    composition(Layout((9, 8)), (3, None))                          # (3,8):(1,9)
    complement(Layout((2, 2), (4, 1)), 24)                          # (2,3):(2,8)

A *tiler* is a layout; an integer ``n``, which stands for ``n:1``; None, which keeps a mode as it
is; or a tuple of tilers, which applies them mode by mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opencute.layout.arith import ceil_div, filter_zero_modes, product
from opencute.layout.basis import ScaledBasis
from opencute.layout.composer import Composer, open_ended
from opencute.layout.coords import compact_col_major
from opencute.layout.ints import (
    IntTuple,
    Tiler,
    fail,
    floor_div,
    is_int,
    is_sequence,
    is_static_int,
    is_tuple,
    mul,
    normalize,
    to_str,
)
from opencute.layout.layout import Layout
from opencute.layout.leaves import Modes, coalesced, coprofile, is_one, is_zero, leaves, of_leaves
from opencute.layout.modes import cosize
from opencute.layout.remembered import remembered
from opencute.layout.swizzle import Chain, ComposedLayout, Swizzle
from opencute.layout.tuples import flatten_to_tuple, unwrap

__all__ = [
    "coalesce",
    "coalesce_shape",
    "complement",
    "composition",
    "filter",
    "filter_zeros",
    "with_shape",
]


def flat_modes(layout: Layout) -> Modes:
    """The leaves of a layout as (extent, stride) pairs."""
    return leaves(layout.shape, layout.stride)


def from_modes(modes: Modes) -> Layout:
    """The layout with these leaves: flat, and an integer shape for a single one."""
    return Layout.trusted(*of_leaves(modes))


def concatenate(modes: Sequence[Layout]) -> Layout:
    """The layout with these modes."""
    return Layout.trusted(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


def _by_profile(layout: Any, profile: tuple[Any, ...], f: Callable[[Any, Any], Layout]) -> Layout:
    """Apply `f` to the modes that a profile names, keep the others."""
    if len(profile) > layout.rank:
        fail("OC1309", f"the profile {to_str(profile)} has more modes than {layout}",
             expected=f"at most {layout.rank} modes", found=to_str(profile))  # fmt: skip
    modes = [f(layout[i], p) for i, p in enumerate(profile)]
    modes += [layout[i] for i in range(len(profile), layout.rank)]
    return concatenate(modes)


def coalesce(layout: Any, target_profile: Any = None, *, merge_dynamic: bool = False) -> Any:
    """Merge neighbouring modes that continue each other and drop modes of size 1.

    Args:
        layout: a layout or composed layout.
        target_profile: a tuple restricts merging to the modes at its leaves.
        merge_dynamic: also merge into a mode of dynamic extent when the strides say that it
            continues: ``(16,?):(8,128)`` becomes ``?{div=16}:8``.

    Law: the same size and the same function of 1-D coordinates, at most one level deep.

    Example:
        >>> cute.coalesce(cute.make_layout((2, 4), stride=(1, 2)))
        Layout(8:1)
    """
    if isinstance(layout, ComposedLayout):
        outer = coalesce(layout.outer, target_profile, merge_dynamic=merge_dynamic)
        return layout.with_outer(outer)
    if not isinstance(layout, Layout):
        fail("OC1301", f"cannot coalesce {to_str(layout)}", expected="a layout",
             found=type(layout).__name__)  # fmt: skip
    if is_tuple(target_profile):
        return _by_profile(
            layout, target_profile, lambda a, p: coalesce(a, p, merge_dynamic=merge_dynamic)
        )
    return Layout.trusted(*coalesced(flat_modes(layout), merge_dynamic))


def _coalesce_left(layout: Layout, profile: Any) -> Layout:
    """`composer.open_ended` of a layout, or of the modes at the leaves of a profile."""
    if is_tuple(profile):
        return _by_profile(layout, profile, _coalesce_left)
    return Layout.trusted(*open_ended(layout.shape, layout.stride))


def coalesce_shape(shape: IntTuple) -> Any:
    """Multiply neighbouring extents of which both or neither are static.

    Law: the product stays; at most one level deep.
    """
    out: list[Any] = []
    for s in flatten_to_tuple(shape):
        if out and is_static_int(out[-1]) == is_static_int(s):
            out[-1] = mul(out[-1], s)
        else:
            out.append(s)
    return unwrap(tuple(out)) if out else 1


def filter_zeros(x: Any, target_profile: Any = None) -> Any:
    """Give size 1 to the modes with a static stride 0 (or a 0 in `target_profile`).

    Args:
        x: a layout or tensor.
        target_profile: a tuple; its zeros are the modes that get size 1, instead of the strides'.

    Law: the same set of offsets, each stride as it was.

    Example:
        >>> cute.filter_zeros(cute.make_layout((2, 4), stride=(0, 1)))
        Layout((1,4):(0,1))
    """
    if isinstance(x, ComposedLayout):
        return x.with_outer(filter_zeros(x.outer, target_profile))
    if not isinstance(x, Layout):
        return filter_zero_modes(x if target_profile is None else target_profile, x)
    guide = x.stride if target_profile is None else target_profile
    return Layout(filter_zero_modes(guide, x.shape), x.stride)


def filter(layout: Any, target_profile: Any = None) -> Any:
    """Drop modes with stride 0 or size 1 and coalesce; ``1:0`` if nothing is left.

    Args:
        layout: a layout or tensor.
        target_profile: a tuple restricts coalescing to the modes at its leaves.

    Law: the same set of offsets, no stride 0 left.

    Example:
        >>> cute.filter(cute.make_layout((2, 4), stride=(0, 1)))
        Layout(4:1)
    """
    if isinstance(layout, ComposedLayout):
        return layout.with_outer(filter(layout.outer, target_profile))
    if is_tuple(target_profile):
        return _by_profile(layout, target_profile, filter)
    return coalesce(filter_zeros(layout))


# Composition


@remembered
def composition(a: Any, b: Any) -> Any:
    """The layout ``a`` after ``b``.

    Args:
        a: a layout, composed layout or swizzle.
        b: a layout; a tiler, applied mode by mode, where modes of `a` that a short tuple does not
            reach are dropped; or a composed layout.

    Law: ``composition(a, b)(c) == a(b(c))`` for each coordinate ``c`` of a layout ``b``.

    Raises:
        LayoutError: the result is no layout, as the strides and extents of `b` do not divide the
            extents of `a`, or its modes overlap across them; or a tiler has too many modes. What
            dynamic extents hide is taken to fit.
    """
    if isinstance(a, ComposedLayout):
        return a.with_outer(composition(a.outer, b))
    if isinstance(a, Swizzle):
        if isinstance(b, Layout):
            return b if a.bits == 0 else ComposedLayout(a, 0, b)
        if isinstance(b, ComposedLayout):
            return ComposedLayout(Chain(a, b.inner), b.offset, b.outer)
        fail("OC1301", f"cannot compose {a} with {to_str(b)}", expected="a layout")
    if not isinstance(a, Layout):
        fail("OC1301", f"cannot compose {to_str(a)} with {to_str(b)}", expected="a layout")
    if isinstance(b, ComposedLayout):
        if isinstance(b.inner, Layout) and is_zero(b.offset):
            return composition(composition(a, b.inner), b.outer)
        return ComposedLayout(Chain(a, b.inner), b.offset, b.outer)
    if b is None:
        return a
    if isinstance(b, Layout):
        flat = _coalesce_left(a, coprofile(b.stride))
        return _after(a, b, flat, b.shape, b.stride)
    b = as_tiler(b)
    if is_tuple(b):
        check_tiler(a, b, "composition")
        modes = [composition(a[i], t) for i, t in enumerate(b)]
        return concatenate(modes)
    return _after(a, b, _coalesce_left(a, None), b, 1)


def _after(a: Layout, b: Any, flat: Layout, shape: Any, stride: Any) -> Layout:
    return Layout.trusted(*Composer(a, b).after((flat.shape, flat.stride), shape, stride))


def as_tiler(t: Tiler) -> Tiler:
    """A tiler with lists as tuples and known integers as Python ints; refuses anything else."""
    if is_sequence(t):
        return tuple(as_tiler(i) for i in t)
    if t is None or isinstance(t, Layout):
        return t
    if isinstance(t, ComposedLayout) or not (is_int(t) or hasattr(t, "__index__")):
        fail(
            "OC1309",
            f"{t!r} is no tiler",
            expected="an int, a layout, None, or a tuple of these",
            found=type(t).__name__,
        )
    return normalize(t)


def check_tiler(a: Any, tiler: tuple[Any, ...], what: str) -> None:
    """Refuse a tuple tiler with more modes than its target."""
    if len(tiler) > a.rank:
        fail("OC1309", f"{what}: the tiler {to_str(tiler)} has more modes than {a}",
             expected=f"at most {a.rank} modes", found=f"{len(tiler)} modes",
             hint="group_modes or flatten changes how many modes a layout has")  # fmt: skip


def with_shape(layout: Any, shape: Any, *more: Any) -> Any:
    """A layout with another shape: composed with the column-major layout of it.

    Args:
        layout: the layout.
        shape: the shape, also as several arguments, one for each mode.
        more: the other modes then.

    Law: the same function of 1-D coordinates, as far as the new shape goes.

    Example:
        >>> cute.with_shape(cute.make_layout(8, stride=2), (2, 4))
        Layout((2,4):(2,4))
    """
    return composition(layout, Layout((shape, *more) if more else shape))


# Complement


@remembered
def complement(layout: Any, cotarget: Any = None) -> Layout:
    """The layout of what a layout leaves out, up to a size.

    Args:
        layout: an injective layout (modes of stride 0 aside).
        cotarget: the size or shape to fill; the layout's cosize if omitted. With basis strides a
            tuple is filled coordinate by coordinate, and an integer by steps of the first one.

    Law: no offset but 0 in common with ``layout``, ascending offsets, and together they reach
    ``cotarget`` offsets at least.

    Raises:
        LayoutError: the layout is not injective, or more than one stride is dynamic.

    Example:
        >>> cute.complement(cute.make_layout(4, stride=2), 16)
        Layout((2,2):(1,8))
    """
    if isinstance(layout, ComposedLayout):
        return complement(layout.outer, cotarget)
    modes = flat_modes(filter(layout))
    target = getattr(cotarget, "shape", cotarget)
    if target is not None:
        target = normalize(target)
    if any(isinstance(d, ScaledBasis) for _, d in modes):
        if not all(isinstance(d, ScaledBasis) for _, d in modes):
            fail("OC1310", f"complement: {layout} mixes basis elements and numbers")
        return _complement_basis(modes, target)
    if target is None:
        target = cosize(filter(layout))
    if len(modes) == 1 and is_zero(modes[0][1]):
        return coalesce(Layout(coalesce_shape(target)))
    return coalesce(from_modes(_complement_modes(modes, target, layout)))


def _complement_modes(modes: Modes, target: Any, layout: Any) -> Modes:
    """Fill the gaps between sorted strides, then repeat the whole up to the target."""
    if len(modes) > 1:
        for _, d in modes:
            if not is_static_int(d):
                fail(
                    "OC1310",
                    f"complement: {layout} has more than one mode and a dynamic stride",
                    hint="only a single mode may have a dynamic stride",
                )
        modes = sorted(modes, key=lambda m: m[1])
    reached: Any = 1
    out: Modes = []
    for s, d in modes:
        gap = floor_div(d, reached)
        if is_static_int(gap) and gap <= 0:
            fail(
                "OC1312",
                f"complement: {layout} reaches an offset more than once or backwards",
                expected="an injective layout with positive strides",
            )
        out.append((gap, reached))
        reached = mul(d, s)
    rest = coalesce_shape(ceil_div(target, reached))
    rest_stride = compact_col_major(rest, reached)
    out.extend(zip(flatten_to_tuple(rest), flatten_to_tuple(rest_stride), strict=True))
    return out


def _complement_basis(modes: Modes, target: Any) -> Layout:
    """Complement along each coordinate separately."""
    if target is not None and not is_tuple(target):
        path = flatten_to_tuple(coprofile(tuple(d for _, d in modes)))
        first = min((d.mode for _, d in modes), key=lambda m: (m, len(m)))
        here = [(s, d.value) for s, d in modes if d.mode == first]
        return Layout(target, ScaledBasis(cosize(from_modes(here)), first)) if path else Layout(1)

    def along(path: tuple[int, ...], profile: Any, goal: Any) -> Layout:
        if is_tuple(profile):
            goals = goal if is_tuple(goal) else (None,) * len(profile)
            n = max(len(profile), len(goals))
            parts = profile + (0,) * (n - len(profile))
            subs = [
                along((*path, i), p, g) for i, (p, g) in enumerate(zip(parts, goals, strict=True))
            ]
            return concatenate(subs)
        here = [(s, d.value) for s, d in modes if d.mode == path]
        if not here:
            return Layout(1 if goal is None else product(goal), ScaledBasis(1, path))
        size = cosize(from_modes(here)) if goal is None else goal
        found = [m for m in _complement_modes(here, size, from_modes(here)) if not is_one(m[0])]
        found = found or [(1, size)]
        return from_modes([(s, ScaledBasis(d, path)) for s, d in found])

    return along((), coprofile(tuple(d for _, d in modes)), target)
