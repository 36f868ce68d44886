# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What hardware units read and write: each kernel in order, and once with one thing left out.

A unit is stood in for by an operation of this test, which reads or writes 64 bytes of shared memory
later, and then counts them on an mbarrier or waits as a bulk group does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import RaceError
from opencute.dialects import ptx
from opencute.dialects.hopper import mbarrier as mb
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.types import I32, I64
from opencute.sim.hopper.agents import agents_of
from opencute.sim.hopper.mbarriers import mbarriers_of
from opencute.sim.hopper.places import Places
from opencute.sim.registry import semantics
from opencute.sim.wait import Wait
from sim.building import ptr
from sim.sync.blocks import add, const, eq, line, load, lt, run, shared, store, sync, tid, when

pytestmark = pytest.mark.t0

P = ptr(I32, 4)
BYTES = 64
_FLIGHTS: list[Any] = []


@semantics("test.unit_write", lanes=True)
def unit_write(op: Op) -> Any:
    places = Places(op)

    def go(lanes: Any, dst: Any, bar: Any) -> None:
        run, group = lanes.run, lanes.run.group
        where, at = int(places(lanes, dst).flat[0]), int(places(lanes, bar).flat[0])
        flight = None
        if run.checker is not None:
            agent = run.checker.agent(("load", at), "a bulk load")
            starts = np.arange(where, where + BYTES, 16)
            flight = run.checker.async_write(
                op, run, lanes.slot, group.arena.whole, starts, 16, agent
            )

        def perform() -> None:
            group.arena.raw[where : where + BYTES].view(np.int32)[:] = np.arange(BYTES // 4)
            group.arena.written[where : where + BYTES] = True
            known = None if flight is None else flight.land()
            mbarriers_of(group).complete_tx(at, BYTES, by=op, known=known)

        agents_of(group).post(op, lanes, perform, name="load")

    return go


@semantics("test.unit_read", lanes=True)
def unit_read(op: Op) -> Any:
    places = Places(op)

    def go(lanes: Any, src: Any, out: Any) -> None:
        run, group = lanes.run, lanes.run.group
        where = int(places(lanes, src).flat[0])
        flight = None
        if run.checker is not None:
            agent = run.checker.agent(("store", int(lanes.slot.flat[0])), "a bulk store")
            starts = np.arange(where, where + BYTES, 16)
            flight = run.checker.async_read(
                op, run, lanes.slot, group.arena.whole, starts, 16, agent
            )

        def perform() -> None:
            out.buffer.raw[:BYTES] = group.arena.raw[where : where + BYTES]
            if flight is not None:
                flight.land()

        work = agents_of(group).post(op, lanes, perform, name="store")
        _FLIGHTS.append((work, flight))

    return go


@semantics("test.unit_wait", lanes=True, blocking=True)
def unit_wait(op: Op) -> Any:
    def go(lanes: Any) -> Any:
        work, flight = _FLIGHTS[-1]
        checker = lanes.run.checker

        def results() -> tuple[()]:
            if checker is not None:
                checker.waited_for(lanes.slot, flight)
            return ()

        return Wait(op, lambda: work.done, lambda: "the store", results)

    return go


def bar() -> Value:
    return shared(1, I64, 512, 8)


def row() -> Value:
    return shared(BYTES // 4, I32)


def go(body: Any, *args: Any, block: int = 64) -> None:
    run([P] * len(args), body, args, smem_bytes=1024, block=block)


# ---------------------------------------------------------------------- loads
def load_kernel(left_out: str = "") -> Any:
    def body(out: Value) -> None:
        full, empty = bar(), shared(1, I64, 520, 8)

        def init() -> None:
            mb.mbarrier_init(full, const(1))
            mb.mbarrier_init(empty, const(32))

        when(eq(tid(), 0), init)
        if left_out != "fence":
            mb.fence_mbarrier_init()
        if left_out != "sync":
            sync()

        def fill() -> None:
            mb.mbarrier_arrive("arrive_expect_tx", full, const(BYTES))
            with line(10):
                build("test.unit_write", (row(), full))

        def produce() -> None:
            fill()
            mb.mbarrier_wait(full if left_out == "release" else empty, const(0))
            fill()

        def consume(phase: int) -> None:
            if left_out != "wait":
                mb.mbarrier_wait(full, const(phase))
            lane = add(tid(), const(-32))
            part = lt(lane, 16)

            def read() -> None:
                with line(20):
                    store(load(row(), lane), out, lane)

            when(part, read)
            mb.mbarrier_arrive("arrive", empty, const(1))

        def consume_twice() -> None:
            consume(0)
            consume(1)

        when(lt(tid(), 32), lambda: when(eq(tid(), 0), produce), consume_twice)

    return body


def test_loads_that_are_waited_for() -> None:
    out = np.zeros(16, np.int32)
    go(load_kernel(), out)
    assert out.tolist() == list(range(16))


def test_reading_without_the_wait() -> None:
    with pytest.raises(RaceError, match=r"a bulk load writes, started at kernel\.py:10") as e:
        go(load_kernel("wait"), np.zeros(16, np.int32))
    assert e.value.code == "OC3402" and e.value.loc is not None and e.value.loc.line == 20


def test_loading_again_before_the_release() -> None:
    with pytest.raises(RaceError) as e:
        go(load_kernel("release"), np.zeros(16, np.int32))
    assert e.value.code in ("OC3401", "OC3402")  # whoever comes first


def test_barriers_that_are_not_made_known() -> None:
    with pytest.raises(RaceError, match=r"initialised at .* with no order") as e:
        go(load_kernel("sync"), np.zeros(16, np.int32))
    assert e.value.code == "OC3404"
    with pytest.raises(RaceError, match="without a fence") as e:
        go(load_kernel("fence"), np.zeros(16, np.int32))
    assert e.value.code == "OC3405"


# ---------------------------------------------------------------------- stores
def store_kernel(fence: str, *, sync_: bool = True, wait: bool = True, again: bool = True) -> Any:
    def body(out: Value) -> None:
        with line(9):
            when(lt(tid(), 16), lambda: store(tid(), row(), tid()))
        if fence == "writers":
            ptx.fence_proxy("async.shared::cta")
        if fence == "third":
            sync()
            when(eq(tid(), 40), lambda: ptx.fence_proxy("async.shared::cta"))
        if sync_:
            sync()
        if fence == "issuer":
            ptx.fence_proxy("async.shared::cta")
        if fence == "late":
            when(lt(tid(), 16), lambda: ptx.fence_proxy("async.shared::cta"))

        def issue() -> None:
            with line(10):
                build("test.unit_read", (row(), out))
            if wait:
                build("test.unit_wait", ())

        when(eq(tid(), 63), issue)
        sync()
        if again:
            with line(20):
                when(lt(tid(), 16), lambda: store(const(-1), row(), tid()))

    return body


@pytest.mark.parametrize("fence", ["writers", "issuer", "third"])
def test_stores_of_what_is_fenced(fence: str) -> None:
    out = np.zeros(16, np.int32)
    go(store_kernel(fence), out)
    assert out.tolist() == list(range(16))


@pytest.mark.parametrize("fence", ["", "late"])
def test_the_fence_is_missing(fence: str) -> None:
    with pytest.raises(RaceError, match=r"wrote at kernel\.py:9 through the generic proxy") as e:
        go(store_kernel(fence), np.zeros(16, np.int32))
    assert e.value.code == "OC3406" and e.value.loc is not None and e.value.loc.line == 10


def test_the_barrier_before_the_store_is_missing() -> None:
    with pytest.raises(RaceError, match="no order") as e:
        go(store_kernel("writers", sync_=False), np.zeros(16, np.int32))
    assert e.value.code == "OC3401"


def test_writing_again_without_the_wait() -> None:
    with pytest.raises(RaceError, match=r"a bulk store reads, started at kernel\.py:10") as e:
        go(store_kernel("writers", wait=False), np.zeros(16, np.int32))
    assert e.value.code == "OC3403" and e.value.loc is not None and e.value.loc.line == 20


def test_a_block_that_ends_before_its_store() -> None:
    go(store_kernel("writers", again=False), np.zeros(16, np.int32))
    with pytest.warns(RuntimeWarning, match=r"OC3407.*may end while a bulk store still reads"):
        go(store_kernel("writers", wait=False, again=False), np.zeros(16, np.int32))
