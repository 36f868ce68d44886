# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of the verifier that text cannot break; those it can are in ``tests/filetests/invalid``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute import dialects
from opencute.base.errors import VerificationError
from opencute.ir.attributes import IntAttr, StringAttr, SymbolAttr
from opencute.ir.core import Block, Op, Region
from opencute.ir.parser import parse
from opencute.ir.types import F32, I32
from opencute.ir.verifier import lookup_symbol, verify

pytestmark = pytest.mark.t0
assert dialects.__all__


def function(body: str, args: str = "%a: i32, %f: f32, %c: i1", results: str = "()") -> str:
    types = ", ".join(a.split(": ", 1)[1] for a in args.split(", ")) if args else ""
    return (
        f'"func.func"() ({{ ^bb0({args}): {body} }}) '
        f'{{sym_name = "f", function_type = ({types}) -> {results}}} : () -> ()'
    )


YIELD = '"scf.yield"() : () -> ()'
RETURN = '"func.return"() : () -> ()'
ADD = '%x = "arith.addi"(%a, %a) : (i32, i32) -> i32'


def body_of(op: Op) -> Block:
    return op.regions[0].block


def later(op: Op) -> None:
    ops = body_of(op).ops
    ops[0], ops[1], ops[2] = ops[2], ops[0], ops[1]


def from_inside(op: Op) -> None:
    ops = body_of(op).ops
    inner = ops[1].regions[0].block.ops[0]
    ops[2].operands = [inner.results[0], inner.results[0]]


def from_nowhere(op: Op) -> None:
    other = Op("arith.constant", (), (I32,), {"value": IntAttr(1, I32)})
    body_of(op).ops[0].operands[0] = other.results[0]


def wrong_parent(op: Op) -> None:
    body_of(op).ops[0].parent = None


def wrong_region(op: Op) -> None:
    op.regions[0].parent = None


def wrong_block(op: Op) -> None:
    body_of(op).parent = None


def twice(op: Op) -> None:
    ops = body_of(op).ops
    ops.insert(0, ops[0])


def foreign_result(op: Op) -> None:
    ops = body_of(op).ops
    ops[0].results, ops[2].results = ops[2].results, ops[0].results


def foreign_argument(op: Op) -> None:
    body_of(op).args.reverse()
    op.attributes["function_type"] = parse(
        '"a.b"() {t = (i1, f32, i32) -> ()} : () -> ()'
    ).attributes["t"]


BREAK: dict[str, tuple[str, Callable[[Op], None]]] = {
    "used before": ("OC1451", later),
    "inside of a region": ("OC1452", from_inside),
    "from nowhere": ("OC1454", from_nowhere),
    "parent of an operation": ("OC1456", wrong_parent),
    "parent of a region": ("OC1456", wrong_region),
    "parent of a block": ("OC1456", wrong_block),
    "an operation twice": ("OC1456", twice),
    "results swapped": ("OC1456", foreign_result),
    "arguments swapped": ("OC1456", foreign_argument),
}


@pytest.mark.parametrize("case", BREAK)
def test_broken_structure(case: str):
    code, change = BREAK[case]
    op = parse(
        function(
            f'{ADD} loc("k.py":5:7) "scf.if"(%c) ({{ '
            f'%y = "arith.muli"(%x, %x) : (i32, i32) -> i32 {YIELD} }}, {{ {YIELD} }}) '
            ': (i1) -> () loc("k.py":5:7) '
            '%z = "arith.subi"(%x, %x) : (i32, i32) -> i32 loc("k.py":5:7) '
            f'{RETURN} loc("k.py":5:7)'
        )
    )
    verify(op)
    change(op)
    with pytest.raises(VerificationError) as e:
        verify(op)
    assert e.value.code == code, e.value
    if case not in ("parent of a region", "parent of a block", "arguments swapped"):
        assert e.value.loc is not None
        assert (e.value.loc.file, e.value.loc.line, e.value.loc.col) == ("k.py", 5, 6)


def test_a_value_may_not_cross_an_isolated_operation():
    module = parse(
        f'"builtin.module"() ({{ {function(RETURN)} "gpu.module"() ({{ '
        '"gpu.func"() ({ ^bb0(%b: i32): "cute.print"(%b) {format = "%d"} : (i32) -> () '
        '"gpu.return"() : () -> () }) {sym_name = "k", function_type = (i32) -> ()} : () -> () '
        '}) {sym_name = "kernels"} : () -> () }) : () -> ()'
    )
    verify(module)
    host, kernels = body_of(module).ops
    body_of(body_of(kernels).ops[0]).ops[0].operands = [body_of(host).args[0]]
    with pytest.raises(VerificationError) as e:
        verify(module)
    assert e.value.code == "OC1453"


def test_values_of_the_entry_block_are_visible_in_the_others():
    def region(last: str) -> Op:
        return Op(last, (), (), None, [Region([Block((F32,)), Block((F32,)), Block()])])

    for source, good in ((0, True), (1, False)):
        op = region("func.func")
        op.attributes |= {"sym_name": StringAttr("f")}
        blocks = op.regions[0].blocks
        use = Op.make("arith.negf", (blocks[source].args[0],), (F32,))
        blocks[2].append(use)
        for block in blocks:
            block.append(Op.make("scf.yield"))
        # A function of several blocks is not declared; a plain block list shows the rule.
        from opencute.ir.verifier import _Verifier  # pyright: ignore[reportPrivateUsage]

        check = _Verifier(op)
        if good:
            check.region(op, op.regions[0], needs_terminator=True)
        else:
            with pytest.raises(VerificationError) as e:
                check.region(op, op.regions[0], needs_terminator=True)
            assert e.value.code == "OC1452"


def test_symbols_of_a_single_function_are_not_followed():
    verify(parse(function(f'"func.call"() {{callee = @elsewhere}} : () -> () {RETURN}')))


def test_lookup_symbol_follows_the_path():
    module = parse(
        f'"builtin.module"() ({{ "gpu.module"() ({{ {function(RETURN)} }}) '
        '{sym_name = "kernels"} : () -> () }) : () -> ()'
    )
    found = lookup_symbol(module, SymbolAttr(("kernels", "f")).path)
    assert found is not None and found.symbol == "f"
    assert lookup_symbol(module, ("kernels", "g")) is None
    assert lookup_symbol(module, ("nothing", "f")) is None
