# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The native loops of the checking mode do to shadows what NumPy does, and find the same races."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import RaceError
from opencute.dialects import arith
from opencute.ir.types import F32
from opencute.sim import Buffer, Simulator
from opencute.sim.fused import shadows
from opencute.sim.sync import checker
from opencute.sim.sync.checks import native as loops
from opencute.sim.sync.shadow import Shadow
from sim.building import kernel_module, ptr
from sim.sync.blocks import add, bid, const, load, mul, shared, store, sync, tid

pytestmark = pytest.mark.t1
BLOCKS, THREADS = 4, 64


def body(good: bool) -> Any:
    """Rows of 64 numbers, mirrored through shared memory, and a first row that all read."""

    def kernel(x: Any, y: Any) -> None:
        s = shared(THREADS)
        row = mul(bid(), const(THREADS))
        mine = arith.binary("addf", load(x, add(row, tid())), load(x, tid()))
        store(mine, s, tid())
        if good:
            sync()
        other = load(s, arith.binary("subi", const(THREADS - 1), tid()))
        first = load(s, arith.binary("divui", tid(), const(8)))
        store(arith.binary("addf", other, first), y, add(row, tid()))
        load(y, add(row, tid()))
        sync()
        store(mine, s, tid())

    return kernel


def run(monkeypatch: pytest.MonkeyPatch, native: bool, good: bool = True) -> list[Any]:
    """The words of all shadows after a run, and the numbers."""
    monkeypatch.setattr(loops, "FEWEST", 0 if native else 1 << 60)
    monkeypatch.setattr(shadows.LOOPS, "patience", 0)
    found: list[checker.Checker] = []
    finish = checker.Checker.finish

    def keep(self: checker.Checker) -> None:
        found.append(self)
        finish(self)

    monkeypatch.setattr(checker.Checker, "finish", keep)
    x = np.arange(BLOCKS * THREADS, dtype=np.float32)
    y = np.zeros_like(x)
    module = kernel_module([ptr(F32), ptr(F32)], body(good))
    pointers = [Buffer.from_numpy(v).pointer() for v in (x, y)]
    Simulator(check=True).run_kernel(module, "kernel", (BLOCKS,), (THREADS,), pointers, smem=1024)
    out: list[Any] = [y]
    for one in found[-1:]:
        for _, shadow in one.shadows.values():
            out += [shadow.writer, shadow.write_op, shadow.last_read, shadow.reader, shadow.shift]
    return out


def test_the_loops_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadows.LOOPS, "patience", 0)
    assert shadows.LOOPS.ready(1)
    # Made again, the first ones still have their code.
    assert shadows.LOOPS._compile().keys() == shadows.LOOPS.functions.keys()
    gc.collect()
    assert len(run(monkeypatch, True)) == 1 + 3 * 5


def test_words_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    native, plain = run(monkeypatch, True), run(monkeypatch, False)
    assert len(native) == len(plain) == 1 + 3 * 5
    for a, b in zip(native, plain, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("native", [True, False])
def test_a_race_is_found(monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    with pytest.raises(RaceError) as caught:
        run(monkeypatch, native, good=False)
    assert caught.value.code == "OC3401"


@pytest.mark.parametrize("barrier", [True, False])
def test_reads_are_forgotten_only_behind_barriers(
    monkeypatch: pytest.MonkeyPatch, barrier: bool
) -> None:
    """A read that a barrier has ordered is forgotten; one that it has not is still in the way."""
    monkeypatch.setattr(loops, "FEWEST", 0)
    monkeypatch.setattr(loops, "LATE", 0)
    monkeypatch.setattr(shadows.LOOPS, "patience", 0)
    kept: list[int] = []
    forget = Shadow.forget

    def watched(self: Shadow, time: int) -> None:
        forget(self, time)
        kept.append(len(self.late))

    monkeypatch.setattr(Shadow, "forget", watched)

    def kernel(y: Any) -> None:
        s = shared(THREADS)
        store(arith.constant(1.0, F32), s, tid())
        sync()
        mirrored = arith.binary("subi", const(THREADS - 1), tid())
        load(s, mirrored)
        sync()
        load(s, mirrored)
        if barrier:
            sync()
        store(arith.constant(2.0, F32), s, tid())

    module = kernel_module([ptr(F32)], kernel)
    pointer = Buffer.from_numpy(np.zeros(1, np.float32)).pointer()
    simulator = Simulator(check=True)
    raises = pytest.raises(RaceError, match="read at")
    with contextlib.nullcontext() if barrier else raises:
        simulator.run_kernel(module, "kernel", (BLOCKS,), (THREADS,), [pointer], smem=1024)
    assert 0 in kept
