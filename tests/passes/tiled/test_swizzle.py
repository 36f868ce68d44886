# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses with a swizzle, and the known zeros that they rest on, evaluated for many threads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects import arith, llvm
from opencute.dialects.cute import PtrType, storage_bits
from opencute.dialects.ptx import sreg
from opencute.dialects.smem import smem_base
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import BF16, I32
from opencute.passes.folding import int_of
from opencute.passes.tiled.bits import known_zeros
from opencute.passes.tiled.swizzle import Swizzles

pytestmark = pytest.mark.t0

BASE = 0x2400  # a multiple of 1024, as the base of shared memory is
ARITH: dict[str, Any] = {
    "addi": lambda a, b: a + b, "muli": lambda a, b: a * b, "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b, "remui": lambda a, b: a % b,
    "divui": lambda a, b: a // b, "shrui": lambda a, b: a >> b, "shli": lambda a, b: a << b,
}  # fmt: skip


def evaluate(value: Value, tid: int) -> int:
    """What a value is in a thread."""
    known = int_of(value)
    if known is not None:
        return known
    op: Any = value.op
    if op.name == "ptx.sreg":
        return tid
    if op.name == "ptx.smem_base":
        return BASE
    if op.name in ("llvm.ptrtoint", "llvm.inttoptr"):
        return evaluate(op.operands[0], tid)
    if op.name == "llvm.getelementptr":
        by = [evaluate(v, tid) for v in op.indices] or list(op.rawConstantIndices.values)
        return evaluate(op.base, tid) + by[0] * storage_bits(op.elem_type.value) // 8
    return ARITH[op.name.removeprefix("arith.")](*(evaluate(v, tid) for v in op.operands))


def constant(value: int) -> Value:
    return arith.constant(value, I32)


def expressions() -> st.SearchStrategy[Any]:
    """Trees of (operation, tree, constant or tree); leaves are the thread's index."""
    powers = st.sampled_from([1, 2, 4, 8, 16, 32, 64])
    small = st.integers(0, 300)

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.tuples(st.sampled_from(["remui", "divui", "muli"]), inner, powers),
            st.tuples(st.sampled_from(["addi", "andi", "ori", "xori", "muli"]), inner, small),
            st.tuples(st.sampled_from(["shrui", "shli"]), inner, st.integers(0, 3)),
            st.tuples(st.sampled_from(["addi", "ori", "xori", "andi"]), inner, inner),
        )

    return st.recursive(st.just("tid"), grow, max_leaves=6)


def build(tree: Any) -> Value:
    if tree == "tid":
        return sreg("tid.x")
    if isinstance(tree, int):
        return constant(tree)
    return arith.binary(tree[0], build(tree[1]), build(tree[2]))


@settings(max_examples=100, deadline=None)
@given(expressions(), st.integers(0, 1023))
def test_known_zeros_are_zero(tree: Any, tid: int) -> None:
    _, block = new_block()
    with insert_at(block):
        value = build(tree)
        number = evaluate(value, tid)
        if number < 1 << 31:  # nothing wrapped
            assert number & known_zeros(value) == 0


@pytest.mark.parametrize("swizzle", [(3, 4, 3), (2, 4, 3), (3, 4, 4), (1, 5, 2)])
@pytest.mark.parametrize("scale", [8, 16, 72])
def test_addresses(swizzle: tuple[int, int, int], scale: int) -> None:
    type = PtrType(BF16, "smem", 16, swizzle)
    bits, base, shift = swizzle
    _, block = new_block()
    with insert_at(block):
        tid = sreg("tid.x")
        rest = arith.binary("remui", tid, constant(8))
        lines = arith.binary("muli", arith.binary("divui", tid, constant(8)), constant(64))
        offset = arith.binary("addi", arith.binary("muli", rest, constant(scale)), lines)
        swizzles = Swizzles()
        moved = swizzles.advanced(llvm.gep(smem_base(), 2048, BF16), offset, type)
        for more in (0, 32, 64, 96, 512, 4128, 40):
            place, immediate = swizzles.split_address(moved, more, type)
            for thread in range(0, 256, 3):
                plain = BASE + 4096 + 2 * evaluate(offset, thread) + more
                want = plain ^ (plain >> shift & ((1 << bits) - 1) << base)
                assert evaluate(place, thread) + immediate == want


def test_one_swizzle_serves_a_tile() -> None:
    type = PtrType(BF16, "smem", 16, (3, 4, 3))
    _, block = new_block()
    with insert_at(block):
        lines = arith.binary("muli", sreg("tid.x"), constant(64))
        swizzles = Swizzles()
        moved = swizzles.advanced(smem_base(), lines, type)
        before = sum(op.name == "arith.shrui" for op in block.ops)
        for more in (0, 32, 64, 96, 1024):
            swizzles.split_address(moved, more, type)
        assert before == sum(op.name == "arith.shrui" for op in block.ops) == 1
