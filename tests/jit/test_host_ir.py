# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One IR for host and device: what a host function launches is the same in the simulator and in
native code, whose driver is a stand-in that records."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.integrations.driver_stub import StubDriver
from opencute.jit.request import Request
from opencute.jit.runners import SimRunner
from opencute.sim import Simulator

pytestmark = pytest.mark.t1

CLUSTER, COOPERATIVE, PDL = 4, 2, 6  # CUlaunchAttributeID


@cute.kernel
def fill(x: cute.Tensor, value: cutlass.Int32):
    x[0, 0] = value.to(x.element_type)


@cute.kernel
def shift(x: cute.Tensor, far: cutlass.Int64):
    x[0, 0] = x[0, 0] + far.to(x.element_type)


@cute.jit
def two_ways(x: cute.Tensor, n: cutlass.Int32):
    if n > 4:
        fill(x, n).launch(grid=n, block=64)
    else:
        shift(x, n).launch(grid=(1, n + 1), block=(8, 4))


@cute.jit
def with_cluster(x: cute.Tensor, n: cutlass.Int32):
    fill(x, n).launch(grid=(2 * n, 1, 1), block=128, cluster=(2, 1, 1), smem=1024, use_pdl=True)


@cute.jit
def wide_stride(x: cute.Tensor, n: cutlass.Int32):
    stride = x.stride[0]
    shift(x, stride * cutlass.Int64(3_000_000_000)).launch(grid=1, block=32)
    shift(x, -stride).launch(grid=cute.ceil_div(cute.size(x), 7), block=32)


@cute.jit
def loop(x: cute.Tensor, n: cutlass.Int32):
    for i in range(n):
        fill(x, i * i).launch(grid=i + 1, block=32)
        for k in cutlass.range_constexpr(2):
            shift(x, i + k).launch(grid=1, block=32 << k)


@cute.jit
def nested(x: cute.Tensor, n: cutlass.Int32):
    count = n
    while count > 0:
        if count % 3 == 0:
            fill(x, count).launch(grid=count, block=32)
        elif count % 3 == 1:
            for i in range(0, count, 2):
                shift(x, i).launch(grid=2, block=32)
        count = count - 1
    fill(x, count).launch(grid=1, block=1)


@cute.jit
def early(x: cute.Tensor, n: cutlass.Int32):
    fill(x, 1).launch(grid=1, block=1)
    if n < 3:
        return
    for i in range(10):
        if i == n:
            break
        fill(x, i).launch(grid=1, block=1)


@cute.jit
def empty_grids(x: cute.Tensor, n: cutlass.Int32):
    fill(x, n).launch(grid=n, block=32)
    fill(x, n).launch(grid=(1, n, 1), block=32)
    fill(x, 7).launch(grid=1, block=32)


@cute.jit
def arithmetic(x: cute.Tensor, n: cutlass.Int32):
    m = (n * 7 - 3) // 4 if n > 2 else -(n // 3)
    bits = ((n << 3) ^ 5) & 0xFF
    real = cutlass.Float32(n) * 1.5
    fill(x, m % 5 + bits).launch(grid=cute.ceil_div(n + 9, 4), block=cutlass.max(32, n))
    fill(x, cutlass.Int32(real)).launch(grid=1, block=32)


def value_words(values: tuple[Any, ...]) -> list[int]:
    """What a kernel's arguments after the tensor's address are, as unsigned numbers."""
    return [int(v) & 0xFFFFFFFFFFFFFFFF for v in values]


def simulated(fn: Any, args: tuple[Any, ...]) -> list[Any]:
    """(kernel, grid, block, cluster, smem, arguments) of each launch, by the simulator."""
    found: list[Any] = []

    def hook(
        kernel: str, grid: Any, block: Any, cluster: Any, smem: Any, stream: Any, values: Any,
        attributes: Any,
    ) -> None:  # fmt: skip
        if all(grid):
            found.append((kernel, tuple(map(int, grid)), tuple(map(int, block)),
                          tuple(map(int, cluster)) if cluster else None, int(smem or 0),
                          [int(np.asarray(v)) for v in values[1:]]))  # fmt: skip

    with KNOBS.override(target="sim:sm_90a"):
        from opencute.compiler.options import Options

        request = Request(fn, args, {}, Options())
        module = request.trace()
        from opencute.jit.calls import artefacts_of

        runner = SimRunner(artefacts_of(module, request))
        simulator = Simulator("sm_90a")
        values = [runner._argument(v, None) for v in request.values(request.arguments)]
        simulator.run_host(runner.module, runner.artefacts.name, values, launch=hook)
    return found


def native(fn: Any, args: tuple[Any, ...]) -> list[Any]:
    """The same by native code."""
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        cute.compile(fn, *args)(*args)
    out: list[Any] = []
    for launch in stub.launches:
        attributes = dict(launch.attributes)
        cluster = attributes.get(CLUSTER)
        assert (PDL in attributes) == (fn is with_cluster)
        out.append((launch.kernel, launch.grid, launch.block, cluster, launch.smem,
                    list(launch.values[1:])))  # fmt: skip
    return out


def agree(simulated: list[Any], native: list[Any]) -> None:
    assert [s[:5] for s in simulated] == [n[:5] for n in native]
    for s, n in zip(simulated, native, strict=True):
        for a, b in zip(s[5], n[5], strict=True):
            # A parameter's memory may hold more than its value: compare the value's bits.
            assert (a - b) % (1 << 32) == 0, (s, n)
            if abs(a) >= 1 << 31:
                assert (a - b) % (1 << 64) == 0, (s, n)


@pytest.mark.parametrize(
    "fn", [two_ways, with_cluster, wide_stride, loop, nested, early, empty_grids, arithmetic],
    ids=lambda fn: fn.fn.__name__,
)  # fmt: skip
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
def test_native_host_code_launches_what_the_simulator_launches(fn: Callable[..., Any], n: int):
    if fn is with_cluster and n == 0:
        n = 4
    x = from_dlpack(np.zeros((6, 10), np.int64)).mark_layout_dynamic()
    agree(simulated(fn, (x, n)), native(fn, (x, n)))


def test_a_dynamic_condition_chooses_the_launch():
    x = from_dlpack(np.zeros((6, 10), np.int64)).mark_layout_dynamic()
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        compiled = cute.compile(two_ways, x, 1)
        for n in (9, 2):
            compiled(x, n)
    first, second = stub.launches
    assert (first.kernel, first.grid) == ("fill_0", (9, 1, 1))
    assert (second.kernel, second.grid, second.block) == ("shift_0", (1, 3, 1), (8, 4, 1))


def test_64_bits_reach_the_kernel():
    x = from_dlpack(np.zeros((6, 10), np.int64)).mark_layout_dynamic()
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        cute.compile(wide_stride, x, 1)(x, 1)
    wide = [launch.parameters(*[ctypes.c_int64] * len(launch.values)) for launch in stub.launches]
    assert wide[0][-1] == 30_000_000_000 and wide[1][-1] == -10
    assert stub.launches[1].grid == (9, 1, 1)


class CUevent(int):
    """Stands for the driver's event, which is known by the name of its class."""


@cute.jit
def with_events(x: cute.Tensor, done: CUevent, early: CUevent, at_start: cutlass.Constexpr):
    fill(x, 1).launch(
        grid=1, block=32, launch_completion_event=done, launch_completion_event_flags=1
    )
    fill(x, 2).launch(grid=1, block=32)
    fill(x, 3).launch(
        grid=1, block=32, programmatic_event=early, use_pdl=True,
        programmatic_event_trigger_at_block_start=at_start,
    )  # fmt: skip


def test_events_of_launches():
    x = from_dlpack(np.zeros((6, 10), np.int64)).mark_layout_dynamic()
    events = CUevent(0x1122334455), CUevent(0x99)
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        compiled = cute.compile(with_events, x, *events, 1)
        compiled(x, *events)
        with_events(x, CUevent(7), CUevent(8), 0)
    found = [dict(launch.attributes) for launch in stub.launches]
    assert found[0][12] == (0x22334455, 0x11, 1) and 7 not in found[0]
    assert 12 not in found[1] and 7 not in found[1]
    assert found[2][7] == (0x99, 0, 0) and found[2][PDL][0] == 1
    assert found[3][12] == (7, 0, 1) and found[5][7] == (8, 0, 0)
    simulated = np.zeros((6, 10), np.int64)
    with KNOBS.override(target="sim"):
        with_events(from_dlpack(simulated), CUevent(7), CUevent(8), 0)
    assert simulated[0, 0] == 3


def test_an_event_from_outside_is_refused():
    event = CUevent(3)

    @cute.jit
    def host(x: cute.Tensor):
        fill(x, 1).launch(grid=1, block=32, programmatic_event=event)

    with KNOBS.override(target="sim"), pytest.raises(TypeMismatchError, match="argument") as e:
        host(from_dlpack(np.zeros((6, 10), np.int64)))
    assert e.value.code == "OC1255"
