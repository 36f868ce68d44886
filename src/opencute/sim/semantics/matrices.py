# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices that whole warps copy between shared memory and registers, and asynchronous copies.

Registers of 32 threads become a matrix, and back, by the thread-value layouts of the records in
`opencute.arch`: `Warps` has the values of a warp's lanes side by side.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opencute.arch.copies import COPY_ATOMS, CopyAtom, copy_atom
from opencute.base.errors import SimulationError
from opencute.dialects.cute import CopyOp
from opencute.dialects.ptx_matrix import LdMatrixOp, StMatrixOp
from opencute.ir.core import Op
from opencute.ir.types import I32
from opencute.layout import Layout
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.tile_access import TileAccess, tile_pointer
from opencute.sim.sync.async_copies import copies_of
from opencute.sim.sync.group import WARP
from opencute.sim.taint import Taint
from opencute.sim.values import Array

__all__ = ["AsyncTile", "MatrixTile", "Warps", "holders_of", "places_of"]


# ---------------------------------------------------------------------- warps
class Warps:
    """Lanes as whole warps: values of shape (P, Q, n) as (warps, 32, n), and back.

    Raises:
        SimulationError: some lanes of a warp are not there.
    """

    def __init__(self, op: Op, lanes: Lanes) -> None:
        self.lanes = lanes
        order = lanes.cache.get("whole warps")
        if order is None:
            order = lanes.cache["whole warps"] = self._order(op, lanes)
        self.order: Any = None if order is True else order

    @staticmethod
    def _order(op: Op, lanes: Lanes) -> Any:
        """How to sort the lanes into warps; True if they are."""
        tid = lanes.full(np.asarray(lanes.tid)).reshape(-1).astype(np.int64)
        bid = lanes.full(np.asarray(lanes.bid)).reshape(-1).astype(np.int64)
        key = bid * 4096 + tid
        order = None if (np.diff(key) > 0).all() else np.argsort(key, kind="stable")
        sorted_ = key if order is None else key[order]
        whole = sorted_.size % WARP == 0
        if whole:
            rows = sorted_.reshape(-1, WARP)
            whole = bool((rows[:, :1] % WARP == 0).all()) and bool(
                (rows - rows[:, :1] == np.arange(WARP)).all()
            )
        if not whole:
            raise SimulationError(
                f"{op.name}: not all threads of a warp are there", code="OC3024", loc=op.loc,
                expected="all 32 threads of each warp that comes", found=f"{lanes.n} threads, "
                f"the first is {lanes.name((0, 0))}",
                hint="let the condition around it be the same for all threads of a warp",
            )  # fmt: skip
        return True if order is None else order

    def rows(self, value: Any) -> Array:
        """(warps, 32, n) of a value."""
        full = self.lanes.full(np.asarray(value))
        flat = full.reshape(self.lanes.n, -1)
        if self.order is not None:
            flat = flat[self.order]
        return flat.reshape(-1, WARP, flat.shape[-1])

    def back(self, rows: Array) -> Array:
        """A value of shape (P, Q, n) of its rows."""
        flat = rows.reshape(self.lanes.n, -1)
        if self.order is not None:
            out = np.empty_like(flat)
            out[self.order] = flat
            flat = out
        return flat.reshape(self.lanes.P, self.lanes.Q, -1)


@lru_cache(maxsize=512)
def places_of(layout: Layout) -> Array:
    """The place of each (thread, value), threads first."""
    threads = layout[0].size()
    return np.array(layout.offsets()).reshape(-1, threads).T.copy()


@lru_cache(maxsize=512)
def holders_of(layout: Layout) -> Array:
    """For each place, the first thread * values + value that holds it."""
    places = places_of(layout)
    flat = places.reshape(-1)
    out = np.zeros(int(flat.max()) + 1, np.int64)
    for i in range(flat.size - 1, -1, -1):
        out[flat[i]] = i
    return out


# ---------------------------------------------------------------------- matrices in memory
def _moves(op: Op, name: str, bits: int) -> tuple[Array, int, int]:
    """Register (thread, value) to row element; elements in a row; elements in registers.

    For a store the first is from row element to register (thread, value).
    """
    from opencute.layout import recast_layout

    atom = copy_atom(name)
    assert atom.src is not None and atom.dst is not None
    src, dst = (recast_layout(bits, atom.grain, x) for x in (atom.src, atom.dst))
    per_src, per_dst = places_of(src).shape[1], places_of(dst).shape[1]
    return holders_of(src)[places_of(dst)], per_src, per_dst


class MatrixTile:
    """``cute.copy`` by ldmatrix or stmatrix."""

    def __init__(self, op: CopyOp) -> None:
        self.op = op
        self.src = TileAccess(op, op.src, "src_layout")
        self.dst = TileAccess(op, op.dst, "dst_layout")
        self.n_src, self.n_dst = len(op.src_dyns), len(op.dst_dyns)
        self.moves, self.per_src, self.per_dst = _moves(op, op.atom.value, self.src.bits)
        self.recode = tile_pointer(op.src).element != tile_pointer(op.dst).element
        self.unpack = copy_atom(op.atom.value).unpack

    def run(
        self, lanes: Lanes, src: SimPointer, dst: SimPointer, *dyns: Any, taints: Any = ()
    ) -> None:
        """Copy for these lanes."""
        from_ = self.src.starts(dyns[: self.n_src])
        to = self.dst.starts(dyns[self.n_src : self.n_src + self.n_dst])
        warps = Warps(self.op, lanes)
        value = self._moved(warps, self.src.access.read(lanes, src, from_))
        garbage = self.src.access.garbage(lanes, src, from_)
        if self.recode:
            value = value.view(self.dst.access.dtype)
        self.dst.access.write(lanes, value, dst, to)
        if garbage is not None:
            full = np.broadcast_to(garbage.mask, (*lanes.full(garbage.mask).shape[:2],
                                                  self.src.tile.length or 1))  # fmt: skip
            garbage = Taint(self._moved(warps, full), garbage.origin)
        self.dst.access.leave(lanes, dst, garbage, to)

    def _moved(self, warps: Warps, value: Any) -> Array:
        if self.unpack:
            value = unpacked(np.asarray(value), self.unpack)
        return move_rows(warps, value, self.moves, self.per_src)


def unpacked(rows: Array, bits: int) -> Array:
    """Rows of 16 bytes that begin with 16 elements of a few bits, each element as a byte; of a
    mask, whether any byte of an element is in it."""
    shape, dtype = rows.shape, rows.dtype
    flat = np.ascontiguousarray(rows).view(np.uint8).reshape(*shape[:-1], -1, 16)
    at = np.arange(16) * bits
    low, high = at // 8, (at + bits - 1) // 8
    if dtype == np.bool_:
        return ((flat[..., low] | flat[..., high]) != 0).reshape(shape)
    pairs = flat[..., low].astype(np.uint16) | flat[..., high].astype(np.uint16) << np.uint16(8)
    out = pairs >> (at % 8).astype(np.uint16) & np.uint16((1 << bits) - 1)
    return out.astype(np.uint8).view(dtype).reshape(shape)


def move_rows(warps: Warps, value: Any, moves: Array, per_src: int) -> Array:
    """Rows as registers, or the other way round, for each use of the instruction."""
    rows = warps.rows(value)
    uses = rows.shape[2] // per_src
    rows = rows.reshape(-1, WARP, uses, per_src).swapaxes(1, 2)
    flat = rows.reshape(rows.shape[0], uses, WARP * per_src)
    out = flat.take(moves, axis=2)  # (warps, uses, 32, values)
    out = np.ascontiguousarray(out.swapaxes(1, 2))
    return warps.back(out)


def _of_lanes(warps: Warps, value: Array, lanes: Array) -> Array:
    """For each lane of a warp the value (one number) of another one."""
    rows = warps.rows(value[..., None])
    rows = rows.reshape(-1, WARP, 1).take(lanes, axis=1)
    return warps.back(rows)[..., 0]


@semantics("ptx.ldmatrix", lanes=True, taint="memory", sinks=((0, "an address"),))
def ldmatrix(op: Op) -> Function:
    """Registers of some matrices in shared memory."""
    assert isinstance(op, LdMatrixOp)
    access = Access(op, I32, vector=True, run=4, align=16, swizzle=tile_pointer(op.ptr).swizzle)
    atom = _record("ldmatrix", op)
    unit = 8 if atom.grain == 8 else 16 if op.trans.value else 32
    moves, per_src, _ = _moves(op, atom.name, unit)
    # The addresses of threads beyond the rows are not looked at: those of others stand for them.
    looked_at = np.arange(WARP) % (atom.rows * atom.matrices)

    def run(lanes: Lanes, ptr: SimPointer, taints: Any = (), track: bool = False) -> Any:
        warps = Warps(op, lanes)
        if atom.rows * atom.matrices < WARP:
            ptr = ptr.mapped(lambda v: _of_lanes(warps, v, looked_at))

        def registers(value: Array) -> Array:
            if unit == 32:
                return move_rows(warps, value, moves, per_src)
            parts = np.ascontiguousarray(warps.lanes.full(value)).view(f"i{unit // 8}")
            if atom.unpack:
                parts = unpacked(parts, atom.unpack)
            return np.ascontiguousarray(move_rows(warps, parts, moves, per_src)).view(np.int32)

        value = registers(access.read(lanes, ptr))
        if not track:
            return value
        garbage = access.garbage(lanes, ptr)
        if garbage is None:
            return value, None
        mask: Any = lanes.full(garbage.mask)
        if unit < 32:
            parts = np.repeat(mask, 32 // unit, axis=2)
            parts = unpacked(parts, atom.unpack) if atom.unpack else parts
            moved = move_rows(warps, parts, moves, per_src)
            mask = moved.reshape(*moved.shape[:2], -1, 32 // unit).any(axis=-1)
        else:
            mask = move_rows(warps, mask, moves, per_src)
        return value, Taint(mask, garbage.origin)

    return run


def _record(kind: str, op: LdMatrixOp | StMatrixOp) -> CopyAtom:
    """The instruction's record."""
    return next(
        a for a in COPY_ATOMS.values() if a.name.startswith(kind) and a.shape == op.shape.value
        and a.matrices == op.num.value and a.trans == bool(op.trans.value)
    )  # fmt: skip


@semantics("ptx.stmatrix", lanes=True, taint="memory", sinks=((0, "an address"),))
def stmatrix(op: Op) -> Function:
    """Write registers as matrices in shared memory."""
    assert isinstance(op, StMatrixOp)
    access = Access(op, I32, vector=True, run=4, align=16, swizzle=tile_pointer(op.ptr).swizzle)
    atom = _record("stmatrix", op)
    count, unit = op.num.value, atom.grain
    moves, per_src, _ = _moves(op, atom.name, unit)

    def run(lanes: Lanes, ptr: SimPointer, value: Any, taints: Any = (None, None)) -> None:
        warps = Warps(op, lanes)
        halves = np.ascontiguousarray(lanes.full(value)).view(f"i{unit // 8}")
        rows = move_rows(warps, halves, moves, per_src)
        rows = np.ascontiguousarray(rows).view(np.int32)
        # The addresses of threads beyond the rows are not looked at.
        part, pick, _ = lanes.sub(np.asarray(lanes.full(lanes.tid)) % WARP < 8 * count)
        access.write(part, pick(rows), pick(ptr))
        taint = taints[1]
        if taint is not None:
            mask = np.repeat(lanes.full(taint.mask), 32 // unit, axis=2)
            moved = move_rows(warps, np.broadcast_to(mask, halves.shape), moves, per_src)
            moved = moved.reshape(*moved.shape[:2], -1, 32 // unit).any(axis=-1)
            access.leave(part, pick(ptr), Taint(pick(moved), taint.origin))

    return run


# ---------------------------------------------------------------------- asynchronous tiles
class AsyncTile:
    """``cute.copy`` by cp.async: a copy that takes place when its thread waits for it.

    Args:
        op: the operation.
        copy: the ordinary copy of the same tile.
    """

    def __init__(self, op: CopyOp, copy: Any) -> None:
        self.op = op
        self.copy = copy

    def run(
        self, lanes: Lanes, src: SimPointer, dst: SimPointer, *rest: Any, taints: Any = ()
    ) -> None:
        """Start the copy for these lanes."""
        copy = self.copy
        from_, to, mask = copy.parts(lanes, rest)
        if mask is not None and mask.all():
            mask = None
        copy.dst.access.begin(lanes, dst, to)
        # What is the same for all lanes does not follow them.
        fixed = [x if x is None or x.ndim < 3 else None for x in (from_, to)]
        own = tuple(x for x in (from_, to) if x is not None and x.ndim == 3)

        def starts(own: Sequence[Any]) -> tuple[Any, Any]:
            rest = iter(own)
            a = next(rest) if from_ is not None and from_.ndim == 3 else fixed[0]
            b = next(rest) if to is not None and to.ndim == 3 else fixed[1]
            return a, b

        def perform(lanes: Lanes, src: SimPointer, dst: SimPointer, mask: Any, *own: Any) -> None:
            a, b = starts(own)
            if mask is None:
                copy.plain(lanes, src, a, dst, b)
                return
            copy.masked(lanes, src, a, dst, b, mask)
            self._zeros(lanes, dst, b, ~mask)

        def check(lanes: Lanes, src: SimPointer, dst: SimPointer, mask: Any, *own: Any) -> None:
            at = starts(own)[0]
            if mask is not None and at is None:
                at = np.zeros(mask.shape[2], np.int64)
            copy.src.access.touch(lanes, src, at, mask, "read")

        copies = copies_of(lanes.run.group)
        copies.start(self.op, lanes, perform, check, (src, dst, mask, *own))

    def _zeros(self, lanes: Lanes, dst: SimPointer, to: Any, mask: Array) -> None:
        """What a predicate forbids becomes zero."""
        if not mask.any():
            return
        access = self.copy.dst.access
        starts = np.zeros(mask.shape[2], np.int64) if to is None else to
        zeros = np.zeros((1, 1, mask.shape[2] * access.run), access.dtype)
        access.write_where(lanes, zeros, dst, starts, mask)
