# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The lanes (threads) that execute together, and cutting and joining them.

`Lanes` is a grid of P blocks by Q threads. Where control diverges, `split` gives smaller lanes with
a function `pick` that takes a value along; `merge` puts the results of both sides together. Lanes
are compacted, never masked.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# P and Q are the names of the two lane axes everywhere in the simulator.
# pyright: reportConstantRedefinition=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.sim.memory import RAW, SimPointer, common_buffer
from opencute.sim.taint import Taint
from opencute.sim.values import Array

__all__ = ["Kind", "Lanes", "Part", "merge", "merge_value"]

Pick = Callable[[Any], Any]
Kind = Any
"""How a value merges: a dtype, ``"ptr"`` or ``"taint"`` (anything else must agree)."""


class Lanes:
    """A grid of P blocks by Q threads.

    Args:
        run: what belongs to all lanes: launch sizes, memories, counters.
        P: blocks (or 1, when compacted).
        Q: threads.
        tid: linear thread index in the block.
        bid: linear block index in the grid.
        slot: index among the lanes that started together, None when these are all of them.
    """

    __slots__ = ("P", "Q", "_slot", "bid", "cache", "n", "run", "tid")

    def __init__(self, run: Any, P: int, Q: int, tid: Any, bid: Any, slot: Any = None) -> None:
        self.run = run
        self.P = P
        self.Q = Q
        self.n = P * Q
        self.tid = tid
        self.bid = bid
        self._slot = slot
        self.cache: dict[str, Any] = {}

    @property
    def whole(self) -> bool:
        """Whether these are all lanes that started together."""
        return self._slot is None

    @property
    def slot(self) -> Array:
        """For each lane, its number among those that started together."""
        slot = self._slot
        if slot is None:
            slot = self.cache.get("slot")
            if slot is None:
                slot = self.cache["slot"] = np.arange(self.n).reshape(self.P, self.Q)
            return slot
        if type(slot) is tuple:
            parent, pick = slot
            self._slot = slot = pick(parent.slot)
        return slot

    def full(self, value: Any) -> Array:
        """A value with both lane axes spelled out."""
        tail = value.shape[2:] if type(value) is np.ndarray else ()
        return np.broadcast_to(value, (self.P, self.Q, *tail))

    def name(self, where: tuple[int, ...]) -> str:
        """Block and thread of one lane, for people."""
        block = int(self.full(self.bid)[where[:2]])
        thread = int(self.full(self.tid)[where[:2]])
        return self.run.describe(block, thread)

    def split(self, cond: Array) -> tuple[tuple[Lanes, Pick, Any], tuple[Lanes, Pick, Any]]:
        """The lanes where `cond` holds and the others, each with `pick` and where it came from."""
        return self.sub(cond), self.sub(~cond)

    def sub(self, cond: Array) -> tuple[Lanes, Pick, Any]:
        """The lanes where `cond` holds (some do), how values follow, and the place to merge at."""
        P, Q = self.P, self.Q
        rows, cols = cond.shape
        if rows == 1 and cols == Q and (P == 1 or Q > 1):
            index = np.flatnonzero(cond[0])
            first, last, n = int(index[0]), int(index[-1]), index.size
            where = slice(first, last + 1) if last - first + 1 == n else index

            def array(v: Array) -> Array:
                return v if v.shape[1] == 1 else v[:, where]

            shape, place = (P, n), ("cols", where)
        elif cols == 1 and rows == P:
            index = np.flatnonzero(cond[:, 0])

            def array(v: Array) -> Array:
                return v if v.shape[0] == 1 else v[index]

            shape, place = (index.size, Q), ("rows", index)
        else:
            flat = np.flatnonzero(np.broadcast_to(cond, (P, Q)))
            fp, fq = np.divmod(flat, Q)

            def array(v: Array) -> Array:
                a, b = v.shape[:2]
                if b == 1:
                    return v if a == 1 else v[:, 0].take(fp, axis=0)[None]
                if a == 1:
                    return v[0].take(fq, axis=0)[None]
                return v.reshape(a * b, *v.shape[2:]).take(flat, axis=0)[None]

            shape, place = (1, flat.size), ("flat", flat)

        def pick(v: Any) -> Any:
            kind = type(v)
            if kind is np.ndarray:
                return array(v)
            return v.mapped(array) if kind is SimPointer or kind is Taint else v

        lanes = Lanes(self.run, *shape, pick(self.tid), pick(self.bid), (self, pick))
        return lanes, pick, place


Part = tuple[Any, Any]
"""Where a part of the lanes came from, and its value."""


def _put(out: Array, place: Any, value: Any) -> None:
    how, where = place
    if how == "cols":
        out[:, where] = value
    elif how == "rows":
        out[where] = value
    else:
        flat = out.reshape(out.shape[0] * out.shape[1], *out.shape[2:])
        flat[where] = value[0] if type(value) is np.ndarray else value


def _same(a: Any, b: Any) -> bool:
    """Whether two scalars are the same value, bit for bit."""
    if a is b:
        return True
    if type(a) is not type(b) or type(a) is np.ndarray:
        return False
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if type(a) is SimPointer:
        if type(a.offset) is not int or type(b.offset) is not int:
            return False
        return a.buffer is b.buffer and a.offset == b.offset
    return bool(a == b)


def _merge_arrays(lanes: Lanes, parts: Sequence[Part], dtype: Any) -> Array:
    tail = next((v.shape[2:] for _, v in parts if type(v) is np.ndarray), ())
    out = np.empty((lanes.P, lanes.Q, *tail), dtype)
    for place, value in parts:
        _put(out, place, value)
    return out


def merge_value(lanes: Lanes, parts: Sequence[Part], kind: Kind) -> Any:
    """One value over `lanes` from its parts, which cover them."""
    first = parts[0][1]
    if all(_same(v, first) for _, v in parts):
        return first
    if kind == "ptr":
        buffer = common_buffer([v for _, v in parts])
        if buffer is not None:
            return SimPointer(
                buffer, _merge_arrays(lanes, [(p, v.offset) for p, v in parts], np.int64)
            )
        for _, pointer in parts:
            # Arrays of the caller are known by address from the start, registers are not.
            if pointer.buffer.space == "rmem":
                lanes.run.table.add(pointer.buffer)
        return SimPointer(RAW, _merge_arrays(lanes, [(p, v.address()) for p, v in parts], np.int64))
    if kind == "taint":
        masks = [(p, False if v is None else v.mask) for p, v in parts]
        tail = next(m.shape[2:] for _, m in masks if type(m) is np.ndarray)
        masks = [
            (p, m if tail == () or type(m) is not np.ndarray or m.ndim == 3 else m[..., None])
            for p, m in masks
        ]
        origin = next(v.origin for _, v in parts if v is not None)
        return Taint(_merge_arrays(lanes, masks, np.bool_), origin)
    return _merge_arrays(lanes, parts, kind)


def merge(lanes: Lanes, places: Sequence[Any], values: Sequence[Any], kinds: Sequence[Kind]) -> Any:
    """Tuples of values from several parts of the lanes, as one tuple over `lanes`."""
    return tuple(
        merge_value(lanes, list(zip(places, column, strict=True)), kind)
        for column, kind in zip(zip(*values, strict=True), kinds, strict=True)
    )
