# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""mbarriers: each kernel once as PTX wants it, and once with a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, RaceError, SimulationError
from opencute.dialects import arith, ptx_warp
from opencute.dialects.hopper import mbarrier as mb
from opencute.ir.core import Value
from opencute.ir.types import I1, I32, I64
from opencute.sim.hopper.agents import agents_of
from opencute.sim.sync.group import Group
from sim.building import ptr
from sim.sync.blocks import (
    add,
    const,
    eq,
    line,
    load,
    loop,
    lt,
    mul,
    run,
    shared,
    spin,
    store,
    sync,
    tid,
    when,
)

pytestmark = pytest.mark.t0

P = ptr(I32, 4)
SMEM = 1024


def bar(index: int = 0) -> Value:
    return shared(1, I64, 512 + 8 * index, 8)


def arrive(place: Value, count: int = 1, **words: str) -> None:
    mb.mbarrier_arrive("arrive", place, const(count), **words)


def begin(*counts: int) -> list[Value]:
    """Barriers, initialised by thread 0."""
    bars = [bar(i) for i in range(len(counts))]

    def init() -> None:
        for b, n in zip(bars, counts, strict=True):
            mb.mbarrier_init(b, const(n))

    when(eq(tid(), 0), init)
    mb.fence_mbarrier_init()
    sync()
    return bars


def go(body: Any, *args: Any, **options: Any) -> Any:
    return run([P] * len(args), body, args, smem_bytes=SMEM, **options)


def zeros(n: int = 64) -> Any:
    return np.zeros(n, np.int32)


# ---------------------------------------------------------------------- producers and consumers
def pipeline(turns: int, *, wait: bool = True, release: bool = True, count: int = 32) -> Any:
    """The first warp writes a row, the second one reads it, turn after turn."""

    def body(out: Value) -> None:
        full, empty = begin(count, 32)
        row = shared(32, I32)
        lane = arith.binary("andi", tid(), const(31))

        def produce(i: Value) -> None:
            with line(10):
                if release:
                    mb.mbarrier_wait(empty, arith.binary("andi", add(i, const(1)), const(1)))
            with line(11):
                store(add(mul(i, const(100)), lane), row, lane)
            with line(12):
                arrive(full)

        def consume(i: Value) -> None:
            with line(20):
                if wait:
                    mb.mbarrier_wait(full, arith.binary("andi", i, const(1)))
            with line(21):
                value = load(row, arith.binary("xori", lane, const(1)))
            store(value, out, add(mul(i, const(32)), lane))
            with line(22):
                arrive(empty)

        when(lt(tid(), 32), lambda: loop(turns, produce), lambda: loop(turns, consume))

    return body


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("grid", [1, 3])
def test_a_pipeline_of_one_stage(check: bool, seed: int, grid: int) -> None:
    out = zeros(5 * 32)
    if grid == 1:
        go(pipeline(5), out, check=check, seed=seed)
    else:  # all blocks write the same; the checking mode would call that a race
        go(pipeline(5), out, check=False, seed=seed, grid=grid)
    want = [100 * i + (lane ^ 1) for i in range(5) for lane in range(32)]
    assert out.tolist() == want


def test_reading_without_the_wait_is_a_race() -> None:
    with pytest.raises(RaceError, match=r"wrote at kernel\.py:11|read at kernel\.py:21") as e:
        go(pipeline(2, wait=False), zeros(64))
    assert e.value.code == "OC3401"


def test_writing_again_without_the_release_is_a_race() -> None:
    def body(release: bool) -> Any:
        def build(out: Value) -> None:
            full, empty = begin(32, 32)
            row = shared(32, I32)

            def produce() -> None:
                with line(10):
                    store(tid(), row, tid())
                arrive(full)
                if release:
                    mb.mbarrier_wait(empty, const(0))
                with line(11):
                    store(const(-1), row, tid())

            def consume() -> None:
                mb.mbarrier_wait(full, const(0))
                lane = add(tid(), const(-32))
                with line(21):
                    store(load(row, lane), out, lane)
                arrive(empty)

            when(lt(tid(), 32), produce, consume)

        return build

    out = zeros(32)
    go(body(True), out)
    assert out.tolist() == list(range(32))
    with pytest.raises(RaceError, match="no order between them") as e:
        go(body(False), zeros(32))
    assert e.value.loc is not None and e.value.loc.line in (11, 21)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count", [32, 64])
def test_who_waits_knows_nothing_of_arrivals_in_the_next_phase(count: int, seed: int) -> None:
    def body(out: Value) -> None:
        full, empty = begin(32, count)
        row = shared(32, I32)
        lane = arith.binary("andi", tid(), const(31))

        def produce(i: Value) -> None:
            mb.mbarrier_wait(empty, arith.binary("andi", add(i, const(1)), const(1)))
            with line(11):
                store(add(mul(i, const(100)), lane), row, lane)
            arrive(full)

        def consume(i: Value) -> None:  # two warps, whose arrivals may come together
            mb.mbarrier_wait(full, arith.binary("andi", i, const(1)))
            with line(21):
                store(load(row, lane), out, add(mul(i, const(64)), add(tid(), const(-32))))
            with line(22):
                arrive(empty)

        when(lt(tid(), 32), lambda: loop(2, produce), lambda: loop(2, consume))

    out = zeros(2 * 64)
    if count == 64:
        go(body, out, block=96, seed=seed)
        assert out.tolist() == [100 * i + lane % 32 for i in range(2) for lane in range(64)]
        return
    with pytest.raises((RaceError, DeadlockError)) as e:  # or the producer misses its phase
        go(body, out, block=96, seed=seed)
    if seed == 0:
        assert isinstance(e.value, RaceError) and e.value.code == "OC3401"
        assert "thread (64, 0, 0) read at kernel.py:21" in str(e.value)


def test_a_producer_that_runs_ahead_leaves_the_consumer_behind() -> None:
    with pytest.raises(DeadlockError, match=r"phase \d \(parity"):
        go(pipeline(3, release=False), zeros(96), check=False)


@pytest.mark.parametrize("check", [False, True])
def test_a_count_that_never_comes_is_a_deadlock(check: bool) -> None:
    with pytest.raises(DeadlockError) as e:
        go(pipeline(2, count=33), zeros(64), check=check)
    text = str(e.value)
    assert "ptx.mbarrier_wait at kernel.py:10" in text  # the producer, for the release
    assert "ptx.mbarrier_wait at kernel.py:20" in text
    assert (
        "phase 0 (parity 0), 32 of 33 arrivals;\n      arrived: block (0, 0, 0), thread (0" in text
    )
    assert max(map(len, text.partition("\n  hint")[0].splitlines())) <= 110
    assert "(31, 0, 0) (32 threads)" in text
    assert "not there: block (0, 0, 0), thread (32, 0, 0)" in text


def test_who_arrived_before_and_does_not_come_again_is_named() -> None:
    def body() -> None:
        (b,) = begin(64)
        arrive(b)
        with line(5):
            mb.mbarrier_wait(b, const(0))
        when(lt(tid(), 40), lambda: arrive(b))

        def late() -> None:
            with line(6):
                mb.mbarrier_wait(b, const(1))

        when(lt(tid(), 8), late)

    with pytest.raises(DeadlockError, match=r"phase 1 \(parity 1\), 40 of 64 arrivals") as e:
        go(body)
    assert "not there: block (0, 0, 0), thread (40, 0, 0) to block (0, 0, 0), thread (63" in str(
        e.value
    )
    assert "which have ended" in str(e.value)


# ---------------------------------------------------------------------- rules of PTX
def test_phases_by_parity_and_by_token() -> None:
    out = zeros(8)

    def body(o: Value) -> None:
        b = bar()
        mb.mbarrier_init(b, const(3))

        def put(i: int, flag: Value) -> None:
            store(arith.cast("extui", flag, I32), o, const(i))

        put(0, mb.mbarrier_test_wait(b, const(1)))  # the phase before the first is complete
        put(1, mb.mbarrier_test_wait(b, const(0)))
        token = mb.mbarrier_arrive_token("arrive", b, const(2))
        store(mb.mbarrier_pending_count(token), o, const(2))
        put(3, mb.mbarrier_test_wait(b, token))
        mb.mbarrier_arrive("arrive_drop", b, const(1))
        put(4, mb.mbarrier_try_wait(b, token))
        put(5, mb.mbarrier_test_wait(b, const(0)))
        again = mb.mbarrier_arrive_token("arrive", b, const(2))  # one has dropped out
        put(6, mb.mbarrier_test_wait(b, again))
        put(7, mb.mbarrier_test_wait(b, const(1)))
        mb.mbarrier_wait(b, const(1))
        mb.mbarrier_inval(b)
        store(const(7), shared(1, I32, 512), const(0))  # ordinary memory again

    go(body, out, block=1)
    assert out.tolist() == [1, 0, 3, 0, 1, 1, 1, 1]


def test_bytes_are_counted() -> None:
    out = zeros(3)

    def body(o: Value) -> None:
        b = bar()
        mb.mbarrier_init(b, const(1))
        mb.mbarrier_tx("complete_tx", b, const(16))  # may come before it is expected
        mb.mbarrier_arrive("arrive_expect_tx", b, const(48))
        store(arith.cast("extui", mb.mbarrier_test_wait(b, const(0)), I32), o, const(0))
        mb.mbarrier_tx("complete_tx", b, const(32))
        store(arith.cast("extui", mb.mbarrier_test_wait(b, const(0)), I32), o, const(1))
        mb.mbarrier_tx("expect_tx", b, const(4))
        mb.mbarrier_tx("complete_tx", b, const(4))
        store(arith.cast("extui", mb.mbarrier_test_wait(b, const(1)), I32), o, const(2))

    go(body, out, block=1)
    assert out.tolist() == [0, 1, 0]


def tx_kernel(expected: int, come: int) -> Any:
    def body() -> None:
        b = bar()
        mb.mbarrier_init(b, const(1))
        with line(5):
            mb.mbarrier_tx("complete_tx", b, const(come))
        with line(6):
            mb.mbarrier_arrive("arrive_expect_tx", b, const(expected))
        with line(7):
            mb.mbarrier_wait(b, const(0))

    return body


def test_a_wrong_number_of_bytes() -> None:
    go(tx_kernel(32, 32), block=1)
    with pytest.raises(SimulationError, match="16 bytes more than expected") as e:
        go(tx_kernel(32, 48), block=1)
    assert e.value.code == "OC3034" and e.value.loc is not None and e.value.loc.line == 6
    with pytest.raises(DeadlockError, match="1 of 1 arrivals, 16 bytes have not come") as e:
        go(tx_kernel(32, 16), block=1)
    assert e.value.loc is not None and e.value.loc.line == 7


def test_predicates_choose_who_takes_part() -> None:
    out = zeros(1)

    def body(o: Value) -> None:
        b = bar()
        mb.mbarrier_init(b, const(4), eq(tid(), 0))
        sync()
        mb.mbarrier_arrive("arrive", b, const(1), lt(tid(), 4))
        mb.mbarrier_arrive("arrive", b, const(1), arith.constant(False, I1))
        mb.mbarrier_wait(b, const(0))
        when(eq(tid(), 0), lambda: store(const(1), o, const(0)))

    go(body, out, check=True)
    assert out[0] == 1


def test_a_loop_that_tries() -> None:
    out = zeros(64)

    def body(o: Value) -> None:
        (b,) = begin(32)

        def first() -> None:
            arrive(b)

        def second() -> None:
            spin(lambda: eq(arith.cast("extui", mb.mbarrier_try_wait(b, const(0)), I32), 0))
            store(const(1), o, tid())

        when(lt(tid(), 32), first, second)

    go(body, out)
    assert out.tolist() == [0] * 32 + [1] * 32


# ---------------------------------------------------------------------- mistakes
def raises(code: str, match: str, body: Any, **options: Any) -> None:
    with pytest.raises(SimulationError, match=match) as e:
        go(body, **options)
    assert e.value.code == code


def test_a_barrier_that_nobody_made() -> None:
    raises("OC3035", "not initialised", lambda: arrive(bar()))
    raises("OC3035", "not initialised", lambda: mb.mbarrier_wait(bar(), const(0)))
    raises("OC3035", "not initialised", lambda: mb.mbarrier_inval(bar()))
    raises("OC3035", "not initialised", lambda: mb.mbarrier_tx("expect_tx", bar(), const(1)))


def test_counts_and_second_beginnings() -> None:
    raises("OC3030", "for 0 arrivals", lambda: mb.mbarrier_init(bar(), const(0)), block=1)
    raises("OC3030", "arrivals", lambda: mb.mbarrier_init(bar(), const(1 << 20)), block=1)

    def twice() -> None:
        mb.mbarrier_init(bar(), const(1))
        mb.mbarrier_init(bar(), const(1))

    raises("OC3031", "initialised again", twice, block=1)
    raises("OC3031", "initialised again", lambda: mb.mbarrier_init(bar(), const(1)), block=2)


def test_more_than_expected() -> None:
    def body() -> None:
        (b,) = begin(64)
        when(eq(tid(), 0), lambda: mb.mbarrier_tx("expect_tx", b, const(16)))
        arrive(b)
        with line(9):
            arrive(b)

    with pytest.raises(SimulationError, match="more threads arrive") as e:
        go(body)
    assert e.value.code == "OC3032" and e.value.loc is not None and e.value.loc.line == 9
    assert "16 bytes" in str(e.value) and "has arrived in the phase before" in str(e.value.hint)


def test_more_threads_than_are_counted() -> None:
    def body() -> None:
        (b,) = begin(20)
        when(eq(tid(), 0), lambda: mb.mbarrier_tx("expect_tx", b, const(16)))
        arrive(b)

    with pytest.raises(SimulationError, match="more threads arrive") as e:
        go(body)
    assert "mbarrier_init counts all arrivals of a phase" in str(e.value.hint)


def test_arrivals_of_one_operation_may_complete_several_phases() -> None:
    def body(n: int) -> Any:
        def build() -> None:
            (b,) = begin(n)
            arrive(b)
            sync()  # who waits for phase 1 knows that all have arrived in phase 0
            when(eq(tid(), 0), lambda: mb.mbarrier_wait(b, const(1)))

        return build

    go(body(32))
    with pytest.raises(DeadlockError, match="16 of 48"):
        go(body(48))


def test_ordinary_accesses_to_a_barrier() -> None:
    def body(write: bool, done: bool) -> Any:
        def build() -> None:
            b = bar()
            mb.mbarrier_init(b, const(1))
            if done:
                mb.mbarrier_inval(b)
            with line(9):
                place = shared(2, I32, 512)
                if write:
                    store(const(1), place, const(1))
                else:
                    load(place, const(1))

        return build

    go(body(True, True), block=1)
    for write in (True, False):
        with pytest.raises(SimulationError, match="mbarrier") as e:
            go(body(write, False), block=1)
        assert e.value.code == "OC3037" and e.value.loc is not None and e.value.loc.line == 9


# ---------------------------------------------------------------------- order
def test_relaxed_arrivals_and_waits_order_nothing() -> None:
    def body(sem: str, acquire: str) -> Any:
        def build(o: Value) -> None:
            (b,) = begin(32)
            row = shared(32, I32)

            def first() -> None:
                store(tid(), row, tid())
                arrive(b, sem=sem, scope="cta" if sem else "")

            def second() -> None:
                scope = "cta" if acquire else ""
                mb.mbarrier_wait(b, const(0), sem=acquire, scope=scope)
                lane = add(tid(), const(-32))
                store(load(row, lane), o, lane)

            when(lt(tid(), 32), first, second)

        return build

    for words in (("", ""), ("release", "acquire"), ("release", "")):
        go(body(*words), zeros(32))
    for words in (("relaxed", "acquire"), ("release", "relaxed")):
        with pytest.raises(RaceError):
            go(body(*words), zeros(32))


def test_knowledge_passes_through_two_barriers() -> None:
    """One warp tells the next one what it has learnt."""

    def body(broken: bool) -> Any:
        def build(o: Value) -> None:
            a, b = begin(32, 32)
            row = shared(32, I32)

            def first() -> None:
                store(tid(), row, tid())
                arrive(a)

            def second() -> None:
                if not broken:
                    mb.mbarrier_wait(a, const(0))
                arrive(b)

            def third() -> None:
                mb.mbarrier_wait(b, const(0))
                lane = add(tid(), const(-64))
                store(load(row, lane), o, lane)

            when(lt(tid(), 32), first, lambda: when(lt(tid(), 64), second, third))

        return build

    out = zeros(32)
    go(body(False), out, block=96)
    assert out.tolist() == list(range(32))
    with pytest.raises(RaceError):
        go(body(True), zeros(32), block=96)


# ---------------------------------------------------------------------- agents
def test_units_work_late_and_oldest_first() -> None:
    group = Group(1, 32)
    agents = agents_of(group)
    log: list[str] = []
    op: Any = None
    works = [agents.post(op, None, lambda n=n: log.append(n), name=n) for n in "abc"]
    assert log == [] and not works[0].done
    agents.finish(works[1])
    assert log == ["b"] and works[1].done
    before = group.version
    assert agents.step() and log == ["b", "a"] and group.version > before
    agents.drain()
    assert log == ["b", "a", "c"] and not agents.step()
    agents.finish(works[0])
    assert log == ["b", "a", "c"]
    for n in "de":
        agents.post(op, None, lambda n=n: log.append(n), name=n)
    agents.step(lambda pending: len(pending) - 1)
    assert log[-1] == "e"


def test_an_election_comes_after_the_reads_of_its_warp() -> None:
    """One lane arrives for all: that is enough for what they have read, not for what they wrote."""

    def body(elects: bool, write: bool) -> Any:
        def build(o: Value) -> None:
            full, empty = begin(32, 1)
            row = shared(32, I32)
            lane = arith.binary("andi", tid(), const(31))

            def release() -> None:
                with line(30):
                    arrive(empty)

            def first() -> None:
                with line(10):
                    store(lane, row, lane)
                arrive(full)
                mb.mbarrier_wait(empty, const(0))
                with line(11):
                    store(const(-1), row, lane)

            def second() -> None:
                mb.mbarrier_wait(full, const(0))
                with line(20):
                    if write:
                        store(const(5), row, lane)
                    else:
                        store(load(row, lane), o, lane)
                if elects:
                    _, elected = ptx_warp.elect_sync(const(-1))
                    when(elected, release)
                else:
                    when(eq(lane, 0), release)

            when(lt(tid(), 32), first, second)

        return build

    out = zeros(32)
    go(body(True, False), out)
    assert out.tolist() == list(range(32))
    for options in ((True, True), (False, False)):
        with pytest.raises(RaceError) as e:
            go(body(*options), zeros(32))
        assert e.value.loc is not None and e.value.loc.line == 11


# ---------------------------------------------------------------------- phases by parity
def ahead(turns: int, *, own: bool = True, other: str = "") -> Any:
    """A barrier of one arrival per phase runs on; thread 32 waits for its phases.

    Args:
        turns: phases.
        own: whether who arrives waits until the phase was seen.
        other: what else tells thread 32 of them: "sync", or "token".
    """

    def body(out: Value) -> None:
        full, empty = begin(1, 1)

        def produce(i: Value) -> None:
            with line(11):
                arrive(full)
            if own:
                mb.mbarrier_wait(empty, arith.binary("andi", i, const(1)))

        def consume(i: Value) -> None:
            with line(21):
                mb.mbarrier_wait(full, arith.binary("andi", i, const(1)))
            with line(22):
                arrive(empty)

        when(eq(tid(), 0), lambda: loop(turns, produce))
        if other == "sync":
            sync()
            with line(30):
                last = const((turns - 1) & 1)
                when(eq(tid(), 32), lambda: mb.mbarrier_wait(full, last))
        else:
            when(eq(tid(), 32), lambda: loop(turns, consume))
        when(eq(tid(), 32), lambda: store(const(turns), out, const(0)))

    return body


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_waits_that_know_the_phase_before(seed: int) -> None:
    out = zeros(1)
    go(ahead(6), out, seed=seed)
    assert out[0] == 6
    go(ahead(3, own=False, other="sync"), out, seed=seed)  # by all who arrived
    assert out[0] == 3


def test_a_barrier_that_runs_ahead_of_who_waits() -> None:
    """With an odd number of turns the wait passes: phase 4 ends where phase 0 is meant."""

    def body(turns: int, waits: int) -> Any:
        def build() -> None:
            full, _ = begin(1, 1)

            def produce(_: Value) -> None:
                with line(11):
                    arrive(full)

            def consume(i: Value) -> None:
                with line(21):
                    mb.mbarrier_wait(full, arith.binary("andi", i, const(1)))

            when(eq(tid(), 0), lambda: loop(turns, produce))
            when(eq(tid(), 32), lambda: loop(waits, consume))

        return build

    with pytest.raises(SimulationError, match="by parity 0, and gets its phase 4") as e:
        go(body(5, 1))
    assert e.value.code == "OC3029" and e.value.loc is not None and e.value.loc.line == 21
    assert "phase 3, completed at kernel.py:11" in str(e.value)
    go(body(5, 1), check=False)  # it ends, with what nobody meant
    with pytest.raises(DeadlockError, match="OC3029") as d:
        go(body(4, 4))
    assert "gets its phase 4, without an order to its phase 3, completed at kernel.py:11" in (
        str(d.value)
    )


def test_a_first_wait_that_comes_late() -> None:
    """Parity 1 is for the phase before the first: but only until that is complete."""

    def body(late: bool) -> Any:
        def build() -> None:
            empty, other = begin(1, 1)

            def wait() -> None:
                with line(21):
                    mb.mbarrier_wait(empty, const(1))
                arrive(other)

            def come() -> None:
                if not late:
                    mb.mbarrier_wait(other, const(0))
                with line(11):
                    arrive(empty)
                if late:
                    mb.mbarrier_wait(other, const(0))

            when(eq(tid(), 0), come)
            when(eq(tid(), 32), wait)

        return build

    go(body(False))
    with pytest.raises(DeadlockError, match="OC3029") as e:
        go(body(True))
    assert "gets its phase 1, without an order to its phase 0, completed at kernel.py:11" in (
        str(e.value)
    )


def test_relaxed_waits_count() -> None:
    def body(out: Value) -> None:
        full, empty = begin(1, 1)
        words = {"sem": "relaxed", "scope": "cta"}

        def produce(i: Value) -> None:
            arrive(full, **words)
            mb.mbarrier_wait(empty, arith.binary("andi", i, const(1)), **words)

        def consume(i: Value) -> None:
            mb.mbarrier_wait(full, arith.binary("andi", i, const(1)), **words)
            arrive(empty, **words)

        when(eq(tid(), 0), lambda: loop(4, produce))
        when(eq(tid(), 32), lambda: loop(4, consume))
        when(eq(tid(), 32), lambda: store(const(4), out, const(0)))

    out = zeros(1)
    go(body, out)
    assert out[0] == 4


def test_tokens_are_no_parities() -> None:
    def body(out: Value) -> None:
        (b,) = begin(33)

        def one(_: Value) -> None:
            token = mb.mbarrier_arrive_token("arrive", b, const(1))
            when(eq(tid(), 0), lambda: arrive(b))
            mb.mbarrier_wait(b, token)

        when(lt(tid(), 32), lambda: loop(3, one))
        when(eq(tid(), 0), lambda: store(const(3), out, const(0)))

    out = zeros(1)
    go(body, out)
    assert out[0] == 3
