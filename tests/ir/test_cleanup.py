# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Dead code, common subexpressions, constant folding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ir.test_rewrite import function, names
from opencute.dialects import arith, builtin
from opencute.ir.attributes import Attribute, IntAttr
from opencute.ir.cleanup import (
    FOLDERS,
    Cleaner,
    Folder,
    constant_of,
    erase_dead,
    fold,
    fold_and_merge,
    folder,
)
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Rewriter
from opencute.ir.types import I32
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
    "assembly without effects": '%x = "llvm.inline_asm"(%a) {asm_string = "", '
    'constraints = "=r,r"} : (i32) -> i32',
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


def merged(op: Op, **options: object) -> int:
    count = fold_and_merge(op, arith.constant_of, **options)  # type: ignore[arg-type]
    verify(op)
    return count


def test_equal_operations_are_merged_within_a_block_and_into_regions():
    op = function(
        f"%x = {ADD} %y = {ADD} "
        f'%r = "scf.if"(%c) ({{ %z = {ADD} "scf.yield"(%z) : (i32) -> () }}, '
        '{ "scf.yield"(%y) : (i32) -> () }) : (i1) -> i32 "func.return"(%r) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    assert merged(op.clone({}), local=(I32,)) == 1
    assert merged(op) == 2
    assert names(op).count("arith.addi") == 1


def test_regions_do_not_lend_to_each_other():
    op = function(
        f'%r = "scf.if"(%c) ({{ %x = {ADD} "scf.yield"(%x) : (i32) -> () }}, {{ %y = {ADD} '
        '"scf.yield"(%y) : (i32) -> () }) : (i1) -> i32 '
        f'%z = {ADD} "func.return"(%z) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    assert merged(op) == 0


@pytest.mark.parametrize(
    "twice",
    [
        f'"cute.load"(%p) : ({PTR}) -> i32',
        f'"cute.alloca"() {{count = 4 : i64}} : () -> {PTR}',
        '"llvm.inline_asm"() {asm_string = "", constraints = "=r", has_side_effects} : () -> i32',
    ],
)
def test_reads_allocations_and_effects_are_not_merged(twice: str):
    op = function(f"%x = {twice} %y = {twice} {RETURN}", f"%p: {PTR}")
    assert merged(op) == 0


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
    merged(op)
    assert names(op)[1:-1] == [*["arith.constant"] * 3, "arith.extsi", "arith.extui"]


@pytest.fixture
def other_folders() -> Iterator[dict[str, Folder]]:
    """No folders but those that the test adds."""
    before = dict(FOLDERS)
    FOLDERS.clear()
    yield FOLDERS
    FOLDERS.clear()
    FOLDERS.update(before)


def add(op: Op, constants: Sequence[Attribute | None]) -> Attribute | Value | None:
    a, b = constants
    if isinstance(a, IntAttr) and isinstance(b, IntAttr):
        return IntAttr(a.value + b.value, a.type)
    return op.operands[0] if b == IntAttr(0, op.result.type) else None


def test_folding_makes_constants_of_constants(other_folders: dict[str, Folder]):
    folder("arith.addi")(add)
    op = function(
        '%r = "scf.if"(%c) ({ %one = "arith.constant"() {value = 1 : i32} : () -> i32 '
        '%two = "arith.addi"(%one, %one) : (i32, i32) -> i32 '
        '%four = "arith.addi"(%two, %two) : (i32, i32) -> i32 '
        '%zero = "arith.constant"() {value = 0 : i32} : () -> i32 '
        '%same = "arith.addi"(%a, %zero) : (i32, i32) -> i32 '
        '"scf.yield"(%four) : (i32) -> () }, '
        '{ "scf.yield"(%a) : (i32) -> () }) : (i1) -> i32 "func.return"(%r) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    assert merged(op) == 5
    erase_dead(op)
    verify(op)
    block = op.regions[0].block
    assert names(op)[:3] == ["func.func", "arith.constant", "scf.if"]
    assert constant_of(block.ops[0].result) == IntAttr(4, I32)
    assert constant_of(block.args[0]) is None


def test_constants_of_a_function_stay_in_it():
    one = '%one = "arith.constant"() {value = 1 : i32} : () -> i32 '
    module, top = builtin.module()
    for _ in range(2):
        top.append(function(one + one.replace("one", "two") + RETURN, "%a: i32"))
    assert fold_and_merge(module, arith.constant_of) == 4
    assert names(module)[1:] == ["func.func", "arith.constant", "func.return"] * 2


def test_a_rule_comes_first():
    op = function(f"%x = {ADD} {RETURN}", "%a: i32, %c: i1, %p: i32")

    def rule(op: Op, rw: Rewriter) -> Value:
        assert isinstance(rw, Cleaner)
        return rw.constant(IntAttr(7, I32), I32)

    merged(op, rules={"arith.addi": rule})
    assert names(op)[1:-1] == ["arith.constant"]


def test_fold_of_one_operation(other_folders: dict[str, Folder]):
    folder("arith.addi")(add)
    op = function(f"%x = {ADD} {RETURN}", "%a: i32")
    assert fold(op.regions[0].block.ops[0]) is None
    assert fold(op.regions[0].block.ops[1]) is None


def test_folders_are_registered_once():
    folder("test.once")(add)
    try:
        with pytest.raises(ValueError, match=r"test\.once has two folders"):
            folder("test.once")(add)
    finally:
        del FOLDERS["test.once"]
