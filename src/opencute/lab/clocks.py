# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks for the benchmark: device events on a GPU, the host's clock in the simulator.

In: a function without arguments. Out: a `Sample` for each call, device and host time in
milliseconds::

    clock = pick_clock(simulated=True, flush_l2=True)
    clock.sample(lambda: kernel(x)).device_ms

On a GPU a short busy wait is queued before the start event, so that the host has queued the kernel
by the time it runs: the events then see the kernel and not the host. The L2 cache is overwritten
first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from opencute.integrations.import_hook import after_import

__all__ = ["Clock", "CudaClock", "HostClock", "Sample", "pick_clock", "summary", "watch_torch"]

_now: Callable[[], int] = time.perf_counter_ns  # taken before a user's file can replace it
_SPIN_CYCLES_PER_US = 2000
_SPIN_LIMIT_US = 10_000


@dataclass(frozen=True)
class Sample:
    """One timed call, in milliseconds; `host_ms` is None where only the host's clock exists."""

    device_ms: float
    host_ms: float | None


class Clock(Protocol):
    """What times a call."""

    name: str

    def sample(self, function: Callable[[], object]) -> Sample:
        """Time one call."""
        ...

    def graphed(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """The same work as one CUDA graph launch."""
        ...


class HostClock:
    """The host's clock around the call.

    Args:
        name: how the report calls it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def sample(self, function: Callable[[], object]) -> Sample:
        start = _now()
        function()
        return Sample((_now() - start) / 1e6, None)

    def graphed(self, function: Callable[[], Any]) -> Callable[[], Any]:
        raise RuntimeError("a CUDA graph needs a GPU and torch")


class CudaClock:
    """CUDA events of torch on the current stream.

    Args:
        parts: the members of torch, taken when it was imported.
        flush_l2: overwrite the L2 cache before each call.
    """

    name = "cuda events"

    def __init__(self, parts: _TorchParts, flush_l2: bool) -> None:
        self.parts = parts
        self.start = parts.event(enable_timing=True)
        self.end = parts.event(enable_timing=True)
        self.host_us = 20.0
        self.flush: Any = parts.flush_buffer() if flush_l2 else None

    def sample(self, function: Callable[[], object]) -> Sample:
        if self.flush is not None:
            self.parts.zero(self.flush)
        self.parts.spin(int(min(2 * self.host_us + 20, _SPIN_LIMIT_US) * _SPIN_CYCLES_PER_US))
        self.start.record()
        start = _now()
        function()
        host_us = (_now() - start) / 1e3
        self.end.record()
        self.parts.synchronize()
        self.host_us = min(self.host_us, host_us) if self.host_us != 20.0 else host_us
        return Sample(self.start.elapsed_time(self.end), host_us / 1e3)

    def graphed(self, function: Callable[[], Any]) -> Callable[[], Any]:
        return self.parts.graphed(function)


class _TorchParts:
    """The members of torch that timing uses."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.event = torch.cuda.Event
        self.synchronize = torch.cuda.synchronize
        self.spin = torch.cuda._sleep
        self.zero = torch.Tensor.zero_
        self.available = torch.cuda.is_available
        self.empty = torch.empty

    def flush_buffer(self) -> Any:
        size = 4 * int(self.torch.cuda.get_device_properties(0).L2_cache_size)
        return self.empty(max(size, 1 << 26), dtype=self.torch.uint8, device="cuda")

    def graphed(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Capture `function`, check that a replay reproduces its output, and return the replay.

        Raises:
            RuntimeError: the capture fails, or a replay does not do the work.
        """
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            function()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = function()
        graph.replay()
        self.synchronize()
        if isinstance(output, torch.Tensor) and output.numel() and output.is_contiguous():
            bits = output.detach().view(-1).view(torch.uint8)
            expected = bits.clone()
            bits.fill_(0xA5)
            graph.replay()
            self.synchronize()
            if not torch.equal(bits, expected):
                raise RuntimeError("a replay of the captured graph does not produce the output")
        return graph.replay


_torch: list[_TorchParts] = []


def watch_torch() -> None:
    """Take the members of torch as soon as it is imported."""
    after_import("torch", lambda torch: _torch.append(_TorchParts(torch)))


def pick_clock(simulated: bool, flush_l2: bool) -> Clock:
    """The best clock of this process."""
    if simulated:
        return HostClock("simulated")
    if _torch and _torch[0].available():
        return CudaClock(_torch[0], flush_l2)
    return HostClock("host clock")


def quantile(ordered: list[float], q: float) -> float:
    """The q-quantile of sorted values, interpolated."""
    position = (len(ordered) - 1) * q
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summary(values: list[float]) -> dict[str, float] | None:
    """Minimum, median, mean and the 10th and 90th percentile; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return {
        "min": ordered[0],
        "p10": quantile(ordered, 0.1),
        "median": quantile(ordered, 0.5),
        "mean": sum(ordered) / len(ordered),
        "p90": quantile(ordered, 0.9),
    }
