# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One access in the checking mode: which pieces of a shadow it touches, and who touches each.

In: a `Checker`, and what some lanes read or write. Out: an `AccessState`, whose arrays have one
element for each piece that is touched::

    state.pieces, state.slots      # the piece, and the lane's number
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import OVER, SEEN
from opencute.sim.sync.shadow import TIME, Shadow
from opencute.sim.values import Array

if TYPE_CHECKING:
    from opencute.sim.sync.checker import Checker

__all__ = ["AccessState"]

_MANY = 32  # pieces that are worth a look at whether they follow each other


def _span(pieces: Array) -> slice | None:
    """The pieces as a range, if they are one, in order."""
    n = pieces.size
    if n < _MANY:
        return None
    first = int(pieces[0])
    if int(pieces[-1]) - first != n - 1 or not (pieces[1:] - pieces[:-1] == 1).all():
        return None
    return slice(first, first + n)


class AccessState:
    """One access, compared with those before.

    Arrays have one element for each piece that is touched, flat: the piece, and who touches it.
    """

    kind: int
    """The weakest knowledge that is enough of what the block itself, or units, did before."""
    blocks: Array | None = None
    """The blocks of those who touch them, if that is known without a look at each."""

    def __init__(
        self, checker: Checker, lanes: Lanes, access: Any, verb: str, buffer: Any,
        offsets: Array, mask: Any, shadow: Shadow, strength: int,
    ) -> None:  # fmt: skip
        self.checker, self.clocks = checker, checker.clocks
        self.lanes, self.access, self.verb, self.buffer = lanes, access, verb, buffer
        self.shadow, self.strength = shadow, strength
        self.kind = OVER if verb in ("write", "begin") else SEEN
        self.offsets = offsets if offsets.ndim == 3 else offsets[..., None]
        self.mask = mask
        shadow.fit(self.offsets, access.width)
        self.shape = (lanes.P, lanes.Q, *self.offsets.shape[2:])
        if mask is None:
            self.blocks = lanes.bid if type(lanes.bid) is np.ndarray else np.array([lanes.bid])
        self._begin()

    @cached_property
    def pieces(self) -> Array:
        """The pieces that are touched."""
        pieces = self.shadow.pieces(self.offsets, self.access.width)
        every = np.broadcast_to(pieces, (*self.shape, pieces.shape[3]))
        return every.reshape(-1) if self.mask is None else every[self.mask].reshape(-1)

    @cached_property
    def slots(self) -> Array:
        """For each of them, who touches it."""
        count = self.access.width >> self.shadow.shift
        slots = self.lanes.slot[..., None, None]
        every = np.broadcast_to(slots, (*self.shape, count))
        return every.reshape(-1) if self.mask is None else every[self.mask].reshape(-1)

    @cached_property
    def span(self) -> slice | None:
        """The pieces, if they follow each other; then each is touched once."""
        return _span(self.pieces)

    def _begin(self) -> None:
        self.first = self.clocks.first_block * self.clocks.threads
        self.time = self.clocks.now << TIME
        self.floor = self._least_floor()
        self.away: Any = None
        """Which of them touch another block's shared memory; None: nobody does."""
        if self.shadow.columns and not hasattr(self.buffer, "start"):
            home = self._home()
            away = home != self.slots // self.clocks.threads
            if away.any():
                self.away = away
                trailing = self.checker.trailing
                trailing.by_threads(self.access.op, self.lanes.run, self.slots, home)

    def _home(self) -> Array:
        """The block (of those that run) whose shared memory each piece is in."""
        stride = self.buffer.arena.stride >> self.shadow.shift
        return self.pieces // stride

    def _words(self, words: Array) -> Array:
        """The words of the pieces; to be looked at before others are written."""
        return words.take(self.pieces) if self.span is None else words[self.span]

    def _set(self, words: Array, values: Any) -> None:
        words[self.pieces if self.span is None else self.span] = values

    def _least_floor(self) -> int:
        """The time up to which all of these lanes know their blocks."""
        cache, version = self.lanes.cache, self.clocks.version
        known = cache.get("floor")
        if known is None or known[0] != version:
            slots = self.lanes.slot
            floor = self.clocks.floor
            floor = floor if slots.size == floor.size else floor[slots]
            known = cache["floor"] = (version, int(floor.min()))
        return known[1]
