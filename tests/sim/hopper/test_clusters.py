# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters of blocks: each kernel once as PTX wants it, and once with a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, RaceError, SimulationError
from opencute.dialects import arith, cute, ptx, ptx_memory
from opencute.dialects.hopper import cluster as cl
from opencute.dialects.hopper import mbarrier as mb
from opencute.ir.core import Value
from opencute.ir.types import F32, I32, I64
from opencute.sim import Buffer, Simulator
from sim.building import kernel_module, mul, ptr
from sim.sync.blocks import add, at, bid, const, eq, line, load, lt, shared, store, sync, tid, when

pytestmark = pytest.mark.t0

P = ptr(I32, 4)


def go(
    body: Any, *args: Any, cluster: Any = 2, grid: Any = None, block: int = 32, check: bool = True,
    seed: int = 0,
) -> Simulator:  # fmt: skip
    """Run a kernel on clusters; by default one of them, along x."""
    cluster = (cluster, 1, 1) if isinstance(cluster, int) else cluster
    sim = Simulator(check=check, seed=seed)
    types = [ptr({"f": F32}.get(a.dtype.kind, I32), 16) for a in args]
    values = [Buffer.from_numpy(a, f"arg{i}").pointer() for i, a in enumerate(args)]
    sim.run_kernel(
        kernel_module(types, body), "kernel", grid or cluster, (block, 1, 1), values, smem=1024,
        cluster=cluster,
    )  # fmt: skip
    return sim


def zeros(n: int = 64) -> Any:
    return np.zeros(n, np.int32)


def rank() -> Value:
    return ptx.sreg("cluster_ctarank")


def everybody(sem: str = "release") -> None:
    cl.cluster_arrive(sem)
    cl.cluster_wait()


def row(count: int = 32) -> Value:
    return shared(count, I32)


# ---------------------------------------------------------------------- reading a neighbour
def ring(*, before: str = "release", after: bool = True) -> Any:
    """Each block reads what the next one wrote."""

    def body(out: Value) -> None:
        with line(5):
            store(add(mul(rank(), const(100)), tid()), row(), tid())
        if before:
            everybody(before)
        size = ptx.sreg("cluster_nctarank")
        far = cl.mapa(row(), arith.binary("remsi", add(rank(), const(1)), size))
        with line(7):
            value = load(far, tid())
        store(value, out, add(mul(bid(), const(32)), tid()))
        if after:
            everybody()

    return body


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_ring(check: bool, seed: int) -> None:
    out = zeros(3 * 4 * 32)
    go(ring(), out, cluster=4, grid=(12, 1, 1), check=check, seed=seed)
    for b in range(12):
        want = [(b + 1) % 4 * 100 + t for t in range(32)]
        assert out[b * 32 : b * 32 + 32].tolist() == want


def test_clusters_in_two_dimensions() -> None:
    def body(out: Value) -> None:
        place = add(bid_linear(), const(0))
        store(place, row(), tid())
        everybody()
        far = cl.mapa(row(), arith.binary("xori", rank(), const(3)))
        when(eq(tid(), 0), lambda: store(load(far, const(0)), out, place))
        everybody()

    def bid_linear() -> Value:
        return add(bid(), mul(ptx.sreg("ctaid.y"), const(4)))

    out = zeros(16)
    go(body, out, cluster=(2, 2, 1), grid=(4, 4, 1))
    for y in range(4):
        for x in range(4):
            assert out[x + 4 * y] == (x ^ 1) + 4 * (y ^ 1)


def test_reading_before_the_neighbour_has_written() -> None:
    with pytest.raises(RaceError, match=r"wrote at|read at") as e:
        go(ring(before="relaxed"), zeros(64))
    assert e.value.code == "OC3401"


@pytest.mark.parametrize("use", ["load", "store"])
@pytest.mark.parametrize("before", ["", "sync", "first warp", "relaxed", "one", "release"])
def test_a_block_that_may_not_have_begun(before: str, use: str) -> None:
    """Each block uses memory of its neighbour that the neighbour does not use itself."""

    def meet() -> None:
        if before == "sync":
            sync()
        elif before == "first warp":  # as threads that only the first warp has to do with
            when(lt(tid(), 32), lambda: everybody("relaxed"), cl.cluster_arrive)
        elif before == "one":  # who has not waited itself knows from who has
            when(lt(tid(), 32), lambda: everybody("relaxed"), cl.cluster_arrive)
            sync()
        elif before:
            everybody(before)

    def body() -> None:
        meet()
        far = cl.mapa(row(64), arith.binary("xori", rank(), const(1)))
        with line(7):
            if use == "load":
                load(far, tid())
            else:
                store(tid(), far, tid())
        if before in ("one", "first warp"):
            when(lt(tid(), 32), lambda: None, cl.cluster_wait)
        everybody()

    if before in ("relaxed", "one", "release"):
        go(body, block=64)
        return
    with pytest.raises(RaceError, match="may not have begun") as e:
        go(body, block=64)
    assert e.value.code == "OC3411" and e.value.loc is not None and e.value.loc.line == 7
    assert "cluster_wait()" in (e.value.hint or "")
    if before == "first warp":
        assert "thread (32, 0, 0)" in str(e.value)


def test_a_block_that_ends_too_early() -> None:
    with pytest.raises(RaceError, match="may end while") as e:
        go(ring(after=False), zeros(64))
    assert e.value.code == "OC3407" and e.value.loc is not None and e.value.loc.line == 7
    assert "cluster_arrive" in str(e.value)


def test_writing_what_a_neighbour_may_still_read() -> None:
    def body(wait: bool) -> Any:
        def build(out: Value) -> None:
            store(rank(), row(), tid())
            everybody()
            far = cl.mapa(row(), arith.binary("xori", rank(), const(1)))
            with line(7):
                store(load(far, tid()), out, add(mul(bid(), const(32)), tid()))
            if wait:
                everybody()
            with line(9):
                store(const(-1), row(), tid())
            everybody()

        return build

    go(body(True), zeros(64))
    with pytest.raises(RaceError) as e:
        go(body(False), zeros(64))
    assert e.value.loc is not None and e.value.loc.line in (7, 9)


def test_atomics_and_stores_at_a_neighbour() -> None:
    out = zeros(2)

    def body(o: Value) -> None:
        when(eq(tid(), 0), lambda: store(const(0), row(), const(0)))
        everybody()
        far = cl.mapa(row(), const(0))
        ptx_memory.red("add", far, const(1), "relaxed", "cluster")
        old = ptx_memory.atomic("add", far, const(1), "relaxed", "cluster")
        assert old.type == I32
        everybody()
        when(eq(tid(), 0), lambda: store(load(far, const(0)), o, rank()))
        everybody()

    go(body, out)
    assert out.tolist() == [128, 128]


def test_no_such_block() -> None:
    with pytest.raises(SimulationError, match="the cluster has no block 2") as e:
        go(lambda: load(cl.mapa(row(), const(2)), tid()))
    assert e.value.code == "OC3036"


# ---------------------------------------------------------------------- barriers of clusters
def test_a_block_that_does_not_come() -> None:
    def body() -> None:
        with line(3):
            when(eq(rank(), 0), everybody, lambda: mb.mbarrier_wait(never(), const(0)))

    def never() -> Value:
        b = shared(1, I64, 512, 8)
        when(eq(tid(), 0), lambda: mb.mbarrier_init(b, const(1)))
        sync()
        return b

    with pytest.raises(DeadlockError, match="barrier of the cluster: 32 of 64 threads") as e:
        go(body, check=False)
    assert "not there: block (1, 0, 0), thread (0, 0, 0)" in str(e.value)


def test_threads_that_have_ended_are_not_waited_for() -> None:
    out = zeros(2)

    def body(o: Value) -> None:
        def rest() -> None:
            everybody()
            when(eq(tid(), 0), lambda: store(const(1), o, rank()))

        when(eq(rank(), 1), rest)

    go(body, out)
    assert out.tolist() == [0, 1]


def test_arriving_twice_or_never() -> None:
    def twice() -> None:
        cl.cluster_arrive()
        cl.cluster_arrive()

    for body, code in ((twice, "OC3038"), (cl.cluster_wait, "OC3039")):
        with pytest.raises(SimulationError) as e:
            go(body)
        assert e.value.code == code


def test_a_part_of_a_warp() -> None:
    for what in (everybody, lambda: cl.setmaxnreg("dec", 40)):
        with pytest.raises(SimulationError, match="part of a warp") as e:
            go(lambda what=what: when(lt(tid(), 8), what))
        assert e.value.code == "OC3017"


# ---------------------------------------------------------------------- mbarriers of neighbours
CLUSTER = {"sem": "release", "scope": "cluster"}
ACQUIRE = {"sem": "acquire", "scope": "cluster"}
RELAXED = {"sem": "relaxed", "scope": "cluster"}


def remote(
    *, fence: bool = True, together: str = "relaxed", after: bool = True,
    arrive: dict[str, str] = CLUSTER, wait: dict[str, str] = ACQUIRE, fences: str = "",
) -> Any:  # fmt: skip
    """All blocks arrive at the first one's barrier; it then reads what they wrote there.

    Args:
        fence: after the barrier's initialisation.
        together: how the cluster meets then.
        after: whether it meets at the end.
        arrive, wait: words of the arrival, and of the wait.
        fences: where there are fences of the cluster's scope: before the arrival, after the wait.
    """

    def body(out: Value) -> None:
        b = shared(1, I64, 512, 8)

        def init() -> None:
            mb.mbarrier_init(b, const(64))
            if fence:
                mb.fence_mbarrier_init()

        when(eq(tid(), 0), init)
        if together:
            everybody(together)
        store(add(mul(rank(), const(32)), tid()), cl.mapa(shared(64, I32), const(0)),
              add(mul(rank(), const(32)), tid()))  # fmt: skip
        if "before" in fences:
            ptx.fence("acq_rel", "cluster")
        mb.mbarrier_arrive("arrive", cl.mapa(b, const(0)), const(1), **arrive)

        def first() -> None:
            mb.mbarrier_wait(b, const(0), **wait)
            if "after" in fences:
                ptx.fence("acq_rel", "cluster")
            for i in range(2):
                k = add(tid(), const(32 * i))
                store(load(shared(64, I32), k), out, k)

        when(eq(rank(), 0), first)
        if after:
            everybody()

    return body


def test_arriving_at_a_neighbours_barrier() -> None:
    for after in (True, False):  # the first block waits for all that comes to it
        out = zeros(64)
        go(remote(after=after), out)
        assert out.tolist() == list(range(64))


@pytest.mark.parametrize(
    ("arrive", "wait", "fences"),
    [(CLUSTER, {}, "after"), (CLUSTER, RELAXED, "after"), ({}, ACQUIRE, "before"),
     (RELAXED, ACQUIRE, "before"), ({}, {}, "before after"), (RELAXED, RELAXED, "before after")],
)  # fmt: skip
def test_fences_of_the_cluster_stand_for_scopes(
    arrive: dict[str, str], wait: dict[str, str], fences: str
) -> None:
    go(remote(arrive=arrive, wait=wait, fences=fences), zeros(64))
    for left in fences.split():
        with pytest.raises(RaceError) as e:
            go(remote(arrive=arrive, wait=wait, fences=fences.replace(left, "")), zeros(64))
        assert e.value.code == "OC3401"
        assert "cluster's scope" in (e.value.hint or "")


@pytest.mark.parametrize(
    ("arrive", "wait"),
    [({}, ACQUIRE), ({"sem": "release", "scope": "cta"}, ACQUIRE), (RELAXED, ACQUIRE),
     (CLUSTER, {}), (CLUSTER, {"sem": "acquire", "scope": "cta"}), (CLUSTER, RELAXED), ({}, {})],
)  # fmt: skip
def test_scopes_that_do_not_have_the_other_block(
    arrive: dict[str, str], wait: dict[str, str]
) -> None:
    with pytest.raises(RaceError) as e:
        go(remote(arrive=arrive, wait=wait), zeros(64))
    assert e.value.code == "OC3401"


@pytest.mark.parametrize(
    ("order", "good"),
    [("met fence", True), ("fence met", False), ("met", False), ("strong met", True)],
)
def test_one_thread_arrives_for_a_warp(order: str, good: bool) -> None:
    """All write to the first block's memory; one of each block arrives there, relaxed."""

    def body(out: Value) -> None:
        b = shared(1, I64, 512, 8)

        def init() -> None:
            mb.mbarrier_init(b, const(2))
            mb.fence_mbarrier_init()

        when(eq(tid(), 0), init)
        everybody("relaxed")
        place = add(mul(rank(), const(32)), tid())
        store(place, cl.mapa(shared(64, I32), const(0)), place)
        for word in order.split():
            if word == "met":
                ptx.bar_warp_sync(const(-1))
            else:
                ptx.fence("sc" if word == "strong" else "acq_rel", "cluster")

        def tell() -> None:
            mb.mbarrier_arrive("arrive", cl.mapa(b, const(0)), const(1), **RELAXED)

        when(eq(tid(), 0), tell)

        def first() -> None:
            mb.mbarrier_wait(b, const(0), **ACQUIRE)
            for i in range(2):
                k = add(tid(), const(32 * i))
                store(load(shared(64, I32), k), out, k)

        when(eq(rank(), 0), first)
        everybody()

    out = zeros(64)
    if good:
        go(body, out)
        assert out.tolist() == list(range(64))
        return
    with pytest.raises(RaceError) as e:
        go(body, zeros(64))
    assert e.value.code == "OC3401"


def borrow(arrive: dict[str, str], *, again: bool) -> Any:
    """The second block reads the first one's memory and says so; the first one writes there, or
    ends."""

    def body(out: Value) -> None:
        b = shared(1, I64, 512, 8)

        def init() -> None:
            mb.mbarrier_init(b, const(32))
            mb.fence_mbarrier_init()

        when(eq(tid(), 0), init)
        store(tid(), row(), tid())
        everybody()

        def second() -> None:
            with line(10):
                store(load(cl.mapa(row(), const(0)), tid()), out, tid())
            mb.mbarrier_arrive("arrive", cl.mapa(b, const(0)), const(1), **arrive)

        def first() -> None:
            mb.mbarrier_wait(b, const(0))  # what others have read may be written over
            if again:
                with line(12):
                    store(const(0), row(), tid())

        when(eq(rank(), 1), second)
        when(eq(rank(), 0), first)

    return body


@pytest.mark.parametrize(("again", "code"), [(True, "OC3401"), (False, "OC3407")])
def test_an_arrival_that_overtakes_reads_of_its_barriers_block(again: bool, code: str) -> None:
    go(borrow(CLUSTER, again=again), out := zeros(32))
    assert out.tolist() == list(range(32))
    for arrive in ({}, RELAXED):
        with pytest.raises(RaceError) as e:
            go(borrow(arrive, again=again), zeros(32))
        assert e.value.code == code


def test_a_neighbours_barrier_that_may_not_be_there() -> None:
    for options, code in (({"fence": False}, "OC3404"), ({"together": ""}, "OC3411")):
        with pytest.raises(SimulationError) as e:
            go(remote(**options), zeros(64))
        assert e.value.code == code
    go(remote(fence=False, together="release"), zeros(64))


# ---------------------------------------------------------------------- writes that count
def scatter(tx: int, *, wait: bool = True) -> Any:
    """Each block sends its number to all, as a reduction across a cluster does."""

    def body(out: Value) -> None:
        b, values = shared(1, I64, 512, 8), shared(4, F32)

        def init() -> None:
            mb.mbarrier_init(b, const(1))
            mb.fence_mbarrier_init()
            mb.mbarrier_arrive("arrive_expect_tx", b, const(tx))

        when(eq(tid(), 0), init)
        everybody("relaxed")
        value = arith.cast("sitofp", add(rank(), const(1)), F32)

        def send() -> None:
            with line(10):
                cl.st_async(at(cl.mapa(values, tid()), rank()), value, cl.mapa(b, tid()))

        when(lt(tid(), 4), send)
        if wait:
            with line(11):
                mb.mbarrier_wait(b, const(0))

        def take() -> None:
            with line(12):
                store(load(values, tid()), out, add(mul(bid(), const(4)), tid()))

        when(lt(tid(), 4), take)

    return body


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_asynchronous_stores(check: bool, seed: int) -> None:
    out = np.zeros(16, np.float32)
    go(scatter(16), out, cluster=4, check=check, seed=seed)
    assert out.tolist() == [1, 2, 3, 4] * 4


def test_asynchronous_stores_with_a_wrong_count() -> None:
    with pytest.raises(DeadlockError, match="4 bytes have not come") as e:
        go(scatter(20), np.zeros(16, np.float32), cluster=4)
    assert e.value.loc is not None and e.value.loc.line == 11
    with pytest.raises(RaceError, match=r"st\.async writes, .* without waiting until it has"):
        go(scatter(12), np.zeros(16, np.float32), cluster=4)


def test_reading_before_they_have_come() -> None:
    with pytest.raises(SimulationError) as e:
        go(scatter(16, wait=False), np.zeros(16, np.float32), cluster=4)
    assert e.value.code == "OC3402"


@pytest.mark.parametrize("late", [False, True])
def test_they_tell_what_was_done_before(late: bool) -> None:
    """Block 1 reads a number and tells block 0, which then writes another one in its place."""

    def body(out: Value) -> None:
        b, values, told = shared(1, I64, 512, 8), shared(1, F32), shared(1, F32, 256)

        def init() -> None:
            store(arith.constant(1.0, F32), values, const(0))
            mb.mbarrier_init(b, const(1))
            mb.fence_mbarrier_init()
            mb.mbarrier_arrive("arrive_expect_tx", b, const(4))

        def read() -> None:
            store(load(values, const(0)), out, const(0))

        def send() -> None:
            cl.st_async(cl.mapa(told, const(0)), arith.constant(2.0, F32), cl.mapa(b, const(0)))

        def reader() -> None:
            for step in (send, read) if late else (read, send):
                step()

        def writer() -> None:
            mb.mbarrier_wait(b, const(0))
            store(arith.constant(3.0, F32), cl.mapa(values, const(1)), const(0))

        when(eq(tid(), 0), init)
        everybody()
        when(eq(tid(), 0), lambda: when(eq(rank(), 1), reader))
        when(eq(tid(), 0), lambda: when(eq(rank(), 0), writer))
        everybody()

    if late:
        with pytest.raises(SimulationError) as e:
            go(body, zeros(1))
        assert e.value.code == "OC3401"
    else:
        go(body, zeros(1))


def test_asynchronous_reductions() -> None:
    out = zeros(2)

    def body(o: Value) -> None:
        b = shared(1, I64, 512, 8)

        def init() -> None:
            store(const(5), row(), const(0))
            mb.mbarrier_init(b, const(1))
            mb.fence_mbarrier_init()
            mb.mbarrier_arrive("arrive_expect_tx", b, const(64 * 4))

        when(eq(tid(), 0), init)
        everybody()
        for n in range(2):
            cl.red_async("add", cl.mapa(row(), const(n)), tid(), cl.mapa(b, const(n)))
        mb.mbarrier_wait(b, const(0))
        when(eq(tid(), 0), lambda: store(load(row(), const(0)), o, rank()))

    go(body, out)
    assert out.tolist() == [5 + 2 * 496] * 2


# ---------------------------------------------------------------------- copies that arrive
def cp_kernel(noinc: bool, count: int, *, wait: bool = True) -> Any:
    def body(source: Value, out: Value) -> None:
        b = shared(1, I64, 512, 8)
        when(eq(tid(), 0), lambda: mb.mbarrier_init(b, const(count)))
        sync()

        def load_some() -> None:
            place = cute.ptr_add(row(), tid(), 4)
            ptx_memory.cp_async(place, cute.ptr_add(source, tid(), 4), 4)
            cl.cp_async_mbarrier_arrive(b, noinc=noinc)
            if not noinc:
                mb.mbarrier_arrive("arrive", b, const(1))

        def use() -> None:
            if wait:
                mb.mbarrier_wait(b, const(0))
            lane = add(tid(), const(-32))
            store(load(row(), lane), out, lane)

        when(lt(tid(), 32), load_some, use)

    return body


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("noinc", [False, True])
def test_copies_that_arrive(noinc: bool, check: bool) -> None:
    out, source = zeros(32), np.arange(32, dtype=np.int32) + 7
    go(cp_kernel(noinc, 32), source, out, cluster=1, block=64, check=check)
    assert (out == source).all()


def test_copies_that_are_not_waited_for() -> None:
    with pytest.raises(RaceError) as e:
        go(cp_kernel(True, 32, wait=False), zeros(32), zeros(32), cluster=1, block=64)
    assert e.value.code in ("OC3401", "OC3402")
    with pytest.raises(DeadlockError, match="32 of 64"):
        go(cp_kernel(True, 64), zeros(32), zeros(32), cluster=1, block=64)
