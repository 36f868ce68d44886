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


def _rows(lanes: Lanes, buffer: RowBuffer, dtype: np.dtype[Any]) -> Array:
    """The rows of these lanes as (P or 1, Q or 1, items); not to be written to."""
    value = buffer.value
    if value is not None:
        if value.dtype != dtype:
            value = np.ascontiguousarray(value).view(dtype)
        if lanes.whole or value.shape[:2] == (1, 1):
            return value
        full = np.broadcast_to(value, (*buffer.lanes, value.shape[2]))
        part = _part(lanes, buffer)
        if part is not None:
            return full[part]
        return full.reshape(-1, full.shape[2])[lanes.slot]
    rows = buffer.items(dtype)
    if lanes.whole:
        return rows.reshape(*buffer.lanes, -1)
    part = _part(lanes, buffer)
    return rows[lanes.slot] if part is None else rows.reshape(*buffer.lanes, -1)[part]


def _part(lanes: Lanes, buffer: RowBuffer) -> tuple[slice, slice] | None:
    """The lanes as ranges of blocks and threads, if that is what they are."""
    part = lanes.cache.get("part")
    if part is None:
        slot, each = lanes.slot, buffer.lanes[1]
        block, thread = divmod(int(slot[0, 0]), each)
        P, Q = lanes.P, lanes.Q
        steps = np.arange(P)[:, None] * each + np.arange(Q)
        ranges = thread + Q <= each and bool((slot == slot[0, 0] + steps).all())
        part = (slice(block, block + P), slice(thread, thread + Q)) if ranges else ()
        lanes.cache["part"] = part
    return part or None


def _select(rows: Array, index: Array, *, own: bool) -> Array:
    """Items of each row; a copy unless the rows are a value of their own."""
    if index.ndim == 1:
        n = index.size
        first = int(index[0]) if n else 0
        if n and (n == 1 or _in_order(index)):
            part = rows[:, :, first : first + n]
            return part if own else part.copy()
        return rows[:, :, index]
    if rows.shape[:2] != index.shape[:2]:
        grid = np.broadcast_shapes(rows.shape[:2], index.shape[:2])
        rows = np.broadcast_to(rows, (*grid, rows.shape[2]))
        index = np.broadcast_to(index, (*grid, index.shape[2]))
    return np.take_along_axis(rows, index, axis=2)


def read(access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any) -> Any:
    """The value at an offset of each lane's row."""
    index = _checked(access, lanes, buffer, offset, starts, "read")
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "read")
    own = buffer.value is not None or not (lanes.whole or _part(lanes, buffer))
    out = _select(_rows(lanes, buffer, access.dtype), index, own=own)
    return out if access.vector else out[:, :, 0]


def read_where(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, mask: Array
) -> Array:
    """As `read`, with lanes x runs that are not in `mask` left alone."""
    index = _checked(access, lanes, buffer, offset, starts, "read", mask)
    if buffer.guard is not None:
        buffer.guard.touch(access, lanes, index, "read")
    own = not (lanes.whole or _part(lanes, buffer))
    return _select(_rows(lanes, buffer, access.dtype), index, own=own)


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
        part = None if lanes.whole else _part(lanes, buffer)
        if lanes.whole or part is not None:
            grid = rows.reshape(*buffer.lanes, -1)
            if part is not None:
                grid = grid[part]
            n = index.size
            if n and (n == 1 or _in_order(index)):
                first = int(index[0])
                grid[:, :, first : first + n] = value
            else:
                grid[:, :, index] = value
        else:
            rows[lanes.slot[..., None], index] = value
        return
    rows[lanes.slot[..., None], index] = value


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
        part = _part(lanes, buffer)
        if part is not None and places.ndim == 1:
            inner = places.size and _in_order(places)
            where = slice(places[0], places[-1] + 1) if inner else places
            written[part][:, :, where] = clean
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
    if written.shape[:2] == (1, 1) or lanes.whole:
        rows = written
    else:
        part = _part(lanes, buffer)
        rows = written.reshape(-1, buffer.size)[lanes.slot] if part is None else written[part]
    index = np.clip(index, 0, buffer.size - 1)
    got = _select(rows, index, own=True)
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
