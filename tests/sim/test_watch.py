# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Transactions and bank conflicts are counted by warp; races are found whoever comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import RaceError
from opencute.dialects import arith, cute, ptx, ptx_memory, smem
from opencute.dialects.cute import LayoutAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import F32
from opencute.sim import Simulator
from sim.building import add, const, kernel_module, launch, line, mul, ptr, thread

pytestmark = pytest.mark.t0


def strided(stride: int, vector: int = 1) -> Op:
    def body(a: Any) -> None:
        at = cute.ptr_add(a, mul(thread(), const(stride)), 16)
        if vector == 1:
            cute.load(at)
        else:
            cute.tile_load(at, LayoutAttr((vector,), (1,)))

    return kernel_module([ptr(F32)], body)


def memory(n: int) -> Any:
    room = np.zeros(n + 32, np.float32)
    start = (-room.ctypes.data % 128) // 4
    return room[start : start + n]


@pytest.mark.parametrize(
    ("stride", "vector", "sectors", "lines"),
    [(1, 1, 8, 2), (2, 1, 16, 4), (8, 1, 64, 16), (32, 1, 64, 64), (0, 1, 2, 2), (4, 4, 32, 8)],
)
def test_sectors_and_lines(stride: int, vector: int, sectors: int, lines: int) -> None:
    """Two warps of one block."""
    sim = Simulator(count_transactions=True)
    launch(strided(stride, vector), 1, 64, memory(64 * 32), sim=sim)
    assert sim.report.sectors["read", "gmem"] == sectors
    assert sim.report.lines["read", "gmem"] == lines
    assert sim.report.read_bytes["gmem"] == 64 * 4 * vector
    (row,) = sim.report.by_line.values()
    # A warp that reads one float needs a sector for it, as all its threads ask for the same.
    assert row.needed == (2 if stride == 0 else 8 * vector) and row.waste == sectors / row.needed


def test_uniform_loads_count_for_every_thread_and_once_for_a_warp() -> None:
    sim = Simulator(count_transactions=True)
    launch(kernel_module([ptr(F32)], lambda a: (cute.load(a), None)[1]), 2, 64, memory(64), sim=sim)
    assert sim.report.read_bytes["gmem"] == 128 * 4
    assert sim.report.sectors["read", "gmem"] == 4


def exchange(read: Callable[[Value], Value], write: Callable[[Value], Value]) -> Op:
    def body(a: Any) -> None:
        with line(10):
            v = cute.load(cute.ptr_add(a, read(thread()), 4))
        with line(20):
            cute.store(arith.binary("addf", v, v), cute.ptr_add(a, write(thread()), 4))

    return kernel_module([ptr(F32, 4)], body)


def own(t: Value) -> Value:
    return t


def next_(t: Value) -> Value:
    return add(t, const(1))


def shared(t: Value) -> Value:
    return arith.binary("divsi", t, const(2))


def test_threads_that_keep_to_themselves() -> None:
    x = np.arange(256, dtype=np.float32)
    launch(exchange(own, own), 4, 64, x, sim=Simulator(check=True))
    np.testing.assert_array_equal(x, np.arange(256) * 2)


@pytest.mark.parametrize(
    ("read", "write", "what"),
    [
        (next_, own, "writes byte .* which .* read at kernel.py:10"),
        (own, shared, "writes byte"),
        (shared, own, "writes byte .* read at kernel.py:10"),
    ],
)
def test_races(read: Any, write: Any, what: str) -> None:
    x = np.zeros(300, np.float32)
    launch(exchange(read, write), 4, 64, x)  # nobody looks
    with pytest.raises(RaceError, match=what) as e:
        launch(exchange(read, write), 4, 64, x, sim=Simulator(check=True))
    assert e.value.loc is not None and e.value.loc.line == 20


def test_two_threads_write_one_element() -> None:
    def body(a: Any) -> None:
        own = arith.cast("sitofp", thread(), F32)
        cute.store(own, cute.ptr_add(a, shared(thread()), 4))

    with pytest.raises(RaceError, match=r"writes byte 0 of 'arg0', which block .* wrote"):
        launch(
            kernel_module([ptr(F32, 4)], body), 1, 4, np.zeros(4, np.float32),
            sim=Simulator(check=True),
        )  # fmt: skip


def test_a_read_after_anothers_write() -> None:
    def body(a: Any) -> None:
        cute.store(const(1.0, F32), cute.ptr_add(a, thread(), 4))
        cute.load(cute.ptr_add(a, arith.binary("xori", thread(), const(1)), 4))

    with pytest.raises(RaceError, match=r"reads byte .* wrote at kernel.py:1"):
        launch(
            kernel_module([ptr(F32, 4)], body), 1, 4, np.zeros(4, np.float32),
            sim=Simulator(check=True),
        )  # fmt: skip


def test_each_launch_starts_anew() -> None:
    x = np.zeros(8, np.float32)
    sim = Simulator(check=True)
    module = kernel_module(
        [ptr(F32, 4)],
        lambda a: (cute.store(const(1.0, F32), cute.ptr_add(a, thread(), 4)), None)[1],
    )
    launch(module, 1, 8, x, sim=sim)
    launch(module, 8, 1, x, sim=sim)


@pytest.mark.parametrize(
    ("stride", "vector", "passes", "conflicts"),
    [
        (1, 1, 1, 0), (2, 1, 2, 1), (3, 1, 1, 0), (8, 1, 8, 7), (32, 1, 32, 31), (33, 1, 1, 0),
        (0, 1, 1, 0), (2, 2, 2, 0), (4, 4, 4, 0), (8, 4, 8, 4), (32, 4, 32, 28), (36, 4, 4, 0),
    ],
)  # fmt: skip
def test_bank_conflicts(stride: int, vector: int, passes: int, conflicts: int) -> None:
    """One warp reads vectors that are `stride` words apart; a bank gives one word at a time."""

    def body() -> None:
        raw = smem.smem_alloc(0, 32 * 36 * 4 + 16, 16)
        s = cute.recast(raw, cute.PtrType(F32, "smem", 16))
        at = cute.ptr_add(s, mul(thread(), const(stride)), 4 * vector)
        with line(30):
            cute.tile_load(at, LayoutAttr((vector,), (1,)))

    sim = Simulator(count_transactions=True)
    sim.run_kernel(kernel_module([], body), "kernel", (1,), (32,), [], smem=32 * 36 * 4 + 16)
    assert (sim.report.passes["read"], sim.report.conflicts["read"]) == (passes, conflicts)
    (row,) = sim.report.by_line.values()
    assert row.loc is not None and row.loc.line == 30 and row.space == "smem"
    assert (row.instructions, row.passes, row.width) == (1, passes, 4 * vector)
    assert row.waste == passes / (passes - conflicts)


def test_lines_atomics_and_waits_are_counted() -> None:
    def body(a: Any) -> None:
        with line(10):
            ptx_memory.red("add", a, const(1.0, F32), "relaxed", "gpu")
        with line(20):
            ptx.bar_sync(arith.binary("divui", thread(), const(32)), const(32))

    sim = Simulator(count_transactions=True)
    launch(kernel_module([ptr(F32)], body), 1, 64, memory(64), sim=sim)
    assert sim.report.atomics["gmem"] == 64
    rows = {str(r.loc): r for r in sim.report.by_line.values()}
    assert rows["kernel.py:10"].verb == "update" and rows["kernel.py:10"].sectors == 2
    total = type(sim.report)()
    total.add(sim.report)
    total.add(sim.report)
    assert total.atomics["gmem"] == 128 and total.launches == 2
    assert sum(r.sectors for r in total.by_line.values()) == 4
