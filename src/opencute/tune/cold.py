# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Timing single calls with an L2 full of other data, and without the cost of launching them.

In: a function without arguments that launches on the current stream, or on a given one. Out:
microseconds per call::

    cold_us(lambda: compiled(a, b, c))

One CUDA graph overwrites a buffer and calls, in turn; another only overwrites. The difference is
the calls' own time. In the simulator it is the simulator's wall clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.compiler.targets import run_target
from opencute.jit.bench import benchmark
from opencute.runtime import driver
from opencute.runtime.device import properties
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.stream import stream_handle
from opencute.runtime.timing import time_flushed, time_graph

__all__ = ["cold_us"]


def cold_us(
    run: Callable[[], Any], *, calls: int = 10, rounds: int = 7, stream: Any = None
) -> float:
    """The time of one call whose data are not in the L2, in microseconds.

    Args:
        run: launches on `stream`.
        calls: calls in a graph.
        rounds: times that the graphs are replayed; the median counts.
        stream: where; the current stream when omitted. What launches on the legacy default stream
            cannot be captured, and is timed call by call.
    """
    if run_target().kind == "sim":
        return benchmark(run, warmup_iterations=0, iterations=calls)
    handle = stream_handle(stream)
    if not handle:
        return time_flushed(lambda _: run(), iterations=calls * rounds, stream=stream).median
    device = driver.ensure_context()
    with DeviceBuffer(max(2 * properties(device).l2_bytes, 1)) as buffer:

        def flush(stream: int) -> None:
            buffer.fill(0, stream)

        def both(stream: int) -> None:
            buffer.fill(0, stream)
            run()

        whole = time_graph(both, calls=calls, rounds=rounds, warmup=1, stream=handle).median
        other = time_graph(flush, calls=calls, rounds=rounds, warmup=1, stream=handle).median
    return max(whole - other, 0.0)
