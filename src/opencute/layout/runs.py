# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of offsets 0, 1, 2, ... in plain layouts.

In: a plain layout. Out: what finds its run, as a shape and strides; and how many elements of it
move as one. `inverse` has both for all kinds of layouts::

    a = Layout((2, 4), (4, 1))
    inverted(rows(leaves(a.shape, a.stride)), a, rising)    # ((4, 2), (2, 1))
    alignment(a)                                            # 8
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opencute.layout.arith import filter_zero_modes, product
from opencute.layout.basis import ScaledBasis
from opencute.layout.ints import divides, fail, is_static_int, is_tuple, mul
from opencute.layout.leaves import (
    Modes,
    Pair,
    coalesced,
    coprofile,
    is_one,
    is_zero,
    leaves,
    of_leaves,
    together,
)

__all__ = ["Rows", "alignment", "divisors", "inverted", "rising", "rows", "steps"]

Rows = list[tuple[Any, Any, Any]]
"""(stride, extent, step of the 1-D coordinate) of modes."""


def steps(modes: Modes) -> list[Any]:
    """How far one step of each mode moves the 1-D coordinate."""
    out: list[Any] = []
    step: Any = 1
    for s, _ in modes:
        out.append(step)
        step = mul(step, s)
    return out


def rows(modes: Modes) -> Rows:
    """(stride, extent, step of the 1-D coordinate) of each of a layout's coalesced modes."""
    return [(d, s, p) for (s, d), p in zip(modes, steps(modes), strict=True)]


def inverted(given: Rows, layout: Any, invert: Callable[[Rows, Any], Pair]) -> Pair:
    """Invert the modes of each coordinate of the offsets; of plain offsets, all modes at once.

    Args:
        given: the rows of a layout.
        layout: it, for messages.
        invert: what inverts the rows of one coordinate.
    """

    def along(path: tuple[int, ...], profile: Any) -> Pair:
        if is_tuple(profile):
            return together([along((*path, i), p) for i, p in enumerate(profile)])
        here = [(d.value, s, p) for d, s, p in given if getattr(d, "mode", None) == path]
        return coalesced(leaves(*invert(here, layout))) if here else (1, 0)

    profile = coprofile(layout.stride)
    if not is_tuple(profile):
        return coalesced(leaves(*invert(given, layout)))
    if not all(isinstance(d, ScaledBasis) or is_zero(d) for d, _, _ in given):
        fail("OC1310", f"{layout} mixes basis elements and numbers")
    return along((), profile)


def rising(given: Rows, _: Any) -> Pair:
    """Follow the static strides that continue each other from 1 on."""
    out: Modes = []
    reached: Any = 1
    for d, s, step in sorted((r for r in given if is_static_int(r[0])), key=lambda r: r[0]):
        if is_static_int(reached) and d == reached:
            out.append((s, step))
            reached = mul(d, s)
    return of_leaves(out)


def divisors(n: int) -> list[int]:
    """All divisors, the largest first."""
    low = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return sorted({n, *low, *(n // d for d in low)}, reverse=True)


def alignment(layout: Any) -> int:
    """The largest number of elements that move as one; see `inverse.max_alignment`."""
    modes = leaves(*coalesced(leaves(layout.shape, layout.stride)))
    run = product(inverted(rows(modes), layout, rising)[0])
    if not is_static_int(run):
        return 1
    moving = leaves(filter_zero_modes(layout.stride, layout.shape), layout.stride)
    paces = [(d, is_static_int(d)) for s, d in moving if not is_one(s)]

    def fits(n: int) -> bool:
        return all(
            divides(n, d) or (static and n % abs(d) == 0) for d, static in paces if not is_zero(d)
        )

    good = {n for n in divisors(run) if fits(n)}
    return max(n for n in good if all(d in good for d in divisors(n)))
