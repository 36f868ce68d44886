# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which products of warpgroups become a loop, and that it goes to the same descriptors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codegen.hopper.test_wgmma import HIGH, const, kernel, product, store, tile
from opencute.arch.target import target
from opencute.arch.wgmma import WgmmaAtom, wgmma_atom
from opencute.base.errors import VerificationError
from opencute.dialects import arith, cute, scf
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.hopper import wgmma
from opencute.dialects.hopper.wgmma import WgmmaOp
from opencute.ir.attributes import DenseI32Attr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, I1, I32
from opencute.ir.verifier import verify
from opencute.passes.pipelines import kernels, run_device_passes

pytestmark = pytest.mark.t0

SS = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.ss")
RS = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.rs")
Turns = tuple[int, ...]


def turns_in(body: Callable[[Value, Value, Value, Value], None]) -> list[Turns | None]:
    """What the products of a kernel repeat, in order."""
    module = kernel(body)
    run_device_passes(module, target("sm_90a"))
    (function,) = kernels(module)
    verify(function)
    return [_turns(op) for op in function.walk() if isinstance(op, WgmmaOp)]


def _turns(op: Op) -> Turns | None:
    found = op.attributes.get("turns")
    return found.values if isinstance(found, DenseI32Attr) else None


def loop(lower: Value, upper: Value, body: Callable[[Value], None]) -> None:
    region, block = new_block([I32])
    with insert_at(block):
        body(block.args[0])
        scf.yield_([])
    scf.for_(lower, upper, const(1), [], region)


def group(d: Value, a: Value, b: Value, k: int = 4, atom: WgmmaAtom = SS, adds: int = 1) -> None:
    """A group of k products on one accumulator."""
    wgmma.fence()
    product(atom, d, a, b, const(adds, I1), k)
    wgmma.commit()


def staged(d: Value, a: Value, b: Value, turn: Value) -> None:
    """A turn of a main loop: the group on the operands of a stage."""
    stage = arith.binary("muli", turn, const(512))
    group(d, *(arith.binary("addi", x, stage) for x in (a, b)))
    wgmma.wait(1)


def pipeline(first: Callable[[Value, Value, Value, Value], None]) -> list[Turns | None]:
    """A main loop behind what `first` does (with an accumulator, A, B and a count)."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        first(d, a, b, n)
        loop(const(0), n, lambda i: staged(d, a, b, i))
        wgmma.wait(0)
        store(out, d, 8)

    return turns_in(body)


def test_what_stands_before_the_main_loop_is_a_loop():
    assert pipeline(lambda d, a, b, n: group(d, a, b)) == [(4, 2, 2), None]


@pytest.mark.parametrize("which", ["a", "b"])
def test_a_descriptor_of_the_main_loop_stays_in_its_registers(which: str):
    """As attention's queries, which each block of keys is multiplied by."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        group(d, a, b)

        def turn(i: Value) -> None:
            moved = arith.binary("addi", b if which == "a" else a, i)
            group(d, *((a, moved) if which == "a" else (moved, b)))
            wgmma.wait(1)

        loop(const(0), n, turn)
        wgmma.wait(0)
        store(out, d, 8)

    assert turns_in(body) == [None, None]


def test_so_is_a_loop_of_at_most_one_turn():
    """The first turn of a pipeline: it goes to the lesser of the number of turns and one."""

    def first(d: Value, a: Value, b: Value, n: Value, most: int = 1) -> None:
        upper = arith.binary("minsi", n, const(most))
        loop(const(0), upper, lambda _: group(d, a, b))

    assert pipeline(first) == [(4, 2, 2), None]
    # With two turns it is as much of a main loop as the other.
    assert pipeline(lambda *x: first(*x, most=2)) == [None, None]


def test_without_a_main_loop_nothing_is_rolled():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)
        group(d, a, b)
        wgmma.wait(0)
        store(out, d, 8)

    assert turns_in(body) == [None]


def test_the_loop_around_the_main_loop_is_not_the_innermost():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 8)

        def tile_(_: Value) -> None:
            group(d, a, b)
            loop(const(0), n, lambda i: staged(d, a, b, i))
            wgmma.wait(0)
            store(out, d, 8)

        loop(const(0), n, tile_)

    assert turns_in(body) == [(4, 2, 2), None]


def test_the_first_product_may_be_another_kind():
    """It does not add: it stands alone, and the others follow."""
    assert pipeline(lambda d, a, b, n: group(d, a, b, adds=0)) == [(1, 0, 0, 3, 2, 2), None]


def test_steps_may_change():
    """Two swizzled tiles side by side, each of four steps."""

    def first(d: Value, a: Value, b: Value, n: Value) -> None:
        layout = LayoutAttr((1, 1, (4, 2)), (0, 0, (2, 512)))
        wgmma.fence()
        wgmma.cute_wgmma(
            SS.name, tile(d, 8, (1, 0), (1, 0)), a, layout, b, layout, const(1, I1),
            highs=(HIGH, HIGH),
        )  # fmt: skip
        wgmma.commit()

    assert pipeline(first) == [(4, 2, 2, 4, 2, 2), None]


def test_calls_for_each_step_are_rolled_as_one():
    """Published kernels call `gemm` for each step, with descriptors that they add up."""

    def first(d: Value, a: Value, b: Value, n: Value) -> None:
        stage = arith.binary("muli", n, const(512))
        wgmma.fence()
        for s in range(4):
            step = arith.binary("addi", const(2 * s), stage)
            left, right = (arith.binary("addi", x, step) for x in (a, b))
            product(SS, d, left, right, const(1, I1))
        wgmma.commit()

    assert pipeline(first) == [(4, 2, 2), None]


def test_two_are_not_worth_a_loop_and_registers_do_not_count_up():
    assert pipeline(lambda d, a, b, n: group(d, a, b, 2)) == [None, None]

    def from_registers(d: Value, a: Value, b: Value, n: Value) -> None:
        group(d, cute.alloca(F16, 32), b, 4, RS)

    assert pipeline(from_registers) == [None, None]


@pytest.mark.parametrize("turns", [(4, 2), (0, 2, 2), (4, 2, 2, 4, 2, 2)])
def test_turns_that_fit_no_product_are_refused(turns: Turns):
    module = kernel(lambda out, a, b, n: _one(a, b))
    run_device_passes(module, target("sm_90a"))
    (function,) = kernels(module)
    (op,) = (o for o in function.walk() if isinstance(o, WgmmaOp))
    op.attributes["turns"] = DenseI32Attr((4, 2, 2))
    verify(function)
    op.attributes["turns"] = DenseI32Attr(turns)
    with pytest.raises(VerificationError, match="only products of descriptors"):
        verify(function)


def _one(a: Value, b: Value) -> None:
    group(cute.alloca(F32, 8), a, b, 1)
