# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Insertion points and locations, and that building, checking and printing stay fast."""

from __future__ import annotations

import threading

import pytest

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.dialects import arith
from opencute.ir.builder import (
    at_loc,
    current_block,
    current_loc,
    insert_at,
    locating,
    new_block,
    set_loc,
)
from opencute.ir.types import I32

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
