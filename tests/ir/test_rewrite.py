# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Forward walks: replacing, keeping, converting types, inlining and unrolling."""

from __future__ import annotations

import pytest

from opencute.base.errors import VerificationError
from opencute.base.location import Location
from opencute.dialects import arith, builtin, cute, func, llvm, scf
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import insert_at
from opencute.ir.core import Op, Value
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.rewrite import (
    Replacement,
    Rewriter,
    Rules,
    inline_block,
    replace_uses,
    rewrite_block,
)
from opencute.ir.types import I32, Type
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0


def function(body: str, args: str, results: str = "()") -> Op:
    types = ", ".join(a.split(": ", 1)[1] for a in args.split(", %"))
    op = parse(
        f'"func.func"() ({{ ^bb0({args}): {body} }}) '
        f'{{sym_name = "f", function_type = ({types}) -> {results}}} : () -> ()'
    )
    verify(op)
    return op


def names(op: Op) -> list[str]:
    return [o.name for o in op.walk()]


DOUBLE = function(
    '%x = "arith.addi"(%a, %a) : (i32, i32) -> i32 loc("k.py":3:1) '
    '%y = "arith.muli"(%x, %a) : (i32, i32) -> i32 "func.return"(%y) : (i32) -> ()',
    "%a: i32",
    "i32",
)


def test_a_rule_replaces_and_keeps_location_and_name():
    op = DOUBLE.clone({})
    rules = Rules()

    @rules.on("arith.addi")
    def _(op: Op, rw: Rewriter) -> Replacement:
        return arith.binary("shli", op.operands[0], arith.constant(1, I32))

    assert rules.apply(op) == 1
    verify(op)
    ops = op.regions[0].block.ops
    assert [o.name for o in ops] == ["arith.constant", "arith.shli", "arith.muli", "func.return"]
    assert ops[1].loc == ops[0].loc == Location("k.py", 3, 0)
    assert ops[1].result.hint == "x"
    assert ops[2].operands[0] is ops[1].result


def test_two_rules_for_one_operation_are_refused():
    rules = Rules()
    rules.on("arith.addi")(lambda op, rw: None)
    with pytest.raises(ValueError, match=r"two rules for arith\.addi"):
        rules.on("arith.addi")(lambda op, rw: None)


def test_rewrite_block_returns_the_substitution():
    op = DOUBLE.clone({})
    block = op.regions[0].block
    x = block.ops[0].result
    values = rewrite_block(block, lambda o: o.operands[0] if o.name == "arith.addi" else None)
    assert values[x] is block.args[0]
    assert names(op) == ["func.func", "arith.muli", "func.return"]
    verify(op)


def test_wrong_number_of_replacements_is_an_error():
    op = DOUBLE.clone({})
    with pytest.raises(ValueError, match="zip"):
        rewrite_block(op.regions[0].block, lambda o: [] if o.name == "arith.addi" else None)


def test_errors_of_rules_are_placed_at_the_operation():
    def fail(op: Op) -> Replacement:
        raise VerificationError("no")

    with pytest.raises(VerificationError) as e:
        rewrite_block(DOUBLE.clone({}).regions[0].block, fail)
    assert e.value.loc == Location("k.py", 3, 0)


POINTERS = function(
    '%q = "cute.ptr_add"(%p, %n) : (!cute.ptr<f16, gmem, align<16>>, i64) '
    "-> !cute.ptr<f16, gmem, align<2>> "
    '%r = "scf.for"(%n, %n, %n, %q) ({ ^bb0(%i: i64, %carried: !cute.ptr<f16, gmem, align<2>>): '
    '%x = "cute.load"(%carried) : (!cute.ptr<f16, gmem, align<2>>) -> f16 '
    '"cute.store"(%x, %carried) : (f16, !cute.ptr<f16, gmem, align<2>>) -> () '
    '"scf.yield"(%carried) : (!cute.ptr<f16, gmem, align<2>>) -> () '
    "}) : (i64, i64, i64, !cute.ptr<f16, gmem, align<2>>) -> !cute.ptr<f16, gmem, align<2>> "
    '%y = "cute.load"(%r) : (!cute.ptr<f16, gmem, align<2>>) -> f16 '
    '"func.return"() : () -> ()',
    "%p: !cute.ptr<f16, gmem, align<16>>, %n: i64",
)


def lower_type(type: Type) -> Type:
    return llvm.LLVMPointerType(llvm.GLOBAL) if isinstance(type, cute.PtrType) else type


def pointer_rules(seen: list[Type]) -> Rules:
    rules = Rules()

    @rules.on("cute.ptr_add")
    def _(op: Op, rw: Rewriter) -> Replacement:
        seen.append(rw.source_type(0))
        assert isinstance(op.operands[0].type, llvm.LLVMPointerType)
        type = rw.source_type(0)
        assert isinstance(type, cute.PtrType)
        return llvm.gep(op.operands[0], op.operands[1], type.element)

    @rules.on("cute.load")
    def _(op: Op, rw: Rewriter) -> Replacement:
        seen.append(rw.source_type(0))
        return llvm.load(op.operands[0], op.result.type, 2)

    @rules.on("cute.store")
    def _(op: Op, rw: Rewriter) -> Replacement:
        seen.append(rw.source_type(1))
        llvm.store(op.operands[0], op.operands[1], 2)
        return ()

    return rules


def test_types_of_arguments_results_and_functions_are_converted():
    op = POINTERS.clone({})
    seen: list[Type] = []
    assert pointer_rules(seen).apply(op, convert_type=lower_type) == 4
    verify(op)
    assert "cute" not in print_op(op)
    align = [t.align for t in seen if isinstance(t, cute.PtrType)]
    assert align == [16, 2, 2, 2]


def test_one_value_seen_as_two_types_keeps_both_source_types():
    op = function(
        '%q = "cute.recast"(%p) : (!cute.ptr<f16, gmem, align<16>>) '
        "-> !cute.ptr<i8, gmem, align<1>> "
        '%x = "cute.load"(%q) : (!cute.ptr<i8, gmem, align<1>>) -> i8 '
        '%y = "cute.load"(%p) : (!cute.ptr<f16, gmem, align<16>>) -> f16 '
        '"func.return"() : () -> ()',
        "%p: !cute.ptr<f16, gmem, align<16>>",
    )
    seen: list[Type] = []
    rules = pointer_rules(seen)
    rules.on("cute.recast")(lambda op, rw: op.operands[0])
    rules.apply(op, convert_type=lower_type)
    verify(op)
    assert [str(t.element) for t in seen if isinstance(t, cute.PtrType)] == ["i8", "f16"]


LOOP = function(
    '%n = "arith.constant"() {value = 3 : i32} : () -> i32 '
    '%zero = "arith.constant"() {value = 0 : i32} : () -> i32 '
    '%one = "arith.constant"() {value = 1 : i32} : () -> i32 '
    '%r = "scf.for"(%zero, %n, %one, %a) ({ ^bb0(%i: i32, %acc: i32): '
    '%s = "arith.addi"(%acc, %i) : (i32, i32) -> i32 "scf.yield"(%s) : (i32) -> () '
    "}) : (i32, i32, i32, i32) -> i32 "
    '"func.return"(%r) : (i32) -> ()',
    "%a: i32",
    "i32",
)


def test_a_rule_unrolls_by_inlining_copies():
    op = LOOP.clone({})
    rules = Rules()

    @rules.on("scf.for")
    def _(op: Op, rw: Rewriter) -> Replacement:
        carried: list[Value] = list(op.operands[3:])
        for i in range(3):
            index = arith.constant(i, I32)
            carried = rw.inline(op.regions[0].block, [index, *carried], clone=True)
        return carried

    adds: list[Op] = []

    @rules.on("arith.addi")
    def _(op: Op, rw: Rewriter) -> Replacement:
        adds.append(op)
        return None

    rules.apply(op)
    verify(op)
    assert names(op).count("arith.addi") == len(adds) == 3
    assert "scf.for" not in names(op)


def test_a_rule_inlines_a_branch_by_moving_it():
    op = function(
        '%r = "scf.if"(%c) ({ %s = "arith.addi"(%a, %a) : (i32, i32) -> i32 '
        '"scf.if"(%c) ({ "scf.yield"() : () -> () }, { "scf.yield"() : () -> () }) : (i1) -> () '
        '"scf.yield"(%s) : (i32) -> () }, { "scf.yield"(%a) : (i32) -> () }) : (i1) -> i32 '
        '"func.return"(%r) : (i32) -> ()',
        "%a: i32, %c: i1",
        "i32",
    )
    visits: list[str] = []

    def rule(op: Op, rw: Rewriter) -> Replacement:
        visits.append(op.name)
        if op.name == "scf.if" and op.results:
            return rw.inline(op.regions[0].block, [])
        return None

    Rewriter(rule).run(op)
    verify(op)
    inner = ["arith.addi", "scf.if", "scf.yield", "scf.yield"]
    assert visits == ["scf.if", *inner, "func.return"]
    assert names(op) == ["func.func", *inner, "func.return"]


def test_keep_builds_after_the_operation():
    op = DOUBLE.clone({})
    rules = Rules()

    @rules.on("arith.addi")
    def _(op: Op, rw: Rewriter) -> Replacement:
        (x,) = rw.keep(op)
        return arith.binary("xori", x, x)

    rules.apply(op)
    verify(op)
    assert names(op)[1:4] == ["arith.addi", "arith.xori", "arith.muli"]


def test_old_code_in_a_new_region_is_rewritten():
    op = LOOP.clone({})
    rules = Rules()

    @rules.on("scf.for")
    def _(op: Op, rw: Rewriter) -> Replacement:
        if "done" in op.attributes:
            return None
        lower, upper, step, *inits = op.operands
        new = scf.for_(lower, upper, step, inits, op.regions[0])
        new.attributes["done"] = IntAttr(1)
        return new.results

    rules.on("arith.addi")(lambda op, rw: arith.binary("subi", *op.operands))
    rules.apply(op)
    verify(op)
    assert "arith.addi" not in names(op)
    assert names(op).count("scf.for") == names(op).count("arith.subi") == 1


def test_inline_block_copies():
    module, top = builtin.module()
    with insert_at(top):
        _, body = func.func("g", (I32,), (I32,))
        with insert_at(body):
            func.return_(inline_block(DOUBLE.regions[0].block, body.args))
    verify(module)
    assert names(module)[2:] == ["arith.addi", "arith.muli", "func.return"]
    verify(DOUBLE)


def test_replace_uses():
    op = DOUBLE.clone({})
    block = op.regions[0].block
    replace_uses(op, {block.ops[0].result: block.args[0]})
    assert block.ops[1].operands == [block.args[0]] * 2
