# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups as operations on values: what fences and waits take, what is joined."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codegen.hopper.test_wgmma import const, kernel, loop, product, store
from opencute.arch.target import target
from opencute.arch.wgmma import wgmma_atom
from opencute.codegen.llvm_text import device_module_text
from opencute.dialects import arith, cute, scf
from opencute.dialects.hopper import wgmma
from opencute.dialects.hopper.wgmma import WgmmaOp
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, I1, I64, VectorType
from opencute.ir.verifier import verify
from opencute.passes.pipelines import kernels, run_device_passes

pytestmark = pytest.mark.t0

SS = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.ss")
RS = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.rs")
YES = 1


def lowered(body: Callable[[Value, Value, Value, Value], None]) -> Op:
    """A kernel after all passes."""
    module = kernel(body)
    run_device_passes(module, target("sm_90a"))
    (function,) = kernels(module)
    verify(function)
    return function


def found(function: Op, name: str) -> list[Op]:
    return [op for op in function.walk() if op.name == name]


def when(condition: Value, body: Callable[[], None]) -> None:
    then, block = new_block()
    with insert_at(block):
        body()
        scf.yield_([])
    orelse, block = new_block()
    with insert_at(block):
        scf.yield_([])
    scf.if_(condition, [], then, orelse)


def run(d: Value, a: Value, b: Value, adds: int = YES) -> None:
    product(SS, d, a, b, const(adds, I1))


def test_a_wait_gives_what_is_read_after_it():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        wgmma.fence()
        run(d, a, b, 0)
        wgmma.commit()
        wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8)

    function = lowered(body)
    (mma,), (wait,) = found(function, "ptx.wgmma"), found(function, "ptx.wgmma_wait")
    assert wait.operands == [mma.results[0]]
    stores = found(function, "llvm.store")
    assert stores and all(
        mma.results[0] not in op.operands for op in function.walk() if op is not wait
    )
    (fence,) = found(function, "ptx.wgmma_fence")
    assert fence.operands == []


@pytest.mark.parametrize("count", [0, 1])
def test_a_wait_right_after_a_product_is_part_of_it(count: int):
    """One piece of assembly takes and gives the registers, not two."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        wgmma.fence()
        run(d, a, b, 0)
        run(d, a, b)
        wgmma.commit()
        wgmma.wait(count)
        store(out, d, 8)

    function = lowered(body)
    (mma,) = found(function, "ptx.wgmma")
    assert isinstance(mma, WgmmaOp) and len(mma.steps) == 6
    assert mma.attributes["wait"] == IntAttr(count, I64)
    assert not found(function, "ptx.wgmma_commit") and not found(function, "ptx.wgmma_wait")
    assert any(mma.out in op.operands for op in function.walk())
    module = kernel(body)
    run_device_passes(module, target("sm_90a"))
    text = device_module_text(module)
    assert text.count("=f,") == 8 and text.count("wgmma.mma_async") == 2
    last = f"wgmma.commit_group.sync.aligned;\\0Awgmma.wait_group.sync.aligned {count};"
    assert f'0, 0;\\0A{last}", "=f' in text
    assert '~{memory}"(float poison' in text


@pytest.mark.parametrize("between", ["a group before", "another accumulator", "no group"])
def test_a_wait_stays_apart(between: str):
    """Where it gives other registers too, or something happens first."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d, e = cute.alloca(F32, 8), cute.alloca(F32, 8)
        wgmma.fence()
        if between == "another accumulator":
            run(e, a, b, 0)
        run(d, a, b, 0)
        if between != "no group":
            wgmma.commit()
        if between == "a group before":
            wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8)
        if between == "another accumulator":
            store(out, e, 8, 1)

    function = lowered(body)
    assert len(found(function, "ptx.wgmma_wait")) == 1
    assert all("wait" not in op.attributes for op in found(function, "ptx.wgmma"))


def test_a_fence_takes_what_other_instructions_made():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d, e = cute.alloca(F32, 8), cute.alloca(F32, 8)
        half = arith.cast("sitofp", n, F32)
        for i in range(8):
            p = cute.ptr_add(d, const(i), 4)
            cute.store(half, p)
            cute.store(half, cute.ptr_add(e, const(i), 4))
        wgmma.fence()
        run(d, a, b)
        run(e, a, b, 0)  # its old values are not looked at
        wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8)
        store(out, e, 8, 1)

    function = lowered(body)
    (fence,) = found(function, "ptx.wgmma_fence")
    assert [v.type.length for v in fence.operands] == [8]  # type: ignore[attr-defined]
    first = found(function, "ptx.wgmma")[0]
    assert isinstance(first, WgmmaOp) and first.accumulator is fence.results[0]


def test_a_wait_in_a_branch_hands_on_its_values():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)

        def turn(i: Value) -> None:
            wgmma.fence()
            run(d, a, b)
            wgmma.commit()
            when(arith.cmpi("eq", i, const(2)), lambda: (wgmma.wait(0), wgmma.fence())[0])
            run(d, a, b)

        loop(n, turn)
        wgmma.wait(0)
        store(out, d, 8)

    function = lowered(body)
    (branch,) = found(function, "scf.if")
    assert [r.type for r in branch.results] == [VectorType(8, F32)]


def test_left_operands_in_registers_are_fenced():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d, left = cute.alloca(F32, 8), cute.alloca(F16, 8)
        half = arith.cast("sitofp", n, F16)
        for i in range(8):
            cute.store(half, cute.ptr_add(left, const(i), 2))
        wgmma.fence()
        product(RS, d, left, b, const(0, I1))
        wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8)

    function = lowered(body)
    (fence,), (mma,) = found(function, "ptx.wgmma_fence"), found(function, "ptx.wgmma")
    assert [str(v.type) for v in fence.operands] == ["vector<4xi32>"]
    assert isinstance(mma, WgmmaOp) and mma.steps[0].op is not None


@pytest.mark.parametrize(
    ("between", "count"),
    [
        (lambda out, d: None, 2),
        (lambda out, d: wgmma.fence(), 4),
        (lambda out, d: wgmma.commit(), 4),
        (lambda out, d: arith.constant(3, I1), 2),
    ],
)
def test_products_with_nothing_between_are_joined(
    between: Callable[[Value, Value], object], count: int
):
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d, e = cute.alloca(F32, 8), cute.alloca(F32, 8)
        wgmma.fence()
        run(d, a, b, 0)
        run(e, b, a, 0)
        between(out, d)
        run(d, a, b)
        run(e, b, a)
        wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8)
        store(out, e, 8, 1)

    products = found(lowered(body), "ptx.wgmma")
    assert len(products) == count
    assert sum(len(op.steps) for op in products if isinstance(op, WgmmaOp)) == 12


def test_a_value_that_is_needed_twice_is_not_joined():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        wgmma.fence()
        run(d, a, b, 0)
        store(out, d, 8)  # wrong in a kernel, and not for this pass to hide
        run(d, a, b)
        wgmma.commit()
        wgmma.wait(0)
        store(out, d, 8, 1)

    assert len(found(lowered(body), "ptx.wgmma")) == 2
