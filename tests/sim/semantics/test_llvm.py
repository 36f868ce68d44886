# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The lowered form: pointers without element types, loads and stores with an alignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import MisalignedError, OutOfBoundsError, UninitializedError
from opencute.dialects import arith, llvm, scf
from opencute.dialects.llvm import GLOBAL, LLVMPointerType
from opencute.ir.builder import insert_at, new_block
from opencute.ir.types import F16, F32, I1, I8, I16, I32, I64, VectorType
from sim.building import const, kernel_module, launch, mul, thread

pytestmark = pytest.mark.t0
P = LLVMPointerType(GLOBAL)


def test_vector_loads_and_stores() -> None:
    def body(a: Any, b: Any) -> None:
        at = mul(thread(), const(8))
        v = llvm.load(llvm.gep(a, at, F16), VectorType(8, F16), 16, invariant=True)
        v = arith.binary("addf", v, v)
        llvm.store(v, llvm.gep(llvm.gep(b, at, F16), 0, F16), 16)

    x = np.arange(256, dtype=np.float16)
    y = np.zeros_like(x)
    sim = launch(kernel_module([P, P], body), 2, 16, x, y)
    np.testing.assert_array_equal(y, x + x)
    assert sim.report.accesses["read", "gmem", 16] == 32


def test_256_bit_accesses() -> None:
    def body(a: Any, b: Any) -> None:
        at = llvm.gep(a, mul(thread(), const(8)), F32)
        v = llvm.load(at, VectorType(8, F32), 32)
        llvm.store(v, llvm.gep(b, mul(thread(), const(8)), F32), 32)

    room = np.zeros(4 * 64 + 64, np.float32)
    start = (-room.ctypes.data % 32) // 4
    x, y = room[start : start + 64], room[start + 64 : start + 128]
    x[:] = np.arange(64)
    launch(kernel_module([P, P], body), 1, 8, x, y)
    np.testing.assert_array_equal(y, x)
    with pytest.raises(MisalignedError, match="multiple of 32"):
        launch(kernel_module([P, P], body), 1, 4, room[start + 4 : start + 64], y)


def test_indices_are_signed_and_64_bits_wide() -> None:
    def body(a: Any, b: Any) -> None:
        back = arith.binary("subi", const(3), thread())
        v = llvm.load(
            llvm.gep(llvm.gep(a, 4, I32), arith.binary("subi", back, const(4)), I32), I32, 4
        )
        llvm.store(v, llvm.gep(b, thread(), I32), 4)

    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    launch(kernel_module([P, P], body), 1, 4, x, y)
    assert y.tolist() == [3, 2, 1, 0]
    with pytest.raises(OutOfBoundsError, match="element -1 of 4"):
        launch(kernel_module([P, P], body), 1, 5, x, np.zeros(5, np.int32))


def test_stack_slots_bytes_and_bools() -> None:
    def body(a: Any, b: Any) -> None:
        slot = llvm.alloca(I8, 16, 16)
        word = llvm.load(llvm.gep(a, thread(), I32), I32, 4)
        llvm.store(word, llvm.gep(slot, 4, I8), 4)
        flag = arith.cmpi("sgt", word, const(1))
        llvm.store(flag, slot, 1)
        low = llvm.load(llvm.gep(slot, 4, I8), I8, 1)
        again = llvm.load(slot, I1, 1)
        v = arith.select(again, arith.cast("extsi", low, I32), const(-9))
        llvm.store(v, llvm.gep(b, thread(), I32), 4)

    x, y = np.array([1, 2, 0x1FF, 3], np.int32), np.zeros(4, np.int32)
    launch(kernel_module([P, P], body), 1, 4, x, y)
    assert y.tolist() == [-9, 2, -1, 3]


def test_stack_slots_are_tracked() -> None:
    def body(b: Any) -> None:
        slot = llvm.alloca(F32, 2, 8)
        llvm.store(const(1.0, F32), slot, 4)
        v = llvm.load(slot, VectorType(2, F32), 8)
        llvm.store(v, b, 8)

    with pytest.raises(UninitializedError, match="element 1"):
        launch(kernel_module([P], body), 1, 1, np.zeros(2, np.float32))


def test_a_stack_slot_reached_by_its_address() -> None:
    """Through an integer, in a divergent branch, at an offset that differs for each lane."""

    def body(b: Any) -> None:
        slot = llvm.alloca(I32, 4, 16)
        for k in range(4):
            llvm.store(const(10 * k), llvm.gep(slot, k, I32), 4)
        p = llvm.inttoptr(llvm.ptrtoint(llvm.addrspacecast(slot, 0)))
        own = llvm.gep(p, arith.binary("andi", thread(), const(3)), I32)
        then, block = new_block()
        with insert_at(block):
            llvm.store(thread(), own, 4)
            scf.yield_()
        orelse, block = new_block()
        with insert_at(block):
            scf.yield_()
        scf.if_(arith.cmpi("slt", thread(), const(3)), (), then, orelse)
        llvm.store(llvm.load(own, I32, 4), llvm.gep(b, thread(), I32), 4)

    y = np.zeros(8, np.int32)
    launch(kernel_module([P], body), 2, 4, y)
    assert y.tolist() == [0, 1, 2, 30, 0, 10, 20, 30]


def test_far_offsets_are_exact() -> None:
    def body(a: Any, b: Any) -> None:
        far = const((1 << 40) + 1, I64)
        p = llvm.gep(llvm.gep(a, far, F32), arith.binary("subi", const(1, I64), far), F32)
        llvm.store(llvm.load(p, F32, 4), b, 4)

    x, y = np.array([1, 2], np.float32), np.zeros(1, np.float32)
    launch(kernel_module([P, P], body), 1, 2, x, y)
    assert y[0] == 2


def test_less_than_natural_alignment_is_fine_where_it_is_said() -> None:
    def body(a: Any, b: Any, align: int) -> None:
        at = llvm.gep(a, arith.binary("addi", mul(thread(), const(4)), const(1)), I8)
        pair = llvm.load(at, VectorType(2, I16), align)
        llvm.store(pair, llvm.gep(b, arith.binary("addi", thread(), const(0)), I32), 2)
        word = llvm.load(llvm.gep(a, 1, I8), I32, align)
        llvm.store(word, llvm.gep(b, 4, I32), 4)

    x, y = np.arange(32, dtype=np.uint8), np.zeros(5, np.int32)
    launch(kernel_module([P, P], lambda a, b: body(a, b, 1)), 1, 4, x, y)
    want = [int.from_bytes(bytes(range(k, k + 4)), "little") for k in (1, 5, 9, 13, 1)]
    assert y.tolist() == want
    with pytest.raises(MisalignedError, match="multiple of 4"):
        launch(kernel_module([P, P], lambda a, b: body(a, b, 4)), 1, 4, x, y)
