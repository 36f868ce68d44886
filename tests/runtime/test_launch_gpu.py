# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Launches on a GPU."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError, DeviceError
from opencute.runtime import device
from opencute.runtime.launch import KernelParams, LaunchConfig, launch
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.module import Module
from opencute.runtime.stream import Event, Stream
from opencute.runtime.timing import time_bursts, time_flushed, time_graph
from runtime.gpu_code import CLUSTER, FILL, SHARED

pytestmark = pytest.mark.t2

N = 1000


@pytest.fixture
def fill():
    """A launcher: fill(buffer, value, **config)."""
    kernel = Module(FILL).function("fill")

    def run(buffer, value, n=N, **changes):
        params = KernelParams(
            ctypes.c_void_p(buffer.address), ctypes.c_uint32(value), ctypes.c_uint32(n)
        )
        launch(kernel, LaunchConfig(**{"grid": -(-n // 128), "block": 128, **changes}), params)

    run.kernel = kernel
    return run


def needs_clusters():
    if not device.properties().clusters:
        pytest.skip("needs clusters")


def test_a_kernel_runs_and_is_counted(fill):
    before = COUNTERS.snapshot()
    buffer = DeviceBuffer(4 * N)
    fill(buffer, 7)
    assert (buffer.numpy(np.uint32) == 7).all()
    assert COUNTERS.since(before).launches == 1


@pytest.mark.parametrize(
    "options",
    [
        {"cooperative": True},
        {"use_pdl": True},
        {"priority": 0},
        {"smem_carveout": 50},
        {"smem": 100 << 10},
        {"mem_sync_domain": "remote"},
        {"block": (32, 4), "grid": (8, 1, 1)},
    ],
    ids=str,
)
def test_options_are_taken(fill, options):
    buffer = DeviceBuffer(4 * N)
    buffer.fill(0)
    stream = Stream()
    fill(buffer, 9, stream=stream, **options)
    stream.synchronize()
    assert (buffer.numpy(np.uint32)[:32] == 9).all()


@pytest.mark.parametrize(
    "options",
    [
        {"cluster": 4},
        {"cluster": 8},
        {"cluster": 16},
        {"cluster": 2, "cluster_scheduling": "spread"},
        {"cluster": 2, "cluster_scheduling": "load_balancing"},
    ],
    ids=str,
)
def test_clusters(options):
    needs_clusters()
    kernel = Module(CLUSTER).function("cluster")
    buffer = DeviceBuffer(4 * 32)
    launch(kernel, LaunchConfig(32, 32, **options), KernelParams(ctypes.c_void_p(buffer.address)))
    assert (buffer.numpy(np.uint32) == options["cluster"]).all()


def test_a_preferred_cluster_falls_back():
    needs_clusters()
    if device.properties().capability < (10, 0):
        pytest.skip("preferred clusters came with sm_100")
    kernel = Module(CLUSTER).function("cluster")
    buffer = DeviceBuffer(4 * 32)
    config = LaunchConfig(32, 32, cluster=4, fallback_cluster=2)
    launch(kernel, config, KernelParams(ctypes.c_void_p(buffer.address)))
    assert set(buffer.numpy(np.uint32)) <= {2, 4}


def test_all_of_the_shared_memory():
    kernel = Module(SHARED).function("shared")
    buffer = DeviceBuffer(4)
    limit = device.properties().smem_per_block_optin
    for smem in (1024, 48 << 10, limit):
        buffer.fill(0)
        params = KernelParams(ctypes.c_void_p(buffer.address), ctypes.c_uint32(smem - 4))
        launch(kernel, LaunchConfig(1, 1, smem=smem), params)
        assert buffer.numpy(np.uint32)[0] == 4711


def test_wrong_launches_are_refused_before_the_driver(fill):
    buffer = DeviceBuffer(4 * N)
    for changes in (
        {"smem": 512 << 20},
        {"grid": 0},
        {"block": 2048},
        {"cluster": 3},
    ):
        with pytest.raises(ArgumentError):
            fill(buffer, 1, **changes)
    fill(buffer, 2)
    assert (buffer.numpy(np.uint32) == 2).all()


def test_a_cooperative_grid_that_does_not_fit(fill):
    buffer = DeviceBuffer(4 * N)
    with pytest.raises(DeviceError, match="COOPERATIVE_LAUNCH_TOO_LARGE") as caught:
        fill(buffer, 1, grid=100_000, block=1024, cooperative=True)
    assert caught.value.code == "OC4720"


def test_events_fire(fill):
    buffer = DeviceBuffer(4 * N)
    event = Event(timing=False)
    stream = Stream()
    fill(buffer, 1, stream=stream, completion_event=(event, 0))
    event.synchronize()
    stream.synchronize()
    assert event.query()


def test_the_current_stream_is_read_at_each_launch(fill):
    torch = pytest.importorskip("torch")
    t = torch.zeros(N, dtype=torch.int32, device="cuda")

    class Memory:
        address = t.data_ptr()

    graph = torch.cuda.CUDAGraph()
    fill(Memory, 1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        fill(Memory, 5)
        fill(Memory, 6, n=N // 2)
    torch.cuda.synchronize()
    assert (t == 1).all()  # captured, not run
    graph.replay()
    torch.cuda.synchronize()
    assert (t[: N // 2] == 6).all()
    assert (t[N // 2 :] == 5).all()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        fill(Memory, 8)
    side.synchronize()
    assert (t == 8).all()


def test_a_packed_config_is_reused(fill):
    buffer = DeviceBuffer(4 * N)
    stream = Stream()
    packed = LaunchConfig(8, 128).pack()
    packed.stream = stream.handle
    value = ctypes.c_uint32(0)
    params = KernelParams(ctypes.c_void_p(buffer.address), value, ctypes.c_uint32(N))
    for k in range(3):
        value.value = k
        launch(fill.kernel, packed, params)
        stream.synchronize()
        assert (buffer.numpy(np.uint32) == k).all()


@pytest.mark.parametrize("stream", ["legacy", "own"])
def test_timing(fill, stream):
    n = 16 << 20
    buffer = DeviceBuffer(4 * n)
    handle = Stream() if stream == "own" else 0

    def work(s):
        fill(buffer, 3, n=n, stream=s)

    bursts = time_bursts(work, stream=handle)
    flushed = time_flushed(work, stream=handle)
    graph = time_graph(work, stream=handle if stream == "own" else None)
    # 64 MiB at no more than 20 TB/s, no less than 50 GB/s
    for samples in (bursts, flushed, graph):
        assert 3 < samples.minimum <= samples.median < 1300
    assert (len(bursts.us), len(flushed.us), len(graph.us)) == (7, 30, 7)


def test_a_failed_capture_leaves_the_stream_usable(fill):
    buffer = DeviceBuffer(4 * N)
    stream = Stream()
    calls = []

    def work(s):
        calls.append(s)
        if len(calls) > 3:
            raise KeyError("from the caller's code")
        fill(buffer, 3, stream=s)

    with pytest.raises(KeyError):
        time_graph(work, stream=stream)
    fill(buffer, 4, stream=stream)
    stream.synchronize()
    assert (buffer.numpy(np.uint32) == 4).all()
