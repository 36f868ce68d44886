# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms that load columns of pixels, as convolutions read them: im2col, done by the copy unit.

In: images (N, H, W, C), and the filter. Out: an atom, and a tensor of coordinates whose modes are
those of the convolution, (N, P, Q, C, R, S); a tile is some pixels from one on, in the order Q, P,
N, and some of their channels, for one place of the filter::

    atom, coords = make_im2col_tma_atom(CopyBulkTensorIm2ColG2SOp(), x, smem_layout, (128, 64),
                                        filter=(3, 3), padding=(1, 1))
    here = cute.domain_offset((n, p, q, c, r, s), coords)
    cute.copy(atom, here, smem, tma_bar_ptr=bar)
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencute import layout as la
from opencute.arch.tma import MAX_BOX, TMA_SWIZZLES, Tile
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects.hopper import tensor_maps, tma
from opencute.lang.hopper.byte_counts import note_bytes
from opencute.lang.hopper.tma_atoms import TmaInfo, element_word, global_tensor, shared_layout
from opencute.lang.hopper.tma_copy import (
    SmemSide,
    TmaAtom,
    barrier_of,
    by_one_thread,
    cache_policy_of,
    map_of,
    narrow,
)
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.hopper.tma_plan import TmaPlan
from opencute.lang.numbers import Int64
from opencute.lang.pointers import Pointer, element_bits
from opencute.lang.tensors import TracedTensor
from opencute.layout import Layout, ScaledBasis

__all__ = ["CopyBulkTensorIm2ColG2SOp", "Im2colAtom", "make_im2col_tma_atom"]

_ALIGN = 16


@dataclass(frozen=True)
class CopyBulkTensorIm2ColG2SOp(TmaOp):
    """A column of pixels from global to shared memory."""

    name = "tma_load_im2col"
    loads = True

    def __str__(self) -> str:
        return "cp.async.bulk.tensor.im2col, global to shared memory"


class Im2colAtom(TmaAtom):
    """A load of columns of pixels; see `make_im2col_tma_atom`."""

    def __new_from_mlir_values__(self, values: Any) -> Im2colAtom:
        first = values[0]
        if isinstance(first, Im2colAtom):
            return first
        return Im2colAtom(self.op, self.value_type, self.plan, self.tile, first, 1, self.gmem_shape)

    def copy_tensors(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, src: Any, dst: Any, pred: Any = None, *, tma_bar_ptr: Any = None,
        tma_desc_ptr: Any = None, cache_policy: Any = None, loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """What `cute.copy` does with this atom; all threads of a warp call it.

        Args:
            src: the tensor of coordinates, moved to the tile's first pixel and channel.
            dst: shared memory, (pixels, channels).
            pred: refused.
            tma_bar_ptr: the mbarrier that counts the bytes.
            tma_desc_ptr: another tensor map, in global memory.
            cache_policy: a cache policy.

        Raises:
            LayoutError: the tile in shared memory is not that of the atom.
            TypeMismatchError: an operand is missing, or not of this kind.
        """
        if pred is not None:
            raise TypeMismatchError(
                "copy: a copy of tiles takes no predicate", code="OC1227",
                hint="extents are checked by the hardware; put the copy into an `if`",
            )  # fmt: skip
        bar, cache = barrier_of(self, tma_bar_ptr), cache_policy_of(cache_policy)
        at = self._coordinates(src)
        smem, map_ = SmemSide(self, dst), map_of(self, tma_desc_ptr)
        values = self.num_values
        total = int(la.size(smem.layout))
        _check_tile(smem.layout, self.tile.pixels, self.tile.channels)
        note_bytes(tma_bar_ptr, total * element_bits(self.value_type) // 8)
        rank = self.tile.rank

        def all_of_them() -> None:
            for i in range(total // values):
                first = at[0] + i * self.tile.channels
                coords = [narrow(c, 32) for c in (first, *at[1:rank])]
                offsets = [narrow(o, 16) for o in at[rank:]]
                tma.tma_load(
                    smem.at(i * values), map_, bar, coords, offsets=offsets, cache=cache,
                    mode="im2col",
                )  # fmt: skip

        by_one_thread(all_of_them)

    def _coordinates(self, src: Any) -> list[Any]:
        """The first pixel and channel, innermost first, then the place of the filter."""
        ok = isinstance(src, TracedTensor) and not isinstance(src.iterator, Pointer)
        flat = la.flatten_to_tuple(src.iterator) if ok else ()
        if len(flat) != 2 * self.tile.rank - 2:
            raise TypeMismatchError(
                "copy: src is no tensor of coordinates of this atom", code="OC1236",
                found=str(src), expected="cute.domain_offset((n, p, q, c, r, s), coords)",
            )  # fmt: skip
        return list(flat)


def _check_tile(layout: Layout, pixels: int, channels: int) -> None:
    """Check that shared memory holds columns of `channels` channels, one after the other."""
    total = int(la.size(layout))
    blocks = total // (pixels * channels)
    corners = {0: 0, total - 1: total - 1}
    for block in range(blocks):
        start = block * pixels * channels
        corners[start] = start
        if pixels > 1:
            corners[start + 1] = start + channels
        if channels > 1:
            corners[start + pixels] = start + 1
    wrong = blocks * pixels * channels != total
    if wrong or any(int(layout(i)) != place for i, place in corners.items()):
        raise LayoutError(
            "the tile in shared memory is no column of pixels", code="OC1391", found=layout,
            expected=f"{pixels} pixels of {channels} contiguous channels, block after block",
            hint="make it of a K-major layout atom as wide as its swizzle",
        )  # fmt: skip


def _per_mode(name: str, value: Sequence[int] | None, default: int, n: int) -> tuple[int, ...]:
    given = (default,) * n if value is None else tuple(int(x) for x in value)
    if len(given) != n or any(x < (0 if name == "padding" else 1) for x in given):
        raise ArgumentError(
            f"make_im2col_tma_atom: {name} has a number for each mode of space", code="OC2944",
            expected=f"{n} numbers", found=value,
        )  # fmt: skip
    return given


def make_im2col_tma_atom(
    op: Any, gmem_tensor: Any, smem_layout: Any, cta_tiler: Any, filter: Sequence[int],
    padding: Sequence[int] | None = None, stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None, *, loc: Any = None, ip: Any = None,
) -> TmaInfo:  # fmt: skip
    """An atom that loads columns of pixels, and the tensor of its coordinates.

    Args:
        op: `CopyBulkTensorIm2ColG2SOp()`.
        gmem_tensor: images (N, W, C), (N, H, W, C) or (N, D, H, W, C), C contiguous.
        smem_layout: layout of one tile (pixels, channels) in shared memory, channels contiguous.
        cta_tiler: pixels and channels of a tile.
        filter: extents of the filter, in the order of the tensor's modes of space.
        padding: pixels added at both ends of these modes.
        stride: steps of the filter.
        dilation: steps within the filter.

    Returns:
        The atom and coordinates (N, pixels of the result..., C, places of the filter...).

    Raises:
        ArgumentError: numbers are missing.
        LayoutError: no tensor map describes such tiles.
        TypeMismatchError: not this operation, or no such elements.
    """
    if not isinstance(op, CopyBulkTensorIm2ColG2SOp):
        raise TypeMismatchError(
            "not a copy of columns of pixels", code="OC1617", found=repr(op),
            expected="cute.nvgpu.cpasync.CopyBulkTensorIm2ColG2SOp()",
        )  # fmt: skip
    tensor = global_tensor(gmem_tensor)
    shape, steps = (la.flatten_to_tuple(x) for x in (tensor.layout.shape, tensor.layout.stride))
    space = len(shape) - 2
    if not 1 <= space <= 3 or not (la.is_static_int(steps[-1]) and int(steps[-1]) == 1):
        raise LayoutError(
            "images are (N, [D,] [H,] W, C), with C contiguous", code="OC1392",
            found=tensor.layout,
        )  # fmt: skip
    taps = _per_mode("filter", filter, 1, space)
    pad = _per_mode("padding", padding, 0, space)
    step = _per_mode("stride", stride, 1, space)
    wide = _per_mode("dilation", dilation, 1, space)
    lower = tuple(-p for p in pad)
    upper = tuple(p - d * (t - 1) for p, d, t in zip(pad, wide, taps, strict=True))
    tile, smem = _tile(tensor, smem_layout, cta_tiler, lower, upper, step)
    _check_tile(smem, tile.pixels, tile.channels)
    map_ = tensor_maps.descriptor(
        tensor.iterator.value, [_wide(n) for n in shape[::-1]],
        [_bytes(d, tile, tensor) for d in steps[-2::-1]], tile,
    )  # fmt: skip
    plan = TmaPlan((tile.channels, tile.pixels), ((), ()))
    atom = Im2colAtom(op, tensor.element_type, plan, tile, map_, 1, (1,) * len(shape))
    coords = _coords(shape, lower, upper, step, wide, taps)
    return TmaInfo(atom, coords, smem_layout)


def _wide(x: Any) -> Any:
    number: Any = Int64(x)
    return number.ir_value()


def _bytes(stride: Any, tile: Tile, tensor: TracedTensor) -> Any:
    """A stride in bytes."""
    size = tile.type.bits // 8
    if la.is_static_int(stride) and int(stride) * size % _ALIGN:
        raise LayoutError(
            "a stride of the tensor is no multiple of 16 bytes", code="OC1325",
            expected=f"multiples of {_ALIGN // size} elements", found=tensor.layout,
        )  # fmt: skip
    number: Any = Int64(stride)
    return (number * size).ir_value()


def _tile(
    tensor: TracedTensor, smem_layout: Any, cta_tiler: Any, lower: tuple[int, ...],
    upper: tuple[int, ...], step: tuple[int, ...],
) -> tuple[Tile, Layout]:  # fmt: skip
    """The static part of the map, and the plain layout of a tile in shared memory."""
    pixels, channels = (int(n) for n in cta_tiler)
    word = element_word(tensor.element_type)
    if not word:
        raise TypeMismatchError(
            "a tensor map has no such elements", code="OC1228", found=tensor.element_type
        )
    smem, swizzle = shared_layout(smem_layout, pixels * channels)
    size = element_bits(tensor.element_type) // 8
    most = MAX_BOX if swizzle == "none" else TMA_SWIZZLES[swizzle].span // size
    try:
        tile = Tile(
            word, (), steps=(1, *step[::-1], 1), swizzle=swizzle, lower=lower[::-1],
            upper=upper[::-1], channels=min(channels, most), pixels=pixels,
        )  # fmt: skip
    except ArgumentError as e:
        raise LayoutError(
            f"no tensor map has such tiles: {e.message.partition(': ')[2]}", code="OC1329",
            found=f"tensor {tensor.layout}, shared memory {smem_layout}",
        ) from None  # fmt: skip
    return tile, smem


def _coords(
    shape: Sequence[Any], lower: tuple[int, ...], upper: tuple[int, ...], step: tuple[int, ...],
    wide: tuple[int, ...], taps: tuple[int, ...],
) -> TracedTensor:  # fmt: skip
    """Coordinates (N, pixels..., C, filter...): those of the map, then what is added to them."""
    rank, space = len(shape), len(taps)
    extents = [
        (n + u - low - 1) // s + 1
        for n, low, u, s in zip(shape[1:-1], lower, upper, step, strict=True)
    ]
    pixels = [ScaledBasis(s, space - i) for i, s in enumerate(step)]
    places = [ScaledBasis(d, rank + space - 1 - i) for i, d in enumerate(wide)]
    layout = Layout(
        (shape[0], *extents, shape[-1], *taps),
        (ScaledBasis(1, rank - 1), *pixels, ScaledBasis(1, 0), *places),
    )
    return TracedTensor((0, *lower[::-1], 0, *(0,) * space), layout)
