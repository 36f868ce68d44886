# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Dead code, common subexpressions, constant folding."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ir.test_rewrite import function, names
from opencute.dialects import arith
from opencute.ir.attributes import Attribute, IntAttr
from opencute.ir.cleanup import FOLDERS, common_subexpressions, erase_dead, fold_constants, folder
from opencute.ir.core import Op, Value
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0
RETURN = '"func.return"() : () -> ()'
ADD = '"arith.addi"(%a, %a) : (i32, i32) -> i32'
YIELD = '"scf.yield"() : () -> ()'
PTR = "!cute.ptr<i32, gmem, align<4>>"
PRINT = '"cute.print"(%a) {format = "%d"} : (i32) -> ()'


def erased(body: str) -> tuple[int, list[str]]:
    op = function(f"{body} {RETURN}", f"%a: i32, %c: i1, %p: {PTR}")
    count = erase_dead(op)
    verify(op)
    return count, names(op)[1:-1]


DEAD = {
    "a chain": f'%x = {ADD} %y = "arith.muli"(%x, %x) : (i32, i32) -> i32',
    "a read": f'%x = "cute.load"(%p) : ({PTR}) -> i32',
    "an allocation": f'%x = "cute.alloca"() {{count = 4 : i64}} : () -> {PTR}',
    "assembly without effects": '%x = "llvm.inline_asm"(%a) {asm_string = "", constraints = ""} '
    ": (i32) -> i32",
    "a branch": f'"scf.if"(%c) ({{ %x = {ADD} {YIELD} }}, {{ {YIELD} }}) : (i1) -> ()',
    "a loop": f'"scf.for"(%a, %a, %a) ({{ ^bb0(%i: i32): {YIELD} }}) : (i32, i32, i32) -> ()',
}


@pytest.mark.parametrize("case", DEAD)
def test_dead(case: str):
    count, left = erased(DEAD[case])
    assert count > 0 and left == []


ALIVE = {
    "a write": f'"cute.store"(%a, %p) : (i32, {PTR}) -> ()',
    "a print": PRINT,
    "assembly with effects": '"llvm.inline_asm"() {asm_string = "", constraints = "", '
    "has_side_effects} : () -> ()",
    "a branch that prints": f'"scf.if"(%c) ({{ {PRINT} {YIELD} }}, {{ {YIELD} }}) : (i1) -> ()',
    "what a nested print needs": f'%a2 = {ADD} "scf.if"(%c) ({{ "cute.print"(%a2) '
    f'{{format = "%d"}} : (i32) -> () {YIELD} }}, {{ {YIELD} }}) : (i1) -> ()',
    "a while loop, which may not end": '"scf.while"() ({ "scf.condition"(%c) : (i1) -> () }, '
    f"{{ {YIELD} }}) : () -> ()",
}


@pytest.mark.parametrize("case", ALIVE)
def test_alive(case: str):
    count, left = erased(ALIVE[case])
    assert count == 0 and left


def test_dead_code_inside_of_a_live_region_goes():
    count, left = erased(
        f'"scf.if"(%c) ({{ %x = {ADD} {PRINT} {YIELD} }}, {{ {YIELD} }}) : (i1) -> ()'
    )
    assert count == 1
    assert left == ["scf.if", "cute.print", "scf.yield", "scf.yield"]


def test_unknown_operations_are_kept():
    op = function(RETURN, "%a: i32")
    op.regions[0].block.ops.insert(0, Op("other.op"))
    assert erase_dead(op) == 0


def test_common_subexpressions_within_a_block_and_into_regions():
    op = function(
        f"%x = {ADD} %y = {ADD} "
        f'%r = "scf.if"(%c) ({{ %z = {ADD} "scf.yield"(%z) : (i32) -> () }}, '
        '{ "scf.yield"(%y) : (i32) -> () }) : (i1) -> i32 "func.return"(%r) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    assert common_subexpressions(op) == 2
    verify(op)
    assert names(op).count("arith.addi") == 1


def test_regions_do_not_lend_to_each_other():
    op = function(
        f'%r = "scf.if"(%c) ({{ %x = {ADD} "scf.yield"(%x) : (i32) -> () }}, {{ %y = {ADD} '
        '"scf.yield"(%y) : (i32) -> () }) : (i1) -> i32 '
        f'%z = {ADD} "func.return"(%z) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    assert common_subexpressions(op) == 0


@pytest.mark.parametrize(
    "twice",
    [
        f'"cute.load"(%p) : ({PTR}) -> i32',
        f'"cute.alloca"() {{count = 4 : i64}} : () -> {PTR}',
        '"llvm.inline_asm"() {asm_string = "", constraints = "", has_side_effects} : () -> i32',
    ],
)
def test_reads_allocations_and_effects_are_not_merged(twice: str):
    op = function(f"%x = {twice} %y = {twice} {RETURN}", f"%p: {PTR}")
    assert common_subexpressions(op) == 0


def test_equal_means_equal_in_everything():
    op = function(
        '%x = "arith.constant"() {value = 0.0 : f32} : () -> f32 '
        '%y = "arith.constant"() {value = -0.0 : f32} : () -> f32 '
        '%n = "arith.constant"() {value = 0x7FFFFFFF : f32} : () -> f32 '
        '%m = "arith.constant"() {value = 0x7FFFFFFF : f32} : () -> f32 '
        '%v = "arith.extsi"(%a) : (i32) -> i64 '
        '%w = "arith.extui"(%a) : (i32) -> i64 ' + RETURN,
        "%a: i32",
    )
    assert common_subexpressions(op) == 1


def add(op: Op, constants: Sequence[Attribute | None]) -> Attribute | Value | None:
    a, b = constants
    if isinstance(a, IntAttr) and isinstance(b, IntAttr):
        return IntAttr(a.value + b.value, a.type)
    return op.operands[0] if b == IntAttr(0, op.result.type) else None


def test_folding_makes_constants_of_constants():
    op = function(
        '%one = "arith.constant"() {value = 1 : i32} : () -> i32 '
        '%two = "arith.addi"(%one, %one) : (i32, i32) -> i32 '
        '%four = "arith.addi"(%two, %two) : (i32, i32) -> i32 '
        '%zero = "arith.constant"() {value = 0 : i32} : () -> i32 '
        '%same = "arith.addi"(%a, %zero) : (i32, i32) -> i32 '
        '"func.return"(%four, %same) : (i32, i32) -> ()',
        "%a: i32",
        "(i32, i32)",
    )
    assert fold_constants(op, arith.constant_of, {"arith.addi": add}) == 3
    erase_dead(op)
    verify(op)
    block = op.regions[0].block
    assert names(op) == ["func.func", "arith.constant", "func.return"]
    assert block.ops[0].attributes["value"] == IntAttr(4, block.args[0].type)
    assert block.ops[1].operands[1] is block.args[0]


def test_folders_are_registered_once():
    folder("test.once")(add)
    try:
        with pytest.raises(ValueError, match=r"test\.once has two folders"):
            folder("test.once")(add)
    finally:
        del FOLDERS["test.once"]
