# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each check with a kernel that passes and one that it must catch."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import (
    MisalignedError,
    OutOfBoundsError,
    SimulationError,
    UninitializedError,
)
from opencute.dialects import arith, cute, llvm, ptx, scf, vector
from opencute.dialects.cute import LayoutAttr, Tile
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op
from opencute.ir.types import F16, F32, I1, I32, I64, VectorType
from opencute.sim import Buffer, Simulator
from sim.building import add, const, function_module, kernel_module, launch, line, mul, ptr, thread

pytestmark = pytest.mark.t0
FOUR = LayoutAttr((4,), (1,))


# ---------------------------------------------------------------------- bounds
def shifted_copy(shift: int) -> Op:
    def body(a: Any, b: Any) -> None:
        with line(41):
            v = cute.load(cute.ptr_add(a, add(thread(), const(shift)), 4))
        cute.store(v, cute.ptr_add(b, thread(), 4))

    return kernel_module([ptr(F32, 4)] * 2, body)


def test_bounds_in_range() -> None:
    a, b = np.arange(66, dtype=np.float32), np.zeros(64, np.float32)
    launch(shifted_copy(2), 2, 32, a, b)
    np.testing.assert_array_equal(b, a[2:])


def test_bounds_past_the_end() -> None:
    a, b = np.arange(66, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(OutOfBoundsError) as e:
        launch(shifted_copy(5), 2, 32, a, b)
    assert e.value.loc is not None and e.value.loc.line == 41
    text = str(e.value)
    assert "read outside of 'arg0': element 66 of 66" in text
    assert "block (1, 0, 0), thread (29, 0, 0) (and 2 more threads)" in text


def test_bounds_before_the_start() -> None:
    a, b = np.arange(66, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(OutOfBoundsError, match=r"element -1 of 66.*thread \(0, 0, 0\)"):
        launch(shifted_copy(-1), 2, 32, a, b)


def test_a_neighbouring_array_is_no_excuse() -> None:
    """Both halves lie in one allocation, but the pointer belongs to the first."""
    both = np.arange(128, dtype=np.float32)
    with pytest.raises(OutOfBoundsError, match="element 64 of 64"):
        launch(shifted_copy(1), 2, 32, both[:64], both[64:])


def tile_module(space_align: int, offset: int) -> Op:
    def body(a: Any) -> None:
        at = cute.ptr_add(a, add(mul(thread(), const(4)), const(offset)), space_align)
        v = cute.tile_load(at, FOUR)
        with line(52):
            cute.tile_store(arith.binary("addf", v, v), at, FOUR)

    return kernel_module([ptr(F32)], body)


def test_a_vector_that_sticks_out() -> None:
    a = np.zeros(64, np.float32)
    launch(tile_module(16, 0), 1, 16, a)
    with pytest.raises(OutOfBoundsError, match="elements 64 to 67 of 66"):
        launch(tile_module(4, 0), 1, 17, np.zeros(66, np.float32))


def test_scattered_and_uniform_writes_out_of_bounds() -> None:
    def body(a: Any) -> None:
        cute.store(const(1.0, F32), cute.ptr_add(a, const(9), 4))

    with pytest.raises(OutOfBoundsError, match="write outside of 'arg0': element 9 of 8"):
        launch(kernel_module([ptr(F32)], body), 1, 4, np.zeros(8, np.float32))


def test_registers_have_bounds() -> None:
    def body(a: Any, shift: int) -> None:
        r = cute.alloca(F32, 4)
        cute.tile_store(vector.broadcast(const(1.0, F32), 4), r, FOUR)
        k = arith.binary("remui", thread(), const(4))
        v = cute.load(cute.ptr_add(r, add(k, const(shift)), 4))
        cute.store(v, cute.ptr_add(a, thread(), 4))

    launch(kernel_module([ptr(F32)], lambda a: body(a, 0)), 1, 8, np.zeros(8, np.float32))
    with pytest.raises(OutOfBoundsError, match=r"'registers from kernel.py:1': element 4 of 4"):
        launch(kernel_module([ptr(F32)], lambda a: body(a, 1)), 1, 8, np.zeros(8, np.float32))


# ---------------------------------------------------------------------- alignment
def test_alignment() -> None:
    a = np.zeros(68, np.float32)
    launch(tile_module(4, 1), 1, 16, a)  # the pointer promises 4 bytes only
    with pytest.raises(MisalignedError, match=r"byte offset 4, block .* thread \(0, 0, 0\)") as e:
        launch(tile_module(16, 1), 1, 16, a)
    assert e.value.expected == "an address that is a multiple of 16"


def test_alignment_of_the_array_itself_counts() -> None:
    room = np.zeros(4 * 64 + 32, np.uint8)
    start = -room.ctypes.data % 16
    good = room[start : start + 256].view(np.float32)
    bad = room[start + 4 : start + 260].view(np.float32)
    launch(tile_module(16, 0), 1, 16, good)
    with pytest.raises(MisalignedError, match="4 past one"):
        launch(tile_module(16, 0), 1, 16, bad)


def test_scalars_need_their_own_alignment() -> None:
    def body(a: Any) -> None:
        p = cute.recast(cute.ptr_add(a, const(1), 2), ptr(F32, 2))
        cute.load(p)

    with pytest.raises(MisalignedError, match="multiple of 4"):
        launch(kernel_module([ptr(F16)], body), 1, 4, np.zeros(16, np.float16))


# ---------------------------------------------------------------------- read-only, addresses
def test_read_only_arrays() -> None:
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    a.flags.writeable = False
    launch(shifted_copy(0), 2, 32, a, b)
    np.testing.assert_array_equal(b, a)
    with pytest.raises(OutOfBoundsError, match="write to 'arg1', which is read-only") as e:
        launch(shifted_copy(0), 2, 32, b, a)
    assert e.value.code == "OC3103"


def by_address() -> Op:
    def body(address: Any, out: Any) -> None:
        p = cute.int_to_ptr(add(address, const(8, I64)), ptr(I32, 4))
        cute.store(cute.load(cute.ptr_add(p, thread(), 4)), cute.ptr_add(out, thread(), 4))

    return kernel_module([I64, ptr(I32, 4)], body)


def test_addresses_of_registered_arrays() -> None:
    a, out = np.arange(10, dtype=np.int32), np.zeros(4, np.int32)
    sim = Simulator()
    buffer = Buffer.from_numpy(a, "a")
    sim.register(buffer)
    launch(by_address(), 1, 4, a.ctypes.data, out, sim=sim)
    assert out.tolist() == [2, 3, 4, 5]
    sim.unregister(buffer)
    with pytest.raises(OutOfBoundsError, match="belongs to no known array"):
        launch(by_address(), 1, 4, a.ctypes.data, out, sim=sim)
    with pytest.raises(OutOfBoundsError, match="OC3102"):
        launch(by_address(), 1, 4, 0, out)


def test_pointers_survive_being_integers() -> None:
    def body(a: Any, b: Any, out: Any) -> None:
        even = arith.cmpi("eq", arith.binary("andi", thread(), const(1)), const(0))
        x, y = cute.ptr_to_int(a), cute.ptr_to_int(b)
        p = cute.int_to_ptr(arith.select(even, x, y), ptr(I32, 4))
        p = cute.ptr_add(p, thread(), 4)
        cute.store(add(cute.load(p), const(1)), p)
        cute.store(cute.load(p), cute.ptr_add(out, thread(), 4))

    a, b, out = (np.arange(8, dtype=np.int32) + k for k in (0, 100, 0))
    launch(kernel_module([ptr(I32, 4)] * 3, body), 1, 8, a, b, out)
    i = np.arange(8)
    np.testing.assert_array_equal(out, np.where(i % 2 == 0, i + 1, i + 101))


def test_pointers_in_memory() -> None:
    """An array of addresses, each thread following its own."""

    def body(table: Any, out: Any) -> None:
        at = llvm.gep(table, thread(), I64)
        p = llvm.load(at, llvm.LLVMPointerType(), 8)
        v = llvm.load(p, I32, 4)
        llvm.store(v, llvm.gep(out, thread(), I32), 4)

    arrays = [np.full(4, k, np.int32) for k in range(5)]
    table = np.array([a.ctypes.data for a in arrays], np.int64)
    sim = Simulator()
    for k, a in enumerate(arrays):
        sim.register(Buffer.from_numpy(a, f"a{k}"))
    out = np.zeros(5, np.int32)
    module = kernel_module([llvm.LLVMPointerType(1)] * 2, body)
    launch(module, 1, 5, table, out, sim=sim)
    assert out.tolist() == [0, 1, 2, 3, 4]


def test_assumptions_are_checked() -> None:
    def body(n: Any) -> None:
        cute.assume(mul(thread(), n), 4)

    launch(kernel_module([I32], body), 1, 8, 8)
    with pytest.raises(SimulationError, match=r"6 is not a multiple of 4, block .* \(1, 0, 0\)"):
        launch(kernel_module([I32], body), 1, 8, 6)


# ---------------------------------------------------------------------- taint
def half_written(use: Callable[[Any, Any], None]) -> Op:
    """Registers of which threads 0 to 3 write element 0 and nobody the rest; then `use`."""

    def body(out: Any) -> None:
        r = cute.alloca(F32, 4)
        then, block = new_block()
        with insert_at(block):
            cute.store(const(2.0, F32), r)
            scf.yield_()
        orelse, block = new_block()
        with insert_at(block):
            scf.yield_()
        scf.if_(arith.cmpi("slt", thread(), const(4)), (), then, orelse)
        with line(60):
            v = cute.load(r)
        with line(70):
            use(v, out)

    return kernel_module([ptr(F32, 4)], body)


def store_all(v: Any, out: Any) -> None:
    cute.store(arith.binary("mulf", v, const(0.0, F32)), cute.ptr_add(out, thread(), 4))


def store_selected(v: Any, out: Any) -> None:
    written = arith.cmpi("slt", thread(), const(4))
    v = arith.select(written, v, const(9.0, F32))
    cute.store(v, cute.ptr_add(out, thread(), 4))


def branch_on(v: Any, out: Any) -> None:
    regions = []
    for _ in range(2):
        region, block = new_block()
        with insert_at(block):
            scf.yield_()
        regions.append(region)
    scf.if_(arith.cmpf("ogt", v, const(0.0, F32)), (), *regions)


def address_from(v: Any, out: Any) -> None:
    cute.store(const(0.0, F32), cute.ptr_add(out, arith.cast("fptosi", v, I32), 4))


def print_it(v: Any, out: Any) -> None:
    cute.print_("%f\n", (v,))


def through_a_loop(v: Any, out: Any) -> None:
    region, block = new_block([I32, F32])
    with insert_at(block):
        scf.yield_([arith.binary("addf", block.args[1], v)])
    v = scf.for_(const(0), const(3), const(1), [const(0.0, F32)], region).result
    cute.store(v, cute.ptr_add(out, thread(), 4))


def through_vectors(v: Any, out: Any) -> None:
    vec = vector.insert(v, vector.broadcast(const(1.0, F32), 4), 2)
    vec = vector.shuffle(vec, vec, (1, 6))
    vec = vector.bitcast(vec, VectorType(4, F16))
    cute.store(arith.cast("extf", vector.extract(vec, 3), F32), cute.ptr_add(out, thread(), 4))


def through_memory(v: Any, out: Any) -> None:
    r = cute.alloca(F32, 2)
    cute.store(const(0.0, F32), r)
    cute.store(v, cute.ptr_add(r, const(1), 4))
    one = cute.load(cute.ptr_add(r, const(1), 4))
    cute.store(one, cute.ptr_add(out, thread(), 4))


SINKS = {
    store_all: "a store to memory", branch_on: "a branch", address_from: "an address",
    print_it: "a print", through_a_loop: "a store to memory", through_vectors: "a store to memory",
    through_memory: "a store to memory",
}  # fmt: skip


@pytest.mark.parametrize("use", SINKS, ids=lambda f: f.__name__)
def test_garbage_is_reported_where_it_matters(use: Callable[[Any, Any], None]) -> None:
    launch(half_written(use), 1, 4, np.zeros(8, np.float32), sim=Simulator(out=io.StringIO()))
    with pytest.raises(UninitializedError) as e:
        launch(half_written(use), 1, 8, np.zeros(8, np.float32))
    text = str(e.value)
    assert f"uninitialised data reaches {SINKS[use]}" in text
    assert "thread (4, 0, 0)" in text
    assert e.value.loc is not None and e.value.loc.line == 70
    assert "kernel.py:" in str(e.value.hint)


def test_garbage_that_is_not_used_is_fine() -> None:
    out = np.zeros(8, np.float32)
    launch(half_written(store_selected), 1, 8, out)
    assert out.tolist() == [2.0] * 4 + [9.0] * 4


def test_garbage_passed_by_a_clean_element() -> None:
    def body(out: Any) -> None:
        r = cute.alloca(F32, 4)
        cute.store(const(3.0, F32), cute.ptr_add(r, const(1), 4))
        v = cute.tile_load(r, FOUR)
        v = arith.binary("addf", v, v)
        cute.store(vector.extract(v, 1), cute.ptr_add(out, thread(), 4))

    out = np.zeros(2, np.float32)
    launch(kernel_module([ptr(F32, 4)], body), 1, 2, out)
    assert out.tolist() == [6.0, 6.0]


def test_arrays_that_are_not_initialised() -> None:
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)

    def body(a: Any, b: Any) -> None:
        p = cute.ptr_add(a, thread(), 4)
        small = arith.cmpi("slt", thread(), const(4))
        then, block = new_block()
        with insert_at(block):
            cute.store(const(5.0, F32), p)
            scf.yield_()
        orelse, block = new_block()
        with insert_at(block):
            scf.yield_()
        scf.if_(small, (), then, orelse)
        cute.store(cute.load(p), cute.ptr_add(b, thread(), 4))

    module = kernel_module([ptr(F32, 4)] * 2, body)
    a = Buffer.from_numpy(x, "x", initialised=False).pointer()
    launch(module, 1, 4, a, out)
    assert out.tolist()[:4] == [5.0] * 4
    with pytest.raises(UninitializedError, match=r"thread \(4, 0, 0\)"):
        launch(module, 1, 8, a, out)


def test_full_writes_are_not_tracked() -> None:
    """The generated source has no taint at all when every register is written first."""

    def body(out: Any) -> None:
        r = cute.alloca(F32, 4)
        cute.tile_store(vector.broadcast(const(1.0, F32), 4), r, FOUR)
        v = cute.tile_load(r, FOUR)
        cute.tile_store(v, cute.ptr_add(out, mul(thread(), const(4)), 16), FOUR)

    from opencute.sim.program import compile_function

    module = kernel_module([ptr(F32)], body)
    kernel = module.regions[0].block.ops[0].regions[0].block.ops[0]
    assert "track" not in compile_function(kernel).text
    out = np.zeros(16, np.float32)
    launch(module, 1, 4, out)
    assert (out == 1).all()


# ---------------------------------------------------------------------- predicated copies
def predicated(total: int, per: str) -> Op:
    """Copy 8 f16 per thread through registers, elements at `total` and beyond left out."""
    n = 8 if per == "element" else 1

    def body(src: Any, dst: Any) -> None:
        at = mul(thread(), const(8))
        pred = cute.alloca(I1, n)
        for i in range(n):
            ok = arith.cmpi("slt", add(at, const(i)), const(total))
            cute.store(ok, cute.ptr_add(pred, const(i), 1))
        r = cute.alloca(F16, 8)
        layout = LayoutAttr((1, 8), (0, 1)) if per == "element" else LayoutAttr((8, 1), (1, 0))
        mask = LayoutAttr((n,), (1,))
        g = Tile(cute.ptr_add(src, at, 2), layout)
        frag = Tile(r, layout)
        cute.copy("universal", 0, g, frag, Tile(pred, mask))
        v = cute.tile_load(r, LayoutAttr((8,), (1,)))
        cute.tile_store(arith.binary("addf", v, v), r, LayoutAttr((8,), (1,)))
        cute.copy("universal", 0, frag, Tile(cute.ptr_add(dst, at, 2), layout), Tile(pred, mask))

    return kernel_module([ptr(F16, 2)] * 2, body)


@pytest.mark.parametrize("total", [1, 7, 8, 9, 40, 64, 100])
def test_predicates_per_element(total: int) -> None:
    a = np.arange(total, dtype=np.float16)
    b = np.full(total, -1, np.float16)
    launch(predicated(total, "element"), 1, 16, a, b)
    np.testing.assert_array_equal(b, a + a)


@pytest.mark.parametrize("total", [8, 40, 128])
def test_predicates_per_vector(total: int) -> None:
    a = np.arange(total, dtype=np.float16)
    b = np.full(total, -1, np.float16)
    launch(predicated(total, "vector"), 1, 16, a, b)
    np.testing.assert_array_equal(b, a + a)


def test_a_predicate_too_generous_is_caught() -> None:
    a = np.arange(9, dtype=np.float16)
    with pytest.raises(OutOfBoundsError, match=r"element 9 of 9.*thread \(1, 0, 0\)"):
        launch(predicated(10, "element"), 1, 16, a, a.copy())


def test_the_width_of_a_copy_is_no_promise() -> None:
    def body(a: Any, b: Any) -> None:
        layout = LayoutAttr((4, 2), (1, 4))
        cute.copy("universal", 128, Tile(a, layout), Tile(b, layout))

    module = kernel_module([ptr(F32, 4)] * 2, body)
    a, b = np.arange(12, dtype=np.float32), np.zeros(12, np.float32)
    launch(module, 1, 1, a, b)
    np.testing.assert_array_equal(b[:8], a[:8])
    # The width is the widest access: what is not aligned goes in narrower pieces.
    launch(module, 1, 1, Buffer.from_numpy(a).pointer(4), b)
    np.testing.assert_array_equal(b[:8], a[1:9])


def test_a_fault_on_the_host_says_so() -> None:
    module = function_module([ptr(F32)], [F32], lambda p: [cute.load(cute.ptr_add(p, const(9), 4))])
    with pytest.raises(OutOfBoundsError, match="on the host"):
        Simulator().run_host(module, "f", [Buffer.from_numpy(np.zeros(4, np.float32)).pointer()])


def test_offsets_beyond_2_to_the_31() -> None:
    """Two f32 at the far ends of 12 GiB that are never touched in between."""
    n = 3 << 30
    big = np.zeros(n, np.float32)
    big[n - 1] = 7

    def body(a: Any, out: Any) -> None:
        wide = arith.cast("extsi", thread(), I64)
        at = arith.binary("subi", const(n - 1, I64), wide)
        cute.store(cute.load(cute.ptr_add(a, at, 4)), cute.ptr_add(out, thread(), 4))
        cute.store(const(3.0, F32), cute.ptr_add(a, at, 4))

    out = np.zeros(4, np.float32)
    launch(kernel_module([ptr(F32, 4)] * 2, body), 2, 2, big, out)
    assert out.tolist() == [7, 0, 0, 0]
    assert big[n - 4 :].tolist() == [3.0] * 4
    assert ptx.SREGS
