# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline PTX on mbarriers and clusters means what the operations mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import SimulationError
from opencute.dialects import arith, cute, llvm, ptx
from opencute.ir.core import Value
from opencute.ir.types import F32, I32, I64
from opencute.sim import Buffer, Simulator
from sim.building import const, kernel_module, mul, ptr
from sim.sync.blocks import add, eq, load, lt, shared, store, sync, tid, when

pytestmark = pytest.mark.t0


def asm(text: str, *args: Value, out: Sequence[Any] = ()) -> Any:
    letters = {I32: "r", I64: "l", F32: "f"}
    parts = [f"={letters[t]}" for t in out] + [letters[a.type] for a in args]
    made = llvm.inline_asm(text, ",".join([*parts, "~{memory}"]), args, list(out))
    return made.results[0] if out else None


def address(p: Value) -> Value:
    return arith.cast("trunci", cute.ptr_to_int(p), I32)


def go(body: Any, out: Any, cluster: int = 1, block: int = 64) -> None:
    sim = Simulator(check=True)
    element = F32 if out.dtype == np.float32 else I32
    module = kernel_module([ptr(element)], body)
    pointer = Buffer.from_numpy(out, "out").pointer()
    sim.run_kernel(
        module, "kernel", (cluster, 1, 1), (block, 1, 1), [pointer], smem=1024,
        cluster=(cluster, 1, 1),
    )  # fmt: skip


def test_a_wait_loop_and_its_phases() -> None:
    out = np.zeros(32, np.int32)

    def body(o: Value) -> None:
        bar, row = address(shared(1, I64, 512, 8)), shared(32, I32)
        when(eq(tid(), 0), lambda: asm("mbarrier.init.shared::cta.b64 [$0], $1;", bar, const(33)))
        asm("fence.mbarrier_init.release.cluster;")
        sync()

        def first() -> None:
            store(tid(), row, tid())
            asm("mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", bar)

        def second() -> None:
            arrive = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
            when(eq(tid(), 32), lambda: asm(arrive, bar, const(8)))
            tx = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
            when(eq(tid(), 33), lambda: asm(tx, bar, const(8)))
            asm("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, $2; "
                "@p bra D; bra W; D: }", bar, const(0), const(1000))  # fmt: skip
            lane = add(tid(), const(-32))
            store(load(row, lane), o, lane)

        when(lt(tid(), 32), first, second)

    go(body, out)
    assert out.tolist() == list(range(32))


def test_tokens() -> None:
    out = np.zeros(3, np.int32)

    def body(o: Value) -> None:
        bar = address(shared(1, I64, 512, 8))
        asm("mbarrier.init.shared.b64 [$0], 3;", bar)
        token = asm("mbarrier.arrive.shared.b64 $0, [$1], 2;", bar, out=[I64])
        store(asm("mbarrier.pending_count.b64 $0, $1;", token, out=[I32]), o, const(0))
        test = "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }"
        store(asm(test, bar, token, out=[I32]), o, const(1))
        asm("{ .reg .b64 s; mbarrier.arrive_drop.shared.b64 s, [$0]; }", bar)
        store(asm(test, bar, token, out=[I32]), o, const(2))
        asm("mbarrier.inval.shared.b64 [$0];", bar)

    go(body, out, block=1)
    assert out.tolist() == [3, 0, 1]


def test_a_neighbours_memory() -> None:
    out = np.zeros(8, np.float32)

    def body(o: Value) -> None:
        place, values = shared(1, I64, 512, 8), shared(4, F32)
        bar, mine = address(place), address(values)
        rank = ptx.sreg("cluster_ctarank")

        def init() -> None:
            asm("mbarrier.init.shared::cta.b64 [$0], 1;", bar)
            asm("fence.mbarrier_init.release.cluster;")
            asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 16;", bar)

        when(eq(tid(), 0), init)
        asm("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;")
        map_ = "mapa.shared::cluster.u32 $0, $1, $2;"

        def send() -> None:
            far = add(asm(map_, mine, tid(), out=[I32]), mul(rank, const(8)))
            far_bar = asm(map_, bar, tid(), out=[I32])
            value = arith.cast("sitofp", add(rank, const(1)), F32)
            kind = "shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
            asm(f"st.async.{kind} [$0], {{$1, $1}}, [$2];", far, value, far_bar)

        when(lt(tid(), 2), send)
        asm("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], 0; @!p bra W; }",
            bar)  # fmt: skip
        when(lt(tid(), 4), lambda: store(load(values, tid()), o, add(mul(rank, const(4)), tid())))

    go(body, out, cluster=2, block=32)
    assert out.tolist() == [1, 1, 2, 2] * 2


def test_loads_from_a_neighbour() -> None:
    out = np.zeros(2, np.int32)

    def body(o: Value) -> None:
        row = shared(4, I32)
        rank = ptx.sreg("cluster_ctarank")
        both = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
        when(eq(tid(), 0), lambda: store(add(rank, const(5)), row, const(0)))
        asm(both)
        other = arith.binary("xori", rank, const(1))
        text = (
            "{ .reg .b32 a; mapa.shared::cluster.u32 a, $1, $2; ld.shared::cluster.b32 $0, [a]; }"
        )
        got = asm(text, address(row), other, out=[I32])
        when(eq(tid(), 0), lambda: store(got, o, rank))
        asm("griddepcontrol.wait; griddepcontrol.launch_dependents;")
        asm("setmaxnreg.inc.sync.aligned.u32 232;")
        asm(both)

    go(body, out, cluster=2, block=32)
    assert out.tolist() == [6, 5]


@pytest.mark.parametrize(
    "text",
    [
        "mbarrier.arrive.noComplete.shared.b64 $0, [$1], 1;",
        "mapa.u64 $0, $0, $1;",
        "griddepcontrol.other;",
        "mbarrier.other.b64 [$1];",
    ],
)
def test_what_is_not_understood(text: str) -> None:
    def body(o: Value) -> None:
        asm(text, address(shared(1, I64, 512, 8)), out=[I64])

    with pytest.raises(SimulationError) as e:
        go(body, np.zeros(1, np.int32), block=1)
    assert e.value.code == "OC3090"
