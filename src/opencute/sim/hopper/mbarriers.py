# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers in shared memory, as PTX defines `mbarrier`: counts of arrivals and of bytes.

A phase is complete when all expected arrivals and all expected bytes have come; the next one begins
at once. State is kept beside the memory, by the place in the arena of all blocks::

    bars = mbarriers_of(lanes.run.group)
    bars.init(op, lanes, places, count=32)
    bars.arrive(op, lanes, places)             # tokens, one for each lane
    bars.wait(op, lanes, places, parity=0)     # None, or what they wait for
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.hopper.order import Birth, Knowledge
from opencute.sim.hopper.phases import Phases
from opencute.sim.lanes import Lanes
from opencute.sim.sync.deadlock import collapsed, describe_slots
from opencute.sim.sync.group import Group
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["MAX_COUNT", "MBarrier", "MBarriers", "mbarriers_of"]

MAX_COUNT = (1 << 20) - 1
"""The most arrivals, and the most bytes, that a phase can expect."""
_OWN = ("ptx.mbarrier_init",)
_TOKEN = 20  # bits of a token below the number of the phase


def mbarriers_of(group: Group) -> MBarriers:
    """The mbarriers of the blocks that run together."""
    return group.state("mbarriers", MBarriers)


@dataclass(eq=False)
class MBarrier:
    """One barrier.

    Args:
        place: where it lies in the arena.
        op: what initialised it.
        expected: arrivals of each phase from the next on.
        pending: arrivals that this phase still waits for.
        total: arrivals that this phase expects in all.
        tx: bytes that this phase still waits for; negative: that came before they were expected.
        phase: phases that are complete.
        leaving: arrivals of this phase that the next ones do not expect.
        dropped: arrivals of earlier phases that this one does not expect.
        arrived: who has arrived in this phase, as slots.
        before: who arrived in the phase before.
        last: what arrived or brought bytes last.
        known: what those who arrived knew (checking mode).
        awaited: how many phases somebody has seen to be complete (checking mode).
        birth: how it was initialised (checking mode).
        phases: who knows which of its phases to be complete (checking mode).
    """

    place: int
    op: Op
    expected: int
    pending: int
    total: int
    tx: int = 0
    phase: int = 0
    leaving: int = 0
    dropped: int = 0
    arrived: list[Array] = field(default_factory=list)
    before: list[Array] = field(default_factory=list)
    last: Op | None = None
    known: Knowledge = field(default_factory=Knowledge)
    awaited: int = 0
    birth: Birth | None = None
    phases: Phases | None = None


class MBarriers:
    """The mbarriers of the blocks that run together.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.arena = group.arena
        pieces = group.arena.raw.size // 8
        self.live = np.zeros(pieces, np.bool_)
        """Which 8 bytes hold a barrier."""
        self.phases = np.zeros(pieces, np.int64)
        self.bars: dict[int, MBarrier] = {}
        self.last_try = np.full(group.ended.size, -1)
        """Where each thread has last tried in vain."""
        self.run: Any = None
        self.checker: Any = None

    # ------------------------------------------------------------------ beginning and end
    def init(self, op: Op, lanes: Lanes, places: Array, count: Any) -> None:
        """Make barriers that expect `count` arrivals in each phase.

        Raises:
            SimulationError: no such count, or a barrier that is in use.
        """
        self._enter(lanes)
        counts = lanes.full(np.asarray(count).reshape(_grid(count))).ravel()
        for place, n, slot in zip(
            places.ravel().tolist(), counts.tolist(), lanes.slot.ravel().tolist(), strict=True
        ):
            if not 1 <= n <= MAX_COUNT:
                raise SimulationError(
                    f"a barrier for {n} arrivals, {self._who(slot)}", code="OC3030", loc=op.loc,
                    expected=f"1 to {MAX_COUNT}", found=n,
                )  # fmt: skip
            known = self.bars.get(place)
            if known is not None:
                self._again(op, known, slot)
            bar = self.bars[place] = MBarrier(place, op, n, n, n)
            if self.checker is not None:
                name, owner = self.name(place), self.checker.checker
                birth = bar.birth = self.checker.made(op, place, slot, name)
                bar.phases = Phases(owner, name, place, birth.time)
            self.live[place >> 3] = True
            self.phases[place >> 3] = 0
            self.arena.written[place : place + 8] = False
        self.arena.spoilt += 1
        self.group.changed()

    def _again(self, op: Op, bar: MBarrier, slot: int) -> NoReturn:
        raise SimulationError(
            f"{self.name(bar.place)} is initialised again while it is in use, {self._who(slot)}; "
            f"it was initialised at {bar.op.loc}",
            code="OC3031", loc=op.loc,
            hint="let one thread initialise it, once; mbarrier_inval frees its memory",
        )  # fmt: skip

    def inval(self, op: Op, lanes: Lanes, places: Array) -> None:
        """Barriers end; their memory may be used for other things."""
        self._enter(lanes)
        for place, slot in zip(places.ravel().tolist(), lanes.slot.ravel().tolist(), strict=True):
            self._use(op, place, np.array([slot]))
            del self.bars[place]
            self.live[place >> 3] = False

    # ------------------------------------------------------------------ arriving
    def arrive(
        self, op: Op, lanes: Lanes, places: Array, count: Any = 1, *, tx: Any = None,
        drop: bool = False, order: tuple[str, str] = ("", ""),
    ) -> Array:  # fmt: skip
        """Lanes arrive; returns for each the token of the phase that it arrived in.

        Args:
            op: the operation.
            lanes: who.
            places: of each lane's barrier, (P, Q).
            count: arrivals that each lane counts for.
            tx: bytes that each lane lets the phase expect first.
            drop: whether the lanes are not expected in later phases.
            order: the words of the arrival, as PTX has them: its order, and its scope.

        Raises:
            SimulationError: no barrier, or more arrivals than it expects.
        """
        self._enter(lanes)
        flat, slots = places.ravel(), lanes.slot.ravel()
        counts = _each(lanes, count)
        bytes_ = _each(lanes, 0 if tx is None else tx)
        tokens = np.zeros(flat.size, np.int64)
        for place, who in _by_place(flat):
            bar = self._use(op, place, slots[who])
            # More than one phase, or too many: each on its own, for who waits for a phase knows
            # nothing of those who arrive in the next.
            together = int(counts[who].sum()) <= bar.pending
            for part in (who,) if together else who[:, None]:
                if tx is not None:
                    self._expect(op, bar, int(bytes_[part].sum()), int(slots[part[0]]))
                tokens[part] = self._arrive(
                    op, bar, slots[part], int(counts[part].sum()), drop, order
                )
        return tokens.reshape(places.shape)

    def _arrive(
        self, op: Op, bar: MBarrier, slots: Array, count: int, drop: bool, order: tuple[str, str]
    ) -> int:
        if self.checker is not None:
            self.checker.gather(bar.known, slots, bar.place // self.arena.stride, order)
        if bar.phases is not None:
            bar.phases.arrived(slots)
        token = bar.phase << _TOKEN | bar.pending
        if count < 1 or count > bar.pending:
            self._overflow(op, bar, int(slots[0]), count)
        bar.pending -= count
        if drop:
            bar.expected -= count
            bar.leaving += count
        bar.arrived.append(slots)
        bar.last = op
        self._settle(op, bar)
        return token

    def _overflow(self, op: Op, bar: MBarrier, slot: int, count: int) -> NoReturn:
        if count < 1:
            raise SimulationError(
                f"{count} arrivals at once, {self._who(slot)}", code="OC3030", loc=op.loc,
                expected=f"1 to {MAX_COUNT}", found=count,
            )  # fmt: skip
        total, left = bar.total, bar.dropped
        gone = f": {total + left} less {left} that have left (mbarrier.arrive_drop)" if left else ""
        raise SimulationError(
            f"more threads arrive at {self.name(bar.place)} than its phase {bar.phase} expects, "
            f"{self._who(slot)}",
            code="OC3032", loc=op.loc,
            expected=f"{total} arrivals, as initialised at {bar.op.loc}{gone}",
            found=f"{total - bar.pending + count}",
            hint=_of_overflow(bar, slot),
        )  # fmt: skip

    def expect_arrivals(self, op: Op, lanes: Lanes, places: Array) -> None:
        """The phase expects one arrival more from each lane."""
        self._enter(lanes)
        slots = lanes.slot.ravel()
        for place, who in _by_place(places):
            bar = self._use(op, place, slots[who])
            bar.pending += who.size
            bar.total += who.size

    # ------------------------------------------------------------------ bytes
    def expect_tx(self, op: Op, lanes: Lanes, places: Array, tx: Any) -> None:
        """The phases wait for more bytes."""
        self._enter(lanes)
        slots = lanes.slot.ravel()
        for place, n, slot in zip(
            places.ravel().tolist(), _each(lanes, tx).tolist(), slots.tolist(), strict=True
        ):
            bar = self._use(op, place, np.array([slot]))
            self._expect(op, bar, n, slot)
            self._settle(op, bar)

    def _expect(self, op: Op, bar: MBarrier, tx: int, slot: int) -> None:
        bar.tx += tx
        if tx < 0 or bar.tx > MAX_COUNT:
            raise SimulationError(
                f"{self.name(bar.place)} cannot wait for {bar.tx} bytes, {self._who(slot)}",
                code="OC3033", loc=op.loc, expected=f"0 to {MAX_COUNT}", found=bar.tx,
            )  # fmt: skip

    def holds(self, op: Op, place: int, tx: int) -> bool:
        """Whether so many bytes are of the phase that a barrier is in, if they come now."""
        bar = self._find(op, place, None)
        return bar.pending > 0 or tx <= bar.tx

    def complete_tx(self, place: int, tx: int, *, by: Op, known: Any = None) -> None:
        """Some bytes have come.

        Args:
            place: of the barrier, in the arena.
            tx: how many.
            by: the operation that brought them.
            known: what those who wait know then (checking mode): times by the keys of clocks.

        Raises:
            SimulationError: no barrier, or more bytes than the phase waits for.
        """
        bar = self._find(by, place, None)
        birth = bar.birth
        if known is not None and birth is not None and not birth.fenced:
            self.checker.bytes_come(by, birth, self.name(place))
        bar.tx -= tx
        bar.last = by
        if bar.phases is not None:
            bar.phases.alone = False
        if bar.tx < -MAX_COUNT:
            self._too_many(by, bar)
        if known is not None:
            bar.known.add(known)
        self._settle(by, bar)

    def complete(
        self, op: Op, lanes: Lanes, places: Array, tx: Any, order: tuple[str, str] = ("", "cluster")
    ) -> None:
        """Lanes say that some bytes have come."""
        self._enter(lanes)
        flat, counts, slots = places.ravel(), _each(lanes, tx), lanes.slot.ravel()
        for place, who in _by_place(flat):
            bar = self._use(op, place, slots[who])
            for i in who.tolist():  # each on its own: a phase may be over in between
                if self.checker is not None:
                    self.checker.gather(bar.known, slots[i : i + 1], None, order)
                self.complete_tx(place, int(counts[i]), by=op)

    def named(self, op: Op, lanes: Lanes, places: Array) -> None:
        """Lanes start copies whose bytes barriers are to count.

        Raises:
            SimulationError: no barrier, or one that the lanes do not know to be initialised.
        """
        self._enter(lanes)
        slots = lanes.slot.ravel()
        for place, who in _by_place(places.ravel()):
            bar = self._find(op, place, int(slots[who[0]]))
            self._aware(op, bar, slots[who])

    def _too_many(self, op: Op, bar: MBarrier) -> NoReturn:
        raise SimulationError(
            f"{-bar.tx} bytes more than expected have come to {self.name(bar.place)} in its phase "
            f"{bar.phase}, in which everybody has arrived",
            code="OC3034", loc=op.loc, expected="as many bytes as expect_tx said",
            found=f"{-bar.tx} more",
            hint="count the bytes of all copies that use the barrier, or arrive after expecting",
        )  # fmt: skip

    def _settle(self, op: Op, bar: MBarrier) -> None:
        if bar.pending:
            return
        if bar.tx < 0:
            self._too_many(op, bar)
        if bar.tx:
            return
        bar.phase += 1
        self.phases[bar.place >> 3] = bar.phase
        bar.pending = bar.total = bar.expected
        bar.dropped, bar.leaving = bar.dropped + bar.leaving, 0
        bar.before, bar.arrived = bar.arrived, []
        if self.checker is not None:
            if bar.known.waiting:
                bar.awaited = bar.phase
            if bar.phases is not None:
                bar.known.add(bar.phases.complete(op, bar.phase - 1))
                for slots, acquired in bar.known.waiting:
                    if acquired < 0:  # memory is not ordered, but the phase was seen
                        bar.phases.seen(slots)
            self.checker.phase_done(bar.known)
        self.group.changed()

    def finish(self) -> None:
        """All blocks have ended (checking mode).

        Raises:
            SimulationError: bytes have come that nobody expected.
        """
        for bar in self.bars.values():
            fault = None if bar.phases is None else bar.phases.fault()
            if fault is not None:
                raise fault
            if bar.tx < 0 and bar.last is not None:
                raise SimulationError(
                    f"{-bar.tx} bytes have come to {self.name(bar.place)} in its phase "
                    f"{bar.phase} that nobody expected when the kernel ended",
                    code="OC3034", loc=bar.last.loc, expected="as many bytes as expect_tx said",
                    found=f"{-bar.tx} more",
                )  # fmt: skip

    # ------------------------------------------------------------------ ordinary accesses
    def touched(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, places: Array, mask: Any
    ) -> None:
        """An ordinary access to shared memory, which must not be to a barrier (checking mode)."""
        if not self.bars or access.op.name in _OWN:
            return
        first = places >> 3
        hit = self.live[first] | self.live[(places + access.width - 1) >> 3]
        if access.width > 16:
            hit |= self.live[first[..., None] + np.arange(access.width // 8)].any(axis=-1)
        if mask is not None:
            hit = hit & mask
        if not hit.any():
            return
        at = tuple(np.argwhere(hit)[0])
        self.run = lanes.run
        name = lanes.name(tuple(0 if n == 1 else i for i, n in zip(at, hit.shape, strict=True)))
        start = int(places[at]) >> 3 << 3
        place = next(p for p in range(start, start + access.width + 8, 8) if p in self.bars)
        raise SimulationError(
            f"{name}: an ordinary {verb} of the memory of {self.name(place)}", code="OC3037",
            loc=access.op.loc,
            hint=f"it is in use since {self.bars[place].op.loc}: mbarrier_inval frees it",
        )  # fmt: skip

    # ------------------------------------------------------------------ waiting
    def pending_count(self, token: Any) -> Any:
        """Arrivals that a phase still waited for, when a token was made."""
        return token & MAX_COUNT

    def test(
        self, op: Op, lanes: Lanes, places: Array, phase: Any, *, parity: bool, acquired: int = 0
    ) -> Array:
        """For each lane, whether a phase is complete: that of a token, or the last of a parity.

        Args:
            op: the operation.
            lanes: who asks.
            places: of each lane's barrier, (P, Q).
            phase: of each.
            parity: whether phases are named by parity, else by a token.
            acquired: how far lanes acquire, -1: not at all.
        """
        self._enter(lanes)
        now = self._phases(op, lanes, places)
        done = _complete(lanes, now, phase, parity)
        self.last_try[lanes.slot] = np.where(done, -1, places)
        if self.checker is not None and done.any():
            if parity:
                self._named(op, lanes, places, done, done)
            self._learn(places.ravel()[done.ravel()], lanes.slot.ravel()[done.ravel()], acquired)
        return done

    def wait(
        self, op: Op, lanes: Lanes, places: Array, phase: Any, *, parity: bool, acquired: int = 0
    ) -> Wait | None:
        """Wait for a phase, as `test`; None if the lanes may go on at once."""
        self._enter(lanes)
        begun = self._phases(op, lanes, places)
        done = _complete(lanes, begun, phase, parity)
        slots = lanes.slot
        if self.checker is not None:
            if parity:
                self._named(op, lanes, places, done, np.ones_like(done))
            if done.any():
                self._learn(places[done], slots[done], acquired)
            for place, who in _by_place(places[~done]):
                self.bars[place].known.waiting.append((slots[~done][who], acquired))
        if done.all():
            return None
        index = places >> 3

        def ready() -> Any:
            out = done | (self.phases[index] != begun)
            return True if out.all() else out

        def missing() -> Any:
            return self._missing(places[~(done | (self.phases[index] != begun))])

        return Wait(op, ready, lambda: self._text(places, ready()), None, missing)

    def _phases(self, op: Op, lanes: Lanes, places: Array) -> Array:
        index = places >> 3
        live = self.live[index]
        if not live.all():
            at = np.flatnonzero(~live.ravel())[0]
            self._find(op, int(places.ravel()[at]), int(lanes.slot.ravel()[at]))
        if self.checker is not None:
            for place, who in _by_place(places):
                self._use(op, place, lanes.slot.ravel()[who])
        return self.phases[index]

    def _named(self, op: Op, lanes: Lanes, places: Array, done: Array, asked: Array) -> None:
        """Lanes name phases by parity, and get them (`done`) or wait."""
        for over in (True, False):
            some = asked & (done == over)
            for place, who in _by_place(places[some]):
                bar = self.bars[place]
                phase = bar.phase - over
                if phase > 0 and bar.phases is not None:
                    bar.phases.waits(op, lanes.run, lanes.slot[some][who], phase, phase & 1)

    def _learn(self, places: Array, slots: Array, acquired: int) -> None:
        for place, who in _by_place(places):
            bar = self.bars[place]
            bar.awaited = bar.phase
            if bar.phases is not None and acquired < 0:
                bar.phases.seen(slots[who])
            self.checker.learn(bar.known, slots[who], acquired)

    # ------------------------------------------------------------------ reports
    def _enter(self, lanes: Lanes) -> None:
        self.run = lanes.run
        checker = lanes.run.checker
        self.checker = None if checker is None else checker.mbarriers

    def _who(self, slot: int | None) -> str:
        if slot is None:
            return "by an asynchronous copy"
        return describe_slots(self.run, np.array([slot]))

    def name(self, place: int) -> str:
        """What messages call the barrier at a place."""
        name, byte = self.arena.name_of(place)
        block = self.run.first_block + place // self.arena.stride
        at = (
            f" of {self.run.describe(block, 0).split(', thread')[0]}"
            if self.group.blocks > 1
            else ""
        )
        return f"the mbarrier at byte {byte} of {name!r}{at}"

    def _find(self, op: Op, place: int, slot: int | None) -> MBarrier:
        bar = self.bars.get(place)
        if bar is None:
            raise SimulationError(
                f"{op.name}: {self.name(place)} is not initialised, {self._who(slot)}",
                code="OC3035", loc=op.loc,
                hint="one thread calls mbarrier_init, and a barrier of the block (or cluster) "
                "follows before others use it",
            )  # fmt: skip
        return bar

    def _use(self, op: Op, place: int, slots: Array) -> MBarrier:
        """The barrier at a place, which threads use."""
        bar = self._find(op, place, int(slots[0]))
        if self.checker is not None:
            self._aware(op, bar, slots)
            if self.run.cluster != (1, 1, 1):
                home = np.full(slots.size, place // self.arena.stride)
                self.checker.checker.trailing.by_threads(op, self.run, slots, home, bar)
        return bar

    def _aware(self, op: Op, bar: MBarrier, slots: Array) -> None:
        """Threads use a barrier, which they have to know of (checking mode)."""
        birth = bar.birth
        if birth is not None and self.checker is not None and not birth.known_to(slots):
            self.checker.used(op, self.run, birth, slots, self.name(bar.place))

    def describe(self, bar: MBarrier) -> str:
        """What the current phase of a barrier waits for."""
        total = bar.total
        text = (
            f"{self.name(bar.place)}: phase {bar.phase} (parity {bar.phase & 1}), "
            f"{total - bar.pending} of {total} arrivals"
        )
        if bar.tx > 0:
            text += f", {bar.tx} bytes have not come"
        elif bar.tx < 0:
            text += f", {-bar.tx} bytes have come that nobody expects yet"
        if bar.arrived:
            slots = np.unique(np.concatenate(bar.arrived))
            text += f"; arrived: {describe_slots(self.run, slots)}"
        return text if bar.phases is None else text + bar.phases.note()

    def _text(self, places: Array, ready: Any) -> str:
        waiting = places if ready is True else places[~np.broadcast_to(ready, places.shape)]
        return "; ".join(
            collapsed(
                self.describe(self.bars[p]) for p in np.unique(waiting).tolist() if p in self.bars
            )
        )

    def _tried(self, lanes: Lanes) -> Array:
        places = self.last_try[lanes.slot]
        return places[places >= 0]

    def tried(self, lanes: Lanes) -> str:
        """The barriers that lanes have tried in vain, empty if there are none."""
        return self._text(self._tried(lanes), True)

    def tried_missing(self, lanes: Lanes) -> Array:
        """Who has not arrived there."""
        return self._missing(self._tried(lanes))

    def _missing(self, places: Array) -> Array:
        """Who arrived in the phase before and has not in this one; without one, who is not here."""
        out = np.zeros(self.group.ended.size, np.bool_)
        for place in np.unique(places).tolist():
            bar = self.bars.get(place)
            if bar is None or bar.pending == 0:
                continue
            mine = np.zeros_like(out)
            if bar.before:
                mine[np.concatenate(bar.before)] = True
            else:
                start = place // self.arena.stride * self.group.threads
                mine[start : start + self.group.threads] = True
            for slots in bar.arrived:
                mine[slots] = False
            out |= mine
        return out


def _grid(value: Any) -> tuple[int, ...]:
    return value.shape if type(value) is np.ndarray else (1, 1)


def _each(lanes: Lanes, value: Any) -> Array:
    """An operand for each lane, flat."""
    return lanes.full(np.asarray(value, np.int64).reshape(_grid(value))).ravel()


def _of_overflow(bar: MBarrier, slot: int) -> str:
    """What may have led to one arrival too many in a phase: as a rule that a thread runs ahead."""
    still = f"the phase still waits for {bar.tx} bytes; " if bar.tx > 0 else ""
    if any(slot in slots for slots in bar.arrived):
        return (
            f"{still}this thread has arrived in the phase before: between its arrivals it has to "
            "wait, here or, as producers do, at the barrier by which the readers free the memory "
            "(mbarrier_wait, producer_acquire)"
        )
    return (
        f"{still}mbarrier_init counts all arrivals of a phase; or threads arrive for the next "
        "phase without having waited for this one (mbarrier_wait)"
    )


def _by_place(places: Array) -> list[tuple[int, Array]]:
    """Each place, and who is there (indices, in their order)."""
    flat = places.ravel()
    if flat.size == 0:
        return []
    first = int(flat[0])
    if (flat == first).all():
        return [(first, np.arange(flat.size))]
    if (flat[1:] >= flat[:-1]).all():  # as those of blocks are
        everyone = np.arange(flat.size)
        edges = [0, *((flat[1:] != flat[:-1]).nonzero()[0] + 1).tolist(), flat.size]
        return [
            (p, everyone[a:b])
            for p, a, b in zip(flat[edges[:-1]].tolist(), edges, edges[1:], strict=False)
        ]
    return [(p, np.flatnonzero(flat == p)) for p in np.unique(flat).tolist()]


def _complete(lanes: Lanes, now: Array, phase: Any, parity: bool) -> Array:
    asked = lanes.full(np.asarray(phase, np.int64).reshape(_grid(phase)))
    return (now & 1) != (asked & 1) if parity else now != asked >> _TOKEN
