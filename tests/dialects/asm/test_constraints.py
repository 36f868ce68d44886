# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline assembly that would end LLVM's process is refused before, with a reason."""

from __future__ import annotations

import pytest

from opencute.dialects.asm.constraints import check_asm, parse_constraints, template_parts
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    IntegerType,
    Type,
    VectorType,
)

pytestmark = pytest.mark.t0

I128 = IntegerType(128)


def test_a_constraint_string_is_read() -> None:
    s = parse_constraints("=r, =&l, l, 0, n, ~{memory}")
    assert [(o.letter, o.early) for o in s.outputs] == [("r", False), ("l", True)]
    assert [(i.letter, i.tied) for i in s.inputs] == [("l", None), ("r", 0), ("n", None)]
    assert s.memory
    assert parse_constraints("").outputs == ()


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        ("=z", "is no output"),
        ("z", "is no constraint"),
        ("=r,+r", "read-write operands"),
        ("r,=r", "stands after an input"),
        ("=r,1", "ties an input to output 1; there are 1"),
        ("=r,0,0", "two inputs are tied"),
        ("=r,r,~{memory},r", "stands after a clobber"),
        ("~{cc}", "the only one there is"),
        ("=rm", "is no output"),
        ("X", "is no constraint"),
        ("*m", "is no constraint"),
        ("=", "is no output"),
        ("=r,,r", "is no constraint"),
        ("{r1}", "is no constraint"),
        ("=i", "is no output"),
    ],
)
def test_wrong_constraints(constraints: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_constraints(constraints)


def test_a_template_is_taken_apart() -> None:
    assert template_parts("mov.b32 $0, ${1}; // $$5") == [
        "mov.b32 ", 0, ", ", 1, "; // ", "$", "5",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["$", "a $ b", "${0:z}", "${x}", "$x", "mov \0", "mov é"])
def test_wrong_templates(text: str) -> None:
    with pytest.raises(ValueError, match=r"dollar|cannot stand"):
        template_parts(text)


@pytest.mark.parametrize(
    ("letter", "type"),
    [
        ("r", I32), ("r", F32), ("f", F32), ("f", I32), ("l", I64), ("d", F64), ("l", F64),
        ("h", I16), ("h", F16), ("h", BF16), ("q", I128), ("b", I1), ("r", I1), ("r", I8),
        ("h", I8), ("l", I32), ("r", VectorType(2, F16)), ("l", VectorType(2, F32)),
        ("l", LLVMPointerType(1)), ("c", I8),
    ],
)  # fmt: skip
def test_what_fits(letter: str, type: Type) -> None:
    check_asm("mov $0, $1;", f"={letter},{letter}", [(type, False)], [type])


@pytest.mark.parametrize(
    ("letter", "type"),
    [
        ("r", I64), ("r", F64), ("f", F64), ("l", F32), ("h", F32), ("h", I32), ("b", I32),
        ("q", I64.__class__(129)), ("r", VectorType(4, F16)), ("r", VectorType(2, F32)),
        ("r", LLVMPointerType(1)), ("d", I32), ("f", I16), ("r", F16),
    ],
)  # fmt: skip
def test_what_does_not_fit(letter: str, type: Type) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        check_asm("mov $0, $1;", f"=r,{letter}", [(type, False)], [I32])


def test_counts_constants_and_braces() -> None:
    check_asm("mov.b32 $0, $1;", "=r,n", [(I32, True)], [I32])
    with pytest.raises(ValueError, match="takes an integer constant"):
        check_asm("mov.b32 $0, $1;", "=r,n", [(I32, False)], [I32])
    with pytest.raises(ValueError, match="name 1 inputs, there are 2"):
        check_asm("", "=r,r", [(I32, False), (I32, False)], [I32])
    with pytest.raises(ValueError, match="name 1 outputs, there are 0"):
        check_asm("", "=r,r", [(I32, False)], [])
    with pytest.raises(ValueError, match=r"names operand \$2; there are 2"):
        check_asm("mov.b32 $0, $2;", "=r,r", [(I32, False)], [I32])
    with pytest.raises(ValueError, match="braces do not match"):
        check_asm("{ mov.b32 $0, $1;", "=r,r", [(I32, False)], [I32])
    with pytest.raises(ValueError, match="is tied to an output of type"):
        check_asm("", "=r,0", [(I8, False)], [I32])
