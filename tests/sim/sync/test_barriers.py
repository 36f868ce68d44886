# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Named barriers and deadlocks: each kernel once as PTX wants it, and once with a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, SimulationError
from opencute.dialects import arith, ptx, ptx_memory, ptx_warp
from opencute.ir.core import Value
from opencute.ir.types import I1, I32
from opencute.sim import Simulator
from sim.building import ptr
from sim.sync.blocks import (
    add,
    arrive,
    at,
    bid,
    choose,
    const,
    eq,
    flag_load,
    flag_store,
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
    sync_warp,
    tid,
    when,
)

pytestmark = pytest.mark.t0

P = ptr(I32, 4)


def zeros(n: int = 256) -> Any:
    return np.zeros(n, np.int32)


# ---------------------------------------------------------------------- threads that do not come
def test_threads_that_ended_are_not_waited_for() -> None:
    """As on hardware since Volta; the checking mode reports it."""

    def body(n: int) -> Any:
        def build(out: Any) -> None:
            def rest() -> None:
                with line(10):
                    sync()
                store(const(1), out, tid())

            when(lt(tid(), n), rest)

        return build

    for n in (64, 32, 40):
        out = zeros()
        run([P], body(n), [out], check=False)
        assert out.sum() == n
    run([P], body(64), [zeros()])
    with pytest.raises(
        SimulationError, match=r"thread \(32, 0, 0\) to .*\(63, 0, 0\) \(32 thr"
    ) as e:
        run([P], body(32), [zeros()])
    assert e.value.code == "OC3018" and e.value.loc is not None and e.value.loc.line == 10
    with pytest.raises(SimulationError, match=r"OC301[78]"):
        run([P], body(40), [zeros()])


@pytest.mark.parametrize("check", [False, True])
def test_a_counted_barrier_misses_threads_that_ended(check: bool) -> None:
    def body(count: int) -> Any:
        return lambda: when(lt(tid(), 32), lambda: sync(1, count))

    run([], body(32), [], check=check)
    with pytest.raises(DeadlockError, match="32 of 64 threads arrived") as e:
        run([], body(64), [], check=check)
    assert "not there: block (0, 0, 0), thread (32, 0, 0) to" in str(e.value)
    assert "which have ended" in str(e.value)


def test_one_block_of_several() -> None:
    def body(bad: bool) -> Any:
        def build() -> None:
            stays = arith.binary("andi", eq(bid(), 2), lt(tid(), 32))
            when(
                stays, lambda: sync(1, 32 if not bad else 64), lambda: sync(2, 64) if bad else None
            )

        return build

    run([], body(False), [], grid=4)
    with pytest.raises(DeadlockError, match=r"block \(2, 0, 0\)") as e:
        run([], body(True), [], grid=4, check=False)
    assert "block (1, 0, 0)" not in str(e.value)


def test_branches_with_different_barriers() -> None:
    def body(good: bool) -> Any:
        def build() -> None:
            def first() -> None:
                with line(10):
                    sync(1)

            def second() -> None:
                with line(20):
                    sync(1 if good else 2)

            when(lt(tid(), 32), first, second)

        return build

    run([], body(True), [])
    with pytest.raises(DeadlockError) as e:
        run([], body(False), [])
    text = str(e.value)
    assert "ptx.bar_sync at kernel.py:10:\n      block (0, 0, 0), thread (0, 0, 0) to" in text
    assert "barrier 1: 32 of 64 threads arrived" in text
    waiters = text.partition("\n  hint")[0].splitlines()
    assert max(map(len, waiters)) <= 110
    assert "which are at ptx.bar_sync at kernel.py:20" in text


def test_a_barrier_in_a_branch_of_some_warps() -> None:
    """Warp 0 comes to one barrier more than the others: the last one is never complete."""

    def body(good: bool) -> Any:
        def build() -> None:
            if not good:
                when(lt(tid(), 32), sync)
            with line(30):
                sync()

        return build

    run([], body(True), [])
    with pytest.raises(SimulationError, match="have ended without coming to barrier 0"):
        run([], body(False), [])


def test_a_part_of_a_warp() -> None:
    def body(good: bool) -> Any:
        def build() -> None:
            if good:
                sync(3, 64)
            else:
                when(lt(tid(), 16), lambda: sync(3, 64), lambda: sync(3, 64))

        return build

    run([], body(True), [])
    run([], body(False), [], check=False)  # the parts of the warp wait for each other
    with pytest.raises(SimulationError, match="a part of a warp arrives at barrier 3"):
        run([], body(False), [])


# ---------------------------------------------------------------------- counts
@pytest.mark.parametrize("count", [0, 33, -32])
def test_counts_that_are_no_warps(count: int) -> None:
    with pytest.raises(SimulationError, match="OC3026"):
        run([], lambda: sync(1, count), [])


@pytest.mark.parametrize("name", [-1, 16])
def test_there_are_sixteen_barriers(name: int) -> None:
    run([], lambda: sync(15), [])
    with pytest.raises(SimulationError, match="OC3019"):
        run([], lambda: sync(name), [])


def test_counts_that_differ() -> None:
    def body(good: bool) -> Any:
        other = 96 if good else 64
        return lambda: when(lt(tid(), 32), lambda: sync(1, 96), lambda: sync(1, other))

    run([], body(True), [], block=96)
    with pytest.raises(SimulationError, match=r"used with (64|96) threads while others wait") as e:
        run([], body(False), [], block=96)
    assert e.value.code == "OC3014"


def test_more_threads_than_counted() -> None:
    run([], lambda: sync(3, 64), [])
    with pytest.raises(SimulationError, match="more than 32 threads arrive at barrier 3"):
        run([], lambda: sync(3, 32), [])


def test_a_warp_arrives_twice() -> None:
    def body(good: bool) -> Any:
        def build() -> None:
            def giver() -> None:
                arrive(1, 64)
                if good:
                    sync(2, 64)
                arrive(1, 64)

            def taker() -> None:
                sync(1, 64)
                if good:
                    sync(2, 64)
                sync(1, 64)

            when(lt(tid(), 32), giver, taker)

        return build

    for seed in range(4):
        run([], body(True), [], seed=seed)
    with pytest.raises(SimulationError, match=r"arrives again at barrier 1.*32 of 64"):
        run([], body(False), [])


def test_a_reduction_among_plain_barriers() -> None:
    def body(good: bool) -> Any:
        def reduce() -> None:
            ptx.bar_red("or", const(1), const(64), arith.constant(1, I1))

        return lambda: when(lt(tid(), 32), reduce, reduce if good else lambda: sync(1, 64))

    run([], body(True), [])
    with pytest.raises(SimulationError, match="with and without a reduction"):
        run([], body(False), [])


@pytest.mark.parametrize("op", ["and", "or", "popc"])
@pytest.mark.parametrize("count", [None, 96])
@pytest.mark.parametrize("true", [0, 1, 50, 95, 96])
def test_reductions(op: str, count: int | None, true: int) -> None:
    """In a loop, so that phases follow each other, with warps that come apart."""

    def body(out: Any) -> None:
        def turn(i: Value) -> None:
            total = None if count is None else const(count)
            when(lt(tid(), 32), lambda: store(i, out, const(1000)))
            got = ptx.bar_red(op, const(4), total, lt(add(tid(), i), true))
            value = got if op == "popc" else arith.cast("extui", got, I32)
            store(value, out, add(mul(i, const(96)), tid()))

        loop(3, turn)

    out = zeros(1001)
    run([P], body, [out], block=96, check=False)
    for i in range(3):
        held = np.arange(96) + i < true
        want = {"and": held.all(), "or": held.any(), "popc": held.sum()}[op]
        np.testing.assert_array_equal(out[i * 96 : (i + 1) * 96], int(want))


def test_barrier_numbers_that_differ_between_warps() -> None:
    def body(out: Any) -> None:
        ptx.bar_sync(add(ptx.sreg("warpid"), const(1)), const(32))
        store(const(1), out, tid())

    out = zeros()
    run([P], body, [out], block=128, grid=2, check=False)
    assert out[:128].all()


@pytest.mark.parametrize("seed", range(5))
def test_producers_and_consumers(seed: int) -> None:
    """A ring of two slots, one producing warp, two consuming; every value arrives."""

    def body(out: Any) -> None:
        ring = shared(64, I32)

        def produce() -> None:
            def turn(i: Value) -> None:
                slot = arith.binary("andi", i, const(1))
                ptx.bar_sync(add(slot, const(3)), const(96))
                store(add(mul(i, const(100)), tid()), ring, add(mul(slot, const(32)), tid()))
                ptx.bar_arrive(add(slot, const(1)), const(96))

            loop(6, turn)

        def consume() -> None:
            arrive(3, 96)
            arrive(4, 96)

            def turn(i: Value) -> None:
                slot = arith.binary("andi", i, const(1))
                ptx.bar_sync(add(slot, const(1)), const(96))
                lane = arith.binary("andi", tid(), const(31))
                value = load(ring, add(mul(slot, const(32)), lane))
                store(value, out, add(mul(i, const(64)), add(tid(), const(-32))))
                when(lt(i, 4), lambda: ptx.bar_arrive(add(slot, const(3)), const(96)))

            loop(6, turn)

        when(lt(tid(), 32), produce, consume)

    out = zeros(6 * 64)
    run([P], body, [out], block=96, smem_bytes=256, seed=seed)
    want = np.arange(6)[:, None] * 100 + np.tile(np.arange(32), 2)
    np.testing.assert_array_equal(out.reshape(6, 64), want)


def turns(own: bool, *, ordered: str = "") -> Any:
    """Two groups of two warps meet twice each, at a barrier that is their own or the same one.

    Args:
        own: whether each group has a barrier.
        ordered: what puts the second group behind the first one: a barrier of all, or another one.
    """

    def body(out: Any) -> None:
        def group(number: int) -> Any:
            def meet() -> None:
                if ordered == "other" and number == 1:
                    sync(7, 128)
                for i in range(2):
                    with line(10 + 10 * number):
                        sync(1 + number if own else 1, 64)
                    store(const(i), out, tid())
                if ordered == "other" and number == 0:
                    arrive(7, 128)

            return meet

        first, second = group(0), group(1)
        if ordered == "all":
            when(lt(tid(), 64), first)
            sync()
            when(lt(tid(), 64), lambda: None, second)
        else:
            when(lt(tid(), 64), first, second)

    return body


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_share_a_barrier(seed: int) -> None:
    """Warps of both may meet, though they do not where a group comes at once."""
    for ordered in ("", "all", "other"):
        run([P], turns(True, ordered=ordered), [zeros()], block=128, seed=seed)
    for ordered in ("all", "other"):
        run([P], turns(False, ordered=ordered), [zeros()], block=128, seed=seed)
    run([P], turns(False), [zeros()], block=128, seed=seed, check=False)
    with pytest.raises(SimulationError, match=r"arrive at barrier 1.*may get into it") as e:
        run([P], turns(False), [zeros()], block=128, seed=seed)
    assert e.value.code == "OC3028" and "kernel.py:" in str(e.value)


def test_a_group_at_the_barrier_of_the_whole_block() -> None:
    """Some warps meet at barrier 0, then all do; the others may come while the first meet."""

    def body(name: int) -> Any:
        def build(out: Any) -> None:
            when(lt(tid(), 64), lambda: sync(name, 64))
            with line(20):
                sync()

        return build

    run([P], body(1), [zeros()], block=128)
    with pytest.raises(SimulationError) as e:
        run([P], body(0), [zeros()], block=128)
    assert e.value.code in ("OC3014", "OC3028")


def test_an_arrival_that_does_not_know_of_the_meeting_before() -> None:
    """A producer that only arrives: twice in a row, or after it has heard from who waits."""

    def body(heard: bool) -> Any:
        def build(out: Any) -> None:
            def give() -> None:
                for _ in range(2):
                    arrive(1, 64)
                    if heard:
                        sync(2, 64)

            def take() -> None:
                for _ in range(2):
                    sync(1, 64)
                    if heard:
                        arrive(2, 64)

            when(lt(tid(), 32), give, take)

        return build

    run([P], body(True), [zeros()], block=64)
    with pytest.raises(SimulationError) as e:
        run([P], body(False), [zeros()], block=64)
    assert e.value.code in ("OC3015", "OC3028")


# ---------------------------------------------------------------------- waiting for memory
@pytest.mark.parametrize("seed", range(3))
def test_blocks_wait_for_blocks(seed: int) -> None:
    """Each block waits for the one after it, so that all have to be there."""

    def body(good: bool) -> Any:
        def build(out: Any) -> None:
            first = eq(bid(), 7)

            def wait() -> None:
                with line(40):
                    spin(
                        lambda: eq(flag_load(out, add(bid(), const(1))), 0),
                        lambda: ptx.nanosleep(const(100)),
                    )

            when(first, lambda: None if good else wait(), wait)
            flag_store(const(1), out, bid())

        return build

    out = zeros(16)
    run([P], body(True), [out], grid=8, block=1, seed=seed)
    assert out[:8].all()
    with pytest.raises(DeadlockError, match="a loop in which nothing changes") as e:
        run([P], body(False), [zeros(16)], grid=8, block=1, seed=seed)
    assert "kernel.py:40" in str(e.value) and "nobody writes" in str(e.value)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threads", [1, 33])
def test_a_lock(threads: int, seed: int) -> None:
    """All threads take one lock in turn, also those of one warp."""

    def body(good: bool) -> Any:
        def build(out: Any) -> None:
            lock = at(out, const(0))

            def take() -> Any:
                old = ptx_memory.cas(lock, const(0), const(1), "acquire", "gpu")
                return eq(old, 1)

            spin(take)
            store(add(load(out, const(1)), const(1)), out, const(1))
            if good:
                ptx_memory.atomic("exch", lock, const(0), "release", "gpu")

        return build

    out = zeros(4)
    run([P], body(True), [out], grid=3, block=threads, seed=seed)
    assert out[1] == 3 * threads and out[0] == 0
    with pytest.raises(DeadlockError):
        run([P], body(False), [zeros(4)], grid=3, block=threads, seed=seed)


def test_a_barrier_of_the_grid() -> None:
    """A cooperative launch: all blocks count themselves in and wait for all."""

    def body(out: Any) -> None:
        store(tid(), out, add(mul(bid(), const(32)), tid()))
        sync()

        def meet() -> None:
            ptx_memory.red("add", at(out, const(1000)), const(1), "release", "gpu")
            spin(lambda: lt(flag_load(out, const(1000)), 20))

        when(eq(tid(), 0), meet)
        sync()
        other = arith.binary("remui", add(bid(), const(7)), const(20))
        value = load(out, add(mul(other, const(32)), tid()))
        store(value, out, add(mul(bid(), const(32)), add(tid(), const(2000))))

    from opencute.ir.attributes import UNIT

    out = zeros(3000)
    sim = run([P], body, [out], grid=20, block=32, attributes={"cute.cooperative": UNIT})
    np.testing.assert_array_equal(out[2000:2640], np.tile(np.arange(32), 20))
    assert sim.report.max_lanes == 640


def test_a_loop_that_counts_its_tries() -> None:
    """It gives up by itself, whatever others do."""

    def body(out: Any) -> None:
        from opencute.dialects import scf
        from opencute.ir.builder import insert_at, new_block

        before, block = new_block([I32])
        with insert_at(block):
            tries = block.args[0]
            again = arith.binary("andi", eq(flag_load(out, const(0)), 0), lt(tries, 300))
            scf.condition(again, [tries])
        after, block = new_block([I32])
        with insert_at(block):
            scf.yield_([add(block.args[0], const(1))])
        (tries,) = scf.while_([const(0)], [I32], before, after).results
        store(tries, out, add(tid(), const(1)))

    out = zeros(40)
    run([P], body, [out], block=32)
    assert (out[1:33] == 300).all()


# ---------------------------------------------------------------------- warps
def test_lanes_that_do_not_come() -> None:
    """Half of a warp waits for the other one, which waits at a barrier."""

    def body(good: bool) -> Any:
        def build(out: Any) -> None:
            low = lt(tid(), 16)

            def ask() -> Value:
                with line(10):
                    mask = const(0xFFFF if good else -1)
                    return ptx_warp.vote_sync("ballot", mask, arith.constant(1, I1))

            def other() -> Value:
                with line(20):
                    ptx_warp.vote_sync("any", const(-65536 if good else -1), arith.constant(1, I1))
                return const(0)

            store(choose(low, ask, other), out, tid())

        return build

    out = zeros(32)
    run([P], body(True), [out], block=32)
    assert (out[:16] == 0xFFFF).all() and not out[16:].any()
    with pytest.raises(DeadlockError) as e:
        run([P], body(False), [out], block=32)
    text = str(e.value)
    assert "ptx.vote_sync at kernel.py:10" in text and "the threads of mask 0xffffffff" in text
    assert "which are at ptx.vote_sync at kernel.py:20" in text


def test_a_mask_without_the_thread() -> None:
    def body(good: bool) -> Any:
        def build() -> None:
            mask = const(-1) if good else const(0xFFFF)
            ptx_warp.vote_sync("any", mask, arith.constant(1, I1))

        return build

    run([], body(True), [])
    with pytest.raises(SimulationError, match="leaves out the thread itself") as e:
        run([], body(False), [])
    assert e.value.code == "OC3020"


def test_a_warp_meets_at_different_places() -> None:
    """bar.warp.sync only asks for the mask; votes are matched by the operation."""

    def body(out: Any) -> None:
        s = shared(32, I32)

        def low() -> None:
            store(tid(), s, tid())
            sync_warp()

        def high() -> None:
            sync_warp()
            store(load(s, add(tid(), const(-16))), out, tid())

        when(lt(tid(), 16), low, high)

    for seed in range(4):
        out = zeros(32)
        run([P], body, [out], block=32, smem_bytes=128, seed=seed)
        np.testing.assert_array_equal(out[16:], np.arange(16))


def test_waits_are_counted() -> None:
    sim = Simulator()
    run([], lambda: when(lt(tid(), 32), lambda: sync(1, 64), lambda: sync(1, 64)), [], sim=sim)
    assert sim.report.waits == 1
