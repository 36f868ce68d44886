# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Meetings of the threads of a warp: each names by a mask who takes part.

Values go through *tables* with a row for each warp and a column for each of its 32 lanes. Where
everybody named is among the lanes that run together, a table is the value itself, reshaped;
otherwise lanes put what they bring into a table of all warps, and wait until the others have come.
Threads that have ended are not waited for, as PTX says.

    compute(tables, part) -> tables of results
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["Compute", "active_mask", "meet"]

Compute = Callable[[Sequence[Any], Array], Sequence[Array]]
"""From tables (warps x 32) and a mask of who takes part, to tables of results."""

_BITS = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))
_FULL = 0xFFFFFFFF


def _tables_fit(lanes: Lanes) -> bool:
    """Whether lanes are whole warps in order, so that values are tables as they are."""
    fit = lanes.cache.get("tables fit")
    if fit is None:
        fit = False
        if lanes.Q % WARP == 0 and type(lanes.tid) is np.ndarray:
            tid = lanes.full(lanes.tid)
            steps = tid.reshape(lanes.P, -1, WARP)
            fit = bool(
                (steps[..., 0] % WARP == 0).all()
                and (steps - steps[..., :1] == np.arange(WARP)).all()
            )
            if fit and lanes.P == 1 and type(lanes.bid) is np.ndarray:
                bid = lanes.full(lanes.bid).reshape(-1, WARP)
                fit = bool((bid == bid[:, :1]).all())
        lanes.cache["tables fit"] = fit
    return fit


def _uniform_full(lanes: Lanes, mask: Any) -> bool:
    """Whether all lanes name all of their warp, and all of it is here."""
    return type(mask) is not np.ndarray and mask & _FULL == _FULL and _tables_fit(lanes)


def meet(
    op: Op, lanes: Lanes, mask: Any, values: Sequence[Any], compute: Compute, name: str = ""
) -> Any:
    """Meet the threads that `mask` names; returns the results over the lanes, or a `Wait`.

    Args:
        op: the operation.
        lanes: who comes.
        mask: whom they name: a 32-bit integer, or an array of them.
        values: what they bring.
        compute: what comes of it.
        name: meetings with the same name may be at different operations; default: this one only.
    """
    if _uniform_full(lanes, mask):
        shape = (lanes.P * lanes.Q // WARP, WARP)
        tables = [lanes.full(v).reshape(shape) if _varies(v) else v for v in values]
        part = _everyone(shape[0])
        out = compute(tables, part)
        if name:
            _order(lanes, None)
        return tuple(np.broadcast_to(t, shape).reshape(lanes.P, lanes.Q) for t in out)
    group: Group = lanes.run.group
    key = name or f"warp {id(op)}"
    meeting = group.state(key, lambda g: _Meeting(g, compute, len(values), name != ""))
    return meeting.come(op, lanes, mask, values)


_EVERYONE: dict[int, Array] = {}


def _everyone(warps: int) -> Array:
    part = _EVERYONE.get(warps)
    if part is None:
        part = _EVERYONE[warps] = np.ones((warps, WARP), np.bool_)
    return part


def _varies(value: Any) -> bool:
    return type(value) is np.ndarray


def _order(lanes: Lanes, part: Any) -> None:
    checker = lanes.run.checker
    if checker is not None:
        checker.warp_met(lanes, part)


class _Meeting:
    """Lanes that have come to one operation and wait for others of their warp.

    Args:
        group: the blocks that run together.
        compute: what comes of what they bring.
        count: how many values each brings.
        orders: whether the meeting orders memory accesses.
    """

    def __init__(self, group: Group, compute: Compute, count: int, orders: bool) -> None:
        self.group, self.compute, self.run = group, compute, None
        self.orders = orders
        self.shape = (group.blocks * group.warps, WARP)
        self.here = np.zeros(self.shape, np.bool_)
        self.masks = np.zeros(self.shape, np.uint32)
        self.visit = np.zeros(self.shape, np.int64)  # how often a lane's meeting took place
        self.tables: list[Any] = [None] * count
        self.results: list[Any] = []
        group.on_end.append(self.settle)

    def come(self, op: Op, lanes: Lanes, mask: Any, values: Sequence[Any]) -> Any:
        """Lanes bring their values."""
        group = self.group
        warp = group.warp_of(lanes)
        lane = lanes.full(lanes.tid).ravel() % WARP if _varies(lanes.tid) else _one(lanes)
        masks = lanes.full(mask).ravel().astype(np.int64) & _FULL
        self._check_own(op, lanes, masks, lane)
        at = (warp, lane)
        self.here[at] = True
        self.masks[at] = masks
        for i, value in enumerate(values):
            flat = lanes.full(value).ravel() if _varies(value) else value
            table = self.tables[i]
            if table is None:
                dtype = flat.dtype if _varies(flat) else np.asarray(flat).dtype
                table = self.tables[i] = np.zeros(self.shape, dtype)
            table[at] = flat
        before = self.visit[at]
        group.version += 1
        self.run: Any = lanes.run
        self.settle()

        def ready() -> Any:
            out = (self.visit[at] != before).reshape(lanes.P, lanes.Q)
            return True if out.all() else out

        def results() -> tuple[Any, ...]:
            return tuple(t[at].reshape(lanes.P, lanes.Q) for t in self.results)

        if ready() is True:
            return results()
        return Wait(op, ready, lambda: self._text(lanes, at, before), results,
                    lambda: self._missing(at, before))  # fmt: skip

    def _check_own(self, op: Op, lanes: Lanes, masks: Array, lane: Array) -> None:
        outside = (masks >> lane) & 1 == 0
        if outside.any():
            slot = lanes.slot.ravel()[outside]
            raise SimulationError(
                f"{op.name}: the mask {int(masks[outside][0]):#010x} leaves out the thread itself: "
                f"{describe_slots(lanes.run, np.sort(slot))}",
                code="OC3020", loc=op.loc,
                hint="a thread has to be named by the mask that it gives",
            )  # fmt: skip

    def _alive(self) -> Array:
        """Who exists and has not ended, as a table."""
        group = self.group
        alive = np.zeros((group.blocks, group.warps * WARP), np.bool_)
        alive[:, : group.threads] = ~group.ended.reshape(group.blocks, group.threads)
        return alive.reshape(self.shape)

    def settle(self) -> None:
        """Let those meet who are complete."""
        rows = np.flatnonzero(self.here.any(axis=1))
        if rows.size == 0:
            return
        here, masks, alive = self.here[rows], self.masks[rows], self._alive()[rows]
        done = np.zeros_like(here)
        out: list[Array] | None = None
        for mask in np.unique(masks[here]):
            same = here & (masks == mask)
            named = (_BITS & mask) != 0
            complete = same.any(axis=1) & ~(named & alive & ~same).any(axis=1)
            if not complete.any():
                continue
            part = same & complete[:, None]
            got = self.compute([None if t is None else t[rows] for t in self.tables], part)
            if out is None:
                out = [np.zeros(part.shape, np.asarray(t).dtype) for t in got]
            for table, t in zip(out, got, strict=True):
                np.copyto(table, t, where=part)
            done |= part
            self._order(rows, part)
        if out is None:
            return
        if not self.results:
            self.results = [np.zeros(self.shape, t.dtype) for t in out]
        for table, t in zip(self.results, out, strict=True):
            part_rows = table[rows]
            np.copyto(part_rows, t, where=done)
            table[rows] = part_rows
        self.visit[rows] += done
        self.here[rows] &= ~done
        self.group.version += 1

    def _order(self, rows: Array, part: Array) -> None:
        """Tell the checker who has met: the threads of one mask in each warp."""
        if self.orders and self.run is not None and self.run.checker is not None:
            whole = np.zeros(self.shape, np.bool_)
            whole[rows] = part
            self.run.checker.warp_met(None, whole)

    def _missing(self, at: Any, before: Array) -> Array:
        group = self.group
        waiting = self.visit[at] == before
        rows, cols = at[0][waiting], at[1][waiting]
        bits = np.zeros(self.shape[0], np.uint32)
        np.bitwise_or.at(bits, rows, self.masks[rows, cols])
        named = (bits[:, None] & _BITS) != 0
        missing = (named & ~self.here & self._alive()).reshape(group.blocks, -1)
        return missing[:, : group.threads].reshape(-1)

    def _text(self, lanes: Lanes, at: Any, before: Array) -> str:
        waiting = self.visit[at] == before
        row, col = at[0][waiting], at[1][waiting]
        if not row.size:
            return "the threads of the mask"
        mask = int(self.masks[row[0], col[0]])
        here = int((self.here[row[0]] * _BITS.astype(np.int64)).sum())
        return f"the threads of mask {mask:#010x}; {here:#010x} have come"


def _one(lanes: Lanes) -> Array:
    return np.full(lanes.n, lanes.tid % WARP)


def active_mask(lanes: Lanes) -> Any:
    """For each lane, the lanes of its warp that run together with it, as a signed word."""
    if _tables_fit(lanes):
        return -1
    warp = lanes.run.group.warp_of(lanes)
    lane = lanes.full(lanes.tid).ravel() % WARP if _varies(lanes.tid) else _one(lanes)
    bits = np.zeros(int(warp.max()) + 1, np.uint32)
    np.bitwise_or.at(bits, warp, _BITS[lane])
    return bits[warp].view(np.int32).reshape(lanes.P, lanes.Q)
