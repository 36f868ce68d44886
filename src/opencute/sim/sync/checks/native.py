# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Accesses of many lanes, compared and remembered by native loops.

In: an access. Out: whether loops did it (`fused.shadows`), as far as a look at each word is enough;
else NumPy has to, as the other modules say. What has been read is remembered as it is; words of
readers are set when a write asks for them, and never if barriers have come between.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.sim.fused.shadows import FEWEST, LOOPS, Walk
from opencute.sim.lanes import Lanes
from opencute.sim.sync.checks.shared_readers import SharedReaders
from opencute.sim.sync.clocks import Clocks
from opencute.sim.sync.shadow import FOREIGN, LATE, PENDING, STRENGTH, TIME, Shadow
from opencute.sim.values import Array

__all__ = ["NativeLoops"]


class _Pieces:
    """What some lanes touch, kept so that it can be looked at later.

    Args:
        lanes: who.
        clocks: of the launch.
        offsets: byte offsets of runs, (P or 1, Q or 1, runs).
        width: bytes of each.
        mask: which runs are touched, (P, Q, runs), None: all.
    """

    def __init__(
        self, lanes: Lanes, clocks: Clocks, offsets: Array, width: int, mask: Array | None
    ) -> None:
        self.offsets, self.width, self.mask = offsets, width, mask
        self.shape = (lanes.P, lanes.Q, offsets.shape[2])
        # What is the same for all lanes is made anew when it is asked for, and not kept.
        self.slots = None if lanes.whole else np.ascontiguousarray(lanes.slot)
        self.threads, self.first_block = clocks.threads, clocks.first_block
        self.first = self.first_block * self.threads

    def walk(self, shift: int) -> Walk:
        """For the native loops."""
        offsets, slots, mask = self.offsets, self.slots, self.mask
        if slots is None:
            slots = np.arange(self.shape[0] * self.shape[1]).reshape(self.shape[:2])
        if mask is not None:
            offsets = np.broadcast_to(offsets, self.shape)[mask]
            slots = np.broadcast_to(slots[..., None], self.shape)[mask]
        return Walk(offsets, slots, self.threads, self.first_block, self.width, shift)


class _LateRead:
    """A read whose words are not set yet.

    Args:
        pieces: who read what.
        time: when.
        size: how many pieces that was.
        strength: of the access.
        number: of the operation.
        floor: of global memory: up to when threads knew their blocks.
    """

    def __init__(
        self, pieces: _Pieces, time: int, size: int, strength: int, number: int,
        floor: Array | None,
    ) -> None:  # fmt: skip
        self.pieces, self.time, self.size = pieces, time, size
        self.strength, self.number, self.floor = strength, number, floor

    def settle(self, shadow: Shadow) -> None:
        """Set the words."""
        pieces, time = self.pieces, self.time
        walk, last_read, reader = pieces.walk(shadow.shift), shadow.last_read, shadow.reader
        if self.floor is None:
            word, stamp = (time << 8) + (self.strength << 6), (time << 32) + self.number
            walk.read_shared(last_read, reader, word, stamp)
            return
        walk.read_global(
            last_read, reader[0], self.floor, pieces.first, pieces.threads, time << TIME, 0,
            self.number,
        )  # fmt: skip


class NativeLoops(SharedReaders):
    """One access of many lanes."""

    def _walked(self) -> bool:
        """Let native loops do it, as far as no more than a look at each word is needed."""
        shadow, shared = self.shadow, self.shadow.columns > 0
        if self.verb == "update" or (not shared and self.strength):
            return False
        if self.verb == "read" and not shared and self.clocks.row.any():
            return False  # readers may know each other in more ways
        runs = self.lanes.n * self.offsets.shape[2]
        if self.mask is not None:
            runs = int(np.count_nonzero(np.broadcast_to(self.mask, self.shape)))
        size = runs * (self.access.width >> shadow.shift)
        if size < FEWEST or not LOOPS.ready(size):
            return False
        pieces = _Pieces(self.lanes, self.clocks, self.offsets, self.access.width, self.mask)
        if self.verb == "read":
            self._walk_read(pieces, size)
            return True
        walk = pieces.walk(shadow.shift)
        if shared:
            self._walk_against_shared(walk)
        else:
            self._walk_against(walk)
        word = PENDING if self.verb == "begin" else self.time + (self.strength << STRENGTH)
        shadow.wrote(word >> TIME)
        number = self.checker.number(self.access.op)
        if walk.write(shadow.writer, shadow.write_op, self.first, word, number):
            self._remember_writers()
        return True

    # ------------------------------------------------------------------ reads
    def _walk_read(self, pieces: _Pieces, size: int) -> None:
        """Compare reads with writers; their own words wait until somebody asks for them."""
        shadow, floor = self.shadow, None
        if shadow.columns:
            self._walk_against_writers(pieces)
            shadow.latest_read = self.clocks.now
        else:
            self._walk_against_writers_of_global(pieces)
            self._note_blocks()
            floor = self.clocks.keep_floor()
        shadow.has_readers = True
        if size + shadow.waiting > LATE:
            self._forget()
        number = self.checker.number(self.access.op)
        read = _LateRead(pieces, self.clocks.now, size, self.strength, number, floor)
        shadow.postpone(read)

    def _walk_against_writers(self, pieces: _Pieces) -> None:
        shadow = self.shadow
        if not shadow.has_writers or self._known_to_all(shadow.latest_write, shadow.foreign):
            return
        most, bits, _ = pieces.walk(shadow.shift).look(shadow.writer, shadow.writer)
        if not self._known_to_all(most >> TIME, bool(bits & FOREIGN)):
            self._against_writers()

    def _walk_against_writers_of_global(self, pieces: _Pieces) -> None:
        shadow, clocks = self.shadow, self.clocks
        if self._apart() or not shadow.has_writers:
            return
        walk = pieces.walk(shadow.shift)
        if walk.look_global(
            shadow.writer, shadow.writer, clocks.floor, self.first, clocks.threads, True
        ):
            self._against_writers()

    # ------------------------------------------------------------------ writes
    def _walk_against_shared(self, walk: Walk) -> None:
        """Compare writes to shared memory with all that was there before."""
        shadow = self.shadow
        if shadow.has_writers and not self._known_to_all(shadow.latest_write, shadow.foreign):
            most, bits, _ = walk.look(shadow.writer, shadow.writer)
            if not self._known_to_all(most >> TIME, bool(bits & FOREIGN)):
                self._against_writers()
        if shadow.has_readers and shadow.latest_read > self.floor:
            self._forget()
            _, _, last = walk.look(shadow.writer, shadow.last_read)
            if last >= (self.floor + 1) << 32:
                self._against_readers_of_shared()
        if shadow.extra:
            self._against_extra()

    def _walk_against(self, walk: Walk) -> None:
        """Compare writes to global memory with all that was there before."""
        shadow, clocks = self.shadow, self.clocks
        if self._apart() or not (shadow.has_writers or shadow.has_readers):
            return
        if walk.look_global(
            shadow.writer, shadow.reader, clocks.floor, self.first, clocks.threads, False
        ):
            self._against_writers()
            self._against_readers()

    def _apart(self) -> bool:
        """Whether the bytes of global memory are none that have been used before."""
        shadow = self.shadow
        first = int(self.offsets.min())
        last = int(self.offsets.max()) + self.access.width
        before = shadow.reach
        if before is None:
            return False
        if before[0] == before[1]:
            shadow.reach = first, last
            return True
        shadow.reach = min(before[0], first), max(before[1], last)
        return last <= before[0] or first >= before[1]

    def _known_to_all(self, latest: int, foreign: bool) -> bool:
        """Whether all lanes know of writers of shared memory, by the block's barriers: of writes
        up to a time, perhaps by others than the block's threads."""
        return latest == 0 or (latest <= self.floor and not foreign)
