# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which accumulators stand in registers that PTX declares, and what is read from them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codegen.compiling import assemble, to_ptx
from codegen.hopper.test_wgmma import const, kernel, loop, product, quiet
from opencute.arch.wgmma import wgmma_atom
from opencute.codegen.sass import read_sass
from opencute.dialects import arith, cute, scf
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.hopper import wgmma
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import F32, I1, VectorType

pytestmark = pytest.mark.t1

ATOM = wgmma_atom("wgmma.m64n64k16.f32.f16.f16.ss")
Body = Callable[[Value, Value, Value, Value], None]


def fragment(value: float = 0.0) -> Value:
    """An accumulator that is filled."""
    d = cute.alloca(F32, 32)
    cute.tile_store(arith.constant(value, VectorType(32, F32)), d, LayoutAttr(32, 1))
    return d


def group(d: Value, a: Value, b: Value, adds: int = 1) -> None:
    wgmma.fence()
    product(ATOM, d, a, b, const(adds, I1), 2)
    wgmma.commit()


def store(out: Value, d: Value, count: int, which: int = 0) -> None:
    """Each element on its own, as epilogues take them."""
    for i in range(count):
        value = cute.load(cute.ptr_add(d, const(i), 4))
        cute.store(value, cute.ptr_add(out, const(count * which + i), 4))


def main_loop(out: Value, a: Value, b: Value, n: Value) -> None:
    d = fragment()
    loop(n, lambda _: (group(d, a, b), wgmma.wait(1)))
    wgmma.wait(0)
    store(out, d, 32)


def declared(body: Body) -> int:
    """How many accumulators PTX declares; the code is taken as it is by ptxas."""
    code = assemble(kernel(body))
    quiet(code)
    return code.ptx.count(".reg .f32 %acc")


def test_llvm_does_not_see_the_accumulator_of_a_main_loop():
    ir = to_ptx(kernel(main_loop)).llvm_ir
    assert "phi float" not in ir and "extractvalue %s" not in ir
    assert [ir.count(f"mov.b32 $0, %acca{i};") for i in (0, 31)] == [1, 1]
    assert ir.count("mov.b32 %acca31, 0;") == 1


def test_its_machine_code_has_no_moves_for_that():
    code = assemble(kernel(main_loop))
    quiet(code)
    sass = read_sass(code.cubin)
    # Of 32 registers; those of addresses and counts are few.
    assert sass.count("MOV R") + sass.count("IMAD.MOV") < 16
    assert "%acca<32>" in code.ptx


def test_each_accumulator_has_registers_of_its_own():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        one, two = fragment(), fragment()
        loop(n, lambda _: (group(one, a, b), group(two, b, a), wgmma.wait(0)))
        store(out, one, 32)
        store(out, two, 32, 1)

    assert declared(body) == 2


def test_an_accumulator_is_filled_again_for_the_next_tile():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        loop(n, lambda _: main_loop(out, a, b, n))

    assert declared(body) == 1


def test_branches_give_it_on():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = fragment()

        def turn(i: Value) -> None:
            then, block = new_block()
            with insert_at(block):
                group(d, a, b)
                wgmma.wait(0)
                scf.yield_([])
            orelse, block = new_block()
            with insert_at(block):
                scf.yield_([])
            scf.if_(arith.cmpi("slt", i, const(3)), [], then, orelse)

        loop(n, turn)
        store(out, d, 32)

    assert declared(body) == 1


def test_what_is_read_after_the_next_product_is_a_value():
    """The sums of the turn before are stored while the next product has taken their place."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d, before = fragment(), cute.alloca(F32, 32)
        layout = LayoutAttr(32, 1)

        def turn(_: Value) -> None:
            old = cute.tile_load(d, layout)
            group(d, a, b)
            wgmma.wait(0)
            cute.tile_store(old, before, layout)

        cute.tile_store(arith.constant(0.0, VectorType(32, F32)), before, layout)
        loop(n, turn)
        store(out, d, 32)
        store(out, before, 32, 1)

    assert ".reg .f32 %acc" not in to_ptx(kernel(body)).ptx


@pytest.mark.parametrize("value", [1.0, -0.0])
def test_other_first_values_are_values(value: float):
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = fragment(value)
        loop(n, lambda _: (group(d, a, b), wgmma.wait(0)))
        store(out, d, 32)

    assert ".reg .f32 %acc" not in to_ptx(kernel(body)).ptx


def test_without_a_loop_they_are_values():
    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = fragment()
        group(d, a, b)
        wgmma.wait(0)
        store(out, d, 32)

    assert ".reg .f32 %acc" not in to_ptx(kernel(body)).ptx
