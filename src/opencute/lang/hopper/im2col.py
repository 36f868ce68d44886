# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms that move columns of pixels, as convolutions read and write them: im2col, by the copy unit.

In: images (N, H, W, C), and the filter. Out: an atom, and a tensor of coordinates whose modes are
those of the convolution, (N, P, Q, C, R, S); a tile is some pixels from one on, in the order Q, P,
N, and some of their channels, for one place of the filter::

    atom, coords = make_im2col_tma_atom(CopyBulkTensorIm2ColG2SOp(), x, smem_layout, (128, 64),
                                        filter=(3, 3), padding=(1, 1))
    here = cute.domain_offset((n, p, q, c, r, s), coords)
    cute.copy(atom, here, smem, tma_bar_ptr=bar)

Stores and reductions write the pixels that such a load reads. The instruction has no place of the
filter: the map has it, so coordinates are (N, P, Q, C)::

    atom, coords = make_im2col_tma_atom(CopyReduceBulkTensorIm2ColS2GOp(), dx, smem_layout,
                                        (128, 64), filter=(3, 3), place=(r, s))
    cute.copy(atom, smem, cute.domain_offset((n, p, q, c), coords))

What is in the padding, or in no image, comes as zeros. Stores have no padding: all pixels have to
be inside of the images; those of images that there are not are left out.
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opencute import layout as la
from opencute.arch.tma import MAX_BOX, TMA_SWIZZLES, Tile, stores_outside
from opencute.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    OpenCuTeError,
    TypeMismatchError,
)
from opencute.dialects.hopper import tensor_maps, tma
from opencute.ir.core import Value
from opencute.lang.hopper.byte_counts import note_bytes
from opencute.lang.hopper.tma_atoms import (
    TmaInfo,
    check_reduction,
    element_word,
    global_tensor,
    shared_layout,
)
from opencute.lang.hopper.tma_copy import (
    SmemSide,
    TmaAtom,
    barrier_of,
    by_one_thread,
    cache_policy_of,
    map_of,
    mask_of,
    narrow,
)
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.hopper.tma_plan import TmaPlan
from opencute.lang.numbers import Int64, NumericMeta
from opencute.lang.pointers import Pointer, element_bits
from opencute.lang.tensors import TracedTensor
from opencute.layout import Layout, ScaledBasis

__all__ = ["Im2colAtom", "make_im2col_tma_atom"]

_ALIGN = 16
_Move = Callable[[Value, list[Value], list[Value]], None]


class Im2colAtom(TmaAtom):
    """A copy of columns of pixels; see `make_im2col_tma_atom`.

    Args:
        op: the operation.
        value_type: numeric class of the tensor's elements.
        tile: the static part of the tensor map.
        map: the tensor map, an SSA value.
        gmem_shape: the tensor's shape; only its modes count.
        blocks: instructions of a tile; each moves as many channels as the swizzle is wide.
    """

    def __init__(
        self, op: TmaOp, value_type: NumericMeta, tile: Tile, map: Value, gmem_shape: Any,
        blocks: int,
    ) -> None:  # fmt: skip
        plan = TmaPlan((tile.channels, tile.pixels), ((), ()))
        super().__init__(op, value_type, plan, tile, map, 1, gmem_shape)
        self.blocks = blocks

    @property
    def key(self) -> Any:
        return (*super().key, self.blocks)

    def __new_from_mlir_values__(self, values: Any) -> Im2colAtom:
        first = values[0]
        if isinstance(first, Im2colAtom):
            return first
        return Im2colAtom(self.op, self.value_type, self.tile, first, self.gmem_shape, self.blocks)

    def copy_tensors(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, src: Any, dst: Any, pred: Any = None, *, tma_bar_ptr: Any = None,
        mcast_mask: Any = None, tma_desc_ptr: Any = None, cache_policy: Any = None,
        loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """What `cute.copy` does with this atom; all threads of a warp call it.

        Args:
            src: for loads the tensor of coordinates, moved to the tile's first pixel and channel;
                for stores and reductions shared memory, (pixels, channels).
            dst: the other of the two.
            pred: refused.
            tma_bar_ptr: for loads, the mbarrier that counts the bytes.
            mcast_mask: for multicast loads, the blocks that get the tile: bit r is block r of the
                cluster. Each has its barrier, and the tile, at the same place.
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
        cache, map_, op = cache_policy_of(cache_policy), map_of(self, tma_desc_ptr), self.op
        if not op.loads:
            if tma_bar_ptr is not None or mcast_mask is not None:
                raise TypeMismatchError(
                    f"copy: {op} has neither barrier nor mask", code="OC1227",
                    hint="wait with cute.arch.cp_async_bulk_commit_group() and "
                    "cute.arch.cp_async_bulk_wait_group(0)",
                )  # fmt: skip
            tiles = self._tiles(dst, "dst", src)

            def store(place: Value, coords: list[Value], _: list[Value]) -> None:
                if op.reduction:
                    tma.tma_reduce(op.reduction, map_, place, coords, cache=cache, mode="im2col")
                else:
                    tma.tma_store(map_, place, coords, cache=cache, mode="im2col")

            by_one_thread(lambda: tiles(store))
            return
        bar, mask = barrier_of(self, tma_bar_ptr), mask_of(self, mcast_mask)
        tiles = self._tiles(src, "src", dst)
        note_bytes(tma_bar_ptr, la.size(dst.layout) * element_bits(self.value_type) // 8)

        def load(place: Value, coords: list[Value], offsets: list[Value]) -> None:
            tma.tma_load(
                place, map_, bar, coords, offsets=offsets, mask=mask, cache=cache, mode="im2col"
            )

        by_one_thread(lambda: tiles(load))

    def _tiles(self, coords: Any, what: str, smem: Any) -> Callable[[_Move], None]:
        """What calls a function for each instruction of a copy, with its place in shared memory,
        its coordinates and offsets; operands are checked now."""
        at, side = self._coordinates(coords, what), SmemSide(self, smem)
        _check_tile(side.layout, self.tile.pixels, self.tile.channels)
        values, rank = self.num_values, self.tile.rank
        count = int(la.size(side.layout)) // values

        def run(move: _Move) -> None:
            for i in range(count):
                first = at[0] + i * self.tile.channels
                place = [narrow(c, 32) for c in (first, *at[1:rank])]
                move(side.at(i * values), place, [narrow(o, 16) for o in at[rank:]])

        return run

    def prefetch_tensors(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, src: Any, *, tma_desc_ptr: Any = None, cache_policy: Any = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """What `cute.prefetch` does with this atom: a tile goes into the L2 cache. All threads of a
        warp call it.

        Args:
            src: the tensor of coordinates, moved to the tile's first pixel and channel.
            tma_desc_ptr: another tensor map, in global memory.
            cache_policy: a cache policy.

        Raises:
            TypeMismatchError: an atom that stores, or other coordinates.
        """
        if not self.op.loads:
            raise TypeMismatchError(
                f"prefetch: {self.op} reads no global memory", code="OC1227",
                expected="an atom that loads",
            )  # fmt: skip
        at, rank = self._coordinates(src, "src"), self.tile.rank
        map_, cache = map_of(self, tma_desc_ptr), cache_policy_of(cache_policy)

        def all_of_them() -> None:
            for i in range(self.blocks):
                first = at[0] + i * self.tile.channels
                tma.tma_prefetch(
                    map_, [narrow(c, 32) for c in (first, *at[1:rank])],
                    offsets=[narrow(o, 16) for o in at[rank:]], cache=cache, mode="im2col",
                )  # fmt: skip

        by_one_thread(all_of_them)

    def _coordinates(self, coords: Any, what: str) -> list[Any]:
        """The first pixel and channel, innermost first; of loads then the place of the filter."""
        rank = self.tile.rank
        ok = isinstance(coords, TracedTensor) and not isinstance(coords.iterator, Pointer)
        flat = la.flatten_to_tuple(coords.iterator) if ok else ()
        if len(flat) != (2 * rank - 2 if self.op.loads else rank):
            modes = "(n, p, q, c, r, s)" if self.op.loads else "(n, p, q, c)"
            raise TypeMismatchError(
                f"copy: {what} is no tensor of coordinates of this atom", code="OC1236",
                found=str(coords), expected=f"cute.domain_offset({modes}, coords)",
            )  # fmt: skip
        return list(flat)


def _check_tile(layout: Layout, pixels: int, channels: int) -> None:
    """Check that shared memory holds columns of `channels` channels, each at any place."""
    total = int(la.size(layout))
    blocks = total // (pixels * channels)
    wrong = blocks * pixels * channels != total
    for block in range(blocks):
        start = block * pixels * channels
        place = layout(start)
        corners = {start: 0, start + pixels * channels - 1: pixels * channels - 1}
        if pixels > 1:
            corners[start + 1] = channels
        if channels > 1:
            corners[start + pixels] = 1
        wrong = wrong or any(int(layout(i) - place) != step for i, step in corners.items())
    if wrong:
        raise LayoutError(
            "the tile in shared memory is no column of pixels", code="OC1391", found=layout,
            expected=f"{pixels} pixels of {channels} contiguous channels, block after block",
            hint="make it of a K-major layout atom as wide as its swizzle",
        )  # fmt: skip


_RANGES = {
    "filter": (1, None), "padding": (0, None), "stride": (1, 8), "dilation": (1, None),
    "place": (0, None), "cta_tiler": (1, None),
}  # fmt: skip


def _integers(name: str, value: Any, n: int, of: str = "for each mode of space") -> tuple[int, ...]:
    """An argument that is some integers, each in its range.

    Args:
        name: the argument.
        value: what was given.
        n: how many integers.
        of: what they are of, for messages.

    Raises:
        ArgumentTypeError: not a tuple or list of so many integers.
        ArgumentError: integers that no tensor map has.
    """
    given = [_integer(x) for x in value] if isinstance(value, tuple | list) else []
    numbers = tuple(x for x in given if x is not None)
    least, most = _RANGES[name]
    if len(numbers) != n or len(given) != n:
        raise ArgumentTypeError(
            f"make_im2col_tma_atom: {name} needs an integer {of}", code="OC2944",
            expected=f"a tuple of {n} integer{'s' * (n > 1)}, such as ({', '.join(['1'] * n)}"
            f"{',' * (n == 1)})", found=repr(value),
        )  # fmt: skip
    if any(x < least or (most is not None and x > most) for x in numbers):
        raise ArgumentError(
            f"make_im2col_tma_atom: {name} has numbers out of their range", code="OC2944",
            expected=f"at least {least}" if most is None else f"{least} to {most}", found=numbers,
        )  # fmt: skip
    return numbers


def _integer(x: Any) -> int | None:
    """An integer that is known now, or None."""
    if isinstance(x, bool) or not (la.is_static_int(x) or hasattr(x, "__index__")):
        return None
    try:
        return int(x)
    except (TypeError, ValueError, OpenCuTeError):
        return None


def _place(
    op: TmaOp, place: Sequence[int] | None, taps: tuple[int, ...], wide: tuple[int, ...]
) -> tuple[int, ...]:
    """How far a map's box is moved: loads have a place of the filter in the instruction."""
    if place is None:
        return (0,) * len(taps)
    if op.loads:
        raise ArgumentError(
            "make_im2col_tma_atom: place is for stores and reductions", code="OC2944", found=place,
            expected="none: the coordinates of loads have it, (n, p, q, c, r, s)",
        )  # fmt: skip
    given = _integers("place", place, len(taps))
    if any(r >= t for r, t in zip(given, taps, strict=True)):
        raise ArgumentError(
            "make_im2col_tma_atom: place is none of the filter", code="OC2944", found=given,
            expected=f"numbers below {', '.join(map(str, taps))}",
        )  # fmt: skip
    return tuple(r * d for r, d in zip(given, wide, strict=True))


def _check_room(
    extents: Sequence[Any], lower: tuple[int, ...], upper: tuple[int, ...], what: str
) -> None:
    """Check that the filter fits into images of extents that are known.

    Raises:
        ArgumentError: no pixel of a result.
    """
    for n, low, high in zip(extents, lower, upper, strict=True):
        if la.is_static_int(n) and int(n) + high - low < min(int(n), 1):
            raise ArgumentError(
                "make_im2col_tma_atom: the filter is larger than the images with their padding",
                code="OC2944", expected="(filter - 1) * dilation + 1 of at most the extent plus "
                "twice the padding, in each mode of space",
                found=f"{what}, images of {' x '.join(map(str, extents))}",
            )  # fmt: skip


def make_im2col_tma_atom(
    op: Any, gmem_tensor: Any, smem_layout: Any, cta_tiler: Any, filter: Sequence[int],
    padding: Sequence[int] | None = None, stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None, *, place: Sequence[int] | None = None,
    loc: Any = None, ip: Any = None,
) -> TmaInfo:  # fmt: skip
    """An atom that moves columns of pixels, and the tensor of its coordinates.

    `cute.copy` and `cute.prefetch` with this atom elect a thread of the warp themselves: the whole
    warp has to reach them. With the multicast operation each block of a cluster loads a part of the
    pixels for all: the atom is made for the part, and shared memory divided accordingly.

    Args:
        op: `CopyBulkTensorIm2ColG2SOp()`, `CopyBulkTensorIm2ColG2SMulticastOp()`,
            `CopyBulkTensorIm2ColS2GOp()` or `CopyReduceBulkTensorIm2ColS2GOp(kind)`.
        gmem_tensor: images (N, W, C), (N, H, W, C) or (N, D, H, W, C), C contiguous.
        smem_layout: layout of one tile (pixels, channels) in shared memory, channels contiguous.
        cta_tiler: pixels and channels of a tile, two integers.
        filter: extents of the filter, a tuple of integers in the order of the tensor's modes of
            space.
        padding: pixels added at both ends of these modes, so many integers too; none if not given.
        stride: steps of the filter, 1 to 8; 1 if not given.
        dilation: steps within the filter; 1 if not given.
        place: for stores and reductions, the place of the filter whose pixels they write, the first
            if not given: pixel (p, q) of the result goes to ``p * stride - padding + place *
            dilation``, which has to be inside of the image for all of them.

    Returns:
        The atom and coordinates (N, pixels of the result..., C, places of the filter...); without
        the places for stores and reductions.

    Raises:
        ArgumentError: an argument is no tuple of so many integers (then a TypeError too), numbers
            are out of range, the filter is larger than the images, or there is no such place.
        LayoutError: no tensor map describes such tiles, or a store to pixels outside of the images.
        TypeMismatchError: not this operation, no such elements, or a reduction that the hardware
            does not have for them.
    """
    if not isinstance(op, TmaOp) or not op.im2col:
        raise TypeMismatchError(
            "not a copy of columns of pixels", code="OC1617", found=repr(op),
            expected="an operation such as cute.nvgpu.cpasync.CopyBulkTensorIm2ColG2SOp()",
        )  # fmt: skip
    tensor = global_tensor(gmem_tensor)
    shape, steps = (la.flatten_to_tuple(x) for x in (tensor.layout.shape, tensor.layout.stride))
    space = len(shape) - 2
    if not 1 <= space <= 3 or not (la.is_static_int(steps[-1]) and int(steps[-1]) == 1):
        raise LayoutError(
            "images are (N, [D,] [H,] W, C), with C contiguous", code="OC1392",
            found=tensor.layout,
        )  # fmt: skip
    tiler = _integers("cta_tiler", cta_tiler, 2, "for pixels and one for channels")
    taps = _integers("filter", filter, space)
    pad = (0,) * space if padding is None else _integers("padding", padding, space)
    step = (1,) * space if stride is None else _integers("stride", stride, space)
    wide = (1,) * space if dilation is None else _integers("dilation", dilation, space)
    moved = _place(op, place, taps, wide)
    lower = tuple(m - p for m, p in zip(moved, pad, strict=True))
    upper = tuple(m + p - d * (t - 1) for m, p, d, t in zip(moved, pad, wide, taps, strict=True))
    what = f"filter {taps}, padding {pad}, dilation {wide}"
    _check_room(shape[1:-1], lower, upper, what)
    if not op.loads and stores_outside(lower, upper):
        raise LayoutError(
            "stores of columns of pixels have no padding: some pixels are outside of the images",
            code="OC1393", expected="lower corners of at least 0, upper corners of at most 0",
            found=f"{lower} and {upper}, of filter {taps}, padding {pad} and place {place}",
            hint="allocate images with room for the padding, and store to them without; a result "
            "(N, P, Q, K) is stored with a filter of ones",
        )  # fmt: skip
    tile, smem = _tile(op, tensor, smem_layout, tiler, lower, upper, step)
    _check_tile(smem, tile.pixels, tile.channels)
    map_ = tensor_maps.descriptor(
        tensor.iterator.value, [_wide(n) for n in shape[::-1]],
        [_bytes(d, tile, tensor) for d in steps[-2::-1]], tile,
    )  # fmt: skip
    blocks = int(la.size(smem)) // (tile.pixels * tile.channels)
    atom = Im2colAtom(op, tensor.element_type, tile, map_, (1,) * len(shape), blocks)
    places = (wide, taps) if op.loads else ((), ())
    coords = _coords(shape, lower, upper, step, *places)
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
    op: TmaOp, tensor: TracedTensor, smem_layout: Any, cta_tiler: tuple[int, ...],
    lower: tuple[int, ...], upper: tuple[int, ...], step: tuple[int, ...],
) -> tuple[Tile, Layout]:  # fmt: skip
    """The static part of the map, and the plain layout of a tile in shared memory."""
    pixels, channels = cta_tiler
    word = element_word(tensor.element_type)
    if not word:
        raise TypeMismatchError(
            "a tensor map has no such elements", code="OC1228", found=tensor.element_type
        )
    check_reduction(op, word, tensor.element_type)
    smem, swizzle = shared_layout(smem_layout, pixels * channels)
    size = element_bits(tensor.element_type) // 8
    most = MAX_BOX if swizzle == "none" else TMA_SWIZZLES[swizzle].span // size
    try:
        tile = Tile(
            word, (), steps=(1, *step[::-1], 1), swizzle=swizzle, lower=lower[::-1],
            upper=upper[::-1], channels=min(channels, most), pixels=pixels,
        )  # fmt: skip
    except ArgumentError as e:
        found = f"tensor {tensor.layout}, shared memory {smem_layout}"
        if "corners" in e.message:
            found = (
                f"{lower} (place * dilation - padding) and {upper} (place * dilation + padding - "
                "dilation * (filter - 1))"
            )
        raise LayoutError(
            f"no tensor map has such tiles: {e.message.partition(': ')[2]}", code="OC1329",
            found=found,
        ) from None  # fmt: skip
    return tile, smem


def _coords(
    shape: Sequence[Any], lower: tuple[int, ...], upper: tuple[int, ...], step: tuple[int, ...],
    wide: tuple[int, ...], taps: tuple[int, ...],
) -> TracedTensor:  # fmt: skip
    """Coordinates (N, pixels..., C, filter...): those of the map, then what is added to them."""
    rank, space = len(shape), len(lower)
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
    return TracedTensor((0, *lower[::-1], 0, *(0,) * len(taps)), layout)
