# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Structured control flow in which nothing waits: branches and loops over lanes.

Regions are functions ``(lanes, *arguments, *live) -> tuple``. Lanes that agree go on together at
full width; where they differ, each side runs compacted and the results are merged.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.base.knobs import KNOBS
from opencute.ir.core import Op
from opencute.sim.lanes import Kind, Lanes, merge, merge_value

__all__ = ["endless", "run_for", "run_if", "run_while", "step_limit"]

Region = Callable[..., tuple[Any, ...]]
nd = np.ndarray


def step_limit() -> int:
    """Turns that one loop may take."""
    return KNOBS.sim_step_limit or 1 << 62


def endless(op: Op, turns: int) -> SimulationError:
    """The error of a loop that takes more turns than the limit."""
    return SimulationError(
        "a loop does not end", code="OC3010", loc=op.loc,
        expected=f"at most {KNOBS.sim_step_limit} turns", found=f"{turns} turns and more",
        hint="look for a condition that never becomes false; a loop that is meant to be this long "
        "needs a higher OPENCUTE_SIM_STEP_LIMIT (0: no limit)",
    )  # fmt: skip


def run_if(
    lanes: Lanes,
    cond: Any,
    then: Region,
    orelse: Region | None,
    live: tuple[Any, ...],
    kinds: Sequence[Kind],
) -> tuple[Any, ...]:
    """`then` where the condition holds and `orelse` elsewhere (None: nothing)."""
    if type(cond) is nd:
        held = int(np.count_nonzero(cond))
        if 0 < held < cond.size:
            return _both(lanes, cond, then, orelse, live, kinds)
        cond = held > 0
    if cond:
        return then(lanes, *live)
    return orelse(lanes, *live) if orelse is not None else ()


def _both(
    lanes: Lanes, cond: Any, then: Region, orelse: Region | None, live: Any, kinds: Sequence[Kind]
) -> tuple[Any, ...]:
    lanes.run.report.splits += 1
    a, pick, place_a = lanes.sub(cond)
    first = then(a, *map(pick, live))
    if orelse is None:
        return ()
    b, pick, place_b = lanes.sub(~cond)
    second = orelse(b, *map(pick, live))
    return merge(lanes, (place_a, place_b), (first, second), kinds) if kinds else ()


class _Leavers:
    """Lanes that left a loop, with what they took along, until all have left."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.ids: Any = np.arange(lanes.n).reshape(lanes.P, lanes.Q)
        self.parts: list[tuple[Any, tuple[Any, ...]]] = []

    def leave(self, pick: Any, values: Sequence[Any]) -> None:
        """The lanes that `pick` picks leave with these values."""
        self.parts.append((pick(self.ids), tuple(pick(v) for v in values)))

    def finish(self, values: Sequence[Any], kinds: Sequence[Kind]) -> tuple[Any, ...]:
        """The rest leave with these values; returns all values over all lanes."""
        self.parts.append((self.ids, tuple(values)))
        whole = Lanes(self.lanes.run, 1, self.lanes.n, None, None)
        flat = [
            (("flat", ids.ravel()), [_flatten(v, ids.shape) for v in vs]) for ids, vs in self.parts
        ]
        out = []
        for j, kind in enumerate(kinds):
            value = merge_value(whole, [(place, vs[j]) for place, vs in flat], kind)
            out.append(_reshaped(value, self.lanes))
        return tuple(out)


def _flatten(value: Any, grid: tuple[int, int]) -> Any:
    return _map(
        value,
        lambda v: np.broadcast_to(v, (*grid, *v.shape[2:])).reshape(
            1, grid[0] * grid[1], *v.shape[2:]
        ),
    )


def _reshaped(value: Any, lanes: Lanes) -> Any:
    return _map(value, lambda v: v.reshape(lanes.P, lanes.Q, *v.shape[2:]))


def _map(value: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply `fn` to the array that a value is made of, if any."""
    if type(value) is nd:
        return fn(value)
    mapped = getattr(value, "mapped", None)
    return mapped(fn) if mapped is not None else value


def run_while(
    lanes: Lanes,
    op: Op,
    before: Region,
    after: Region,
    inits: tuple[Any, ...],
    live_before: tuple[Any, ...],
    live_after: tuple[Any, ...],
    kinds: Sequence[Kind],
) -> tuple[Any, ...]:
    """`before` gives (condition, *passed); `after` maps what is passed to the next round."""
    carried = inits
    leavers: _Leavers | None = None
    limit = step_limit()
    turns = 0
    while True:
        cond, *passed = before(lanes, *carried, *live_before)
        if type(cond) is nd:
            stay = int(np.count_nonzero(cond))
            if 0 < stay < cond.size:
                if leavers is None:
                    leavers = _Leavers(lanes)
                lanes.run.report.splits += 1
                _, pick, _ = lanes.sub(~cond)
                leavers.leave(pick, passed)
                lanes, pick, _ = lanes.sub(cond)
                leavers.ids = pick(leavers.ids)
                live_before = tuple(map(pick, live_before))
                live_after = tuple(map(pick, live_after))
                passed = [pick(v) for v in passed]
                cond = True
            else:
                cond = stay > 0
        if not cond:
            break
        turns += 1
        if turns > limit:
            raise endless(op, turns)
        carried = after(lanes, *passed, *live_after)
    return tuple(passed) if leavers is None else leavers.finish(passed, kinds)


def run_for(
    lanes: Lanes,
    op: Op,
    body: Region,
    lower: Any,
    upper: Any,
    step: Any,
    inits: tuple[Any, ...],
    live: tuple[Any, ...],
    kinds: Sequence[Kind],
) -> tuple[Any, ...]:
    """`body` for each value of the induction variable; lanes may differ in how many there are."""
    if type(step) is nd:
        bad = bool((step <= 0).any())
    else:
        bad = step <= 0
    if bad:
        raise SimulationError(
            "scf.for: the step is not positive", code="OC3004", loc=op.loc, found=step
        )
    carried = inits
    if lower.__class__ is int and upper.__class__ is int and step.__class__ is int:
        turns = range(lower, upper, step)
        if upper > lower and (upper - lower) // step > step_limit():
            raise endless(op, (upper - lower) // step)
        for i in turns:
            carried = body(lanes, i, *carried, *live)
        return carried
    return _ragged(lanes, op, body, (lower, upper, step), carried, live, kinds)


def _ragged(
    lanes: Lanes,
    op: Op,
    body: Region,
    bounds: tuple[Any, Any, Any],
    carried: tuple[Any, ...],
    live: tuple[Any, ...],
    kinds: Sequence[Kind],
) -> tuple[Any, ...]:
    index, _, step = bounds
    dtype = next(v.dtype for v in bounds if type(v) is nd)
    # Counted in trips, so that the last step cannot overflow.
    wide = [v.astype(np.int64) if type(v) is nd else v for v in bounds]
    span = wide[1] - wide[0]
    trips = np.maximum((span + (wide[2] - 1)) // wide[2], 0)
    if int(trips.max()) > step_limit():
        raise endless(op, int(trips.max()))
    done = 0
    leavers: _Leavers | None = None
    while True:
        most = int(trips.max())
        least = int(trips.min())
        for _ in range(done, least):
            carried = body(lanes, index, *carried, *live)
            index = _next(index, step, dtype)
        done = least
        if least == most:
            break
        if leavers is None:
            leavers = _Leavers(lanes)
        lanes.run.report.splits += 1
        stay = trips > done
        _, pick, _ = lanes.sub(~stay)
        leavers.leave(pick, carried)
        lanes, pick, _ = lanes.sub(stay)
        leavers.ids = pick(leavers.ids)
        trips, index, step = pick(trips), pick(index), pick(step)
        carried = tuple(map(pick, carried))
        live = tuple(map(pick, live))
    return carried if leavers is None else leavers.finish(carried, kinds)


def _next(index: Any, step: Any, dtype: np.dtype[Any]) -> Any:
    if type(index) is nd or type(step) is nd:
        return index + step
    value = index + step
    # Only a value that is never used may be out of range here.
    return (
        value
        if -(1 << 63) <= value < 1 << 63 and dtype.itemsize == 8
        else int(np.int64(value).astype(dtype))
    )
