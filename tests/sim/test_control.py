# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random structured programs against a plain interpreter that runs one thread at a time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import SimulationError
from opencute.dialects import arith, cute, ptx, scf
from opencute.ir.builder import build, insert_at, new_block
from opencute.ir.core import Block, Op, Region, Value
from opencute.ir.types import I1, I32
from opencute.sim import Simulator
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.wait import Wait
from sim.building import add, const, kernel_module, launch, mul, ptr, thread

pytestmark = pytest.mark.t0
SLOTS = 8  # words of memory that each thread owns


# ---------------------------------------------------------------------- the oracle
def wrap32(x: int) -> int:
    return ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


class Thread:
    """Interprets a kernel for one thread with Python ints; pointers are indices into `memory`."""

    def __init__(self, tid: int, bid: int, ntid: int, memory: list[int]) -> None:
        self.sregs = {"tid.x": tid, "ctaid.x": bid, "ntid.x": ntid}
        self.memory = memory
        self.env: dict[Value, Any] = {}

    def block(self, block: Block) -> list[Any]:
        for op in block.ops[:-1]:
            self.op(op)
        return [self.env[v] for v in block.ops[-1].operands]

    def region(self, region: Region, args: list[Any]) -> list[Any]:
        self.env.update(zip(region.block.args, args, strict=True))
        return self.block(region.block)

    def op(self, op: Op) -> None:
        a = [self.env[v] for v in op.operands]
        out: list[Any] = []
        if op.name == "scf.if":
            out = self.region(op.regions[0 if a[0] else 1], [])
        elif op.name == "scf.for":
            out = a[3:]
            for i in range(a[0], a[1], a[2]):
                out = self.region(op.regions[0], [i, *out])
        elif op.name == "scf.while":
            out = a
            while True:
                cond, *out = self.region(op.regions[0], out)
                if not cond:
                    break
                out = self.region(op.regions[1], out)
        elif op.name in ("test.pause", "test.go"):
            pass
        elif op.name == "ptx.sreg":
            out = [self.sregs[op.attributes["reg"].value]]  # type: ignore[attr-defined]
        else:
            out = self.simple(op, a)
        self.env.update(zip(op.results, out, strict=True))

    def simple(self, op: Op, a: list[Any]) -> list[Any]:
        name = op.name
        if name == "arith.constant":
            return [op.attributes["value"].value]  # type: ignore[attr-defined]
        if name == "arith.cmpi":
            p = op.attributes["predicate"].value  # type: ignore[attr-defined]
            return [{0: a[0] == a[1], 2: a[0] < a[1], 5: a[0] >= a[1]}[p]]
        if name == "arith.select":
            return [a[1] if a[0] else a[2]]
        if name == "cute.ptr_add":
            return [a[0] + a[1]]
        if name == "cute.load":
            return [self.memory[a[0]]]
        if name == "cute.store":
            self.memory[a[1]] = a[0]
            return []
        fn = {
            "arith.addi": lambda x, y: x + y, "arith.subi": lambda x, y: x - y,
            "arith.muli": lambda x, y: x * y, "arith.xori": lambda x, y: x ^ y,
            "arith.andi": lambda x, y: x & y,
        }[name]  # fmt: skip
        return [wrap32(fn(a[0], a[1]))]


# ---------------------------------------------------------------------- random programs
class Writer:
    """Writes a random kernel over int32 values; every thread has SLOTS words of its own."""

    def __init__(self, rng: random.Random, base: Value, pauses: bool) -> None:
        self.rng = rng
        self.base = base
        self.budget = 40
        self.pauses = pauses

    def pick(self, scope: list[Value]) -> Value:
        return self.rng.choice(scope[-6:] if self.rng.random() < 0.7 else scope)

    def value(self, scope: list[Value]) -> Value:
        kind = self.rng.randrange(6)
        a, b = self.pick(scope), self.pick(scope)
        if kind == 0:
            return const(self.rng.choice([0, 1, 2, 3, -1, 7, 1 << 30, -(1 << 31)]))
        if kind == 1:
            return cute.load(self.slot())
        if kind == 2:
            return arith.select(self.condition(scope), a, b)
        return arith.binary(self.rng.choice(["addi", "subi", "muli", "xori", "andi"]), a, b)

    def slot(self) -> Value:
        return cute.ptr_add(self.base, const(self.rng.randrange(SLOTS)), 4)

    def small(self, scope: list[Value]) -> Value:
        """A value from 0 to 3, often different for each lane."""
        return arith.binary("andi", self.pick(scope), const(3))

    def condition(self, scope: list[Value]) -> Value:
        name = self.rng.choice(["eq", "slt", "sge"])
        return arith.cmpi(name, self.small(scope), self.small(scope))

    def body(self, scope: list[Value], depth: int) -> list[Value]:
        scope = list(scope)
        for _ in range(self.rng.randint(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(scope, depth)
        return scope

    def statement(self, scope: list[Value], depth: int) -> None:
        kind = self.rng.random()
        if depth and kind < 0.2:
            scope += self.branch(scope, depth)
        elif depth and kind < 0.35:
            scope += self.count(scope, depth)
        elif depth and kind < 0.5:
            scope += self.loop(scope, depth)
        elif self.pauses and kind < 0.6:
            build("test.pause")
            build("test.go")
        elif kind < 0.7:
            cute.store(self.pick(scope), self.slot())
        else:
            scope.append(self.value(scope))

    def branch(self, scope: list[Value], depth: int) -> list[Value]:
        n = self.rng.randint(0, 2)
        cond = self.condition(scope)
        regions: list[Region] = []
        for _ in range(2):
            region, block = new_block()
            with insert_at(block):
                inner = self.body(scope, depth - 1)
                scf.yield_([self.pick(inner) for _ in range(n)])
            regions.append(region)
        return list(scf.if_(cond, [I32] * n, regions[0], regions[1]).results)

    def count(self, scope: list[Value], depth: int) -> list[Value]:
        n = self.rng.randint(0, 2)
        inits = [self.pick(scope) for _ in range(n)]
        lower = self.small(scope) if self.rng.random() < 0.5 else const(0)
        upper = self.small(scope) if self.rng.random() < 0.7 else const(3)
        step = add(self.small(scope), const(1)) if self.rng.random() < 0.3 else const(1)
        region, block = new_block([I32] * (n + 1))
        with insert_at(block):
            inner = self.body([*scope, *block.args], depth - 1)
            scf.yield_([self.pick(inner) for _ in range(n)])
        return list(scf.for_(lower, upper, step, inits, region).results)

    def loop(self, scope: list[Value], depth: int) -> list[Value]:
        """Counts a fuel of its own, so that it ends."""
        n = self.rng.randint(0, 2)
        fuel = self.small(scope)
        inits = [fuel, *(self.pick(scope) for _ in range(n))]
        before, block = new_block([I32] * (n + 1))
        with insert_at(block):
            inner = self.body([*scope, *block.args], depth - 1)
            more = arith.cmpi("slt", const(0), block.args[0])
            scf.condition(more, [block.args[0], *(self.pick(inner) for _ in range(n))])
        after, block = new_block([I32] * (n + 1))
        with insert_at(block):
            inner = self.body([*scope, *block.args], depth - 1)
            scf.yield_(
                [arith.binary("subi", block.args[0], const(1))]
                + [self.pick(inner) for _ in range(n)]
            )
        return list(scf.while_(inits, [I32] * (n + 1), before, after).results)


def random_kernel(seed: int, pauses: bool) -> Op:
    rng = random.Random(seed)

    def body(memory: Any) -> None:
        base = cute.ptr_add(memory, mul(thread(), const(SLOTS)), 4)
        writer = Writer(rng, base, pauses)
        scope = [ptx.sreg("tid.x"), ptx.sreg("ctaid.x"), const(5)]
        scope.append(cute.load(base))
        scope = writer.body(scope, 3)
        for k in range(4):
            cute.store(writer.pick(scope), cute.ptr_add(base, const(k), 4))
            scope = writer.body(scope, 3)

    return kernel_module([ptr(I32, 4)], body)


def check(seed: int, *, pauses: bool = False, order: int = 0) -> None:
    module = random_kernel(seed, pauses)
    blocks, threads = 2, 40
    memory = np.random.default_rng(seed).integers(-100, 100, (blocks * threads, SLOTS), np.int32)
    want = memory.ravel().tolist()
    kernel = module.regions[0].block.ops[0].regions[0].block.ops[0].regions[0].block
    for bid in range(blocks):
        for tid in range(threads):
            t = Thread(tid, bid, threads, want)
            t.env[kernel.args[0]] = 0
            t.block(kernel)
    launch(module, blocks, threads, memory, sim=Simulator(seed=order))
    np.testing.assert_array_equal(memory.ravel(), np.array(want, np.int32))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 40))
def test_random_programs(seed: int) -> None:
    check(seed)


@semantics("test.pause", lanes=True, blocking=True)
def pause(op: Op) -> Function:
    """Every other thread may go on at once, the rest once one of those has."""

    def run(lanes: Lanes) -> Wait | None:
        first = lanes.full(lanes.tid) % 2 == 0
        gone = lanes.run.group.rest.setdefault("gone", [])
        mine = len(gone)
        gone.append(not first.any())
        return Wait(op, lambda: True if gone[mine] else first, lambda: "the others to go")

    return run


@semantics("test.go", lanes=True)
def go(op: Op) -> Function:
    """Whoever gets past a pause lets all others go."""

    def run(lanes: Lanes) -> None:
        gone = lanes.run.group.rest["gone"]
        gone[:] = [True] * len(gone)

    return run


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 40), st.integers(0, 5))
def test_random_programs_that_wait(seed: int, order: int) -> None:
    """The same with operations that block anywhere, so that control is flattened."""
    check(seed, pauses=True, order=order)


# ---------------------------------------------------------------------- chosen cases
def run(body: Any, blocks: int, threads: int, dtype: Any = np.int32) -> Any:
    out = np.full((blocks, threads), -1, dtype)
    sim = launch(kernel_module([ptr(I32, 4)], body), blocks, threads, out)
    return out, sim


def test_agreeing_lanes_do_not_split() -> None:
    def body(out: Any) -> None:
        then, block = new_block()
        with insert_at(block):
            scf.yield_([const(1)])
        orelse, block = new_block()
        with insert_at(block):
            scf.yield_([const(2)])
        cond = arith.cmpi("slt", ptx.sreg("ntid.x"), const(100))
        v = scf.if_(cond, [I32], then, orelse).result
        cute.store(v, cute.ptr_add(out, thread(), 4))

    out, sim = run(body, 2, 8)
    assert (out == 1).all()
    assert sim.report.splits == 0


def test_blocks_may_disagree() -> None:
    def body(out: Any) -> None:
        region, block = new_block([I32, I32])
        with insert_at(block):
            scf.yield_([add(block.args[1], const(10))])
        v = scf.for_(const(0), ptx.sreg("ctaid.x"), const(1), [const(0)], region).result
        cute.store(v, cute.ptr_add(out, thread(), 4))

    out, _ = run(body, 5, 3)
    np.testing.assert_array_equal(out, np.arange(5)[:, None] * 10 + np.zeros((1, 3)))


def test_for_loop_near_the_largest_integer_ends() -> None:
    top = (1 << 31) - 1

    def body(out: Any) -> None:
        region, block = new_block([I32, I32])
        with insert_at(block):
            scf.yield_([add(block.args[1], const(1))])
        lower = arith.binary("subi", const(top - 4), ptx.sreg("tid.x"))
        v = scf.for_(lower, const(top), const(3), [const(0)], region).result
        cute.store(v, cute.ptr_add(out, thread(), 4))

    out, _ = run(body, 1, 4)
    assert out.ravel().tolist() == [len(range(top - 4 - t, top, 3)) for t in range(4)]


@pytest.mark.parametrize("differ", [False, True])
def test_a_step_that_is_not_positive_is_an_error(differ: bool) -> None:
    def body(out: Any) -> None:
        region, block = new_block([I32])
        with insert_at(block):
            scf.yield_()
        step = ptx.sreg("tid.x") if differ else ptx.sreg("ctaid.x")
        scf.for_(const(0), const(4), step, [], region)

    with pytest.raises(SimulationError, match="OC3004"):
        run(body, 1, 4)


def test_pointers_of_two_arrays_meet_at_a_join() -> None:
    def body(a: Any, b: Any, out: Any) -> None:
        even = arith.cmpi("eq", arith.binary("andi", thread(), const(1)), const(0))
        regions = []
        for p in (a, b):
            region, block = new_block()
            with insert_at(block):
                scf.yield_([cute.ptr_add(p, thread(), 4)])
            regions.append(region)
        p = scf.if_(even, [a.type], *regions).result
        cute.store(add(cute.load(p), const(1)), p)
        cute.store(cute.load(p), cute.ptr_add(out, thread(), 4))
        q = arith.select(even, cute.ptr_add(b, thread(), 4), cute.ptr_add(a, thread(), 4))
        cute.store(const(7), q)

    a, b = np.arange(10, dtype=np.int32), np.arange(100, 110, dtype=np.int32)
    out = np.zeros(10, np.int32)
    launch(kernel_module([ptr(I32, 4)] * 3, body), 2, 5, a, b, out)
    i = np.arange(10)
    even = i % 2 == 0
    np.testing.assert_array_equal(out, np.where(even, i + 1, i + 101))
    np.testing.assert_array_equal(a, np.where(even, i + 1, 7))
    np.testing.assert_array_equal(b, np.where(even, 7, i + 101))


def test_while_results_of_lanes_that_leave_at_different_times() -> None:
    """Collatz steps."""

    def body(out: Any) -> None:
        start = add(thread(), const(1))
        before, block = new_block([I32, I32])
        with insert_at(block):
            n, steps = block.args
            scf.condition(arith.cmpi("ne", n, const(1)), [n, steps])
        after, block = new_block([I32, I32])
        with insert_at(block):
            n, steps = block.args
            odd = arith.cast("trunci", n, I1)
            triple = add(mul(n, const(3)), const(1))
            half = arith.binary("shrui", n, const(1))
            scf.yield_([arith.select(odd, triple, half), add(steps, const(1))])
        _, steps = scf.while_([start, const(0)], [I32, I32], before, after).results
        cute.store(steps, cute.ptr_add(out, thread(), 4))

    def collatz(n: int) -> int:
        return 0 if n == 1 else 1 + collatz(3 * n + 1 if n & 1 else n // 2)

    out, _ = run(body, 4, 16)
    assert out.ravel().tolist() == [collatz(i + 1) for i in range(64)]
    assert Simulator().report.splits == 0


# ---------------------------------------------------------------------- loops without end
@pytest.mark.parametrize("waits", [False, True])
def test_a_loop_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    monkeypatch.setenv("OPENCUTE_SIM_STEP_LIMIT", "100")

    def body() -> None:
        before, b = new_block([I32])
        with insert_at(b):
            scf.condition(const(1, I1), list(b.args))
        after, a = new_block([I32])
        with insert_at(a):
            if waits:
                build("test.pause", [], [])
                build("test.go", [], [])
            scf.yield_([add(a.args[0], const(1))])
        scf.while_([const(0)], [I32], before, after)

    with pytest.raises(SimulationError, match="OC3010") as e:
        launch(kernel_module([], body), 1, 4)
    assert "kernel.py:1" in str(e.value)


def test_a_loop_that_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def body() -> None:
        loop, b = new_block([I32])
        with insert_at(b):
            scf.yield_([])
        scf.for_(const(0), const(1 << 30), const(1), [], loop)

    with pytest.raises(SimulationError, match="OC3010"):
        launch(kernel_module([], body), 1, 4)
    monkeypatch.setenv("OPENCUTE_SIM_STEP_LIMIT", "0")

    def short() -> None:
        loop, b = new_block([I32])
        with insert_at(b):
            scf.yield_([])
        scf.for_(const(0), const(1000), const(1), [], loop)

    launch(kernel_module([], short), 1, 4)
