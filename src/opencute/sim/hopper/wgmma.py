# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups: started by threads, carried out when a wait says that they are done.

Operands in shared memory are read then, through the bits of their descriptors, so that a wrong
descriptor gives wrong numbers, and so does a buffer that is written to too early. Each warp
computes its own 16 rows: the warps of a warpgroup need not come together, but have to come all.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.sparse import metadata_layout, run_of
from opencute.arch.wgmma import ROWS, wgmma_atom
from opencute.base.errors import SimulationError
from opencute.dialects.hopper.wgmma import CuteWgmmaOp
from opencute.dialects.tiled import extents
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Op
from opencute.layout import Layout
from opencute.sim.hopper.parties import parties_of
from opencute.sim.hopper.product_operands import WARP_ROWS, Operand
from opencute.sim.hopper.product_reads import Reading, read_together, take_off
from opencute.sim.hopper.products import Operands, products_of
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.matrices import Warps
from opencute.sim.semantics.sparse import check_metadata, codes_of, expanded
from opencute.sim.semantics.tile_access import TileAccess
from opencute.sim.semantics.tiled import matrix_of, numbers_of, registers_of
from opencute.sim.sync.guards import fences_of
from opencute.sim.taint import Origin, Taint
from opencute.sim.tiles import int_attr
from opencute.sim.values import Array

__all__: list[str] = []

_WARPS = 4
_REMEMBERED = 64  # readings of single sets of descriptors that are kept


@semantics("ptx.wgmma_fence", lanes=True)
def fence(op: Op) -> Function:
    """Order registers before the products that follow."""

    return lambda lanes: fences_of(lanes.run.group).fence(lanes)


@semantics("ptx.wgmma_commit", lanes=True)
def commit(op: Op) -> Function:
    """Close a group."""
    return lambda lanes: products_of(lanes.run.group).commit(lanes)


@semantics("ptx.wgmma_wait", lanes=True, blocking=True)
def wait(op: Op) -> Function:
    """Products are done, as late as that."""
    count = int_attr(op, "count")
    return lambda lanes: products_of(lanes.run.group).wait(op, lanes, count)


def _of_warps(warps: Warps, op: Op, value: Any, what: str) -> Array:
    """For each warp a value that its threads agree on."""
    if np.size(value) == 1:
        return np.full(warps.lanes.n // 32, np.asarray(value).reshape(-1)[0], np.int64)
    rows = warps.rows(np.asarray(value))[..., 0].astype(np.int64)
    if (rows != rows[:, :1]).any():
        raise SimulationError(
            f"the threads of a warp disagree on {what}", code="OC3043", loc=op.loc,
            expected="one value for all threads of the warpgroup", found=np.unique(rows).tolist(),
            hint="slice the tiled MMA by the warpgroup, or by the thread",
        )  # fmt: skip
    return rows[:, 0]


def _of_one_warp(layout: Layout) -> Layout:
    """The layout of a fragment of 64 rows, on the 16 rows of one warp."""
    threads, values = layout
    step = ROWS // WARP_ROWS

    def narrowed(d: int) -> int:
        return d if d < WARP_ROWS else d // step

    return Layout(
        (threads.shape[:2], values.shape),
        (tuple(map(narrowed, threads.stride[:2])), tuple(map(narrowed, values.stride))),
    )


@semantics("cute.wgmma", lanes=True, taint="memory")
def product(op: Op) -> Function:
    """A product of a warpgroup."""
    assert isinstance(op, CuteWgmmaOp)
    return _Product(op)


class _Product:
    def __init__(self, op: CuteWgmmaOp) -> None:
        self.op = op
        self.atom = atom = wgmma_atom(op.atom.value)
        m, n, k = atom.mnk
        self.d = TileAccess(op, op.d, "d_layout")
        self.left: TileAccess | Operand
        if atom.a_in_registers:
            self.left = TileAccess(op, op.a, "a_layout")
            self.a_layout = _of_one_warp(atom.a)
        else:
            self.left = Operand(
                op, "A", m, atom.a_k, atom.types[1], op.a_layout, op.a_high.value,
                op.a_major.value == "mn",
            )  # fmt: skip
        self.right = Operand(
            op, "B", n, k, atom.types[2], op.b_layout, op.b_high.value, op.b_major.value == "mn"
        )
        _, um, un = extents(op.d_layout)
        self.uses = (um, un, extents(op.b_layout)[2])
        self.c_layout = _of_one_warp(atom.c)
        self.known: dict[Any, Reading] = {}
        self.e_layout = metadata_layout(WARP_ROWS, k, ELEMENT_BITS[atom.types[1]])

    # ------------------------------------------------------------------ the threads' part
    def __call__(
        self, lanes: Lanes, d: SimPointer, a: Any, b: Any, accumulate: Any, *meta: Any,
        taints: Any = (),
    ) -> None:  # fmt: skip
        for taint in taints[4:]:
            check_metadata(self.op, lanes, taint, self._metadata_threads())
        warps = Warps(self.op, lanes)
        signature = [_of_warps(warps, self.op, b, "the descriptor of B")]
        if isinstance(self.left, Operand):
            signature.append(_of_warps(warps, self.op, a, "the descriptor of A"))
        signature.append(_of_warps(warps, self.op, accumulate, "whether to accumulate"))
        group = lanes.run.group
        parties_of(group).came(self.op, lanes, signature)
        for pointer, tile, changes in self._fragments(d, a):
            guard = pointer.buffer.guard
            if guard is not None:
                where = _offset(pointer)
                guard.begin(self.op, lanes, where, _bytes(tile, where, guard.size), changes=changes)
        operands = Operands(d, a, b, accumulate, meta)
        numbers = products_of(group).start(self, lanes, operands)
        if lanes.run.checker is not None:
            self._take_off(lanes, warps, operands, warps.rows(numbers)[:, 0, 0])

    def _take_off(self, lanes: Lanes, warps: Warps, operands: Operands, numbers: Array) -> None:
        """Tell the checking mode what is read from now on."""
        products = products_of(lanes.run.group)
        reads = self._reads(lanes, warps, operands)
        flights = take_off(self.op, lanes, reads, products.commits)
        parties = warps.rows(products.party(lanes))[:, 0, 0].tolist()
        i = 0
        for flight in flights:
            products.reads.setdefault((parties[i], int(numbers[i])), []).append(flight)
            i += len(flight.units)

    def _reads(self, lanes: Lanes, warps: Warps, operands: Operands) -> Reading:
        """What the warpgroups read of shared memory, which comes again in each turn of a loop."""
        blocks = _of_warps(warps, self.op, lanes.bid, "their block") - lanes.run.first_block
        slots = warps.rows(lanes.slot)[:, :, 0]
        lows = [self._lows(warps, [operands.b], "B")]
        if isinstance(self.left, Operand):
            lows.append(self._lows(warps, [operands.a], "A"))
        arena = lanes.run.group.arena
        key = (*(x.tobytes() for x in (slots, *lows)), arena.size, arena.stride)
        known = self.known.get(key)
        if known is not None:
            return known
        cores = [self.right.cores(lanes, blocks, lows[0], None)]
        if isinstance(self.left, Operand):
            warp = _of_warps(warps, self.op, np.asarray(lanes.tid) // 32, "their warp")
            cores.append(self.left.cores(lanes, blocks, lows[1], warp % _WARPS))
        if len(self.known) >= _REMEMBERED:
            self.known.clear()
        reads = self.known[key] = read_together(slots, lanes.run.group.threads, cores)
        return reads

    def _fragments(self, d: SimPointer, a: Any) -> list[tuple[SimPointer, TileAccess, bool]]:
        out = [(d, self.d, True)]
        if isinstance(self.left, TileAccess):
            out.append((a, self.left, False))
        return out

    # ------------------------------------------------------------------ the hardware's part
    def like(self, other: _Product) -> bool:
        """Whether products of another operation differ in their operands only."""
        return self is other or self.op.attributes == other.op.attributes

    def perform(self, lanes: Lanes, products: Sequence[Operands]) -> None:
        """Carry out products on one accumulator; the further ones only add to it."""
        guards = [p.buffer.guard for one in products for p, _, _ in self._fragments(one.d, one.a)]
        for guard in guards:
            if guard is not None:
                guard.busy = True
        self._multiply(lanes, products)
        for guard in guards:
            if guard is not None:
                guard.busy = False

    def leave(self, lanes: Lanes, operands: Operands) -> None:
        """Lanes have waited for a product."""
        for pointer, _, _ in self._fragments(operands.d, operands.a):
            if pointer.buffer.guard is not None:
                pointer.buffer.guard.end(_offset(pointer), lanes)

    def _multiply(self, lanes: Lanes, products: Sequence[Operands]) -> None:
        op, (um, un, _) = self.op, self.uses
        m, n, k = WARP_ROWS, self.atom.mnk[1], self.atom.mnk[2]
        warps, d = Warps(op, lanes), products[0].d
        accumulate = products[0].accumulate
        adds = _of_warps(warps, op, accumulate, "whether to accumulate").astype(np.bool_)
        blocks = _of_warps(warps, op, lanes.bid, "their block") - lanes.run.first_block
        starts = self.d.starts(())
        kept = self._kept(lanes, warps, d, adds)
        unset = self.d.access.garbage(lanes, d, starts) if adds.any() else None
        left, bad_left = self._left(lanes, warps, blocks, products)
        if self.atom.sparse:
            left = expanded(op, left, self._codes(warps, products), self.atom.types[1])
        low = self._lows(warps, [one.b for one in products], "B")
        keys, inverse = np.unique(np.column_stack([blocks, low]), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        right, bad_right = self.right.read(lanes, keys[:, 0], keys[:, 1:], None)
        self._tell(lanes, right.size * right.dtype.itemsize)
        numbers = _numbers(right, self.atom.types[2])
        pairs = [(inverse == i, numbers[i].T) for i in range(keys.shape[0])]
        layout, tile, whole = self.c_layout, (m, n), (left.shape[0], um * m, un * n)
        if self.atom.types[3] == "f16":  # each instruction rounds
            acc = np.zeros(whole, np.float16)
            if kept is not None:
                acc = matrix_of(kept, layout, tile, (um, un))
            for first in range(0, left.shape[2], k):
                part = slice(first, first + k)
                for mine, other in pairs:
                    total = left[mine][:, :, part] @ other[part] + acc[mine].astype(np.float32)
                    acc[mine] = total.astype(np.float16)
            rows = registers_of(acc, layout, tile, (um, un))
        else:
            out = _products(left, numbers, inverse)
            rows = registers_of(out, layout, tile, (um, un))
            rows = rows.reshape(rows.shape[0], 32, -1)
            rows = _sum(rows, np.zeros((), self.d.access.dtype) if kept is None else kept)
        value = warps.back(rows)
        self.d.access.write(lanes, value, d, starts)
        bad = self._garbage(lanes, unset, adds, warps, (bad_left, bad_right, inverse), whole)
        if bad is not None:
            mask = warps.back(registers_of(bad, self.c_layout, (m, n), (um, un)))
            origin = None if unset is None else unset.origin
            self.d.access.leave(lanes, d, Taint(mask, origin or Origin(op)), starts)

    def _kept(self, lanes: Lanes, warps: Warps, d: SimPointer, adds: Array) -> Array | None:
        """What products are added to, (warps, 32, elements); None: nothing."""
        if not adds.any():
            return None
        rows = warps.rows(self.d.access.read(lanes, d, self.d.starts(())))
        return rows if adds.all() else np.where(adds[:, None, None], rows, rows.dtype.type(0))

    def _lows(self, warps: Warps, lows: Sequence[Any], which: str) -> Array:
        """The lower halves of descriptors, (warps, products)."""
        what = f"the descriptor of {which}"
        return np.stack([_of_warps(warps, self.op, low, what) for low in lows], axis=1)

    def _codes(self, warps: Warps, products: Sequence[Operands]) -> Array:
        """The four bits of each run of A, 16 rows of each tile for each warp."""
        um, _, uk = self.uses
        k, width = self.atom.mnk[2], run_of(self.atom.types[1])[1]
        threads = self._metadata_threads()
        columns: list[Array] = []
        for one in products:
            words = [warps.rows(warps.lanes.full(np.asarray(w))[..., None]) for w in one.meta]
            codes = [
                codes_of(w[..., 0], self.e_layout, threads, (WARP_ROWS, k), width) for w in words
            ]
            columns += [np.concatenate(codes[um * s : um * (s + 1)], axis=1) for s in range(uk)]
        return np.concatenate(columns, axis=2)

    def _metadata_threads(self) -> tuple[int, ...]:
        """The threads of a warp whose metadata counts."""
        assert isinstance(self.op.selector, IntAttr)
        each = 4 // self.atom.selectors
        return tuple(t for t in range(32) if t % 4 // each == self.op.selector.value)

    def _left(
        self, lanes: Lanes, warps: Warps, blocks: Array, products: Sequence[Operands]
    ) -> tuple[Array, Array | None]:
        """A as numbers, 16 rows of each tile for each warp, and which of them are garbage."""
        um, _, uk = self.uses
        k, type = self.atom.a_k, self.atom.types[1]
        if isinstance(self.left, Operand):
            low = self._lows(warps, [one.a for one in products], "A")
            warp = _of_warps(warps, self.op, np.asarray(lanes.tid) // 32, "their warp")
            values, bad = self.left.read(lanes, blocks, low, warp % _WARPS)
            self._tell(lanes, values.size * values.dtype.itemsize)
            return _numbers(values, type), bad
        starts = self.left.starts(())
        parts: list[Array] = []
        masks: list[Array] = []
        for one in products:
            rows = warps.rows(self.left.access.read(lanes, one.a, starts))
            garbage = self.left.access.garbage(lanes, one.a, starts)
            mask = np.zeros((), np.bool_) if garbage is None else garbage.mask
            full = np.broadcast_to(mask, (lanes.P, lanes.Q, rows.shape[2]))
            parts.append(matrix_of(rows, self.a_layout, (WARP_ROWS, k), (um, uk)))
            masks.append(matrix_of(warps.rows(full), self.a_layout, (WARP_ROWS, k), (um, uk)))
        bad = np.concatenate(masks, axis=2)
        return numbers_of(np.concatenate(parts, axis=2), type), bad if bad.any() else None

    def _garbage(
        self, lanes: Lanes, unset: Taint | None, adds: Array, warps: Warps, sides: Any,
        shape: tuple[int, ...],
    ) -> Array | None:  # fmt: skip
        """Which elements of the result depend on garbage: on what of the accumulator was `unset`
        before the product, where it `adds` to it, and on that of the two sides."""
        bad_left, bad_right, inverse = sides
        if unset is None and bad_left is None and bad_right is None:
            return None
        out = np.zeros(shape, np.bool_)
        if unset is not None:
            um, un, _ = self.uses
            full = np.broadcast_to(
                lanes.full(unset.mask), (lanes.P, lanes.Q, self.d.tile.length or 1)
            )
            mask = matrix_of(
                warps.rows(full), self.c_layout, (WARP_ROWS, self.atom.mnk[1]), (um, un)
            )
            out |= mask & adds[:, None, None]
        if bad_left is not None:
            out |= bad_left.any(axis=2)[:, :, None]
        if bad_right is not None:
            out |= bad_right.any(axis=2)[inverse][:, None, :]
        return out if out.any() else None

    def _tell(self, lanes: Lanes, size: int) -> None:
        """Count what is read of shared memory."""
        lanes.run.count("read", "smem", size // 16, 16, 16)


def _numbers(values: Array, type: str) -> Array:
    """As `numbers_of`, of matrices whose rows or columns are contiguous."""
    if values.flags.c_contiguous:
        return numbers_of(values, type)
    return numbers_of(values.swapaxes(1, 2), type).swapaxes(1, 2)


def _products(left: Array, right: Array, which: Array) -> Array:
    """For each warp the product of its rows and the transposed of one of the matrices."""
    warps, rows, k = left.shape
    each = warps // right.shape[0]
    if warps % right.shape[0] == 0 and (which == np.arange(warps) // each).all():
        # One product for all warps that see one B.
        out = left.reshape(right.shape[0], each * rows, k) @ right.swapaxes(1, 2)
        return out.reshape(warps, rows, -1)
    out = np.empty((warps, rows, right.shape[1]), left.dtype)
    for i in range(right.shape[0]):
        mine = which == i
        part = left[mine].reshape(-1, k) @ right[i].T
        out[mine] = part.reshape(-1, rows, right.shape[1])
    return out


def _sum(products: Array, kept: Array) -> Array:
    """Products and what they are added to, exact for integers."""
    if kept.dtype == np.int32:
        return (products.astype(np.int64) + kept).astype(np.int32)
    products += kept
    return products


def _offset(pointer: SimPointer) -> int:
    """Where a fragment begins in its registers."""
    offset = pointer.offset
    return int(np.asarray(offset).flat[0])


def _bytes(tile: TileAccess, where: int, size: int) -> Array:
    """The bytes of its registers that a fragment uses."""
    out = np.zeros(size, np.bool_)
    starts = tile.starts(())
    runs = np.zeros(1, np.int64) if starts is None else starts
    at = (runs[:, None] + np.arange(tile.access.width)).reshape(-1) + where
    out[np.clip(at, 0, size - 1)] = True
    return out
