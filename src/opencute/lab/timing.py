# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The child's half of `opencute benchmark`: time the kernel, then the reference.

In: a `Session` and a `Plan`. Out: the facts of the JSON report as a dict::

    run_benchmark(session, Plan(warmup=10, iters=40), timeout=120.0)["kernel_time_ms"]

Both run on clones of the same inputs, by the same method, in one process. A loop that would run
into the time limit ends early, and the report says how many iterations there were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opencute.lab import arrays
from opencute.lab.clocks import Clock, Sample, pick_clock, summary
from opencute.lab.kernel_file import UserError, guarded
from opencute.lab.session import Inputs, Session

__all__ = ["Plan", "run_benchmark"]

_monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Plan:
    """What to time.

    Args:
        warmup: calls before the timed ones.
        iters: timed calls.
        flush_l2: overwrite the L2 cache before each timed call.
        graph: time the replay of a CUDA graph instead of a call.
    """

    warmup: int = 10
    iters: int = 40
    flush_l2: bool = True
    graph: bool = False


@dataclass
class _Timed:
    """The samples of one function."""

    samples: list[Sample] = field(default_factory=list[Sample])
    warmup: int = 0
    compilations: int = 0
    launches: int = 0
    graph: bool = False

    @property
    def device(self) -> list[float]:
        return [s.device_ms for s in self.samples]

    @property
    def host(self) -> list[float]:
        return [s.host_ms for s in self.samples if s.host_ms is not None]


def run_benchmark(session: Session, plan: Plan, timeout: float) -> dict[str, Any]:
    """Time kernel and reference; see the module's text."""
    start = _monotonic()
    inputs = session.inputs(0)
    clock = pick_clock(session.simulated, plan.flush_l2)
    if session.simulated:
        session.note("simulated: these times say nothing about a GPU")
    if session.simulated and plan.graph:
        session.note("no CUDA graph in the simulator: calls were timed")
    kernel = _time(session, clock, plan, "kernel_fn", inputs, start + 0.45 * timeout)
    replaced = session.guard.restore()
    if replaced:
        session.note(f"the file replaces {', '.join(replaced)}; undone before the reference ran")
    reference = _time(session, clock, plan, "reference_fn", inputs, start + 0.9 * timeout)
    return _report(session, plan, clock, inputs, kernel, reference)


def _time(
    session: Session, clock: Clock, plan: Plan, name: str, inputs: Inputs, deadline: float
) -> _Timed:
    args, kwargs = arrays.clone(inputs)
    user_function = getattr(session.file, name)
    doing = f"{name} ran"
    session.sender.progress(doing)
    session.seed(0)

    def call() -> Any:
        return guarded(doing, user_function, *args, **kwargs)

    out = _Timed()
    before = session.counts()
    work = call
    for _ in range(max(plan.warmup, 1)):
        clock.sample(call)
        out.warmup += 1
        if _monotonic() > deadline:
            break
    guarded(f"{name} finished on the GPU", arrays.synchronize)
    if plan.graph and not session.simulated:
        work = _graphed(session, clock, call, name, out)
    at_start = session.counts()
    for _ in range(plan.iters):
        out.samples.append(clock.sample(work))
        if _monotonic() > deadline:
            break
    if len(out.samples) < plan.iters or out.warmup < plan.warmup:
        session.note(f"{name}: the time limit left room for {len(out.samples)} timed calls")
    out.compilations = session.counts().since(at_start).compilations
    out.launches = session.counts().since(before).launches
    return out


def _graphed(
    session: Session, clock: Clock, call: Callable[[], Any], name: str, out: _Timed
) -> Callable[[], Any]:
    try:
        replay = clock.graphed(call)
    except (RuntimeError, UserError) as error:
        session.note(f"{name}: no CUDA graph, calls were timed: {error}")
        return call
    out.graph = True
    return replay


def _report(
    session: Session, plan: Plan, clock: Clock, inputs: Inputs, kernel: _Timed, reference: _Timed
) -> dict[str, Any]:
    args, kwargs = arrays.clone(inputs)
    moved = session.file.count(session.file.bytes_source, args, kwargs)
    operations = session.file.count(session.file.flops_source, args, kwargs)
    ours, theirs, host = summary(kernel.device), summary(reference.device), summary(kernel.host)
    assert ours is not None
    assert theirs is not None
    median = ours["median"]
    if kernel.compilations:
        session.note(f"warning: {kernel.compilations} compilations in the timed loop")
    wrong = kernel.launches == 0
    if wrong:
        session.note("no OpenCuTe kernel was launched while kernel_fn ran")
    return {
        "kernel_time_ms": median,
        "reference_time_ms": theirs["median"],
        "speedup": None if session.simulated or not median else theirs["median"] / median,
        "warmup_iters": kernel.warmup,
        "benchmark_iters": len(kernel.samples),
        "reference_iters": len(reference.samples),
        "wrong_framework": wrong,
        "kernel_launches": kernel.launches,
        "kernel_stats_ms": ours,
        "reference_stats_ms": theirs,
        "min_ms": ours["min"],
        "median_ms": median,
        "p10_ms": ours["p10"],
        "p90_ms": ours["p90"],
        "host_time_ms": host["median"] if host else None,
        "bytes_moved": moved,
        "gbps": moved / median / 1e6 if moved is not None and median else None,
        "flops": operations,
        "tflops": operations / median / 1e9 if operations is not None and median else None,
        "compilations_in_timed_loop": kernel.compilations,
        "clock": clock.name,
        "flush_l2": plan.flush_l2 and clock.name == "cuda events",
        "graph": kernel.graph,
        "reference_graph": reference.graph,
        "target": session.target,
        "notes": session.notes,
    }
