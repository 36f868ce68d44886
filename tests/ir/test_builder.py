# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Insertion points and locations, and that building, checking and printing stay fast."""

from __future__ import annotations

import threading

import pytest

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.dialects import arith, cute
from opencute.dialects.cute import PtrType
from opencute.ir.builder import (
    at_loc,
    current_block,
    current_loc,
    insert_at,
    known_here,
    locating,
    new_block,
    set_loc,
)
from opencute.ir.types import F32, I1, I32, I64

pytestmark = pytest.mark.t0
HERE, THERE = Location("a.py", 1), Location("b.py", 2)


def test_operations_go_to_the_insertion_point():
    _, outer = new_block((I32,))
    _, inner = new_block()
    with insert_at(outer):
        x = arith.binary("addi", outer.args[0], outer.args[0])
        with insert_at(inner):
            arith.binary("muli", x, x)
            assert current_block() is inner
        arith.binary("subi", x, x)
    assert current_block() is None
    assert [op.name for op in outer.ops] == ["arith.addi", "arith.subi"]
    assert [op.name for op in inner.ops] == ["arith.muli"]
    assert all(op.parent is outer for op in outer.ops)


def test_building_outside_of_a_block_is_a_bug():
    with pytest.raises(LanguageError, match="outside of any block"):
        arith.constant(1, I32)


def test_locations():
    _, block = new_block()
    with insert_at(block):
        with at_loc(HERE):
            arith.constant(1, I32)
            set_loc(THERE)
            arith.constant(1, I32)
        with locating(lambda: THERE):
            arith.constant(1, I32)
            with at_loc(HERE):
                assert current_loc() == HERE
        arith.constant(1, I32)
    assert [op.loc for op in block.ops] == [HERE, THERE, THERE, None]


def test_each_thread_has_its_own_insertion_point():
    _, block = new_block()
    seen: list[object] = [block]
    with insert_at(block):
        thread = threading.Thread(target=lambda: seen.append(current_block()))
        thread.start()
        thread.join()
    assert seen == [block, None]


def test_equal_constants_of_a_block_are_built_once_while_tracing():
    _, outer = new_block()
    _, inner = new_block()
    with locating(lambda: HERE), insert_at(outer):
        one = arith.constant(1, I32)
        assert arith.constant(1, I32) is one
        assert arith.constant(1 + (1 << 32), I32) is not one  # wraps; nobody looks that closely
        with insert_at(inner):
            # Whether `outer` will be around this block is not known yet.
            assert arith.constant(1, I32) is not one
        assert arith.constant(1, I32) is one
    assert len(outer.ops) == 2 and len(inner.ops) == 1


def test_what_compares_equal_is_not_always_the_same_constant():
    _, block = new_block()
    with locating(lambda: HERE), insert_at(block):
        values = ((0.0, F32), (-0.0, F32), (0, I32), (1, I64), (1, I32), (True, I1))
        made = [arith.constant(value, type) for value, type in values]
    assert len({*made}) == len(block.ops) == len(made)


def test_passes_build_each_constant():
    """They build before operations that the block already has."""
    _, block = new_block()
    with insert_at(block):
        assert known_here() is None
        assert arith.constant(1, I32) is not arith.constant(1, I32)
    with locating(lambda: HERE), at_loc(THERE), insert_at(block):
        assert known_here() is None
    assert known_here() is None


def test_equal_moves_of_a_pointer_are_built_once_while_tracing():
    _, block = new_block((PtrType(F32, "gmem", 16), I32))
    ptr, n = block.args
    with locating(lambda: HERE), insert_at(block):
        moved = cute.ptr_add(ptr, n, 4)
        assert cute.ptr_add(ptr, n, 4) is moved
        assert cute.ptr_add(ptr, n, 8) is not moved  # what is known of it differs
        assert cute.ptr_add(moved, n, 4) is not moved
    assert len(block.ops) == 3
