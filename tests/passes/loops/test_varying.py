# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which loops have to be unrolled for their registers: each case beside the one that does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from codegen.samples import kernel_module
from opencute.dialects import arith, cute, scf
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import I32
from opencute.passes.loops.varying import indexes_registers
from opencute.passes.simplify import simplify
from opencute.passes.unroll import unroll
from passes.simulated import apply, run

pytestmark = pytest.mark.t0

OUT = cute.PtrType(I32, "gmem", 4)
Body = Callable[[list[Value], Value, Value], list[Value]]


def number(value: int) -> Value:
    return arith.constant(value, I32)


def loop(turns: int, inits: list[Value], body: Callable[[list[Value]], list[Value]]) -> Op:
    region, block = new_block([I32, *(v.type for v in inits)])
    with insert_at(block):
        scf.yield_(body(list(block.args)))
    return scf.for_(number(0), number(turns), number(1), inits, region)


def kernel(body: Body, inits: tuple[int, ...] = (), inner: int = 0) -> Op:
    """A loop of 4 turns; `body(values, registers, memory)` makes its turn. With `inner`, that is
    the body of a loop in it, which takes over what the outer one carries."""

    def build(out: Value) -> None:
        frag = cute.alloca(I32, 8)
        for i in range(8):
            cute.store(number(i), cute.ptr_add(frag, number(i), 4))

        def turn(values: list[Value]) -> list[Value]:
            if inner:
                nested = loop(inner, values[1:], lambda v: body(v, frag, out))
                return list(nested.results)
            return body(values, frag, out)

        loop(4, [number(i) for i in inits], turn)
        cute.tile_store(cute.tile_load(frag, cute.LayoutAttr(8, 1)), out, cute.LayoutAttr(8, 1))

    return kernel_module("k", (OUT,), build, 1)


def at(pointer: Value, index: Value) -> Value:
    return cute.ptr_add(pointer, index, 4)


def by_turn(v: list[Value], frag: Value, out: Value) -> list[Value]:
    cute.store(number(7), at(frag, v[0]))
    return v[1:]


def memory_by_turn(v: list[Value], frag: Value, out: Value) -> list[Value]:
    cute.store(number(7), at(out, v[0]))
    return v[1:]


def stage(v: list[Value], frag: Value, out: Value) -> list[Value]:
    """A pipeline's stage: carried, wraps around, indexes memory."""
    cute.store(number(7), at(out, v[1]))
    return [arith.binary("remsi", arith.binary("addi", v[1], number(1)), number(3))]


def stage_of_registers(v: list[Value], frag: Value, out: Value) -> list[Value]:
    cute.store(number(7), at(frag, v[1]))
    return [arith.binary("remsi", arith.binary("addi", v[1], number(1)), number(3))]


def loaded(v: list[Value], frag: Value, out: Value) -> list[Value]:
    """Unrolling would not help."""
    cute.store(number(7), at(frag, cute.load(at(out, v[0]))))
    return v[1:]


def constant(v: list[Value], frag: Value, out: Value) -> list[Value]:
    cute.store(v[0], at(frag, number(2)))
    return v[1:]


def both(v: list[Value], frag: Value, out: Value) -> list[Value]:
    """Registers by the inner index, memory by a carried stage."""
    cute.store(v[1], at(frag, v[0]))
    return stage(v, frag, out)


def outermost(module: Op) -> Op:
    return next(op for op in module.walk() if op.name == "scf.for")


@pytest.mark.parametrize(
    ("body", "inits", "inner", "left"),
    [
        (by_turn, (), 0, 0),
        (memory_by_turn, (), 0, 1),
        (stage, (0,), 0, 1),
        (stage_of_registers, (0,), 0, 0),
        (loaded, (), 0, 1),
        (constant, (), 0, 1),
        (by_turn, (), 3, 1),
        (both, (0,), 3, 1),
        (stage_of_registers, (0,), 3, 0),
    ],
)
def test_loops_that_have_to_be_unrolled(
    body: Body, inits: tuple[int, ...], inner: int, left: int
) -> None:
    module = kernel(body, inits, inner)
    assert indexes_registers(outermost(module)) == (left == 0)
    args = [np.zeros(8, np.int32)]
    want = run(module, 1, 1, args)[0]
    apply(module, simplify, unroll)
    assert sum(op.name == "scf.for" for op in module.walk()) == left
    assert (run(module, 1, 1, args)[0] == want).all()


def test_pointers_into_registers_that_a_loop_swaps() -> None:
    def build(out: Value) -> None:
        first, second = cute.alloca(I32, 2), cute.alloca(I32, 2)
        cute.store(number(5), first)
        cute.store(number(6), second)

        def turn(v: list[Value]) -> list[Value]:
            cute.store(cute.load(v[1]), at(out, v[0]))
            return [v[2], v[1]]

        loop(3, [first, second], turn)

    module = kernel_module("k", (OUT,), build, 1)
    assert indexes_registers(outermost(module))
    assert not any(op.name == "scf.for" for op in apply(module, simplify, unroll).walk())
    assert list(run(module, 1, 1, [np.zeros(3, np.int32)])[0]) == [5, 6, 5]
