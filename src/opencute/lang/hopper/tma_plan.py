# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which box of a tensor one instruction moves to which run of shared memory.

In: the layouts of a tensor, of a tile in shared memory, and the map from the tile's elements to the
tensor's modes. Out: a `TmaPlan`: for each dimension of the tensor map, innermost first, its extent
in the box and the tensor's modes that it stands for; and the strides of the tensor of coordinates.

The box is the longest run of shared memory that begins at every mode's start: the inverse of the
tile's layout says which elements lie next to each other there, and a mode ends the run where the
next element is not one further along a mode of the tensor::

    plan = make_plan(L((m, k), (k, 1)), L((64, 32), (32, 1)), identity((64, 32)), 16, 16)
    plan.shape, plan.modes                 # (32, 64), (((1,),), ((0,),))
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from opencute import layout as la
from opencute.arch.tma import MAX_BOX, MAX_RANK
from opencute.base.errors import LayoutError
from opencute.layout import Layout, ScaledBasis
from opencute.layout.ints import is_tuple

__all__ = ["TmaPlan", "box_of", "coordinate_strides", "make_plan", "map_extents", "paths"]

Path = tuple[int, ...]


@dataclass(frozen=True)
class TmaPlan:
    """What one instruction moves.

    Args:
        shape: extents of the box, innermost first, in elements of the tensor map.
        modes: for each dimension of the map, the tensor's modes in it.
        scale: elements of the tensor map in one element of the tensor.
    """

    shape: tuple[int, ...]
    modes: tuple[tuple[Path, ...], ...]
    scale: int = 1

    @property
    def rank(self) -> int:
        """Dimensions of the map."""
        return len(self.shape)

    @property
    def values(self) -> int:
        """Elements of the tensor that one instruction moves."""
        return math.prod(self.shape) // self.scale


def paths(tree: Any, path: Path = ()) -> list[Path]:
    """The paths to the leaves of a shape, in order."""
    if is_tuple(tree):
        return [p for i, item in enumerate(tree) for p in paths(item, (*path, i))]
    return [path]


def _at(tree: Any, path: Path) -> Any:
    for i in path:
        tree = tree[i]
    return tree


def _is_static(x: Any, value: int) -> bool:
    return la.is_static_int(x) and int(x) == value


def _run(tile: Layout, to_modes: Layout) -> list[tuple[int, Path]]:
    """Extents and modes of the run of shared memory that starts in the middle of no mode."""
    inverse = la.right_inverse(tile)
    full = la.coalesce(la.composition(to_modes, inverse))
    shapes, strides = la.flatten_to_tuple(full.shape), la.flatten_to_tuple(full.stride)
    run: list[tuple[int, Path]] = []
    for n, d in zip(shapes, strides, strict=True):
        if not isinstance(d, ScaledBasis) or not _is_static(d.value, 1):
            break
        run.append((int(n), d.mode))
    if not run:
        raise LayoutError(
            "the tile and the tensor have no common run of elements", code="OC1320",
            expected="a tile that starts with a mode of the tensor", found=f"{tile} of {to_modes}",
            hint="the tile in shared memory has to be major in the tensor's contiguous mode",
        )  # fmt: skip
    return run


def make_plan(gmem: Layout, tile: Layout, to_modes: Layout, bits: int, map_bits: int) -> TmaPlan:
    """What one instruction moves of a tile.

    Args:
        gmem: layout of the tensor.
        tile: static layout of the tile in shared memory, without swizzle.
        to_modes: from the tile's elements to the tensor's modes, strides are bases.
        bits: bits of the tensor's elements.
        map_bits: bits of the tensor map's elements.

    Raises:
        LayoutError: there is no run of shared memory that is a box of the tensor.
    """
    if bits % map_bits:
        raise LayoutError(
            "elements of a tensor map are no wider than those of the tensor", code="OC1321",
            expected=f"at most {bits} bits that divide it", found=f"{map_bits} bits",
        )  # fmt: skip
    scale = bits // map_bits
    merged = _merged(gmem, _run(tile, to_modes), scale)
    shape = [n for n, _ in merged]
    modes = [m for _, m in merged]
    covered = {p for group in modes for p in group}
    for path in paths(gmem.shape):
        n, d = _at(gmem.shape, path), _at(gmem.stride, path)
        if path not in covered and not _is_static(n, 1) and not _is_static(d, 0):
            shape.append(1)
            modes.append((path,))
    if len(shape) > MAX_RANK:
        last = MAX_RANK - 1
        shape[last:] = [math.prod(shape[last:])]
        modes[last:] = [tuple(p for group in modes[last:] for p in group)]
    _check_inner(gmem, modes[0], tile)
    return TmaPlan(tuple(shape), tuple(modes), scale)


def _check_inner(gmem: Layout, modes: tuple[Path, ...], tile: Layout) -> None:
    stride = _at(gmem.stride, modes[0])
    if not _is_static(stride, 1):
        raise LayoutError(
            "the innermost elements of the tile are no neighbours in global memory", code="OC1322",
            expected=f"stride 1 in mode {_name(modes[0])} of the tensor",
            found=f"tensor {gmem}, tile {tile}",
            hint="let the tile in shared memory be major in the mode of stride 1, and tell the "
            "compiler which mode that is: mark_layout_dynamic(leading_dim=...)",
        )  # fmt: skip


def _name(path: Path) -> str:
    return ".".join(map(str, path))


def _merged(
    gmem: Layout, run: list[tuple[int, Path]], scale: int
) -> list[tuple[int, tuple[Path, ...]]]:
    """The run with neighbouring modes made one, as far as a box may reach."""
    out: list[tuple[int, tuple[Path, ...], Any]] = []
    for n, path in run:
        d = _at(gmem.stride, path)
        if _is_static(d, 1):
            n *= scale
        elif scale > 1:
            d = d * scale
        if n == 1 and len(run) > 1:
            continue
        if out:
            size, modes, first = out[-1]
            follows = la.known_equal(first * size, d) if not _is_static(d, 0) else False
            if follows and size * n <= MAX_BOX:
                out[-1] = size * n, (*modes, path), first
                continue
        out.append((n, (path,), d))
    if not out:  # a single element
        out.append((1, (run[0][1],), 1))
    return [(n, modes) for n, modes, _ in out]


def box_of(plan: TmaPlan, num_multicast: int) -> tuple[int, ...]:
    """The box of the map, of which each of several blocks loads a part.

    Raises:
        LayoutError: the blocks do not divide it.
    """
    box, left, i = list(plan.shape), num_multicast, plan.rank - 1
    while left > 1:
        if i < 0 or (box[i] % left and left % box[i]):
            raise LayoutError(
                f"{num_multicast} blocks cannot share a tile", code="OC1323",
                expected="a power of two that divides the outer extents", found=plan.shape,
            )  # fmt: skip
        rest = -(-left // box[i])
        box[i] = -(-box[i] // left)
        left, i = rest, i - 1
    return tuple(box)


def _steps(gmem: Layout, plan: TmaPlan, i: int) -> tuple[int, list[int]]:
    """Of a dimension that stands for several modes: its stride, and how many of it each mode is."""
    strides: list[int] = []
    for path in plan.modes[i]:
        d = _at(gmem.stride, path)
        if not la.is_static_int(d):
            raise LayoutError(
                "a tensor map has five dimensions, and further modes need static strides",
                code="OC1324", expected="at most 5 modes, or static strides", found=gmem,
            )  # fmt: skip
        strides.append(int(d))
    unit = math.gcd(*strides)
    return unit, [d // unit for d in strides]


def map_extents(gmem: Layout, plan: TmaPlan) -> tuple[list[Any], list[Any]]:
    """Extents and strides of the map's dimensions, in its elements; they may be dynamic."""
    extents: list[Any] = []
    strides: list[Any] = []
    for i, modes in enumerate(plan.modes):
        if len(modes) == 1:
            n, d = _at(gmem.shape, modes[0]), _at(gmem.stride, modes[0])
        else:
            d, counts = _steps(gmem, plan, i)
            n = 1
            for path, count in zip(modes, counts, strict=True):
                n = n + (_at(gmem.shape, path) - 1) * count
        extents.append(n * plan.scale if i == 0 else n)
        strides.append(d * plan.scale if i > 0 and plan.scale > 1 else d)
    return extents, strides


def coordinate_strides(gmem: Layout, plan: TmaPlan) -> Any:
    """The strides of the tensor of coordinates: a basis of the map's coordinates for each mode."""
    where = {path: i for i, modes in enumerate(plan.modes) for path in modes}

    def basis(path: Path) -> Any:
        i = where.get(path)
        if i is None or _is_static(_at(gmem.shape, path), 1) or _is_static(
            _at(gmem.stride, path), 0
        ):  # fmt: skip
            return 0
        step = 1
        if len(plan.modes[i]) > 1:
            counts = _steps(gmem, plan, i)[1]
            step = counts[plan.modes[i].index(path)]
        return ScaledBasis(step * (plan.scale if i == 0 else 1), i)

    def build(tree: Any, path: Path) -> Any:
        if is_tuple(tree):
            return tuple(build(item, (*path, i)) for i, item in enumerate(tree))
        return basis(path)

    return build(gmem.shape, ())
