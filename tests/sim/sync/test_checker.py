# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Races: each kernel once with what orders its threads, and once without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import RaceError
from opencute.dialects import arith, cute, ptx, ptx_memory
from opencute.ir.core import Value
from opencute.ir.types import F16, I32
from sim.building import ptr
from sim.sync.blocks import (
    F32,
    LayoutAttr,
    add,
    arrive,
    at,
    bid,
    const,
    eq,
    flag_load,
    flag_store,
    line,
    load,
    loop,
    lt,
    mul,
    run,
    shared,
    spin,
    store,
    sync,
    sync_warp,
    tid,
    when,
)

pytestmark = pytest.mark.t0

P = ptr(I32, 4)
Case = Callable[[bool, Any], None]


def neighbour(n: int = 64, by: int = 1) -> Value:
    return arith.binary("remui", add(tid(), const(by)), const(n))


def barrier_between_write_and_read(good: bool, out: Any) -> None:
    s = shared(64, I32)
    with line(10):
        store(tid(), s, tid())
    if good:
        sync()
    with line(20):
        store(load(s, neighbour(by=32)), out, tid())


def barrier_before_the_buffer_is_reused(good: bool, out: Any) -> None:
    s = shared(64, I32)

    def turn(i: Value) -> None:
        with line(10):
            store(add(tid(), i), s, tid())
        sync()
        with line(20):
            store(load(s, neighbour(by=40)), out, tid())
        if good:
            sync()

    loop(3, turn)


def two_writers(good: bool, out: Any) -> None:
    s = shared(64, I32)
    with line(10):
        store(tid(), s, tid() if good else arith.binary("shrui", tid(), const(1)))
    sync()
    store(load(s, tid()), out, tid())


def one_writer_then_another(good: bool, out: Any) -> None:
    s = shared(64, I32)
    with line(10):
        store(tid(), s, tid())
    if good:
        sync()
    with line(20):
        store(tid(), s, neighbour(by=32))
    sync()
    store(load(s, tid()), out, tid())


def lanes_of_one_warp(good: bool, out: Any) -> None:
    s = shared(64, I32)
    with line(10):
        store(tid(), s, tid())
    if good:
        sync_warp()
    with line(20):
        store(load(s, arith.binary("xori", tid(), const(1))), out, tid())


def write_after_read_in_one_warp(good: bool, out: Any) -> None:
    s = shared(64, I32)
    store(tid(), s, tid())
    sync()
    with line(10):
        store(load(s, arith.binary("xori", tid(), const(1))), out, tid())
    if good:
        sync_warp()
    with line(20):
        store(tid(), s, tid())


def halves_of_a_warp(good: bool, out: Any) -> None:
    """The mask names one half only, where the other half's data is read."""
    s = shared(64, I32)
    store(tid(), s, tid())
    half = arith.binary("andi", tid(), const(16))
    mask = arith.select(eq(half, 0), const(0xFFFF), const(-65536))
    ptx.bar_warp_sync(mask)
    store(load(s, arith.binary("xori", tid(), const(1 if good else 16))), out, tid())


def warp_sync_is_no_block_barrier(good: bool, out: Any) -> None:
    s = shared(64, I32)
    store(tid(), s, tid())
    sync_warp()
    store(load(s, neighbour(by=1 if not good else 0)), out, tid())


def shuffle_orders_nothing(good: bool, out: Any) -> None:
    from opencute.dialects.ptx_warp import shfl_sync

    s = shared(64, I32)
    store(tid(), s, tid())
    shfl_sync("idx", const(-1), tid(), const(0), const(31))
    if good:
        sync_warp()
    store(load(s, arith.binary("xori", tid(), const(1))), out, tid())


def half_words(good: bool, out: Any) -> None:
    """Neighbouring f16 elements are no conflict, the same ones are."""
    s = shared(64, F16)
    store(arith.constant(1.0, F16), s, tid())
    other = load(s, tid() if good else arith.binary("xori", tid(), const(1)))
    store(arith.cast("fptosi", other, I32), out, tid())


def vectors(good: bool, out: Any) -> None:
    s = shared(64 * 4, I32)
    row = LayoutAttr((4,), (1,))
    v = cute.tile_load(cute.ptr_add(out, const(0), 16), row)
    cute.tile_store(v, cute.ptr_add(s, mul(tid(), const(4)), 16), row)
    if good:
        sync()
    store(load(s, add(mul(neighbour(by=33), const(4)), const(3))), out, add(tid(), const(4)))


def named_barrier_of_some(good: bool, out: Any) -> None:
    """Warps 0 and 1 meet at barrier 1; warp 2 must not rely on that."""
    s = shared(96, I32)
    store(tid(), s, tid())
    when(lt(tid(), 64), lambda: sync(1, 64))
    if good:
        when(lt(tid(), 64), lambda: store(load(s, neighbour(64, 32)), out, tid()))
    else:
        store(load(s, neighbour(96, 32)), out, tid())


def producer(good: bool, out: Any) -> None:
    """Warp 0 fills, warps 1 and 2 read: full and empty barriers, as in pipelines."""
    s = shared(32, I32)

    def fill() -> None:
        def turn(i: Value) -> None:
            sync(2, 96)
            with line(10):
                store(add(i, tid()), s, tid())
            arrive(1, 96)

        loop(3, turn)

    def use() -> None:
        def turn(i: Value) -> None:
            sync(1, 96)
            if not good:
                arrive(2, 96)
            with line(20):
                v = load(s, arith.binary("andi", tid(), const(31)))
            store(v, out, tid())
            if good:
                arrive(2, 96)

        arrive(2, 96)
        loop(3, turn)

    when(lt(tid(), 32), fill, use)


def arrive_before_the_write(good: bool, out: Any) -> None:
    """What follows an arrival is not ordered by it."""
    s = shared(32, I32)

    def fill() -> None:
        if not good:
            arrive(1, 64)
        with line(10):
            store(tid(), s, tid())
        if good:
            arrive(1, 64)

    def use() -> None:
        sync(1, 64)
        with line(20):
            store(load(s, arith.binary("andi", tid(), const(31))), out, tid())

    when(lt(tid(), 32), fill, use)


def global_memory_in_a_block(good: bool, out: Any) -> None:
    with line(10):
        store(tid(), out, tid())
    if good:
        sync()
    with line(20):
        store(load(out, neighbour(by=32)), out, add(tid(), const(64)))


def atomics_and_plain_stores(good: bool, out: Any) -> None:
    with line(10):
        if good:
            ptx_memory.red("add", at(out, const(0)), const(1), "relaxed", "gpu")
        else:
            store(tid(), out, const(0))


def one_value_in_global_memory(good: bool, out: Any) -> None:
    """All threads write one place: that is in order only if they all write one value."""
    with line(10):
        store(const(7) if good else tid(), out, const(0))


def atomics_then_a_plain_load(good: bool, out: Any) -> None:
    with line(10):
        ptx_memory.red("add", at(out, const(0)), const(1), "relaxed", "gpu")
    if good:
        sync()
    with line(20):
        store(load(out, const(0)), out, add(tid(), const(1)))


PAIRS: list[tuple[Case, int, str]] = [
    (barrier_between_write_and_read, 64, r"reads byte .* wrote at kernel.py:10"),
    (barrier_before_the_buffer_is_reused, 64, r"writes byte .* read at kernel.py:20"),
    (two_writers, 64, "writes byte .* wrote at kernel.py:10"),
    (one_writer_then_another, 64, "writes byte .* wrote at kernel.py:10"),
    (lanes_of_one_warp, 64, "reads byte .* wrote at kernel.py:10"),
    (write_after_read_in_one_warp, 64, "writes byte .* read at kernel.py:10"),
    (halves_of_a_warp, 64, "reads byte .* wrote"),
    (warp_sync_is_no_block_barrier, 64, "reads byte .* wrote"),
    (shuffle_orders_nothing, 64, "reads byte .* wrote"),
    (half_words, 64, "reads byte .* wrote"),
    (vectors, 64, "reads byte .* wrote"),
    (named_barrier_of_some, 96, "reads byte .* wrote"),
    (producer, 96, "(reads|writes) byte .* at kernel.py:(10|20)"),
    (arrive_before_the_write, 64, "(reads|writes) byte .* at kernel.py:(10|20)"),
    (global_memory_in_a_block, 64, "reads byte .* of 'arg0', which .* wrote at kernel.py:10"),
    (atomics_and_plain_stores, 64, "writes byte 0 of 'arg0'"),
    (one_value_in_global_memory, 64, "writes byte 0 of 'arg0'"),
    (atomics_then_a_plain_load, 64, "reads byte 0 of 'arg0', which .* wrote at kernel.py:10"),
]


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize(
    ("case", "threads", "text"), PAIRS, ids=lambda p: getattr(p, "__name__", "")
)
def test_races_in_a_block(case: Case, threads: int, text: str, grid: int, seed: int) -> None:
    """With several blocks, each has shared memory of its own; global memory needs its own too."""
    own = "global" in case.__name__ or "atomics" in case.__name__

    def body(good: bool) -> Any:
        def build(out: Any) -> None:
            part = const(0) if not own and grid == 1 else mul(bid(), const(256))
            case(good, cute.ptr_add(out, part, 4 if case is not vectors else 16))

        return build

    p = ptr(I32, 16 if case is vectors else 4)
    for good in (True, False):
        out = np.zeros(grid * 256, np.int32)
        if good:
            run([p], body(True), [out], block=threads, smem_bytes=2048, grid=grid, seed=seed)
            continue
        with pytest.raises(RaceError, match=text) as e:
            run([p], body(False), [out], block=threads, smem_bytes=2048, grid=grid, seed=seed)
        assert e.value.code == "OC3401" and e.value.hint


# ---------------------------------------------------------------------- between blocks
def flag(good: bool, out: Any, *, sem: str = "release", acquire: str = "acquire") -> None:
    """Block 0 writes data and a flag; block 1 waits for the flag and reads."""
    data, ready = out, const(100)

    def give() -> None:
        with line(10):
            store(const(7), data, const(0))
        flag_store(const(1), out, ready, sem)

    def take() -> None:
        spin(lambda: eq(flag_load(out, ready, acquire), 0))
        with line(20):
            store(load(data, const(0)), out, const(1))

    when(eq(bid(), 0), give, take)


def fences(good: bool, out: Any) -> None:
    def give() -> None:
        store(const(7), out, const(0))
        if good:
            ptx.fence("acq_rel", "gpu")
        flag_store(const(1), out, const(100), "relaxed")

    def take() -> None:
        spin(lambda: eq(flag_load(out, const(100), "volatile"), 0))
        ptx.fence("acq_rel", "gpu")
        store(load(out, const(0)), out, const(1))

    when(eq(bid(), 0), give, take)


def last_block(good: bool, out: Any) -> None:
    """The last block to count itself in reads what all others wrote (threadFenceReduction)."""
    count_in(out, "sc" if good else "", "")


def count_in(out: Any, before: str, after: str) -> None:
    """As `last_block`; with fences of all threads before they meet, and of the one that counts."""
    s = shared(1, I32)
    with line(10):
        store(tid(), out, add(mul(bid(), const(64)), tid()))
    if before:
        ptx.fence(before, "gpu")
    sync()

    def count() -> None:
        if after:
            ptx.fence(after, "gpu")
        old = ptx_memory.atomic("add", at(out, const(300)), const(1), "relaxed", "gpu")
        ptx.fence("acq_rel", "gpu")
        store(old, s, const(0))

    when(eq(tid(), 0), count)
    sync()

    def total() -> None:
        with line(20):
            for b in range(4):
                store(load(out, add(tid(), const(64 * b))), out, add(tid(), const(301 + 64 * b)))

    when(eq(load(s, const(0)), 3), total)


def counter_without_release(good: bool, out: Any) -> None:
    sem = "acq_rel" if good else "relaxed"
    store(tid(), out, add(mul(bid(), const(64)), tid()))
    sync()
    s = shared(1, I32)
    when(
        eq(tid(), 0),
        lambda: store(
            ptx_memory.atomic("add", at(out, const(300)), const(1), sem, "gpu"), s, const(0)
        ),
    )
    sync()

    def total() -> None:
        for b in range(4):
            store(load(out, add(tid(), const(64 * b))), out, add(tid(), const(301 + 64 * b)))

    when(eq(load(s, const(0)), 3), total)


def blocks_that_share(good: bool, out: Any) -> None:
    index = add(mul(bid(), const(64)), tid()) if good else tid()
    store(tid(), out, index)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize(
    ("case", "grid", "threads"),
    [
        (fences, 2, 1), (last_block, 4, 64), (counter_without_release, 4, 64),
        (blocks_that_share, 4, 64),
    ],
)  # fmt: skip
def test_races_between_blocks(case: Case, grid: int, threads: int, seed: int) -> None:
    out = np.zeros(1024, np.int32)
    run([P], lambda o: case(True, o), [out], grid=grid, block=threads, smem_bytes=64, seed=seed)
    out[:] = 0
    with pytest.raises(RaceError, match="with no order between them"):
        run(
            [P], lambda o: case(False, o), [out], grid=grid, block=threads, smem_bytes=64, seed=seed
        )


@pytest.mark.parametrize(
    ("sem", "acquire", "good"),
    [
        ("release", "acquire", True), ("relaxed", "acquire", False), ("release", "relaxed", False),
        ("weak", "acquire", False), ("release", "weak", False),
    ],
)  # fmt: skip
def test_flags(sem: str, acquire: str, good: bool) -> None:
    out = np.zeros(128, np.int32)

    def body(o: Any) -> None:
        flag(good, o, sem=sem, acquire=acquire)

    if good:
        run([P], body, [out], grid=2, block=1)
        assert out[1] == 7
        return
    with pytest.raises(RaceError) as e:
        run([P], body, [out], grid=2, block=1)
    assert "blocks" in (e.value.hint or "")


@pytest.mark.parametrize(
    ("scopes", "good"),
    [(("gpu", "gpu"), True), (("gpu", "sys"), True), (("cta", "gpu"), False),
     (("gpu", "cta"), False), (("cluster", "gpu"), False)],
)  # fmt: skip
def test_flags_have_scopes(scopes: tuple[str, str], good: bool) -> None:
    """A flag from one block to another one, of another cluster."""

    def body(out: Any) -> None:
        def give() -> None:
            store(const(7), out, const(0))
            flag_store(const(1), out, const(100), "release", scopes[0])

        def take() -> None:
            spin(lambda: eq(flag_load(out, const(100), "acquire", scopes[1]), 0))
            store(load(out, const(0)), out, const(1))

        when(eq(bid(), 0), give, take)

    out = np.zeros(128, np.int32)
    if good:
        run([P], body, [out], grid=2, block=1)
        return
    with pytest.raises(RaceError) as e:
        run([P], body, [out], grid=2, block=1)
    assert e.value.code == "OC3401"


@pytest.mark.parametrize(("scope", "good"), [("gpu", True), ("cluster", False), ("cta", False)])
@pytest.mark.parametrize("side", [0, 1])
def test_fences_have_scopes(scope: str, good: bool, side: int) -> None:
    words = [scope if i == side else "gpu" for i in range(2)]

    def body(out: Any) -> None:
        def give() -> None:
            store(const(7), out, const(0))
            ptx.fence("acq_rel", words[0])
            flag_store(const(1), out, const(100), "relaxed")

        def take() -> None:
            spin(lambda: eq(flag_load(out, const(100), "relaxed"), 0))
            ptx.fence("acq_rel", words[1])
            store(load(out, const(0)), out, const(1))

        when(eq(bid(), 0), give, take)

    out = np.zeros(128, np.int32)
    if good:
        run([P], body, [out], grid=2, block=1)
        return
    with pytest.raises(RaceError):
        run([P], body, [out], grid=2, block=1)


@pytest.mark.parametrize(
    ("before", "after", "good"),
    [
        ("", "", False), ("acq_rel", "", False), ("sc", "", True), ("", "acq_rel", True),
        ("acq_rel", "acq_rel", True), ("", "sc", True),
    ],
)  # fmt: skip
def test_whose_fence_a_relaxed_operation_publishes(before: str, after: str, good: bool) -> None:
    """Its own thread's; those of others that it has met only where fences are in one order."""
    out = np.zeros(1024, np.int32)

    def launch() -> None:
        run([P], lambda o: count_in(o, before, after), [out], grid=4, block=64, smem_bytes=64)

    if good:
        launch()
        return
    with pytest.raises(RaceError) as e:
        launch()
    assert e.value.code == "OC3401"


def test_flags_in_shared_memory() -> None:
    """A thread of another warp sets a flag that others spin on, and wait for its data."""

    def body(good: bool) -> Any:
        def build(out: Any) -> None:
            s = shared(2, I32)
            when(eq(tid(), 0), lambda: store(const(0), s, const(1)))
            sync()

            def give() -> None:
                store(const(9), s, const(0))
                flag_store(const(1), s, const(1), "release" if good else "relaxed", "cta")

            def take() -> None:
                spin(lambda: eq(flag_load(s, const(1), "acquire", "cta"), 0))
                store(load(s, const(0)), out, tid())

            when(eq(tid(), 32), give, lambda: when(lt(tid(), 32), take))

        return build

    out = np.zeros(64, np.int32)
    run([P], body(True), [out], smem_bytes=64)
    assert (out[:32] == 9).all()
    with pytest.raises(RaceError):
        run([P], body(False), [out], smem_bytes=64)


def test_scope_that_is_too_small() -> None:
    """Atomics of the block's scope, by two blocks."""

    def body(scope: str) -> Any:
        return lambda out: (
            ptx_memory.red("add", at(out, const(0)), const(1), "relaxed", scope),
            None,
        )[1]

    out = np.zeros(4, np.int32)
    run([P], body("gpu"), [out], grid=2)
    assert out[0] == 128
    with pytest.raises(RaceError, match="updates byte 0"):
        run([P], body("cta"), [out], grid=2)


def test_the_report_names_the_allocation() -> None:
    def body(out: Any) -> None:
        with line(5):
            shared(8, I32)
            s = shared(64, I32, 32)
        store(tid(), s, tid())
        store(load(s, neighbour(by=33)), out, tid())

    with pytest.raises(RaceError) as e:
        run([P], body, [np.zeros(64, np.int32)], smem_bytes=512)
    text = str(e.value)
    assert "byte 132 of 'shared memory from kernel.py:5'" in text
    assert "thread (33, 0, 0) wrote" in text and "block (0, 0, 0), thread (0, 0, 0) reads" in text


def test_float_reduction_through_shared_memory() -> None:
    """A tree over 256 threads, clean in any order."""

    def body(x: Any, out: Any) -> None:
        s = shared(256)
        store(load(x, add(mul(bid(), const(256)), tid())), s, tid())
        for step in (128, 64, 32, 16, 8, 4, 2, 1):
            sync()
            when(
                lt(tid(), step),
                lambda n=step: store(
                    arith.binary("addf", load(s, tid()), load(s, add(tid(), const(n)))), s, tid()
                ),
            )
        when(eq(tid(), 0), lambda: store(load(s, const(0)), out, bid()))

    x = np.arange(5 * 256, dtype=np.float32).reshape(5, 256)
    for seed in range(3):
        out = np.zeros(5, np.float32)
        run([ptr(F32, 4)] * 2, body, [x, out], grid=5, block=256, smem_bytes=1024, seed=seed)
        np.testing.assert_array_equal(out, x.sum(1))


@pytest.mark.parametrize(("grid", "threads"), [(1, 32), (1, 64), (2, 1)])
@pytest.mark.parametrize("second", [10, 20])
def test_a_line_that_reads_and_writes_may_be_an_atomic(
    grid: int, threads: int, second: int
) -> None:
    def body(out: Any) -> None:
        with line(10):
            value = add(load(out, const(0)), const(1))
        with line(second):
            store(value, out, const(0))

    with pytest.raises(RaceError) as e:
        run([P], body, [np.zeros(4, np.int32)], grid=grid, block=threads)
    hint = str(e.value.hint)
    assert ("cute.arch.atomic_add" in hint) == (second == 10)
    assert "the threads are in one" in hint if grid == 1 else "different blocks" in hint


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("first", ["read", "write"])
def test_a_plain_read_beside_atomic_operations_may_be_a_relaxed_one(
    first: str, atomic: bool
) -> None:
    """As loops around a compare-and-swap begin, in CUDA's guide too."""

    def body(out: Any) -> None:
        value = load(out, const(0)) if first == "read" else const(1)
        if atomic:
            ptx_memory.cas(at(out, const(0)), value, const(1), "relaxed", "gpu")
        else:
            store(value, out, const(0))
        if first == "write":
            store(load(out, const(0)), out, add(tid(), const(1)))

    with pytest.raises(RaceError) as e:
        run([P], body, [np.zeros(80, np.int32)], block=64)
    assert ('cute.arch.load(p, T, sem="relaxed"' in str(e.value.hint)) == atomic
