# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Streams, events, graphs, random numbers and properties of the simulated device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from opencute.integrations import torch_sim

pytestmark = pytest.mark.t0

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    with torch_sim.simulated_cuda():
        yield


def test_properties() -> None:
    cuda = torch.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.current_device()) == (True, 1, 0)
    assert cuda.get_device_name() == "OpenCuTe simulator (sm_90a)"
    assert cuda.get_device_capability() == cuda.get_device_capability("cuda:0") == (9, 0)
    found = cuda.get_device_properties(0)
    assert (found.major, found.minor, found.warp_size) == (9, 0, 32)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.get_device_properties(3)
    cuda.set_device(0)
    with cuda.device(0):
        cuda.synchronize()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(1)
    assert cuda.mem_get_info()[0] > 0
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == 0
    cuda.empty_cache()
    cuda.nvtx.range_push("x")
    cuda.nvtx.range_pop()
    with cuda.nvtx.range("y"):
        pass
    assert cuda.is_bf16_supported()
    if hasattr(torch, "accelerator"):
        assert torch.accelerator.is_available()


def test_streams() -> None:
    default = torch.cuda.current_stream()
    assert default == torch.cuda.default_stream()
    assert default.cuda_stream == 0
    stream = torch.cuda.Stream()
    assert stream.cuda_stream != 0
    assert stream != torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == stream
    assert torch.cuda.current_stream() == default
    stream.wait_stream(default)
    stream.wait_event(stream.record_event())
    stream.synchronize()
    assert stream.query()
    assert str(stream.device) == "cuda:0"
    assert torch.cuda.ExternalStream(77).cuda_stream == 77


def test_events() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.01)
    end.record(torch.cuda.current_stream())
    assert 5 < start.elapsed_time(end) < 5000
    assert end.query()
    end.synchronize()
    end.wait()
    with pytest.raises(ValueError, match="enable_timing"):
        torch.cuda.Event().elapsed_time(end)


def test_a_graph_replays_torch_and_launches() -> None:
    x = torch.ones(3, device="cuda")
    launches: list[int] = []
    graph = torch.cuda.CUDAGraph()
    assert torch_sim.capturing_graph() is None
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        assert torch.cuda.current_stream().cuda_stream != 0
        assert torch_sim.capturing_graph() is graph
        y = (x * 2).to(torch.float64)
        y += 1
        y[0] = 7
        graph.record(lambda: launches.append(1))
    assert torch_sim.capturing_graph() is None
    assert y.tolist() == [7, 3, 3]
    x.fill_(5)
    y.zero_()
    graph.replay()
    graph.replay()
    assert y.tolist() == [7, 11, 11]
    assert launches == [1, 1]
    graph.reset()
    graph.replay()
    assert launches == [1, 1]


def test_a_capture_that_fails_ends() -> None:
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(ZeroDivisionError), torch.cuda.graph(graph):
        raise ZeroDivisionError
    assert torch_sim.capturing_graph() is None
    graph.capture_begin()
    with pytest.raises(RuntimeError, match="being captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="already"):
        torch.cuda.CUDAGraph().capture_begin()
    graph.capture_end()
    with pytest.raises(RuntimeError, match="not being captured"):
        graph.capture_end()


def test_random_numbers_of_host_and_device_are_separate() -> None:
    torch.manual_seed(0)
    expected = torch.randn(2)
    torch.manual_seed(0)
    first = torch.randn(2, device="cuda")
    torch.nn.functional.dropout(first, 0.5)
    assert torch.equal(torch.randn(2), expected)
    torch.cuda.manual_seed(5)
    a = torch.randn(4, device="cuda")
    torch.randn(9)
    torch.cuda.manual_seed_all(5)
    b = torch.empty(4, device="cuda").normal_()
    assert torch.equal(a, b)
    state = torch.cuda.get_rng_state()
    c = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(c, torch.rand(3, device="cuda"))


def test_generators() -> None:
    on_device = torch.Generator(device="cuda")
    on_host = torch.Generator()
    assert (on_device.device.type, on_host.device.type) == ("cuda", "cpu")
    assert isinstance(on_device, torch.Generator)
    assert isinstance(on_host, torch.Generator)
    a = torch.randn(3, device="cuda", generator=on_device.manual_seed(1))
    b = torch.randn(3, device="cuda", generator=on_device.manual_seed(1))
    assert torch.equal(a, b)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.randn(3, device="cuda", generator=on_host)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.randn(3, generator=on_device)


def test_compile_is_the_identity() -> None:
    def double(x: Any) -> Any:
        return x * 2

    assert torch.compile(double) is double
    assert torch.compile(mode="max-autotune")(double) is double
