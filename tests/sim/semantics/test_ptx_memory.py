# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atomics against one thread after the other; loads and stores; asynchronous copies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import (
    MisalignedError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    UninitializedError,
)
from opencute.dialects import arith, cute, ptx_memory, smem, vector
from opencute.ir.core import Value
from opencute.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Type, VectorType
from sim.building import ptr
from sim.sync.blocks import (
    LayoutAttr,
    add,
    at,
    bid,
    const,
    eq,
    line,
    load,
    loop,
    lt,
    mul,
    run,
    shared,
    store,
    sync,
    tid,
    when,
)

pytestmark = pytest.mark.t0

P = ptr(I32, 4)
DTYPES: dict[Type, Any] = {
    I16: np.int16, I32: np.int32, I64: np.int64, F32: np.float32, F64: np.float64,
    F16: np.float16, BF16: ml_dtypes.bfloat16,
}  # fmt: skip


def one(op: str, unsigned: bool, old: Any, value: Any, width: int = 0) -> Any:
    """One atomic operation, from the manual."""
    if width:
        a, b = old & (2**width - 1), value & (2**width - 1)
        if op == "inc":
            return 0 if a >= b else a + 1
        if op == "dec":
            return b if a == 0 or a > b else a - 1
        if unsigned and op in ("min", "max"):
            return a if (a < b) == (op == "min") else b
        return {
            "add": old + value, "min": min(old, value), "max": max(old, value),
            "and": old & value, "or": old | value, "xor": old ^ value, "exch": value,
        }[op]  # fmt: skip
    return value if op == "exch" else old + value


def atomics() -> list[tuple[str, Type]]:
    return [
        (op, t) for op, types in ptx_memory.ATOMICS.items() for t in types
        if not isinstance(t, VectorType)
    ]  # fmt: skip


@pytest.mark.parametrize(("op", "type"), atomics(), ids=str)
@settings(max_examples=8, deadline=None)
@given(st.data())
def test_atomics(op: str, type: Type, data: st.DataObject) -> None:
    """40 threads of 2 blocks at a few places, in order; what each found and what is left."""
    dtype = np.dtype(DTYPES[type])
    unsigned = op in ("min", "max") and data.draw(st.booleans())
    count = data.draw(st.integers(1, 5))
    draw = st.integers(-100, 100)
    memory = np.array(data.draw(st.lists(draw, min_size=count, max_size=count)), dtype)
    n = 80
    values = np.array(data.draw(st.lists(draw, min_size=n, max_size=n)), dtype)
    places = np.array(
        data.draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n)), np.int32
    )
    found = np.zeros(n, dtype)

    def body(m: Any, v: Any, p: Any, out: Any) -> None:
        me = add(mul(bid(), const(40)), tid())
        old = ptx_memory.atomic(
            op, at(m, load(p, me)), load(v, me), "relaxed", "gpu", unsigned=unsigned
        )
        store(old, out, me)

    want = memory.copy()
    olds = []
    for i in range(n):
        k = places[i]
        olds.append(want[k])
        if dtype.kind == "i":
            bits = dtype.itemsize * 8
            new = one(op, unsigned, int(want[k]), int(values[i]), bits)
            want[k] = ((new + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
        else:
            want[k] = one(op, False, want[k], values[i])
    t = ptr(type, dtype.itemsize)
    run([t, t, P, t], body, [memory, values, places, found], grid=2, block=40, check=False)
    np.testing.assert_array_equal(memory, want)
    np.testing.assert_array_equal(found, np.array(olds, dtype))


@pytest.mark.parametrize("space", ["gmem", "smem"])
def test_many_threads_add_in_any_order(space: str) -> None:
    """The sum is the same in every order, what each thread finds is not."""

    def body(out: Any) -> None:
        if space == "smem":
            s = shared(1, I32)
            when(eq(tid(), 0), lambda: store(const(0), s, const(0)))
            sync()
            old = ptx_memory.atomic("add", at(s, const(0)), const(1), "relaxed", "cta")
            sync()
            when(eq(tid(), 0), lambda: store(load(s, const(0)), out, const(300)))
        else:
            old = ptx_memory.atomic("add", at(out, const(300)), const(1), "relaxed", "gpu")
        store(old, out, tid())

    seen = []
    for seed in (0, 1, 2):
        out = np.zeros(301, np.int32)
        run([P], body, [out], block=256, smem_bytes=16, seed=seed)
        assert out[300] == 256 and sorted(out[:256]) == list(range(256))
        seen.append(out.tolist())
    assert seen[0][:256] == list(range(256)) and seen[1] != seen[0] != seen[2]


@pytest.mark.parametrize("type", [I16, I32, I64])
def test_compare_and_swap(type: Type) -> None:
    """Each thread swaps its number in for the one before it."""
    dtype = DTYPES[type]

    def body(m: Any, out: Any) -> None:
        me = tid() if type == I32 else arith.cast("extsi" if type == I64 else "trunci", tid(), type)
        one_ = arith.constant(1, type)
        old = ptx_memory.cas(at(m, const(0)), me, arith.binary("addi", me, one_), "relaxed", "gpu")
        store(old, out, tid())

    memory, out = np.zeros(1, dtype), np.zeros(64, dtype)
    t = ptr(type, np.dtype(dtype).itemsize)
    run([t, t], body, [memory, out], check=False)
    assert memory[0] == 64 and out.tolist() == list(range(64))


@pytest.mark.parametrize("element", [F16, BF16])
def test_pairs(element: Type) -> None:
    def body(m: Any, out: Any) -> None:
        x = vector.from_elements([arith.constant(v, element) for v in (1.0, 2.0)])
        place = cute.ptr_add(m, const(2), 4)
        old = ptx_memory.atomic("add", place, x, "relaxed", "gpu")
        pair = cute.ptr_add(out, mul(tid(), const(2)), 4)
        cute.tile_store(old, pair, LayoutAttr((2,), (1,)))
        ptx_memory.red("add", place, x, "relaxed", "gpu")

    dtype = DTYPES[element]
    memory, out = np.zeros(4, dtype), np.zeros((8, 2), dtype)
    run([ptr(element, 4)] * 2, body, [memory, out], block=8, check=False)
    assert memory.astype(np.float32).tolist() == [0, 0, 16, 32]
    np.testing.assert_array_equal(out.astype(np.float32), np.arange(8)[:, None] * [1, 2])


def test_subnormal_sums_are_flushed_in_global_memory_only() -> None:
    tiny = float(np.finfo(np.float32).smallest_subnormal)

    def body(out: Any) -> None:
        s = shared(1)
        store(arith.constant(0.0, F32), s, const(0))
        for p in (out, s):
            ptx_memory.red("add", at(p, const(0)), arith.constant(tiny, F32), "relaxed", "gpu")
        store(load(s, const(0)), out, const(1))

    out = np.zeros(2, np.float32)
    run([ptr(F32, 4)], body, [out], block=1, smem_bytes=16)
    assert out[0] == 0 and out[1] == np.float32(tiny)


def test_faults_of_atomics() -> None:
    def body(index: int, space: str = "gmem") -> Any:
        def build(out: Any) -> None:
            p = {"gmem": out, "rmem": cute.alloca(I32, 4)}.get(space) or shared(4, I32)
            ptx_memory.red("add", at(p, const(index)), const(1), "relaxed", "gpu")

        return build

    run([P], body(3), [np.zeros(4, np.int32)], block=1)
    with pytest.raises(OutOfBoundsError, match="update outside of 'arg0'"):
        run([P], body(4), [np.zeros(4, np.int32)], block=1)
    with pytest.raises(OutOfBoundsError, match="OC3104"):
        run([P], body(0, "rmem"), [np.zeros(4, np.int32)], block=1)
    with pytest.raises(UninitializedError, match="an atomic operation"):
        run([P], body(0, "smem"), [np.zeros(4, np.int32)], block=1, smem_bytes=16)


def test_loads_and_stores_with_hints() -> None:
    def body(x: Any, out: Any) -> None:
        me = mul(tid(), const(4))
        v = ptx_memory.load(cute.ptr_add(x, me, 16), VectorType(4, F32), cache="nc", prefetch=128)
        ptx_memory.store(cute.ptr_add(out, me, 16), v, evict="evict_first")

    x = np.arange(32 * 4, dtype=np.float32)
    out = np.zeros_like(x)
    sim = run([ptr(F32)] * 2, body, [x, out], block=32)
    np.testing.assert_array_equal(out, x)
    assert sim.report.accesses["read", "gmem", 16] == 32

    def crooked(x: Any) -> None:
        ptx_memory.load(cute.ptr_add(x, const(1), 4), VectorType(4, F32))

    with pytest.raises(MisalignedError):
        run([ptr(F32)], crooked, [x], block=1)


# ---------------------------------------------------------------------- asynchronous copies
def start(s: Value, x: Value, index: Value, size: int = 16, count: Value | None = None) -> None:
    """Copy `size` bytes of f32 from x[index] to s[index]."""
    ptx_memory.cp_async(
        cute.ptr_add(s, index, size), cute.ptr_add(x, index, size), size,
        cache="cg" if size == 16 else "ca", src_bytes=count,
    )  # fmt: skip


def pipeline(groups: int, barrier: bool = True, commit: bool = True) -> Any:
    """Copies in three stages; `groups` may be under way when a stage is read."""

    def body(x: Any, out: Any) -> None:
        s = shared(3 * 256)
        me = mul(tid(), const(4))
        for stage in range(3):
            with line(10 + stage):
                start(s, x, add(me, const(256 * stage)))
            if commit:
                ptx_memory.cp_async_commit()
        for stage in range(3):
            ptx_memory.cp_async_wait(groups - stage if groups > stage else 0)
            if barrier:
                sync()
            with line(20):
                other = arith.binary("xori", me, const(128))
                v = load(s, add(other, const(256 * stage)))
            store(v, out, add(tid(), const(64 * stage)))

    return body


@pytest.mark.parametrize("check", [False, True])
def test_a_pipeline_of_copies(check: bool) -> None:
    x = np.arange(3 * 256, dtype=np.float32)
    out = np.zeros(192, np.float32)
    run([ptr(F32)] * 2, pipeline(2), [x, out], smem_bytes=3072, check=check)
    want = x.reshape(3, 64, 4)[:, np.arange(64) ^ 32, 0]
    np.testing.assert_array_equal(out.reshape(3, 64), want)
    with pytest.raises(SimulationError) as e:
        run([ptr(F32)] * 2, pipeline(3), [x, out], smem_bytes=3072, check=check)
    assert e.value.loc is not None
    if check:
        assert e.value.code == "OC3402" and "started at kernel.py:10" in str(e.value)
    else:
        assert isinstance(e.value, UninitializedError)


def test_copies_without_a_commit_are_not_waited_for() -> None:
    x, out = np.arange(768, dtype=np.float32), np.zeros(192, np.float32)
    with pytest.raises(RaceError, match="OC3402"):
        run([ptr(F32)] * 2, pipeline(2, commit=False), [x, out], smem_bytes=3072)


def test_a_wait_is_for_ones_own_copies() -> None:
    x, out = np.arange(768, dtype=np.float32), np.zeros(192, np.float32)
    with pytest.raises(RaceError, match=r"OC3401.*reads byte .* wrote at kernel.py:10"):
        run([ptr(F32)] * 2, pipeline(2, barrier=False), [x, out], smem_bytes=3072)


def test_a_copy_into_what_others_still_read() -> None:
    def body(good: bool) -> Any:
        def build(x: Any, out: Any) -> None:
            s = shared(256)
            me = mul(tid(), const(4))

            def turn(i: Value) -> None:
                with line(10):
                    start(s, x, me)
                ptx_memory.cp_async_commit()
                ptx_memory.cp_async_wait(0)
                sync()
                store(load(s, arith.binary("xori", me, const(128))), out, tid())
                if good:
                    sync()

            loop(2, turn)

        return build

    x, out = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    run([ptr(F32)] * 2, body(True), [x, out], smem_bytes=1024)
    with pytest.raises(RaceError, match=r"writes byte .* read at"):
        run([ptr(F32)] * 2, body(False), [x, out], smem_bytes=1024)


def test_copies_see_what_the_source_holds_when_they_take_place() -> None:
    """A store to the source after the start is seen: it is wrong to rely on either."""

    def body(x: Any, out: Any) -> None:
        s = shared(4)
        start(s, x, const(0))
        store(arith.constant(5.0, F32), x, const(0))
        ptx_memory.cp_async_wait(-1)
        store(load(s, const(0)), out, const(0))

    x, out = np.ones(4, np.float32), np.zeros(1, np.float32)
    run([ptr(F32)] * 2, body, [x, out], block=1, smem_bytes=16, check=False)
    assert out[0] == 5


@pytest.mark.parametrize("size", [4, 8, 16])
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_zero_fill(size: int, data: st.DataObject) -> None:
    """Of each copy, src_bytes are read and the rest is zero; what is not read may be anything."""
    counts = np.array(data.draw(st.lists(st.integers(0, size), min_size=8, max_size=8)), np.int32)
    per = size // 4

    def body(x: Any, n: Any, out: Any) -> None:
        s = shared(8 * per)
        start(s, x, mul(tid(), const(per)), size, load(n, tid()))
        ptx_memory.cp_async_wait(-1)
        for i in range(per):
            index = add(mul(tid(), const(per)), const(i))
            store(load(s, index), out, index)

    x = np.arange(1, 8 * per + 1, dtype=np.float32)
    out = np.zeros_like(x)
    want = np.zeros((8, size), np.uint8)
    for i, row in enumerate(x.view(np.uint8).reshape(8, size)):
        want[i, : counts[i]] = row[: counts[i]]
    # The last thread's source ends where its bytes do.
    left = x.view(np.uint8)[: 8 * size - size + int(counts[7])]
    room = np.zeros(left.size + 64, np.uint8)
    shift = -room.ctypes.data % 16
    source = room[shift : shift + left.size]
    source[:] = left
    run([ptr(F32), P, ptr(F32)], body, [source, counts, out], block=8, smem_bytes=1024)
    np.testing.assert_array_equal(out.view(np.uint8).reshape(8, size), want)


def test_copies_in_branches_and_by_some() -> None:
    """Each thread has groups of its own."""

    def body(x: Any, out: Any) -> None:
        s = shared(256)
        me = mul(tid(), const(4))
        when(lt(tid(), 20), lambda: (start(s, x, me), ptx_memory.cp_async_commit()))
        when(lt(tid(), 40), lambda: start(s, x, add(me, const(0))) if False else None)
        ptx_memory.cp_async_commit()
        ptx_memory.cp_async_wait(0)
        when(lt(tid(), 20), lambda: store(load(s, me), out, tid()))

    x, out = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    run([ptr(F32)] * 2, body, [x, out], smem_bytes=1024)
    np.testing.assert_array_equal(out[:20], x[:80:4])


@pytest.mark.parametrize(
    ("index", "count", "bad"),
    [
        (0, None, False), (4, None, True), (-4, None, True), (4, 0, False), (4, 4, False),
        (4, 8, True), (8, 4, True), (8, 0, False),
    ],
)  # fmt: skip
def test_what_nobody_waits_for_has_to_be_there(index: int, count: int | None, bad: bool) -> None:
    """A source of five elements, of which a copy of 16 bytes reads no more than it is told."""

    def body(x: Any) -> None:
        s = shared(4)
        source = cute.ptr_add(x, const(index), 16)
        left = None if count is None else const(count)
        with line(12):
            ptx_memory.cp_async(s, source, 16, cache="cg", src_bytes=left)
        ptx_memory.cp_async_commit()

    x = np.zeros(5, np.float32)
    if not bad:
        run([ptr(F32)], body, [x], block=1, smem_bytes=16)
        return
    with pytest.raises(OutOfBoundsError, match=r"OC3101.*read outside of") as e:
        run([ptr(F32)], body, [x], block=1, smem_bytes=16)
    assert e.value.loc is not None and "kernel.py:12" in str(e.value.loc)


def test_what_nobody_waits_for_has_to_be_aligned() -> None:
    def body(x: Any) -> None:
        ptx_memory.cp_async(shared(4), cute.ptr_add(x, const(1), 16), 16, cache="cg")

    with pytest.raises(MisalignedError):
        run([ptr(F32)], body, [np.zeros(8, np.float32)], block=1, smem_bytes=32)


def test_faults_of_copies() -> None:
    def body(s_at: int, count: int = 16) -> Any:
        def build(x: Any) -> None:
            s = shared(8)
            ptx_memory.cp_async(
                cute.ptr_add(s, const(s_at), 16), cute.ptr_add(x, const(0), 16), 16, cache="cg",
                src_bytes=const(count),
            )  # fmt: skip
            ptx_memory.cp_async_wait(-1)

        return build

    x = np.zeros(4, np.float32)
    run([ptr(F32)], body(4), [x], block=1, smem_bytes=64)
    with pytest.raises(OutOfBoundsError, match="write outside of 'shared memory"):
        run([ptr(F32)], body(8), [x], block=1, smem_bytes=64)
    with pytest.raises(MisalignedError):
        run([ptr(F32)], body(1), [x], block=1, smem_bytes=64)
    with pytest.raises(SimulationError, match="OC3022"):
        run([ptr(F32)], body(0, 17), [x], block=1, smem_bytes=64)


# ---------------------------------------------------------------------- shared memory
def test_each_block_has_its_own() -> None:
    def body(out: Any) -> None:
        s = shared(32, I32)
        store(add(mul(bid(), const(100)), tid()), s, tid())
        sync()
        other = arith.binary("subi", const(31), tid())
        store(load(s, other), out, add(mul(bid(), const(32)), tid()))

    out = np.zeros((50, 32), np.int32)
    run([P], body, [out], grid=50, block=32, smem_bytes=128, check=False)
    np.testing.assert_array_equal(out, np.arange(50)[:, None] * 100 + np.arange(31, -1, -1))


@pytest.mark.parametrize("grid", [1, 3])
def test_bounds_of_an_allocation(grid: int) -> None:
    def body(index: int) -> Any:
        def build() -> None:
            with line(7):
                s = shared(32, I32)
            shared(32, I32, 128)
            store(const(0), s, add(tid(), const(index)))

        return build

    run([], body(0), [], block=32, grid=grid, smem_bytes=256)
    with pytest.raises(OutOfBoundsError, match=r"outside of 'shared memory from kernel.py:7'") as e:
        run([], body(1), [], block=32, grid=grid, smem_bytes=256)
    assert "thread (31, 0, 0)" in str(e.value)


def test_the_launch_gives_too_little() -> None:
    def body() -> None:
        shared(32, I32, 128)

    run([], body, [], smem_bytes=256)
    with pytest.raises(SimulationError, match="OC3021"):
        run([], body, [], smem_bytes=255)


@pytest.mark.parametrize("grid", [1, 3])
def test_bytes_that_nothing_wrote(grid: int) -> None:
    def body(written: int) -> Any:
        def build(out: Any) -> None:
            s = shared(64, I32)
            when(lt(tid(), written), lambda: store(tid(), s, tid()))
            sync()
            with line(20):
                v = load(s, arith.binary("xori", tid(), const(1)))
            store(v, out, add(mul(bid(), const(64)), tid()))

        return build

    out = np.zeros(64 * grid, np.int32)
    run([P], body(64), [out], grid=grid, smem_bytes=256)
    with pytest.raises(UninitializedError, match="OC3301") as e:
        run([P], body(63), [out], grid=grid, smem_bytes=256, check=False)
    assert "thread (62, 0, 0)" in str(e.value) and "kernel.py:20" in str(e.value)


def test_garbage_may_pass_through_shared_memory_unused() -> None:
    def body(use: bool) -> Any:
        def build(out: Any) -> None:
            r = cute.alloca(I32, 1)
            when(eq(tid(), 0), lambda: store(const(3), r, const(0)))
            s = shared(64, I32)
            store(load(r, const(0)), s, tid())
            sync()
            when(lt(tid(), 64 if use else 1), lambda: store(load(s, tid()), out, tid()))

        return build

    out = np.zeros(64, np.int32)
    run([P], body(False), [out], smem_bytes=256)
    assert out[0] == 3
    with pytest.raises(UninitializedError):
        run([P], body(True), [out], smem_bytes=256)


def test_addresses_of_shared_memory() -> None:
    """As integers, 32-bit or generic, they lead back to the same bytes."""

    def body(out: Any) -> None:
        s = shared(64, I32, 1024, 1024)
        store(tid(), s, tid())
        word = cute.ptr_to_int(at(s, tid()))
        again = cute.int_to_ptr(word, cute.PtrType(I32, "smem", 4))
        store(cute.load(again), out, tid())
        generic = cute.recast(at(s, tid()), cute.PtrType(I32, "generic", 4))
        wide = cute.int_to_ptr(cute.ptr_to_int(generic), cute.PtrType(I32, "generic", 4))
        store(cute.load(wide), out, add(tid(), const(64)))
        store(arith.cast("trunci", word, I32), out, add(tid(), const(128)))
        when(eq(tid(), 0), lambda: store(smem.smem_size(), out, const(192)))

    out = np.zeros(193, np.int32)
    run([P], body, [out], smem_bytes=2048)
    np.testing.assert_array_equal(out[:128], np.tile(np.arange(64), 2))
    np.testing.assert_array_equal(out[128:192], 2048 + np.arange(64) * 4)
    assert out[192] == 2048


@pytest.mark.parametrize("element", [I8, I16, I32])
def test_swizzled_pointers(element: Type) -> None:
    """Written through a swizzle in vectors, read without one at the place where it must be."""
    size = element.width // 8  # type: ignore[attr-defined]
    count = 1024 // size

    def body(out: Any) -> None:
        plain = shared(count, element, 0, 1024)
        swizzled = cute.recast(plain, cute.PtrType(element, "smem", 1024, (3, 4, 3)))
        per = count // 32
        me = mul(tid(), const(per))
        for i in range(per):
            value = add(me, const(i))
            value = value if element == I32 else arith.cast("trunci", value, element)
            store(value, swizzled, add(me, const(i)))
        whole = cute.tile_load(cute.ptr_add(swizzled, me, size), LayoutAttr((per,), (1,)))
        cute.tile_store(whole, cute.ptr_add(out, me, size), LayoutAttr((per,), (1,)))
        sync()
        raw = cute.tile_load(cute.ptr_add(plain, me, size), LayoutAttr((per,), (1,)))
        cute.tile_store(
            raw, cute.ptr_add(out, add(me, const(count)), size), LayoutAttr((per,), (1,))
        )

    dtype = {1: np.int8, 2: np.int16, 4: np.int32}[size]
    out = np.zeros(2 * count, dtype)
    run([ptr(element, 16)], body, [out], block=32, smem_bytes=1024)
    want = np.arange(count).astype(dtype)
    np.testing.assert_array_equal(out[:count], want)
    address = np.arange(1024)
    moved = address ^ ((address >> 3) & 0x70)
    raw = np.zeros(1024, np.uint8)
    raw[moved] = want.view(np.uint8)
    np.testing.assert_array_equal(out[count:].view(np.uint8), raw)
