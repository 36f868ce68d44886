# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Accesses of many lanes, compared and remembered by native loops.

In: an access. Out: whether loops did it (`fused.shadows`), as far as a look at each word is enough;
else NumPy has to, as the other modules say.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.sim.fused.shadows import FEWEST, Walk
from opencute.sim.sync.checks.shared_readers import SharedReaders
from opencute.sim.sync.shadow import FOREIGN, PENDING, STRENGTH, TIME
from opencute.sim.values import Array

__all__ = ["NativeLoops"]


class NativeLoops(SharedReaders):
    """One access of many lanes."""

    def _walked(self) -> bool:
        """Let native loops do it, as far as no more than a look at each word is needed."""
        shadow, shared = self.shadow, self.shadow.columns > 0
        if self.verb == "update" or (not shared and self.strength):
            return False
        if self.verb == "read" and not shared and self.clocks.row.any():
            return False  # readers may know each other in more ways
        if self.lanes.n * self.offsets.shape[2] * (self.access.width >> shadow.shift) < FEWEST:
            return False
        offsets, (slots, inner, blocks) = self.offsets, self._who()
        if self.mask is not None:
            offsets = np.broadcast_to(offsets, self.shape)[self.mask]
            slots, inner, blocks = (
                np.broadcast_to(x[..., None], self.shape)[self.mask] for x in (slots, inner, blocks)
            )
        walk = Walk(offsets, slots, inner, blocks, self.access.width, shadow.shift)
        if not walk.worth:
            return False
        if self.verb == "read":
            (self._walk_read if shared else self._walk_read_global)(walk)
            return True
        if shared:
            self._walk_against(walk)
        elif shadow.has_writers or shadow.has_readers:
            clocks = self.clocks
            if walk.look_global(
                shadow.writer, shadow.reader, clocks.floor, self.first, clocks.threads, False
            ):
                self._against_writers()
                self._against_readers()
        shadow.has_writers = True
        word = PENDING if self.verb == "begin" else self.time + (self.strength << STRENGTH)
        number = self.checker.number(self.access.op)
        if walk.write(shadow.writer, shadow.write_op, self.first, word, number):
            self._remember_writers()
        return True

    def _walk_against(self, walk: Walk) -> None:
        """Compare writes to shared memory with all that was there before."""
        shadow = self.shadow
        if shadow.has_writers or shadow.has_readers:
            most, bits, last = walk.look(shadow.writer, shadow.last_read)
            if not self._known_to_all(most, bits):
                self._against_writers()
            if last >= (self.floor + 1) << 32:
                self._against_readers_of_shared()
        if shadow.extra:
            self._against_extra()

    def _who(self) -> tuple[Array, Array, Array]:
        """Of the lanes: their numbers, those within their blocks, and the blocks' in the launch."""
        known = self.lanes.cache.get("who")
        if known is None:
            slots = np.ascontiguousarray(self.lanes.slot)
            block, inner = np.divmod(slots, self.clocks.threads)
            known = slots, inner, block + self.clocks.first_block
            self.lanes.cache["who"] = known
        return known

    def _walk_read(self, walk: Walk) -> None:
        shadow, now = self.shadow, self.clocks.now
        shadow.has_readers = True
        word = (now << 8) + (self.strength << 6)
        stamp = (now << 32) + self.checker.number(self.access.op)
        most, bits = walk.read_shared(shadow.writer, shadow.last_read, shadow.reader, word, stamp)
        if not self._known_to_all(most, bits):
            self._against_writers()

    def _walk_read_global(self, walk: Walk) -> None:
        shadow, clocks = self.shadow, self.clocks
        floor, first, threads = clocks.floor, self.first, clocks.threads
        if shadow.has_writers and walk.look_global(
            shadow.writer, shadow.reader, floor, first, threads, True
        ):
            self._against_writers()
        shadow.has_readers = True
        number = self.checker.number(self.access.op)
        walk.read_global(
            shadow.last_read, shadow.reader[0], floor, first, threads, self.time, 0, number
        )
        self._note_blocks()

    def _known_to_all(self, most: int, bits: int) -> bool:
        """Whether all lanes know of these writers of shared memory, by the block's barriers."""
        return most == 0 or (
            most < (self.floor + 1) << TIME and not (self.shadow.foreign and bits & FOREIGN)
        )
