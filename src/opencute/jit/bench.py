# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing`: timing compiled functions from their own programs."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.runtime.stream import stream_handle

__all__ = ["CantImplementError", "JitArguments", "benchmark", "get_workspace_count"]


_SIMULATED_SECONDS = 2.0


class CantImplementError(Exception):
    """A configuration that a kernel does not support."""


class JitArguments:
    """Arguments for one call of a compiled function.

    Args:
        args, kwargs: the arguments, as the function takes them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs
        self.references: list[Any] = []

    def add_to_scope(self, references: Any) -> None:
        """Keep objects alive as long as these arguments.

        Args:
            references: the objects.
        """
        self.references.extend(references)


def benchmark(
    callable: Callable[..., Any],
    *,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: Any = None,
    kernel_arguments: JitArguments | None = None,
    workspace_generator: Callable[[], JitArguments] | None = None,
    workspace_count: int = 1,
    use_cuda_graphs: bool = False,
    nvtx_tag: str | None = None,
) -> float:
    """The time of one call, in microseconds.

    Args:
        callable: the compiled function.
        warmup_iterations, iterations: calls before and inside of the timed loop.
        stream: the stream that the function launches on; the current one when omitted.
        kernel_arguments: arguments of each call.
        workspace_generator: makes arguments; used with `workspace_count` of them in turn, so that
            inputs do not stay in the cache.
        use_cuda_graphs: time a replayed CUDA graph of the calls.
        nvtx_tag: the name of a range around the timed calls, which profilers show; made by torch,
            where a program has loaded it.

    Returns:
        Microseconds of device time per call; in the simulator, of its own wall clock, over as many
        calls as two seconds allow.

    Raises:
        ArgumentError: no arguments, or no iterations.
    """
    if iterations < 1 or warmup_iterations < 0 or workspace_count < 1:
        raise ArgumentError("iterations must be positive", code="OC2224")
    if kernel_arguments is None and workspace_generator is None:
        kernel_arguments = JitArguments()
    if workspace_generator is not None:
        spaces = [workspace_generator() for _ in range(workspace_count)]
    else:
        assert kernel_arguments is not None
        spaces = [kernel_arguments]

    def call(i: int) -> None:
        space = spaces[i % len(spaces)]
        callable(*space.args, **space.kwargs)

    if run_target().kind == "sim":
        return _simulated(call, warmup_iterations, iterations)
    for i in range(warmup_iterations):
        call(i)
    from opencute.runtime.timing import time_bursts, time_graph

    handle = None if stream is None else stream_handle(stream)
    turn = itertools.count()
    work = lambda _: call(next(turn))  # noqa: E731 - what the timers call
    with _range(nvtx_tag):
        if use_cuda_graphs:
            samples = time_graph(work, calls=iterations, rounds=3, warmup=1, stream=handle)
        else:
            samples = time_bursts(work, burst=iterations, rounds=1, warmup=0, stream=handle)
    return samples.median


@contextlib.contextmanager
def _range(tag: str | None) -> Generator[None]:
    """A named range in profiles."""
    torch: Any = sys.modules.get("torch") if tag else None
    if torch is None:
        yield
        return
    torch.cuda.nvtx.range_push(tag)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def _simulated(call: Callable[[int], None], warmup: int, iterations: int) -> float:
    """Microseconds of the simulator's wall clock per call.

    A hundred simulated launches of a large kernel would take hours and tell nothing about a GPU, so
    the loop ends once it has taken two seconds.
    """
    for i in range(min(warmup, 1)):
        call(i)
    start = now = time.perf_counter()
    done = 0
    while done < iterations and (not done or now - start < _SIMULATED_SECONDS):
        call(done)
        done += 1
        now = time.perf_counter()
    return (now - start) * 1e6 / done


def get_workspace_count(one_workspace_bytes: int, warmup_iterations: int, iterations: int) -> int:
    """How many argument sets exceed the L2 cache three times, at most one per call.

    Args:
        one_workspace_bytes: bytes of one set.
        warmup_iterations, iterations: calls before and inside of the timed loop.
    """
    from opencute.runtime import device

    l2 = device.properties().l2_bytes if run_target().kind == "cuda" else 1 << 20
    needed = (3 * l2 + one_workspace_bytes - 1) // max(one_workspace_bytes, 1)
    return max(min(needed, warmup_iterations + iterations), 1)
