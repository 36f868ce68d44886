# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Accesses to registers (`RowBuffer`): one row of bytes for each lane."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim import faults
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RowBuffer
from opencute.sim.taint import Taint
from opencute.sim.values import Array

__all__ = ["garbage", "read", "read_where", "spoil", "write", "write_where"]


def _places(access: Any, offset: Any, starts: Any) -> Array:
    """Byte offsets of all elements in the row: one axis if lanes agree, else three."""
    inner = np.arange(access.run) * access.size
    if starts is not None:
        inner = (starts[..., None] + inner).reshape(*starts.shape[:-1], -1)
    return offset[..., None] + inner if type(offset) is np.ndarray else offset + inner


def _checked(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, verb: str,
    mask: Array | None = None,
) -> Array:  # fmt: skip
    """Element indices in the row, after checking bounds and alignment."""
    places = _places(access, offset, starts)
    if places.ndim == 1:
        if mask is None and places.size:
            low, high = int(places.min()), int(places.max())
            ok = low >= 0 and high + access.size <= buffer.size
        else:
            ok = False
        places3 = places[None, None]
    else:
        ok, places3 = False, places
    if not ok:
        bad = (places3 < 0) | (places3 + access.size > buffer.size)
        if mask is not None:
            bad = bad & np.repeat(mask, access.run, axis=2)
        if bad.any():
            where = (np.broadcast_to(places3, bad.shape), bad)
            faults.out_of_bounds(lanes, _Element(access), buffer, places3, where, verb)
        if mask is not None:
            places = np.clip(places, 0, buffer.size - access.size)
    if (np.bitwise_or.reduce(places, axis=None) if places.size else 0) & (access.size - 1):
        faults.misaligned(lanes, _Element(access), buffer, places3, None, verb)
    return places >> access.shift


class _Element:
    """An access seen as one of a single element, for messages."""

    def __init__(self, access: Any) -> None:
        self.op, self.dtype, self.size = access.op, access.dtype, access.size
        self.run, self.width, self.need = 1, access.size, access.size


def _grid(lanes: Lanes, buffer: RowBuffer, dtype: np.dtype[Any]) -> Array:
    """All rows as (blocks or 1, threads or 1, items); not to be written to."""
    value = buffer.value
    if value is None:
        return buffer.items(dtype).reshape(*buffer.lanes, -1)
    return value if value.dtype == dtype else np.ascontiguousarray(value).view(dtype)


Cut = tuple[Any, Any, int, int]
"""Blocks and threads, each a slice or their numbers (not both), and how many there are."""


def _cut(lanes: Lanes, buffer: RowBuffer) -> Cut | None:
    """The lanes as some threads of some blocks, in order, if that is what they are."""
    cut = lanes.cache.get("cut")
    if cut is None:
        cut = lanes.cache["cut"] = _find_cut(lanes.slot.reshape(-1), buffer.lanes[1])
    return cut or None


def _find_cut(slots: Array, each: int) -> Any:
    blocks = slots // each
    Q = int(np.argmax(blocks != blocks[0])) or slots.size
    if slots.size % Q:
        return ()
    P, blocks, threads = slots.size // Q, blocks[::Q], slots[:Q] % each
    if (slots.reshape(P, Q) != (blocks * each)[:, None] + threads).any():
        return ()
    b, t = _progression(blocks), _progression(threads)
    return (b, t, P, Q) if type(b) is slice or type(t) is slice else ()


def _progression(numbers: Array) -> Any:
    """Numbers as a slice, if they are evenly spaced and grow."""
    first, n = int(numbers[0]), numbers.size
    step = int(numbers[1]) - first if n > 1 else 1
    if step > 0 and (n <= 2 or (numbers[1:] - numbers[:-1] == step).all()):
        return slice(first, first + (n - 1) * step + 1, step)
    return numbers


def _columns(index: Array) -> Any:
    """Element indices that all lanes share, as a slice if they follow each other."""
    n = index.size
    if n and (n == 1 or _in_order(index)):
        return slice(int(index[0]), int(index[0]) + n)
    return index


def _select(lanes: Lanes, buffer: RowBuffer, grid: Array, index: Array) -> Array:
    """Items of each lane's row; a copy unless they are those of a value."""
    if index.ndim > 1:
        return _each(lanes, buffer, grid, index)
    part = grid[:, :, _columns(index)]
    if lanes.whole or grid.shape[:2] == (1, 1):
        return _owned(part, buffer, grid)
    cut = _cut(lanes, buffer)
    if cut is None:
        full = np.broadcast_to(part, (*buffer.lanes, part.shape[2]))
        block, thread = np.divmod(lanes.slot, buffer.lanes[1])
        return full[block, thread]
    blocks, threads, P, Q = cut
    blocks = slice(None) if part.shape[0] == 1 else blocks
    threads = slice(None) if part.shape[1] == 1 else threads
    part = part[blocks, threads]
    if (P, Q) != (lanes.P, lanes.Q):
        part = np.broadcast_to(part, (P, Q, part.shape[2])).reshape(lanes.P, lanes.Q, -1)
    return _owned(part, buffer, grid)


def _owned(part: Array, buffer: RowBuffer, grid: Array) -> Array:
    """Items that later writes leave alone; values are never written to."""
    alone = buffer.value is not None or not np.may_share_memory(part, grid)
    return part if alone else part.copy()


def _each(lanes: Lanes, buffer: RowBuffer, grid: Array, index: Array) -> Array:
    """As `_select`, where lanes read different items."""
    if lanes.whole or grid.shape[:2] == (1, 1):
        shape = np.broadcast_shapes(grid.shape[:2], index.shape[:2])
        rows = np.broadcast_to(grid, (*shape, grid.shape[2]))
        return np.take_along_axis(
            rows, np.broadcast_to(index, (*shape, index.shape[2])), axis=2
        )
    full = np.broadcast_to(grid, (*buffer.lanes, grid.shape[2]))
    block, thread = np.divmod(lanes.slot, buffer.lanes[1])
    return full[block[..., None], thread[..., None], index]


def read(access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any) -> Any:
    """The value at an offset of each lane's row."""
    index = _checked(access, lanes, buffer, offset, starts, "read")
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "read")
    out = _select(lanes, buffer, _grid(lanes, buffer, access.dtype), index)
    return out if access.vector else out[:, :, 0]


def read_where(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, mask: Array
) -> Array:
    """As `read`, with lanes x runs that are not in `mask` left alone."""
    index = _checked(access, lanes, buffer, offset, starts, "read", mask)
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "read")
    return _select(lanes, buffer, _grid(lanes, buffer, access.dtype), index)


def _covers(buffer: RowBuffer, index: Array, size: int) -> bool:
    return (
        index.ndim == 1
        and index.size * size == buffer.size
        and int(index[0]) == 0
        and (index.size == 1 or _in_order(index))
    )


def _in_order(index: Array) -> bool:
    """Whether indices follow each other without gaps."""
    if int(index[-1]) - int(index[0]) != index.size - 1:
        return False
    return bool((index[1:] - index[:-1] == 1).all())


def _done(lanes: Lanes, buffer: RowBuffer) -> None:
    """Lanes have written all that is theirs."""
    if buffer.done is None:
        buffer.done = np.zeros(buffer.lanes[0] * buffer.lanes[1], np.bool_)
    buffer.done[lanes.slot] = True
    if buffer.done.all():
        buffer.written = buffer.done = None


def _merged(buffer: RowBuffer) -> None:
    """Let `written` say of all lanes what they have written."""
    done, buffer.done = buffer.done, None
    if done is not None and buffer.written is not None:
        _own_written(buffer).reshape(-1, buffer.size)[done] = True


def write(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, value: Any
) -> None:
    """Write a value at an offset of each lane's row."""
    index = _checked(access, lanes, buffer, offset, starts, "write")
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "write")
    if type(value) is not np.ndarray:
        value = np.full((1, 1, 1), value, access.dtype)
    elif not access.vector:
        value = value[..., None]
    covers = _covers(buffer, index, access.size)
    if lanes.whole and covers:
        buffer.value = value
        buffer.written = buffer.done = None
        return
    _store(lanes, buffer, index, value, access.dtype)
    if buffer.written is not None and covers:
        _done(lanes, buffer)
    elif buffer.written is not None:
        _set_written(access, lanes, buffer, index, True)


def _store(lanes: Lanes, buffer: RowBuffer, index: Array, value: Array, dtype: Any) -> None:
    rows = buffer.items(dtype)
    if index.ndim == 1:
        if lanes.whole:
            _put(rows.reshape(*buffer.lanes, -1), slice(None), _columns(index), value)
            return
        cut = _cut(lanes, buffer)
        if cut is not None:
            value = _shaped(value, cut, lanes)
            _put(rows.reshape(*buffer.lanes, -1), cut, _columns(index), value)
            return
    rows[lanes.slot[..., None], index] = value


def _shaped(value: Array, cut: Cut, lanes: Lanes) -> Array:
    """A value of lanes in the shape of their blocks and threads."""
    if cut[2:] == (lanes.P, lanes.Q) or value.shape[:2] == (1, 1):
        return value
    full = np.broadcast_to(value, (lanes.P, lanes.Q, value.shape[2]))
    return full.reshape(cut[2], cut[3], -1)


def _put(grid: Array, cut: Any, columns: Any, value: Any) -> None:
    """Write to some lanes and items of (blocks, threads, items)."""
    if type(cut) is slice:
        grid[:, :, columns] = value
        return
    blocks, threads = cut[:2]
    if type(columns) is slice or (type(blocks) is slice and type(threads) is slice):
        grid[blocks, threads, columns] = value
        return
    for i, column in enumerate(columns.tolist()):
        grid[blocks, threads, column] = value[..., i if value.shape[2] > 1 else 0]


def write_where(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, value: Any,
    mask: Array,
) -> None:  # fmt: skip
    """As `write`, for the lanes x runs in `mask`."""
    index = _checked(access, lanes, buffer, offset, starts, "write", mask)
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "write")
    each = np.broadcast_to(
        np.repeat(mask, access.run, axis=2), (lanes.P, lanes.Q, mask.shape[2] * access.run)
    )
    slot = np.broadcast_to(lanes.slot[..., None], each.shape)[each]
    index = np.broadcast_to(index, each.shape)[each]
    buffer.items(access.dtype)[slot, index] = np.broadcast_to(value, each.shape)[each]
    if buffer.written is not None:
        _merged(buffer)
        written = _own_written(buffer)
        places = (index << access.shift)[:, None] + np.arange(access.size)
        written.reshape(-1, buffer.size)[slot[:, None], places] = True
        _settle(buffer)


def _own_written(buffer: RowBuffer) -> Array:
    """The written mask with a row for each lane."""
    written = buffer.written
    if written is None:
        written = np.ones((1, 1, buffer.size), np.bool_)
    shape = (*buffer.lanes, buffer.size)
    if written.shape != shape:
        written = np.ascontiguousarray(np.broadcast_to(written, shape))
    buffer.written = written
    return written


def _settle(buffer: RowBuffer) -> None:
    if buffer.written is not None and buffer.written.all():
        buffer.written = None


def _set_written(access: Any, lanes: Lanes, buffer: RowBuffer, index: Array, clean: Any) -> None:
    """Mark elements as written (`clean` may be an array over lanes and elements)."""
    places = ((index << access.shift)[..., None] + np.arange(access.size)).reshape(
        *index.shape[:-1], -1
    )
    _merged(buffer)
    written = buffer.written
    agreed = index.ndim == 1 and lanes.whole and clean is True
    if agreed and written is not None and written.shape[:2] == (1, 1):
        written[0, 0, places] = True
    else:
        written = _own_written(buffer)
        if clean is not True:
            clean = np.repeat(clean, access.size, axis=2)
        cut = None if lanes.whole or places.ndim > 1 else _cut(lanes, buffer)
        if cut is not None:
            if clean is not True:
                clean = _shaped(clean, cut, lanes)
            else:
                clean = np.ones((1, 1, 1), np.bool_)
            _put(written, cut, _columns(places), clean)
        else:
            flat = written.reshape(-1, buffer.size)
            flat[lanes.slot[..., None], places] = clean
    _settle(buffer)


def garbage(access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any) -> Array | None:
    """Which elements of these lanes nothing wrote; None: all are written."""
    if buffer.done is not None and buffer.done[lanes.slot].all():
        return None
    _merged(buffer)
    written = buffer.written
    assert written is not None
    places = _places(access, offset, starts)
    index = (places[..., None] + np.arange(access.size)).reshape(*places.shape[:-1], -1)
    index = np.clip(index, 0, buffer.size - 1)
    got = _select(lanes, buffer, written, index)
    return np.invert(got.reshape(*got.shape[:2], -1, access.size).all(axis=-1))


def spoil(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, taint: Taint
) -> None:
    """Mark what a value with a taint was written to."""
    places = _places(access, offset, starts) >> access.shift
    mask = taint.mask if taint.mask.ndim == 3 else taint.mask[..., None]
    count = places.shape[-1]
    clean = np.broadcast_to(~mask, (lanes.P, lanes.Q, count))
    if buffer.written is None:
        buffer.written, buffer.done = np.ones((1, 1, buffer.size), np.bool_), None
    _set_written(access, lanes, buffer, places, clean)
