# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers: who waits, who is late, and who waits for nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, SimulationError
from opencute.dialects import arith, cute, ptx, scf
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import I32
from opencute.sim import Simulator
from sim.building import add, const, kernel_module, launch, line, ptr, thread
from sim.sync.blocks import when

pytestmark = pytest.mark.t0


def warp_is(n: int) -> Value:
    return arith.cmpi("eq", ptx.sreg("warpid"), const(n))


def barrier(n: int = 0, count: int | None = None) -> Op:
    return ptx.bar_sync(const(n), None if count is None else const(count))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_barrier_in_a_loop_with_laggards(check: bool, seed: int) -> None:
    """Each round every thread adds its neighbour's value; some take a detour before the barrier."""

    def body(a: Any, b: Any) -> None:
        t = ptx.sreg("tid.x")
        n = ptx.sreg("ntid.x")
        base = arith.binary("muli", ptx.sreg("ctaid.x"), n)
        neighbour = arith.binary("remui", add(t, const(1)), n)
        region, block = new_block([I32])
        with insert_at(block):
            odd = arith.cmpi("ne", arith.binary("andi", t, const(5)), const(0))
            mine = cute.ptr_add(a, add(base, t), 4)
            other = cute.ptr_add(a, add(base, neighbour), 4)
            out = cute.ptr_add(b, add(base, t), 4)
            when(odd, lambda: (cute.store(add(cute.load(mine), cute.load(other)), out), None)[1])
            when(odd, lambda: None, lambda: (cute.store(cute.load(other), out), None)[1])
            barrier()
            cute.store(cute.load(out), mine)
            barrier()
            scf.yield_()
        scf.for_(const(0), const(3), const(1), [], region)

    x = np.arange(4 * 64, dtype=np.int32).reshape(4, 64)
    want = x.copy()
    odd = (np.arange(64) & 5) != 0
    for _ in range(3):
        want = np.where(odd, want + np.roll(want, -1, 1), np.roll(want, -1, 1))
    y = np.zeros_like(x)
    sim = Simulator(seed=seed, check=check)
    launch(kernel_module([ptr(I32, 4)] * 2, body), 4, 64, x, y, sim=sim)
    np.testing.assert_array_equal(x, want)


def late_arriver(out: Any) -> None:
    """Warp 1 waits inside a branch for warp 0, which arrives only after the branch's join."""
    when(warp_is(1), lambda: (barrier(1, 64), None)[1])
    when(warp_is(0), lambda: (barrier(1, 64), None)[1])
    barrier()
    cute.store(ptx.sreg("tid.x"), cute.ptr_add(out, thread(), 4))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("blocks", [1, 3])
def test_late_arrivers_are_waited_for_in_vain_by_nobody(seed: int, blocks: int) -> None:
    out = np.full((blocks, 64), -1, np.int32)
    sim = Simulator(seed=seed)
    launch(kernel_module([ptr(I32, 4)], late_arriver), blocks, 64, out, sim=sim)
    np.testing.assert_array_equal(out, np.broadcast_to(np.arange(64), out.shape))


@pytest.mark.parametrize("seed", range(4))
def test_late_lanes_of_one_warp(seed: int) -> None:
    """As above, but the halves of a single warp: they part below the size of a warp."""

    def body(out: Any) -> None:
        low = arith.cmpi("slt", ptx.sreg("tid.x"), const(16))
        high = arith.cmpi("sge", ptx.sreg("tid.x"), const(16))
        v: list[Value] = []
        regions = []
        for wait in (True, False):
            region, block = new_block()
            with insert_at(block):
                if wait:
                    barrier(2, 32)
                scf.yield_([const(10 if wait else 20)])
            regions.append(region)
        v.append(scf.if_(low, [I32], *regions).result)
        when(high, lambda: (barrier(2, 32), None)[1])
        cute.store(v[0], cute.ptr_add(out, thread(), 4))

    out = np.zeros((2, 32), np.int32)
    launch(kernel_module([ptr(I32, 4)], body), 2, 32, out, sim=Simulator(seed=seed))
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 16, 10, 20)[None].repeat(2, 0))


def test_deadlock_names_every_waiter() -> None:
    def body() -> None:
        def first() -> None:
            with line(10):
                barrier(1, 64)

        def second() -> None:
            with line(20):
                barrier(2, 64)

        when(warp_is(0), first, second)

    with pytest.raises(DeadlockError) as e:
        launch(kernel_module([], body), 1, 64)
    text = " ".join(str(e.value).split())  # lines are broken where they would be long
    assert "kernel.py:10: block (0, 0, 0), thread (0, 0, 0) to" in text
    assert "kernel.py:20: block (0, 0, 0), thread (32, 0, 0) to" in text
    assert "barrier 1: 32 of 64 threads arrived" in text
    assert e.value.code == "OC3501"


def test_a_thread_that_has_ended_is_missed() -> None:
    with pytest.raises(DeadlockError, match="32 of 64"):
        launch(
            kernel_module([], lambda: when(warp_is(0), lambda: (barrier(0, 64), None)[1])), 1, 64
        )


def test_one_deadlocked_block_of_several() -> None:
    def body() -> None:
        bad = arith.cmpi("eq", ptx.sreg("ctaid.x"), const(2))
        missing = arith.binary("andi", bad, warp_is(0))
        when(missing, lambda: None, lambda: (barrier(0, 64), None)[1])

    with pytest.raises(DeadlockError, match=r"block \(2, 0, 0\)"):
        launch(kernel_module([], body), 4, 64)


def test_more_threads_than_the_barrier_counts() -> None:
    with pytest.raises(SimulationError, match="more than 32 threads arrive at barrier 3"):
        launch(kernel_module([], lambda: (barrier(3, 32), None)[1]), 1, 64)


def test_a_while_loop_around_a_barrier() -> None:
    """Warps leave at different trips; each trip pairs the warps that remain."""

    def body(out: Any) -> None:
        trips = add(ptx.sreg("warpid"), const(1))
        before, block = new_block([I32, I32])
        with insert_at(block):
            left, total = block.args
            scf.condition(arith.cmpi("sgt", left, const(0)), [left, total])
        after, block = new_block([I32, I32])
        with insert_at(block):
            left, total = block.args
            ptx.bar_sync(ptx.sreg("warpid"), const(32))
            scf.yield_([arith.binary("subi", left, const(1)), add(total, left)])
        _, total = scf.while_([trips, const(0)], [I32, I32], before, after).results
        barrier(9)
        cute.store(total, cute.ptr_add(out, thread(), 4))

    out = np.zeros((2, 96), np.int32)
    launch(kernel_module([ptr(I32, 4)], body), 2, 96, out, sim=Simulator(check=True))
    np.testing.assert_array_equal(out, np.repeat([1, 3, 6], 32)[None].repeat(2, 0))
