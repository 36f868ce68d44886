# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing memory, with bounds, alignment and initialisation checked.

An `Access` is made once for each operation that touches memory: it knows the element, how many
neighbours one run has, and the alignment that the hardware would need. Reading gives a value as
described in `values`; offsets are byte offsets from the buffer's start, exact in 64 bits.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.cute import PtrType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.core import Op
from opencute.ir.types import IntegerType, Type
from opencute.sim import faults, registers
from opencute.sim.fused.memory import evenly, gather
from opencute.sim.lanes import Lanes, merge_value
from opencute.sim.memory import RAW, Buffer, RowBuffer, SimPointer
from opencute.sim.numbers import wide
from opencute.sim.numbers.bulk import scatter
from opencute.sim.numbers.packing import (
    bit_width,
    from_bytes,
    mask_of_bytes,
    mask_of_elements,
    to_bytes,
)
from opencute.sim.sync.shared import SharedBuffer
from opencute.sim.taint import Origin, Spoilers, Taint, report
from opencute.sim.values import Array, dtype_of, scalar_of

__all__ = ["Access", "mark"]

_MANY = 1024  # runs that are worth a look at whether they are one piece
_ITEM = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


def _storage(element: Type, op: Op) -> tuple[np.dtype[Any], int]:
    """What an element is made of in memory, and its bits if those are not whole items."""
    if isinstance(element, PtrType | LLVMPointerType):
        return np.dtype(np.int64), 0
    if element == IntegerType(1):
        return np.dtype(np.uint8), 0
    dtype = dtype_of(element, op.loc)
    width = bit_width(element)
    if width == 128:
        return wide.ITEM, 0
    return (dtype, 0) if width == dtype.itemsize * 8 else (np.dtype(np.uint8), width)


Codec = tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]


def _codec(element: Type, packed: int) -> Codec:
    """Functions from what lies in memory to a value and back, None where they are the same."""
    if isinstance(element, PtrType | LLVMPointerType):
        return (lambda v: SimPointer(RAW, v)), (lambda p: p.address())
    if bit_width(element) == 128:
        return wide.from_items, wide.to_items
    if packed:
        return (lambda v: from_bytes(v, element)), (lambda v: to_bytes(v, packed))
    if element == IntegerType(1):
        return (
            (lambda v: v != 0),
            lambda v: v.astype(np.uint8) if type(v) is np.ndarray else int(v),
        )
    return None, None


class Access:
    """One way to touch memory.

    Args:
        op: the operation, for messages.
        element: type of one element.
        vector: whether values have an element axis.
        run: elements that lie next to each other.
        align: bytes that the pointer promises to be aligned to; a run is accessed as wide as this.
        widest: bytes of the widest single access.
        natural: whether an element's own size is promised too, as C does.
        swizzle: (bits, base, shift) of the address that is accessed instead, or ().
        unit: whether no threads access memory, but a unit that copies all of a lane's runs.
        counted: what accesses are counted as, instead of as those of the memory.
    """

    def __init__(
        self,
        op: Op,
        element: Type,
        *,
        vector: bool,
        run: int = 1,
        align: int = 1,
        widest: int = 16,
        natural: bool = True,
        swizzle: tuple[int, ...] = (),
        unit: bool = False,
        counted: str = "",
    ) -> None:
        self.op, self.unit, self.counted = op, unit, counted
        self.dtype, self.packed = _storage(element, op)
        self.size = self.dtype.itemsize
        self.vector = vector
        self.elements = run
        if self.packed:
            if run * self.packed % 8 or not vector:
                raise SimulationError(
                    f"{op.name}: {run} of {element} are not whole bytes in memory",
                    code="OC3001",
                    loc=op.loc,
                )
            run = run * self.packed // 8
        self.swizzle = swizzle
        self.pieces: Array | None = None
        if swizzle and run * self.size > 1 << swizzle[1]:
            whole, run = run * self.size, (1 << swizzle[1]) // self.size
            self.pieces = np.arange(0, whole, run * self.size)
        self.run = run
        self.width = run * self.size
        self.decode, self.encode = _codec(element, self.packed)
        power = self.width & -self.width
        self.need = max(min(power, align, widest), self.size if natural else 1)
        self.shift = self.size.bit_length() - 1
        self.patterns: dict[Any, Any] = {}
        """What accesses to registers know of offsets and starts that they have seen."""
        self.order: tuple[str, str] | None = None
        """Memory order and scope, of accesses that have one."""
        self.written: Any = None
        """What a write that watchers are being told of writes: runs, elements on the last axis."""
        self.joined = 0
        """Bytes of the widest access that machine code makes of runs next to each other."""

    # ------------------------------------------------------------------ reading
    def read(self, lanes: Lanes, ptr: SimPointer, starts: Any = None) -> Any:
        """The value at a pointer; `starts` are the byte offsets of the runs of a tile."""
        buffer = ptr.buffer
        if type(buffer) is RowBuffer:
            value = registers.read(self, lanes, buffer, ptr.offset, starts)
        elif buffer is RAW:
            return self._by_buffer(lanes, ptr, lambda l, p, s: self.read(l, p, s), starts)
        elif type(ptr.offset) is int and not self.vector and self._one_place(buffer):
            value = self._read_one(lanes, buffer, ptr.offset)
        else:
            value = None
            if type(starts) is np.ndarray and starts.ndim == 1 and not lanes.run.watchers:
                value = self._tiles_at_once(lanes, buffer, ptr.offset, starts)
            if value is None:
                offsets = self._offsets(buffer, ptr.offset, starts)
                value = self._gather(lanes, buffer, offsets, None)
        return value if self.decode is None else self.decode(value)

    def read_where(self, lanes: Lanes, ptr: SimPointer, starts: Any, mask: Array) -> Any:
        """As `read`, for the runs where `mask` (lanes x runs) holds; the others hold zeros."""
        buffer = ptr.buffer
        if type(buffer) is RowBuffer:
            return registers.read_where(self, lanes, buffer, ptr.offset, starts, mask)
        if buffer is RAW:
            return self._by_buffer(
                lanes, ptr, lambda l, p, s, m: self.read_where(l, p, s, m), starts, mask
            )
        return self._gather(
            lanes, buffer, self._offsets(buffer, ptr.offset, starts), self._by_piece(mask)
        )

    def _offsets(self, buffer: Any, offset: Any, starts: Any) -> Array:
        """Byte offsets of all runs: (p, q) for one run each, else (p, q, runs)."""
        if type(offset) is not np.ndarray:
            offset = np.array([[offset]], np.int64)
        if starts is not None:
            offset = offset[..., None] + starts
        return self._swizzled(buffer, offset) if self.swizzle else offset

    def _swizzled(self, buffer: Any, offset: Array) -> Array:
        """Where a swizzle sends runs, which fall into pieces that it keeps together."""
        if self.pieces is not None:
            offset = offset[..., None] + self.pieces
            offset = offset.reshape(*offset.shape[:2], -1)
        bits, base, shift = self.swizzle
        address = offset + buffer.base
        moved = (address >> shift) & (((1 << bits) - 1) << base)
        return (address ^ moved) - buffer.base

    def _by_piece(self, mask: Array) -> Array:
        """A mask over runs as one over what a swizzle makes of them."""
        return mask if self.pieces is None else np.repeat(mask, self.pieces.size, axis=2)

    def _one_place(self, buffer: Any) -> bool:
        """Whether an offset means the same bytes for all lanes, without a detour."""
        return (type(buffer) is not SharedBuffer or buffer.arena.blocks == 1) and not self.swizzle

    def _read_one(self, lanes: Lanes, buffer: Any, offset: int) -> Any:
        if not 0 <= offset <= buffer.size - self.size or (buffer.base + offset) % self.need:
            self._check(lanes, buffer, np.array([[offset]]), None, "read")
        if type(buffer) is SharedBuffer:
            offset += buffer.start
        self._seen(lanes, "read", buffer, offset, None, 1)
        if offset % self.size == 0:
            return scalar_of(buffer.items(self.dtype)[offset >> self.shift], self.dtype)
        raw = buffer.raw[offset : offset + self.size].copy().view(self.dtype)
        return scalar_of(raw[0], self.dtype)

    def _gather(self, lanes: Lanes, buffer: Any, offsets: Array, mask: Array | None) -> Array:
        if mask is not None:
            mask = np.broadcast_to(mask, (lanes.P, lanes.Q, mask.shape[2]))
            offsets = np.broadcast_to(offsets, mask.shape)
            low = self._check(lanes, buffer, offsets[mask], (offsets, mask), "read")
            if type(buffer) is SharedBuffer:
                offsets, low = buffer.places(lanes, offsets), low | buffer.grain
            picked = offsets[mask]
            self._seen(lanes, "read", buffer, offsets, mask, 0)
            out = np.zeros((*mask.shape, self.width), np.uint8)
            out[mask] = self._take(buffer, picked, low)
            out = out.view(self.dtype)
            return out.reshape(lanes.P, lanes.Q, -1)
        runs = offsets.shape[2] if offsets.ndim == 3 else 1
        first = self._neighbours(buffer, offsets)
        if first is not None:
            self._seen(lanes, "read", buffer, offsets, None, runs)
            out = buffer.raw[first : first + offsets.size * self.width].copy().view(self.dtype)
            return (
                out.reshape(*offsets.shape[:2], -1) if self.vector else out.reshape(offsets.shape)
            )
        if not lanes.run.watchers:
            items = self._gather_at_once(lanes, buffer, offsets)
            if items is not None:
                self._seen(lanes, "read", buffer, offsets, None, runs)
                return items
        low = self._check(lanes, buffer, offsets, None, "read")
        if type(buffer) is SharedBuffer:
            offsets, low = buffer.places(lanes, offsets), low | buffer.grain
        self._seen(lanes, "read", buffer, offsets, None, runs)
        if not self.vector:
            if low % self.size == 0:
                return buffer.items(self.dtype).take(offsets >> self.shift)
            return self._take(buffer, offsets, low).view(self.dtype)[..., 0]
        out = self._take(buffer, offsets, low).view(self.dtype)
        return out if out.ndim == 3 else out.reshape(*out.shape[:2], -1)

    def _gather_at_once(self, lanes: Lanes, buffer: Any, offsets: Array) -> Array | None:
        """The runs, in one native pass; None if something is wrong or that is not worth it."""
        origin = buffer.origin(lanes) if type(buffer) is SharedBuffer else 0
        shape = offsets.shape
        if type(origin) is np.ndarray and origin.shape[1] > 1:  # lanes of several blocks in a row
            if origin.shape != shape[:2]:
                return None
            offsets, origin = offsets.reshape(-1, 1, *shape[2:]), origin.reshape(-1, 1)
        out = gather(
            buffer.raw, offsets, origin=origin, width=self.width, last=buffer.size - self.width,
            low=self.need - 1, base=buffer.base,
        )  # fmt: skip
        if out is None:
            return None
        if offsets.shape != shape:
            out = out.reshape(*shape, self.width)
        out = out.view(self.dtype)
        return out.reshape(*out.shape[:2], -1) if self.vector else out[..., 0]

    def _tiles_at_once(self, lanes: Lanes, buffer: Any, offset: Any, starts: Array) -> Array | None:
        """The runs of tiles, as `_gather_at_once` of their offsets, which need not be made."""
        if type(offset) is not np.ndarray or offset.size * starts.size < _MANY or self.swizzle:
            return None
        n = offset.size * starts.size
        reach = int(offset.flat[-1] - offset.flat[0]) + int(starts[-1] - starts[0])
        if reach == (n - 1) * self.width:
            return None  # they may follow each other
        origin = buffer.origin(lanes) if type(buffer) is SharedBuffer else 0
        if type(origin) is np.ndarray and origin.shape[1] > 1:
            return None
        out = gather(
            buffer.raw, offset, starts, origin=origin, width=self.width,
            last=buffer.size - self.width, low=self.need - 1, base=buffer.base,
        )  # fmt: skip
        if out is None:
            return None
        self._seen(lanes, "read", buffer, offset, None, starts.size)
        return out.view(self.dtype).reshape(*out.shape[:2], -1)

    def _neighbours(self, buffer: Any, offsets: Array) -> int | None:
        """Where the runs begin, if they follow each other in memory, aligned and in bounds."""
        n, width = offsets.size, self.width
        if n < _MANY or type(buffer) is not Buffer:
            return None
        first = int(offsets.flat[0])
        if int(offsets.flat[n - 1]) - first != (n - 1) * width:
            return None
        if first < 0 or first + n * width > buffer.size or (buffer.base + first) % self.need:
            return None
        flat = offsets.reshape(-1)
        return first if evenly(flat, width) else None

    def _take(self, buffer: Any, offsets: Array, low: int) -> Array:
        """Bytes of the runs, on a further axis; `low` has the low bits of all offsets."""
        width = self.width
        if width & (width - 1) == 0 and low & (width - 1) == 0:
            item = _ITEM.get(width)
            index = offsets >> (width.bit_length() - 1)
            if item is not None:
                return buffer.items(item).take(index)[..., None].view(np.uint8)
            return buffer.rows(width).take(index, axis=0)
        grain = (low | width) & -(low | width)
        index = (offsets >> (grain.bit_length() - 1))[..., None] + np.arange(width // grain)
        if grain >= 16:
            return buffer.rows(grain).take(index, axis=0).reshape(*offsets.shape, width)
        return buffer.items(_ITEM[grain]).take(index).view(np.uint8)

    # ------------------------------------------------------------------ writing
    def write(self, lanes: Lanes, value: Any, ptr: SimPointer, starts: Any = None) -> None:
        """Write a value at a pointer."""
        if self.encode is not None and ptr.buffer is not RAW:
            value = self.encode(value)
        buffer = ptr.buffer
        if type(buffer) is RowBuffer:
            registers.write(self, lanes, buffer, ptr.offset, starts, value)
        elif buffer is RAW:
            self._by_buffer(lanes, ptr, lambda l, p, s, v: self.write(l, v, p, s), starts, value)
        else:
            self._scatter(lanes, buffer, self._offsets(buffer, ptr.offset, starts), None, value)

    def write_where(
        self, lanes: Lanes, value: Any, ptr: SimPointer, starts: Any, mask: Array
    ) -> None:
        """As `write`, for the runs where `mask` holds."""
        buffer = ptr.buffer
        if type(buffer) is RowBuffer:
            registers.write_where(self, lanes, buffer, ptr.offset, starts, value, mask)
        elif buffer is RAW:
            self._by_buffer(
                lanes, ptr, lambda l, p, s, v, m: self.write_where(l, v, p, s, m),
                starts, value, mask,
            )  # fmt: skip
        else:
            offsets = self._offsets(buffer, ptr.offset, starts)
            self._scatter(lanes, buffer, offsets, self._by_piece(mask), value)

    def _scatter(
        self, lanes: Lanes, buffer: Any, offsets: Array, mask: Array | None, value: Any
    ) -> None:
        if buffer.read_only:
            faults.read_only(lanes, self.op, buffer)
        if mask is not None:
            mask = np.broadcast_to(mask, (lanes.P, lanes.Q, mask.shape[2]))
            offsets = np.broadcast_to(offsets, mask.shape)
            low = self._check(lanes, buffer, offsets[mask], (offsets, mask), "write")
            if type(buffer) is SharedBuffer:
                offsets, low = buffer.places(lanes, offsets), low | buffer.grain
            picked = offsets[mask]
            value = np.broadcast_to(value, (lanes.P, lanes.Q, value.shape[2]))
            value = value.reshape(*mask.shape, self.run)[mask]
            self._tell(lanes, buffer, offsets, mask, 0, value)
            self._put(buffer, picked, low, np.ascontiguousarray(value))
            self._mark(buffer, picked)
            return
        low = self._check(lanes, buffer, offsets, None, "write")
        if type(buffer) is SharedBuffer:
            offsets, low = buffer.places(lanes, offsets), low | buffer.grain
        if type(value) is not np.ndarray:
            value = np.full(offsets.shape, value, self.dtype)
        runs = offsets.shape[2] if offsets.ndim == 3 else 1
        value = value.reshape(*value.shape[:2], *((runs,) if offsets.ndim == 3 else ()), self.run)
        grid = np.broadcast_shapes(offsets.shape, value.shape[:-1])
        self._tell(lanes, buffer, offsets, None, runs, value)
        value = np.ascontiguousarray(np.broadcast_to(value, (*grid, self.run)))
        self._put(buffer, np.broadcast_to(offsets, grid), low, value)
        self._mark(buffer, offsets)

    def _tell(
        self, lanes: Lanes, buffer: Any, offsets: Array, mask: Any, runs: int, value: Array
    ) -> None:
        """Count a write that is about to happen, and tell watchers what it writes."""
        self.written = value
        self._seen(lanes, "write", buffer, offsets, mask, runs)
        self.written = None

    def _put(self, buffer: Any, offsets: Array, low: int, value: Array) -> None:
        """Write runs (elements on the last axis of `value`, which is contiguous)."""
        width = self.width
        n = offsets.size
        if n == 0:
            return
        first = int(offsets.flat[0])
        if n > 16 and int(offsets.flat[n - 1]) - first == (n - 1) * width:
            flat = offsets.ravel()
            if evenly(flat, width):
                buffer.raw[first : first + n * width] = value.reshape(-1).view(np.uint8)
                return
        grain = min((low | width) & -(low | width), 16)
        pieces = value.reshape(*offsets.shape, self.run)
        if width <= 16 and scatter(buffer.raw, offsets, value):
            return
        index = offsets >> (grain.bit_length() - 1)
        items = buffer.items(_ITEM[grain])
        pieces = pieces.view(np.uint8).view(_ITEM[grain])
        for j in range(width // grain):
            items[index + j if j else index] = pieces[..., j]

    def _mark(self, buffer: Any, offsets: Array, clean: Any = True) -> None:
        if buffer.reached is not None:
            mark(buffer.reached.written, offsets, self.width, True)
        written = buffer.written
        if written is None:
            return
        if type(clean) is bool:
            mark(written, offsets, self.width, clean)
            return
        written[offsets[..., None] + np.arange(self.width)] = clean

    def _unwritten(self, buffer: Any, places: Array) -> Array | None:
        """Which bytes of the runs at these places nothing wrote, None if all are written."""
        written = buffer.written
        low = int(np.bitwise_or.reduce(places, axis=None)) if places.size else 0
        if _is_item(self.width, low):
            item = _ITEM[self.width]
            whole = written[: written.size & -self.width].view(item)
            got = whole.take(places >> (self.width.bit_length() - 1))
            got = got[..., None].view(np.bool_)
        else:
            got = written[places[..., None] + np.arange(self.width)]
        return None if got.all() else np.invert(got)

    # ------------------------------------------------------------------ reading nothing
    def touch(
        self, lanes: Lanes, ptr: SimPointer, starts: Any = None, mask: Any = None,
        verb: str = "prefetch",
    ) -> None:  # fmt: skip
        """Check bounds and alignment of an access that reads nothing: a prefetch, or what a copy
        would read; of the runs where `mask` holds, if there is one."""
        buffer = ptr.buffer
        if buffer is RAW:
            self._by_buffer(
                lanes, ptr, lambda l, p, s, m: self.touch(l, p, s, m, verb), starts, mask
            )
        elif type(buffer) is not RowBuffer:
            offsets = self._offsets(buffer, ptr.offset, starts)
            if mask is None:
                self._check(lanes, buffer, offsets, None, verb)
                return
            mask = self._by_piece(mask)
            mask = np.broadcast_to(mask, (lanes.P, lanes.Q, mask.shape[2]))
            offsets = np.broadcast_to(offsets, mask.shape)
            self._check(lanes, buffer, offsets[mask], (offsets, mask), verb)

    # ------------------------------------------------------------------ places
    def places(self, lanes: Lanes, ptr: SimPointer) -> Array:
        """Where each lane's pointer is to in the arena of shared memory, (P, Q); checked."""
        buffer = ptr.buffer
        if buffer is RAW:
            return lanes.full(self._by_buffer(lanes, ptr, self.places))
        if buffer.space != "smem":
            faults.not_shared(lanes, self.op)
        offsets = self._offsets(buffer, ptr.offset, None)
        self._check(lanes, buffer, offsets, None, "update")
        return lanes.full(buffer.places(lanes, offsets))

    # ------------------------------------------------------------------ copies in flight
    def begin(self, lanes: Lanes, ptr: SimPointer, starts: Any = None, mask: Any = None) -> None:
        """An asynchronous write to shared memory has been started: until then, no one knows."""
        buffer = ptr.buffer
        if type(buffer) is not SharedBuffer:
            faults.not_shared(lanes, self.op)
        offsets = self._offsets(buffer, ptr.offset, starts)
        if mask is None:
            self._check(lanes, buffer, offsets, None, "write")
            places = lanes.full(buffer.places(lanes, offsets))
        else:
            mask = np.broadcast_to(mask, (lanes.P, lanes.Q, mask.shape[2]))
            offsets = np.broadcast_to(offsets, mask.shape)
            self._check(lanes, buffer, offsets[mask], (offsets, mask), "write")
            places = buffer.places(lanes, offsets)
        for watcher in lanes.run.watchers:
            watcher(lanes, self, "begin", buffer, places, mask)
        bad = places if mask is None else places[mask]
        mark(buffer.written, bad, self.width, False)
        buffer.arena.spoilt += 1

    # ------------------------------------------------------------------ atomics
    def update(self, lanes: Lanes, ptr: SimPointer, do: Callable[..., Any], *values: Any) -> Any:
        """Change memory in place: ``do(items, index, values, lanes, buffer)`` gives the old values.

        `index` has the element of each lane, (P, Q), and `items` is the memory as elements.
        """
        buffer = ptr.buffer
        if buffer is RAW:
            return self._by_buffer(lanes, ptr, lambda l, p, *v: self.update(l, p, do, *v), *values)
        if type(buffer) is RowBuffer:
            faults.not_shared(lanes, self.op)
        if buffer.read_only:
            faults.read_only(lanes, self.op, buffer)
        offsets = self._offsets(buffer, ptr.offset, None)
        self._check(lanes, buffer, offsets, None, "update")
        if type(buffer) is SharedBuffer:
            offsets = buffer.places(lanes, offsets)
        offsets = lanes.full(offsets)
        lanes.run.turns = lanes.run.shuffled(lanes.n)
        self._seen(lanes, "update", buffer, offsets, None, 1)
        if buffer.written is not None:
            bad = self._unwritten(buffer, offsets)
            if bad is not None:
                some: Array = np.asarray(bad.any(axis=-1))
                report(lanes, Taint(some, None), self.op, "an atomic operation")
        if buffer.reached is not None:
            mark(buffer.reached.written, offsets, self.width, True)
        old = do(buffer.items(self.dtype), offsets >> self.shift, values, lanes, buffer)
        return old if self.decode is None or old is None else self.decode(old)

    # ------------------------------------------------------------------ checks
    def _check(self, lanes: Lanes, buffer: Any, offsets: Array, where: Any, verb: str) -> int:
        """Check bounds and alignment; returns the low bits that offsets have, ored together."""
        if offsets.size == 0:
            return 0
        high = int(np.maximum.reduce(offsets.view(np.uint64), axis=None))
        if high + self.width > buffer.size:
            faults.out_of_bounds(lanes, self, buffer, offsets, where, verb)
        low = int(np.bitwise_or.reduce(offsets, axis=None)) & 0xFFFF
        need = self.need
        # Bits that offsets have may make up for those that the buffer's address has.
        perhaps = need > 1 and (low | buffer.base) & (need - 1)
        if perhaps and ((offsets + buffer.base) & (need - 1)).any():
            faults.misaligned(lanes, self, buffer, offsets, where, verb)
        return low

    def _seen(
        self, lanes: Lanes, verb: str, buffer: Any, offsets: Any, mask: Any, runs: int
    ) -> None:
        """Count an access of all lanes, and tell whoever watches."""
        run = lanes.run
        accesses = lanes.n * runs if mask is None else int(np.count_nonzero(mask))
        run.count(verb, self.counted or buffer.space, accesses, self.width, self.need)
        if verb == "read" and buffer.reached is not None:
            buffer.reached.read = True
        for watcher in run.watchers:
            watcher(lanes, self, verb, buffer, np.atleast_2d(offsets), mask)

    def _by_buffer(
        self, lanes: Lanes, ptr: SimPointer, do: Callable[..., Any], *values: Any
    ) -> Any:
        """Run `do` for each buffer that the addresses fall into, and merge what it returns."""
        table = lanes.run.table
        address = ptr.offset
        if type(address) is not np.ndarray:
            return do(lanes, faults.located(lanes, self.op, table, address), *values)
        owner = table.find(int(address.flat[0]))
        if owner is not None:
            inside = (address >= owner.base) & (address < owner.base + owner.size)
            if inside.all():
                return do(lanes, SimPointer(owner, address - owner.base), *values)
        else:
            faults.located(lanes, self.op, table, int(address.flat[0]))
            raise AssertionError
        places: list[Any] = []
        results: list[Any] = []
        for cond in (inside, ~inside):
            part, pick, place = lanes.sub(cond)
            results.append(self._by_buffer(part, pick(ptr), do, *(pick(v) for v in values)))
            places.append(place)
        if results[0] is None:
            return None
        kind = "ptr" if type(results[0]) is SimPointer else results[0].dtype
        return merge_value(lanes, list(zip(places, results, strict=True)), kind)

    # ------------------------------------------------------------------ initialisation
    def garbage(self, lanes: Lanes, ptr: SimPointer, starts: Any = None) -> Taint | None:
        """Which elements of what `read` would give nothing wrote, None if all are written."""
        buffer, origin = ptr.buffer, None
        if type(buffer) is RowBuffer:
            if buffer.written is None:
                return None
            mask = registers.garbage(self, lanes, buffer, ptr.offset, starts)
            if mask is None:
                return None
            if buffer.spoilers is not None and mask.any():
                place = registers.first_place(self, ptr.offset, starts, mask)
                origin = buffer.spoilers.find(place)
        elif buffer is RAW:
            table = lanes.run.table
            if type(ptr.offset) is np.ndarray:
                return self._garbage_raw(lanes, ptr, starts)
            return self.garbage(lanes, faults.located(lanes, self.op, table, ptr.offset), starts)
        elif buffer.written is None:
            return None
        else:
            shared = type(buffer) is SharedBuffer
            if shared and buffer.clean(False):
                return None
            offsets = self._offsets(buffer, ptr.offset, starts)
            if shared:
                offsets = buffer.places(lanes, offsets)
            unwritten = self._unwritten(buffer, offsets)
            if unwritten is None:
                if shared:
                    buffer.clean(True)
                return None
            bad = unwritten.reshape(*offsets.shape, self.run, self.size).any(axis=-1)
            mask = bad.reshape(*offsets.shape[:2], -1)
            if shared and buffer.arena.spoilers is not None:
                place = int(offsets.reshape(-1)[int(bad.reshape(-1, self.run).any(1).argmax())])
                origin = buffer.arena.spoilers.find(place % buffer.arena.stride)
        if not mask.any():
            return None
        if self.packed:
            count = mask.shape[2] * 8 // self.packed
            mask = mask_of_elements(mask, count, self.packed)
        origin = origin or Origin(self.op, buffer.name)
        return Taint(mask if self.vector else mask[..., 0], origin)

    def _garbage_raw(self, lanes: Lanes, ptr: SimPointer, starts: Any) -> Taint | None:
        found: list[Origin | None] = []

        def mask(l: Lanes, p: SimPointer, s: Any) -> Array:
            t = self.garbage(l, p, s)
            if t is not None:
                found.append(t.origin)
                return t.mask
            return np.zeros((1, 1, 1) if self.vector else (1, 1), np.bool_)

        out = self._by_buffer(lanes, ptr, mask, starts)
        return Taint(out, found[0]) if found and out.any() else None

    def leave(self, lanes: Lanes, ptr: SimPointer, taint: Taint | None, starts: Any = None) -> None:
        """A value with a taint was written: registers keep it, other memory must not get it."""
        if taint is None:
            return
        buffer = ptr.buffer
        if self.packed:
            count = self.elements * (1 if starts is None else starts.shape[-1])
            taint = Taint(mask_of_bytes(taint.mask, count, self.packed), taint.origin)
        if type(buffer) is RowBuffer:
            registers.spoil(self, lanes, buffer, ptr.offset, starts, taint)
        elif buffer.space == "smem":
            places = buffer.places(lanes, self._offsets(buffer, ptr.offset, starts))
            self._spoil(lanes, buffer, places, taint)
        elif taint.mask.any():
            report(lanes, taint, self.op, "a store to memory")

    def _spoil(self, lanes: Lanes, buffer: Any, places: Array, taint: Taint) -> None:
        """Mark what garbage was written to in shared memory."""
        mask = taint.mask if taint.mask.ndim == 3 else taint.mask[..., None]
        places = places if places.ndim == 3 else places[..., None]
        runs = places.shape[2]
        mask = lanes.full(np.broadcast_to(mask, (*mask.shape[:2], runs * self.run)))
        mask = np.repeat(mask.reshape(lanes.P, lanes.Q, runs, self.run), self.size, axis=3)
        every = np.broadcast_to(places[..., None] + np.arange(self.width), mask.shape)
        bad = every[mask]
        buffer.written[bad] = False
        arena = buffer.arena
        arena.spoilt += 1
        if bad.size:
            arena.spoilers = arena.spoilers or Spoilers()
            inside = bad % arena.stride
            arena.spoilers.add(int(inside.min()), int(inside.max()) + 1, taint.origin)


def mark(written: Array, places: Array, width: int, clean: bool) -> None:
    """Set what is known of the bytes of runs of a width that begin at some places."""
    low = int(np.bitwise_or.reduce(places, axis=None)) if places.size else 0
    grain = min((low | width) & -(low | width), 16)
    item, count = _ITEM[grain], width // grain
    index = places >> (grain.bit_length() - 1)
    if count > 1:
        index = index[..., None] + np.arange(count)
    whole = written[: written.size // grain * grain].view(item)
    whole[index] = np.full(grain, clean).view(item)[0]


def _is_item(width: int, low: int) -> bool:
    """Whether runs of this width at offsets with these low bits are items of NumPy."""
    return width in _ITEM and low & (width - 1) == 0
