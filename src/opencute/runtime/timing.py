# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How long device work takes.

In: a function that queues work on the stream whose handle it is given. Out: `Samples`, in
microseconds per call::

    s = time_bursts(lambda stream: launch(kernel, config, params), stream=stream)
    s.median, s.minimum, s.percentile(90)

`time_bursts` measures throughput with warm caches, `time_flushed` single calls with an L2 full of
other data, `time_graph` calls without their launch cost.
"""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.runtime import driver
from opencute.runtime.device import properties
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.stream import Event, Stream, stream_handle

__all__ = ["Samples", "Work", "time_bursts", "time_flushed", "time_graph"]

Work = Callable[[int], object]

_CAPTURE_THREAD_LOCAL = 1


@dataclass(frozen=True)
class Samples:
    """Measured times.

    Args:
        us: microseconds per call, one number for each measurement, in the order taken.
    """

    us: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.us:
            raise ArgumentError("no time was measured", code="OC2160")

    @property
    def minimum(self) -> float:
        """The shortest."""
        return min(self.us)

    @property
    def maximum(self) -> float:
        """The longest."""
        return max(self.us)

    @property
    def mean(self) -> float:
        """The average."""
        return statistics.fmean(self.us)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.us)

    @property
    def deviation(self) -> float:
        """Sample standard deviation, 0 for one measurement."""
        return statistics.stdev(self.us) if len(self.us) > 1 else 0.0

    def percentile(self, p: float) -> float:
        """The value that p percent of the measurements do not exceed, interpolated.

        Raises:
            ArgumentError: p is not between 0 and 100.
        """
        if not 0 <= p <= 100:
            raise ArgumentError("a percentile is between 0 and 100", code="OC2160", found=p)
        ordered = sorted(self.us)
        position = (len(ordered) - 1) * p / 100
        low = int(position)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (position - low)

    def summary(self) -> dict[str, float]:
        """The usual numbers by name."""
        return {
            "min": self.minimum,
            "p10": self.percentile(10),
            "median": self.median,
            "p90": self.percentile(90),
            "max": self.maximum,
            "mean": self.mean,
        }


def _positive(**counts: int) -> None:
    for name, value in counts.items():
        if value < (0 if name == "warmup" else 1):
            raise ArgumentError(f"{name} is too small", code="OC2160", found=value)


def time_bursts(
    work: Work, *, burst: int = 20, rounds: int = 7, warmup: int = 3, stream: Any = None
) -> Samples:
    """Bursts of back-to-back calls between two events; one sample per burst.

    Args:
        work: queues the work of one call on the stream it is given.
        burst: calls per sample.
        rounds: samples.
        warmup: calls before the first sample.
        stream: where; the current stream when omitted.
    """
    _positive(burst=burst, rounds=rounds, warmup=warmup)
    driver.ensure_context()
    handle = stream_handle(stream)
    start, end = Event(), Event()
    for _ in range(warmup):
        work(handle)
    samples: list[float] = []
    for _ in range(rounds):
        driver.call("cuStreamSynchronize", handle)
        work(handle)  # keeps the device busy while the host gets ahead
        start.record(handle)
        for _ in range(burst):
            work(handle)
        end.record(handle)
        end.synchronize()
        samples.append(end.elapsed_ms(start) * 1e3 / burst)
    return Samples(tuple(samples))


def time_flushed(
    work: Work,
    *,
    iterations: int = 30,
    warmup: int = 3,
    stream: Any = None,
    flush_bytes: int | None = None,
) -> Samples:
    """Single calls, each after overwriting the L2 cache; one sample per call.

    Args:
        work: queues the work of one call on the stream it is given.
        iterations: samples.
        warmup: calls before the first sample.
        stream: where; the current stream when omitted.
        flush_bytes: how much to overwrite; twice the L2 when omitted.
    """
    _positive(iterations=iterations, warmup=warmup)
    device = driver.ensure_context()
    handle = stream_handle(stream)
    for _ in range(warmup):
        work(handle)
    pairs = [(Event(), Event()) for _ in range(iterations)]
    with DeviceBuffer(flush_bytes or max(2 * properties(device).l2_bytes, 1)) as buffer:
        for start, end in pairs:
            buffer.fill(0, handle)
            start.record(handle)
            work(handle)
            end.record(handle)
        driver.call("cuStreamSynchronize", handle)
    return Samples(tuple(end.elapsed_ms(start) * 1e3 for start, end in pairs))


def time_graph(
    work: Work, *, calls: int = 20, rounds: int = 7, warmup: int = 3, stream: Any = None
) -> Samples:
    """Calls captured into a CUDA graph, which is replayed; one sample per replay.

    Args:
        work: queues the work of one call on the stream it is given, and nothing elsewhere.
        calls: calls in the graph.
        rounds: samples.
        warmup: calls before the capture, and replays before the first sample.
        stream: where; a stream of its own when omitted, because the legacy default stream cannot be
            captured.

    Raises:
        DeviceError: the work cannot be captured.
    """
    _positive(calls=calls, rounds=rounds, warmup=warmup)
    driver.ensure_context()
    own = Stream() if stream is None else None
    handle = own.handle if own is not None else stream_handle(stream)
    for _ in range(max(warmup, 1)):  # code is loaded on first use, and that cannot be captured
        work(handle)
    driver.call("cuStreamSynchronize", handle)
    graph, executable = _capture(work, calls, handle)
    try:
        start, end = Event(), Event()
        samples: list[float] = []
        for k in range(warmup + rounds):
            start.record(handle)
            driver.call("cuGraphLaunch", executable, handle)
            end.record(handle)
            end.synchronize()
            if k >= warmup:
                samples.append(end.elapsed_ms(start) * 1e3 / calls)
        return Samples(tuple(samples))
    finally:
        driver.call("cuGraphExecDestroy", executable)
        driver.call("cuGraphDestroy", graph)


def _capture(work: Work, calls: int, stream: int) -> tuple[int, int]:
    """Capture calls; returns the graph and its executable form."""
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuStreamBeginCapture", stream, _CAPTURE_THREAD_LOCAL)
    try:
        for _ in range(calls):
            work(stream)
    except BaseException:
        # Leave the stream usable, and let the first error through.
        driver.function("cuStreamEndCapture")(stream, ctypes.byref(graph))
        if graph.value:
            driver.call("cuGraphDestroy", graph.value)
        raise
    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    try:
        driver.call("cuGraphInstantiate", ctypes.byref(executable), graph.value, 0)
    except BaseException:
        driver.call("cuGraphDestroy", graph.value)
        raise
    return graph.value or 0, executable.value or 0
