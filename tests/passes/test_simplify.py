# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Folding, merging, dropping."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.samples import kernel_module, when
from opencute.dialects import arith, cute, ptx, scf
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.cleanup import constant_of, fold
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import I1, I8, I32
from opencute.passes.folding import int_of, wrap
from opencute.passes.simplify import simplify
from opencute.sim import Simulator
from passes.simulated import apply

pytestmark = pytest.mark.t0

OUT = cute.PtrType(I32, "gmem", 4)
DIVISIONS = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui")


def names(module: Op) -> list[str]:
    return [op.name for op in module.walk() if op.name not in ("builtin.module", "gpu.module")]


def kernel(body: Callable[[Value], Value]) -> Op:
    def whole(out: Value) -> None:
        cute.store(body(ptx.sreg("tid.x")), out)

    return kernel_module("k", (OUT,), whole, 32)


def test_equal_operations_are_merged_and_unused_ones_dropped() -> None:
    def body(x: Value) -> Value:
        arith.binary("muli", x, x)
        a, b = (arith.binary("muli", x, arith.constant(8, I32)) for _ in range(2))
        return arith.binary("addi", a, arith.binary("subi", b, arith.constant(0, I32)))

    module = apply(kernel(body), simplify)
    assert names(module).count("arith.muli") == 1 and "arith.subi" not in names(module)


def test_nothing_is_merged_out_of_a_branch() -> None:
    def body(out: Value) -> None:
        x = ptx.sreg("tid.x")
        small = arith.cmpi("slt", x, arith.constant(5, I32))
        for _ in range(2):
            when(small, lambda: cute.store(arith.binary("muli", x, x), out) and None)

    module = apply(kernel_module("k", (OUT,), body, 32), simplify)
    assert names(module).count("arith.muli") == 2


def test_constant_branches_and_loops_disappear() -> None:
    def body(out: Value) -> None:
        one = arith.constant(1, I32)
        when(arith.cmpi("eq", one, one), lambda: cute.store(one, out) and None)
        when(arith.cmpi("ne", one, one), lambda: cute.store(one, out) and None)
        for upper in (0, 1):
            region, block = new_block([I32])
            with insert_at(block):
                cute.store(block.args[0], out)
                scf.yield_()
            zero = arith.constant(0, I32)
            scf.for_(zero, arith.constant(upper, I32), one, (), region)

    module = apply(kernel_module("k", (OUT,), body, 32), simplify)
    assert not any(n.startswith("scf.") for n in names(module))
    assert names(module).count("cute.store") == 2


def test_a_known_block_size_is_a_constant() -> None:
    module = apply(
        kernel(lambda x: arith.binary("addi", ptx.sreg("ntid.x"), ptx.sreg("tid.y"))), simplify
    )
    assert "ptx.sreg" not in names(module)
    (constant,) = (op for op in module.walk() if op.name == "arith.constant")
    assert constant.attributes["value"] == IntAttr(32, I32)


def fold_of(name: str, a: int, b: int) -> int | None:
    block = Block()
    with insert_at(block):
        op = arith.binary(name, arith.constant(a, I8), arith.constant(b, I8)).op
    assert op is not None
    found = fold(op)
    if isinstance(found, Value):
        return int_of(found)
    assert found is None or isinstance(found, IntAttr)
    return None if found is None else found.value


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(arith.INT_BINARY), st.integers(-128, 127), st.integers(-128, 127))
def test_folding_agrees_with_the_simulator(name: str, a: int, b: int) -> None:
    from opencute.dialects import builtin, func

    if name in DIVISIONS and (b == 0 or (a == -128 and b == -1)):
        return
    if name.startswith("sh") and not 0 <= b < 8:
        return
    module, top = builtin.module()
    with insert_at(top):
        _, entry = func.func("f", [I8, I8], [I8])
        with insert_at(entry):
            func.return_([arith.binary(name, *entry.args)])
    assert fold_of(name, a, b) == Simulator().run_function(module, "f", [a, b])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(arith.INT_BINARY),
    st.sampled_from([0, 1, -1]),
    st.integers(-128, 127),
    st.booleans(),
)
def test_identities_hold(name: str, known: int, x: int, on_the_left: bool) -> None:
    """What folds with one constant gives what it gives with both."""
    block = Block([I8])
    with insert_at(block):
        c = arith.constant(known, I8)
        args = (c, block.args[0]) if on_the_left else (block.args[0], c)
        op = arith.binary(name, *args).op
    assert op is not None
    found = fold(op)
    if found is None:
        return
    value = (
        x
        if found is block.args[0]
        else (int_of(found) if isinstance(found, Value) else found.value)
    )  # type: ignore[attr-defined]
    a, b = (known, x) if on_the_left else (x, known)
    both = fold_of(name, a, b)
    assert both is None or both == value


def test_wrap() -> None:
    assert wrap(200, I8) == -56 and wrap(3, I1) == 1 and wrap(-1, I1) == 1
    assert constant_of(Block([I32]).args[0]) is None
