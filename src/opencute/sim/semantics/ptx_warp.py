# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: operations in which the threads of a warp exchange values.

Each is a function on tables with a row for each warp and 32 columns, and on who takes part.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.sync.group import WARP
from opencute.sim.sync.warps import active_mask, meet
from opencute.sim.taint import Origin, Taint
from opencute.sim.values import Array, dtype_of

__all__: list[str] = []

_LANE = np.arange(WARP, dtype=np.int64)
_BITS = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))


def _word(op: Op, key: str) -> str:
    found = op.attributes[key]
    assert isinstance(found, StringAttr)
    return found.value


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "what a warp decides") for i in range(len(op.operands))]


def _ballot(held: Array) -> Array:
    """The columns in which a table holds, as one signed word for each row."""
    return (held * _BITS).sum(axis=1, dtype=np.uint32).view(np.int32)[:, None]


# ---------------------------------------------------------------------- shuffles
def shuffle_source(mode: str, src: Any, clamp: Any) -> tuple[Array, Array]:
    """The lane that each lane reads, and whether it is inside of the segment (PTX, "shfl")."""
    b = np.asarray(src).astype(np.int64) & 31
    c = np.asarray(clamp).astype(np.int64)
    limit, segment = c & 31, (c >> 8) & 31
    most = (_LANE & segment) | (limit & ~segment)
    least = _LANE & segment
    if mode == "up":
        lane = _LANE - b
        inside = lane >= most
    elif mode == "down":
        lane = _LANE + b
        inside = lane <= most
    elif mode == "bfly":
        lane = _LANE ^ b
        inside = lane <= most
    else:
        lane = least | (b & ~segment)
        inside = lane <= most
    return np.where(inside, lane, _LANE), inside


def _shuffle(mode: str, tables: Sequence[Any], part: Array) -> tuple[Array, ...]:
    """What each lane gets, whether its source is inside, whether that is garbage, whether because
    the source is not here, the source, and a word of who is here."""
    value, src, clamp, garbage = tables
    lane, inside = shuffle_source(mode, src, clamp)
    lane = np.broadcast_to(lane, part.shape)
    inside = np.broadcast_to(inside, part.shape)
    value = np.broadcast_to(value, part.shape)
    out = np.take_along_axis(value, lane, axis=1)
    absent = ~np.take_along_axis(part, lane, axis=1)
    bad = absent
    if type(garbage) is np.ndarray:
        bad = absent | np.take_along_axis(garbage, lane, axis=1)
    here = _ballot(part) if absent.any() else np.int32(0)
    return out, inside, bad, absent, lane, np.broadcast_to(here, part.shape)


def _no_such_lane(op: Op, lanes: Lanes, mask: Any, lane: Array, here: Array, bad: Array) -> Origin:
    """The story of what a lane got from one that is not here.

    Args:
        op: the shuffle.
        lanes: who is.
        mask: the lanes that they name.
        lane: whose value each gets.
        here: a word of who of its warp is here.
        bad: who gets the value of a lane that is not here; one at least.
    """
    at = tuple(np.argwhere(bad)[0])
    named = int(np.broadcast_to(np.asarray(mask), (lanes.P, lanes.Q))[at]) & 0xFFFFFFFF
    missing = named & ~int(here[at])
    where = f"{op.name} at {op.loc}"
    if not missing >> int(lane[at]) & 1:
        return Origin(op, told=f"it is the value of lane {lane[at]}, which the mask of {where} "
                      "does not name")  # fmt: skip
    gone = [i for i in range(WARP) if missing >> i & 1]
    told = f"the mask of {where} names {_lane_list(gone)}, which did not come to it"
    return Origin(op, told=f"{told}; let all of them come, or name only those that do")


def _lane_list(numbers: list[int]) -> str:
    """Lanes in words: ``lanes 20 to 31``."""
    first, last = numbers[0], numbers[-1]
    if first == last:
        return f"lane {first}"
    if last - first + 1 == len(numbers):
        return f"lanes {first} to {last}"
    return "lanes " + ", ".join(map(str, numbers))


@semantics(
    "ptx.shfl_sync", lanes=True, blocking=True, taint="memory",
    sinks=((0, "a warp's mask"), (2, "a lane's number"), (3, "a lane's number")),
)  # fmt: skip
def shfl_sync(op: Op) -> Function:
    """A value of another lane. What a lane gets from one that takes no part is garbage."""
    mode = _word(op, "mode")
    scalar = dtype_of(op.operands[1].type).type

    def compute(tables: Sequence[Any], part: Array) -> Sequence[Array]:
        return _shuffle(mode, tables, part)

    def run(
        lanes: Lanes, mask: Any, value: Any, src: Any, clamp: Any, taints: Any = None,
        track: bool = False,
    ) -> Any:  # fmt: skip
        garbage: Any = False
        origin = None
        if taints is not None and taints[1] is not None:
            origin = taints[1].origin
            garbage = np.broadcast_to(taints[1].mask, (lanes.P, lanes.Q))
        if type(value) is not np.ndarray:
            value = scalar(value)
        got = meet(op, lanes, mask, (value, src, clamp, garbage), compute)
        if type(got) is not tuple:
            found = got.results
            got.results = lambda: finish(found(), lanes, mask, origin)
            return got
        return finish(got, lanes, mask, origin)

    def finish(got: Any, lanes: Lanes, mask: Any, origin: Origin | None) -> tuple[Any, ...]:
        out, inside, bad, absent, lane, here = got
        if not bad.any():
            return out, None, inside, None
        if absent.any():
            origin = _no_such_lane(op, lanes, mask, lane, here, absent)
        return out, Taint(bad, origin or Origin(op)), inside, None

    return run


# ---------------------------------------------------------------------- votes
def _vote(mode: str, pred: Any, part: Array) -> Array:
    held = part & pred
    if mode == "ballot":
        return _ballot(held)
    if mode == "any":
        return held.any(axis=1, keepdims=True)
    every = (held == part).all(axis=1, keepdims=True)
    if mode == "all":
        return every
    return every | ~held.any(axis=1, keepdims=True)


@semantics("ptx.vote_sync", lanes=True, blocking=True, sinks=_sinks)
def vote_sync(op: Op) -> Function:
    """A vote of the threads that take part."""
    mode = _word(op, "mode")
    return lambda lanes, mask, pred: meet(
        op, lanes, mask, (pred,), lambda tables, part: (_vote(mode, tables[0], part),)
    )


# ---------------------------------------------------------------------- matches
def _match(mode: str, value: Any, part: Array) -> tuple[Array, Array]:
    value = np.broadcast_to(value, part.shape)
    if mode == "all":
        first = np.take_along_axis(value, part.argmax(axis=1)[:, None], axis=1)
        same = ((value == first) | ~part).all(axis=1, keepdims=True)
        return np.where(same, _ballot(part), np.int32(0)), same
    equal = (value[:, :, None] == value[:, None, :]) & part[:, None, :]
    out = (equal * _BITS).sum(axis=2, dtype=np.uint32).view(np.int32)
    return out, out != 0


@semantics("ptx.match_sync", lanes=True, blocking=True, sinks=_sinks)
def match_sync(op: Op) -> Function:
    """Who has the same value."""
    mode = _word(op, "mode")
    dtype = dtype_of(op.operands[1].type)

    def run(lanes: Lanes, mask: Any, value: Any) -> Any:
        if type(value) is not np.ndarray:
            value = dtype.type(value)
        return meet(op, lanes, mask, (value,), lambda t, part: _match(mode, t[0], part))

    return run


# ---------------------------------------------------------------------- reductions
def _reduction(op: Op) -> Callable[[Array, Array], Array]:
    word = _word(op, "op")
    if word in ("fmin", "fmax"):
        return _float_reduction(word, "abs" in op.attributes, "nan" in op.attributes)
    unsigned = "unsigned" in op.attributes
    if word == "add":
        return lambda v, part: np.where(part, v, 0).sum(axis=1, keepdims=True, dtype=np.int32)
    if word in ("min", "max"):
        dtype = np.uint32 if unsigned else np.int32
        info = np.iinfo(dtype)
        rest = info.max if word == "min" else info.min
        fn = np.minimum if word == "min" else np.maximum
        return lambda v, part: fn.reduce(
            np.where(part, v.view(dtype), dtype(rest)), axis=1, keepdims=True
        ).view(np.int32)
    fn = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[word]
    rest = -1 if word == "and" else 0
    return lambda v, part: fn.reduce(np.where(part, v, np.int32(rest)), axis=1, keepdims=True)


_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


def _float_reduction(word: str, absolute: bool, nan: bool) -> Callable[[Array, Array], Array]:
    """The least or greatest float; -0 is less than +0, and NaN loses unless it is asked for."""
    rest = np.float32(np.inf if word == "fmin" else -np.inf)

    def run(value: Array, part: Array) -> Array:
        if absolute:
            value = np.abs(value)
        missing = np.isnan(value)
        used = part & ~missing
        v = np.where(used, value, rest)
        if word == "fmin":
            best = v.min(axis=1, keepdims=True)
            zero = np.where((used & np.signbit(value) & (value == 0)).any(axis=1), -0.0, 0.0)
        else:
            best = v.max(axis=1, keepdims=True)
            zero = np.where((used & ~np.signbit(value) & (value == 0)).any(axis=1), 0.0, -0.0)
        out = np.where(best == 0, zero[:, None].astype(np.float32), best)
        lost = (part & missing).any(axis=1) if nan else ~used.any(axis=1)
        return np.where(np.asarray(lost)[:, None], _NAN, out).astype(np.float32)

    return run


@semantics("ptx.redux_sync", lanes=True, blocking=True, sinks=_sinks)
def redux_sync(op: Op) -> Function:
    """The values of all threads that take part, combined."""
    fn = _reduction(op)
    dtype = dtype_of(op.operands[1].type)

    def compute(tables: Sequence[Any], part: Array) -> Sequence[Array]:
        value = np.ascontiguousarray(np.broadcast_to(tables[0], part.shape))
        return (fn(value, part),)

    def run(lanes: Lanes, mask: Any, value: Any) -> Any:
        if type(value) is not np.ndarray:
            value = dtype.type(value)
        return meet(op, lanes, mask, (value,), compute)

    return run


# ---------------------------------------------------------------------- who is here
@semantics("ptx.activemask", lanes=True)
def activemask(op: Op) -> Function:
    """The lanes of the warp that run together."""
    return active_mask


def _elect(tables: Sequence[Any], part: Array) -> Sequence[Array]:
    leader = part.argmax(axis=1).astype(np.int32)[:, None]
    return leader, leader == _LANE


@semantics("ptx.elect_sync", lanes=True, blocking=True, sinks=_sinks)
def elect_sync(op: Op) -> Function:
    """The first of the threads that take part is elected."""

    def run(lanes: Lanes, mask: Any) -> Any:
        if lanes.run.checker is not None:
            lanes.run.checker.elected(lanes)
        return meet(op, lanes, mask, (), _elect)

    return run


@semantics("ptx.bar_warp_sync", lanes=True, blocking=True, sinks=_sinks)
def bar_warp_sync(op: Op) -> Function:
    """Wait for the threads named, wherever in the program they meet."""

    def run(lanes: Lanes, mask: Any) -> Any:
        got = meet(op, lanes, mask, (), lambda tables, part: (), "bar_warp_sync")
        return None if type(got) is tuple else got

    return run
