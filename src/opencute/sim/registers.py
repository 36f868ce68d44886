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
from opencute.sim.numbers.words import WORDS, together
from opencute.sim.taint import Spoilers, Taint
from opencute.sim.values import Array

__all__ = [
    "Pattern",
    "first_place",
    "garbage",
    "read",
    "read_where",
    "spoil",
    "write",
    "write_where",
]


def _places(access: Any, offset: Any, starts: Any) -> Array:
    """Byte offsets of all elements in the row: one axis if lanes agree, else three."""
    inner = np.arange(access.run) * access.size
    if starts is not None:
        inner = (starts[..., None] + inner).reshape(*starts.shape[:-1], -1)
    return offset[..., None] + inner if type(offset) is np.ndarray else offset + inner


class Pattern:
    """The elements of a row that all lanes access.

    Args:
        index: their numbers.
        size: bytes of each.
    """

    def __init__(self, index: Array, size: int) -> None:
        self.index, self.size, self.n = index, size, index.size
        first = int(index[0]) if self.n else 0
        in_order = self.n == 1 or (self.n > 1 and bool((index[1:] - index[:-1] == 1).all()))
        self.span = slice(first, first + self.n) if in_order else None
        self.low = int(index.min()) * size if self.n else 0
        self.high = (int(index.max()) + 1) * size if self.n else 0
        self.starts: Any = None
        self._bytes: Any = None
        self._grain = 0
        self._words = index

    @property
    def columns(self) -> Any:
        """The elements, as a slice if they follow each other."""
        return self.index if self.span is None else self.span

    @property
    def bytes(self) -> Any:
        """Their bytes, as a slice if they follow each other."""
        if self._bytes is None:
            if self.span is not None:
                self._bytes = slice(self.span.start * self.size, self.span.stop * self.size)
            else:
                places = (self.index * self.size)[:, None] + np.arange(self.size)
                self._bytes = places.reshape(-1)
        return self._bytes

    def words(self) -> tuple[int, Array]:
        """How many elements stay together, and the numbers of the words that these are."""
        if not self._grain:
            self._grain = together(self.index, 8 // self.size)
            self._words = self.index[:: self._grain] // self._grain
        return self._grain, self._words

    def take(self, grid: Array) -> Array:
        """The elements of rows; a view if they follow each other."""
        if self.span is not None:
            return grid[:, :, self.span]
        grain, words = self.words()
        if grain > 1 and grid.shape[2] % grain == 0 and grid.strides[2] == self.size:
            wide = grid.view(WORDS[grain * self.size])
            return wide.take(words, axis=2).view(grid.dtype)
        return grid.take(self.index, axis=2)


_PATTERNS = 64  # that an access remembers


def _pattern(access: Any, offset: Any, starts: Any) -> Pattern | None:
    """What is accessed, if lanes agree, and it is aligned."""
    if type(offset) is np.ndarray or (starts is not None and starts.ndim > 1):
        return None
    kept = starts is None or not starts.flags.writeable
    name = offset, id(starts)
    known = access.patterns.get(name) if kept else None
    if known is not None:
        return known
    places = _places(access, int(offset), starts)
    if places.size and int(np.bitwise_or.reduce(places)) & (access.size - 1):
        return None
    known = Pattern(places >> access.shift, access.size)
    if kept:
        known.starts = starts  # its identity is its name
        if len(access.patterns) >= _PATTERNS:
            access.patterns.clear()
        access.patterns[name] = known
    return known


def _checked(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, verb: str,
    mask: Array | None = None,
) -> Pattern | Array:  # fmt: skip
    """Elements of the row, after checking bounds and alignment; an array where lanes differ."""
    pattern = _pattern(access, offset, starts)
    if pattern is not None and pattern.low >= 0 and pattern.high <= buffer.size and pattern.n:
        return pattern
    places = _places(access, offset, starts)
    places3 = places[None, None] if places.ndim == 1 else places
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
    index = places >> access.shift
    return Pattern(index, access.size) if index.ndim == 1 else index


class _Element:
    """An access seen as one of a single element, for messages."""

    def __init__(self, access: Any) -> None:
        self.op, self.dtype, self.size = access.op, access.dtype, access.size
        self.run, self.width, self.need = 1, access.size, access.size


def _grid(buffer: RowBuffer, dtype: np.dtype[Any]) -> Array:
    """All rows as (blocks or 1, threads or 1, items); not to be written to."""
    value = buffer.value
    if value is None:
        return buffer.items(dtype).reshape(*buffer.lanes, -1)
    return value if value.dtype == dtype else np.ascontiguousarray(value).view(dtype)


def _touch(buffer: RowBuffer, access: Any, lanes: Lanes, where: Pattern | Array, verb: str) -> None:
    """Ask the guard of registers that asynchronous units use."""
    if buffer.guard is not None:
        index = where.index if isinstance(where, Pattern) else where
        buffer.guard.touch(access, lanes, index, verb)


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


def _select(lanes: Lanes, buffer: RowBuffer, grid: Array, where: Pattern | Array) -> Array:
    """Items of each lane's row; a copy unless they are those of a value."""
    if not isinstance(where, Pattern):
        return _each(lanes, buffer, grid, where)
    if lanes.whole or grid.shape[:2] == (1, 1):
        return _owned(where.take(grid), buffer, grid)
    part = grid if where.span is None else where.take(grid)
    cut = _cut(lanes, buffer)
    if cut is None:
        full = np.broadcast_to(part, (*buffer.lanes, part.shape[2]))
        block, thread = np.divmod(lanes.slot, buffer.lanes[1])
        part = full[block, thread]
    else:
        blocks, threads, P, Q = cut
        blocks = slice(None) if part.shape[0] == 1 else blocks
        threads = slice(None) if part.shape[1] == 1 else threads
        part = part[blocks, threads]
        if (P, Q) != (lanes.P, lanes.Q):
            part = np.broadcast_to(part, (P, Q, part.shape[2])).reshape(lanes.P, lanes.Q, -1)
    return _owned(part if where.span is not None else where.take(part), buffer, grid)


def _owned(part: Array, buffer: RowBuffer, grid: Array) -> Array:
    """Items that later writes leave alone; values are never written to."""
    alone = buffer.value is not None or not np.may_share_memory(part, grid)
    return part if alone else part.copy()


def _each(lanes: Lanes, buffer: RowBuffer, grid: Array, index: Array) -> Array:
    """As `_select`, where lanes read different items."""
    if lanes.whole or grid.shape[:2] == (1, 1):
        shape = np.broadcast_shapes(grid.shape[:2], index.shape[:2])
        rows = np.broadcast_to(grid, (*shape, grid.shape[2]))
        return np.take_along_axis(rows, np.broadcast_to(index, (*shape, index.shape[2])), axis=2)
    full = np.broadcast_to(grid, (*buffer.lanes, grid.shape[2]))
    block, thread = np.divmod(lanes.slot, buffer.lanes[1])
    return full[block[..., None], thread[..., None], index]


def read(access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any) -> Any:
    """The value at an offset of each lane's row."""
    where = _checked(access, lanes, buffer, offset, starts, "read")
    _touch(buffer, access, lanes, where, "read")
    out = _select(lanes, buffer, _grid(buffer, access.dtype), where)
    return out if access.vector else out[:, :, 0]


def read_where(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, mask: Array
) -> Array:
    """As `read`, with lanes x runs that are not in `mask` left alone."""
    where = _checked(access, lanes, buffer, offset, starts, "read", mask)
    _touch(buffer, access, lanes, where, "read")
    return _select(lanes, buffer, _grid(buffer, access.dtype), where)


def _covers(buffer: RowBuffer, where: Pattern | Array) -> bool:
    if not isinstance(where, Pattern) or where.span is None:
        return False
    return where.low == 0 and where.high == buffer.size


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
    where = _checked(access, lanes, buffer, offset, starts, "write")
    _touch(buffer, access, lanes, where, "write")
    if type(value) is not np.ndarray:
        value = np.full((1, 1, 1), value, access.dtype)
    elif not access.vector:
        value = value[..., None]
    covers = _covers(buffer, where)
    if lanes.whole and covers:
        buffer.value = value
        buffer.written = buffer.done = None
        return
    _store(lanes, buffer, where, value, access.dtype)
    if buffer.written is not None and covers:
        _done(lanes, buffer)
    elif buffer.written is not None:
        _set_written(access, lanes, buffer, where, True)


def _store(
    lanes: Lanes, buffer: RowBuffer, where: Pattern | Array, value: Array, dtype: Any
) -> None:
    rows = buffer.items(dtype)
    if not isinstance(where, Pattern):
        rows[lanes.slot[..., None], where] = value
        return
    cut = _ALL if lanes.whole else _cut(lanes, buffer)
    if cut is None:
        rows[lanes.slot[..., None], where.index] = value
        return
    if cut is not _ALL:
        value = _shaped(value, cut, lanes)
    grid, columns = rows.reshape(*buffer.lanes, -1), where.columns
    if where.span is None:
        grain, words = where.words()
        if grain > 1 and value.shape[2] == where.n and value.strides[2] == where.size:
            word = WORDS[grain * where.size]
            grid, value, columns = grid.view(word), value.view(word), words
    _put(grid, cut, columns, value)


_ALL: Cut = (slice(None), slice(None), 0, 0)


def _shaped(value: Array, cut: Cut, lanes: Lanes) -> Array:
    """A value of lanes in the shape of their blocks and threads."""
    if cut[2:] == (lanes.P, lanes.Q) or value.shape[:2] == (1, 1):
        return value
    full = np.broadcast_to(value, (lanes.P, lanes.Q, value.shape[2]))
    return full.reshape(cut[2], cut[3], -1)


def _put(grid: Array, cut: Cut, columns: Any, value: Any) -> None:
    """Write to some lanes and items of (blocks, threads, items)."""
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
    where = _checked(access, lanes, buffer, offset, starts, "write", mask)
    _touch(buffer, access, lanes, where, "write")
    index = where.index if isinstance(where, Pattern) else where
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


def _set_written(
    access: Any, lanes: Lanes, buffer: RowBuffer, where: Pattern | Array, clean: Any
) -> None:
    """Mark elements as written (`clean` may be an array over lanes and elements)."""
    _merged(buffer)
    written = buffer.written
    if not isinstance(where, Pattern):
        places = ((where << access.shift)[..., None] + np.arange(access.size)).reshape(
            *where.shape[:-1], -1
        )
        flat = _own_written(buffer).reshape(-1, buffer.size)
        flat[lanes.slot[..., None], places] = _by_byte(clean, access.size)
    elif lanes.whole and clean is True and written is not None and written.shape[:2] == (1, 1):
        written[0, 0, where.bytes] = True
    else:
        clean = _by_byte(clean, access.size)
        cut = _ALL if lanes.whole else _cut(lanes, buffer)
        written = _own_written(buffer)
        if cut is None:
            places = np.arange(buffer.size)[where.bytes]
            written.reshape(-1, buffer.size)[lanes.slot[..., None], places] = clean
        else:
            shaped = clean if cut is _ALL else _shaped(clean, cut, lanes)
            _put(written, cut, where.bytes, shaped)
    _settle(buffer)


def _by_byte(clean: Any, size: int) -> Array:
    """What is known of elements, of their bytes."""
    return np.ones((1, 1, 1), np.bool_) if clean is True else np.repeat(clean, size, axis=2)


def garbage(access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any) -> Array | None:
    """Which elements of these lanes nothing wrote; None: all are written."""
    if buffer.done is not None and buffer.done[lanes.slot].all():
        return None
    _merged(buffer)
    written = buffer.written
    assert written is not None
    pattern = _pattern(access, offset, starts)
    if pattern is not None and pattern.low >= 0 and pattern.high <= buffer.size:
        bytes_ = pattern.bytes
        if type(bytes_) is not slice and written.shape[:2] == (1, 1):
            got = written[:, :, bytes_]
        else:
            byte = Pattern(np.arange(buffer.size)[bytes_], 1)
            got = _select(lanes, buffer, written, byte)
    else:
        places = _places(access, offset, starts)
        index = (places[..., None] + np.arange(access.size)).reshape(*places.shape[:-1], -1)
        index = np.clip(index, 0, buffer.size - 1)
        got = _select(lanes, buffer, written, Pattern(index, 1) if index.ndim == 1 else index)
    return np.invert(got.reshape(*got.shape[:2], -1, access.size).all(axis=-1))


def first_place(access: Any, offset: Any, starts: Any, mask: Array) -> int:
    """The byte of the row at which the first element is for which `mask` (of `garbage`) holds."""
    places = _places(access, offset, starts)
    places = places if places.ndim == 3 else places[None, None]
    shape = np.broadcast_shapes(mask.shape, places.shape)
    first = int(np.broadcast_to(mask, shape).argmax())
    return int(np.broadcast_to(places, shape).reshape(-1)[first])


def spoil(
    access: Any, lanes: Lanes, buffer: RowBuffer, offset: Any, starts: Any, taint: Taint
) -> None:
    """Mark what a value with a taint was written to."""
    pattern = _pattern(access, offset, starts)
    where: Pattern | Array = pattern or _places(access, offset, starts) >> access.shift
    if not isinstance(where, Pattern) and where.ndim == 1:
        where = Pattern(where, access.size)
    mask = taint.mask if taint.mask.ndim == 3 else taint.mask[..., None]
    count = where.n if isinstance(where, Pattern) else where.shape[-1]
    clean = np.broadcast_to(~mask, (lanes.P, lanes.Q, count))
    if count and mask.any():
        index = where.index if isinstance(where, Pattern) else where
        buffer.spoilers = buffer.spoilers or Spoilers()
        low, high = int(index.min()), int(index.max()) + 1
        buffer.spoilers.add(low * access.size, high * access.size, taint.origin)
    if buffer.written is None:
        buffer.written, buffer.done = np.ones((1, 1, buffer.size), np.bool_), None
    _set_written(access, lanes, buffer, where, clean)
