# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Fragments are values through loops, branches and nests of them; the simulator says what they
hold, before and after lowering."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from codegen.samples import kernel_module, when
from opencute.dialects import arith, cute, ptx, scf
from opencute.dialects.cute import LayoutAttr, PtrType
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, I32
from passes.simulated import check_pipeline, run

pytestmark = pytest.mark.t0

GLOBAL = PtrType(F32, "gmem", 4)


def const(n: int) -> Value:
    return arith.constant(n, I32)


def loop(trips: Value, body: Callable[[Value], None]) -> Op:
    region, block = new_block([I32])
    with insert_at(block):
        body(block.args[0])
        scf.yield_()
    return scf.for_(const(0), trips, const(1), (), region)


def at(fragment: Value, i: int) -> Value:
    return cute.ptr_add(fragment, const(i), 4) if i else fragment


def bump(fragment: Value, i: int, by: float) -> None:
    value = cute.load(at(fragment, i))
    cute.store(arith.binary("addf", value, arith.constant(by, F32)), at(fragment, i))


def lowered(body: Callable[[Value, Value], None], threads: int = 4) -> tuple[Op, list[float]]:
    module = kernel_module("k", (GLOBAL, GLOBAL), body, threads)
    args = [np.arange(8, dtype=np.float32), np.zeros(threads, np.float32)]
    out = check_pipeline(module, 1, threads, args)
    return out, run(out, 1, threads, args)[1].tolist()


def no_memory(module: Op) -> bool:
    return not any(op.name == "llvm.alloca" for op in module.walk())


def test_a_loop_carries_what_it_changes() -> None:
    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F32, 2)
        tid = ptx.sreg("tid.x")
        for i in range(2):
            cute.store(cute.load(cute.ptr_add(a, const(i), 4)), at(frag, i))
        loop(tid, lambda _: bump(frag, 1, 10.0))
        total = arith.binary("addf", cute.load(at(frag, 0)), cute.load(at(frag, 1)))
        cute.store(total, cute.ptr_add(c, tid, 4))

    module, out = lowered(body)
    assert out == [1, 11, 21, 31] and no_memory(module)
    (for_,) = [op for op in module.walk() if op.name == "scf.for"]
    assert len(for_.results) == 1  # element 0 never changes


def test_an_element_that_each_turn_writes_first_is_not_carried() -> None:
    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F32, 2)
        tid = ptx.sreg("tid.x")
        cute.store(arith.constant(0.0, F32), at(frag, 0))

        def turn(i: Value) -> None:
            cute.store(cute.load(cute.ptr_add(a, i, 4)), at(frag, 1))
            sum_ = arith.binary("addf", cute.load(at(frag, 0)), cute.load(at(frag, 1)))
            cute.store(sum_, at(frag, 0))

        loop(tid, turn)
        cute.store(cute.load(at(frag, 0)), cute.ptr_add(c, tid, 4))

    module, out = lowered(body)
    assert out == [0, 0, 1, 3] and no_memory(module)
    (for_,) = [op for op in module.walk() if op.name == "scf.for"]
    assert len(for_.results) == 1


def test_nests_of_branches_and_loops() -> None:
    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F32, 1)
        tid = ptx.sreg("tid.x")
        cute.store(arith.constant(1.0, F32), frag)

        def turn(i: Value) -> None:
            odd = arith.cmpi("eq", arith.binary("andi", i, const(1)), const(1))
            when(odd, lambda: loop(tid, lambda _: bump(frag, 0, 1.0)) and None)

        loop(const(4), turn)
        cute.store(cute.load(frag), cute.ptr_add(c, tid, 4))

    module, out = lowered(body)
    assert out == [1, 3, 5, 7] and no_memory(module)


def test_halves_are_carried_in_pairs() -> None:
    pointer = PtrType(F16, "gmem", 16)

    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F16, 8)
        tile = LayoutAttr(8, 1)
        cute.tile_store(cute.tile_load(a, tile), frag, tile)
        tid = ptx.sreg("tid.x")

        def turn(_: Value) -> None:
            v = cute.tile_load(frag, tile)
            cute.tile_store(arith.binary("addf", v, v), frag, tile)

        loop(tid, turn)
        cute.tile_store(
            cute.tile_load(frag, tile),
            cute.ptr_add(c, arith.binary("muli", tid, const(8)), 16),
            tile,
        )

    module = kernel_module("k", (pointer, pointer), body, 4)
    args = [np.arange(8, dtype=np.float16), np.zeros(32, np.float16)]
    out = check_pipeline(module, 1, 4, args)
    got = run(out, 1, 4, args)[1].reshape(4, 8)
    np.testing.assert_array_equal(got, np.arange(8) * 2 ** np.arange(4)[:, None])
    (for_,) = [op for op in out.walk() if op.name == "scf.for"]
    assert [str(r.type) for r in for_.results] == ["vector<2xf16>"] * 4 and no_memory(out)


def test_a_run_time_index_keeps_the_fragment_in_memory() -> None:
    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F32, 4)
        tid = ptx.sreg("tid.x")
        for i in range(4):
            cute.store(cute.load(cute.ptr_add(a, const(i), 4)), at(frag, i))
        cute.store(cute.load(cute.ptr_add(frag, tid, 4)), cute.ptr_add(c, tid, 4))

    module, out = lowered(body)
    assert out == [0, 1, 2, 3] and not no_memory(module)
