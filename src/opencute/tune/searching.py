# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`search`: compile all configurations at once, leave out what cannot win, time the rest.

In: configurations, and a function that says what each compiles. Out: an `Outcome`::

    found = search(
        lambda c: (gemm, (a, b, d, c)), [{"c": config} for config in search_space(problem, smem)],
        name="gemm", problem=(m, n, k, "f16"),
        floor=lambda c, taken: roofline.floor(2 * m * n * k, moved, taken),
    )
    found.configuration, found.trials

Compiling needs no GPU and runs in processes of its own, or on a cluster. Left out before anything
is timed: what spills registers, if something else does not, and what fits on a multiprocessor too
few times. Left out while timing: what could not win even at its roofline. The choice is kept on
disk for the device and a bucket of the problem's extents.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from opencute.base.knobs import KNOBS
from opencute.compiler.targets import run_target
from opencute.jit.calls import resolve
from opencute.jit.pool import compile_many
from opencute.tune.cluster import Cluster
from opencute.tune.cold import cold_us
from opencute.tune.resources import Resources, resources_of
from opencute.tune.show import Show
from opencute.tune.trials import (
    REFUSALS,
    Trial,
    TuningError,
    best_of,
    device_name,
    read_best,
    write_best,
)

__all__ = ["Outcome", "bucket", "search"]

Configuration = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a search has found.

    Args:
        configuration: the fastest.
        trials: all of them, in the order given; empty if an earlier search had found it.
    """

    configuration: dict[str, Any]
    trials: tuple[Trial, ...] = ()


def search(
    build: Callable[[dict[str, Any]], tuple[Any, ...] | list[Any]],
    configurations: Iterable[Configuration],
    *,
    name: str,
    problem: object = (),
    prepare: Callable[[Any, dict[str, Any]], Callable[[], Any]] | None = None,
    floor: Callable[[dict[str, Any], Resources], float] | None = None,
    least_occupancy: float = 0.0,
    measure: Callable[[Callable[[], Any]], float] = cold_us,
    processes: int | None = None,
    cluster: str | None = None,
    show: bool | None = None,
    time: bool = True,
    margin: float = 0.0,
) -> Outcome:
    """The fastest of several configurations of a kernel.

    Args:
        build: what a configuration compiles, ``(fn, args)`` or ``(fn, args, kwargs)``, or a list
            of such; it may refuse one by an error of OpenCuTe, CantImplementError or ValueError.
        configurations: what to try, promising ones first.
        name: of the kernel, for what is kept.
        problem: what the choice depends on; of extents, only their `bucket`.
        prepare: makes an executor (or a list of them) and its configuration ready to run; by
            default it runs with the arguments that it was compiled with, which it may change.
        floor: microseconds that a configuration cannot beat, see `Roofline`.
        least_occupancy: configurations below it are left out.
        measure: microseconds per call; by default with a cold L2.
        processes: how many compile at once; one for each processor when omitted.
        cluster: address of a ray cluster that compiles; OPENCUTE_TUNE_CLUSTER when omitted.
        show: progress and a table on standard error; when omitted, on a terminal only.
        time: whether to time what is left. Else the first that nothing rules out counts as the
            choice, which is not kept.
        margin: the part by which another has to be faster than the first that is timed.

    Raises:
        TuningError: nothing can be run.
    """
    tried = [dict(c) for c in configurations]
    key = _key(name, problem, tried)
    known = read_best(key, tried) if time else None
    if known is not None:
        return Outcome(known)
    with Show(name, show) as screen:
        items, trials = _built(build, tried)
        made = _compiled(items, processes, cluster, screen)
        trials = _weighed(trials, made, least_occupancy, floor)
        ready = prepare or (lambda executor, c: _call(executor, items[tried.index(c)]))
        if time:
            trials = _timed(trials, made, ready, measure, screen)
        screen.table(trials)
    left = [t for t in trials if not t.error]
    if left and not time:
        return Outcome(left[0].configuration, tuple(trials))
    if not left:
        reasons = "\n".join(f"    {t.configuration}: {t.error.splitlines()[0]}" for t in trials)
        raise TuningError(f"none of {len(trials)} configurations can be run\n{reasons}")
    write_best(key, tried, trials, margin)
    return Outcome(best_of(trials, margin).configuration, tuple(trials))


def bucket(value: object) -> object:
    """What counts of a problem: extents up to the next power of two, or one and a half of one.

    Tensors count by their type and the buckets of their extents.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        if value <= 2:
            return value
        power = 1 << (value - 1).bit_length()
        return power * 3 // 4 if value <= power * 3 // 4 else power
    if isinstance(value, tuple | list):
        return tuple(bucket(v) for v in cast("Sequence[object]", value))
    shape = getattr(value, "shape", None)
    if shape is not None:
        dtype = getattr(value, "dtype", None) or getattr(value, "element_type", "")
        return (str(dtype), bucket(tuple(shape)))
    return str(value)


def _key(name: str, problem: object, tried: Sequence[dict[str, Any]]) -> str:
    facts = (name, device_name(), run_target().arch, bucket(problem), tried)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _refused(configuration: dict[str, Any], error: Exception) -> Trial:
    return Trial(configuration, error=f"{type(error).__name__}: {error}")


def _built(
    build: Callable[[dict[str, Any]], tuple[Any, ...] | list[Any]],
    tried: Sequence[dict[str, Any]],
) -> tuple[list[Any], list[Trial]]:
    items: list[Any] = []
    trials: list[Trial] = []
    for configuration in tried:
        try:
            items.append(build(configuration))
            trials.append(Trial(configuration))
        except REFUSALS as e:
            items.append(None)
            trials.append(_refused(configuration, e))
    return items, trials


def _compiled(
    items: Sequence[Any],
    processes: int | None,
    address: str | None,
    screen: Show,
) -> list[Any]:
    """An executor (a list of them for a list), an error or None for each item."""
    address = KNOBS.tune_cluster if address is None else address
    with contextlib.ExitStack() as stack:
        worker = None
        if address:
            cluster = stack.enter_context(Cluster(address))
            worker, processes = cluster.worker, processes or cluster.processors
        executors = compile_many(
            [one for i in items for one in _each(i)], processes=processes or os.cpu_count() or 1,
            progress=screen.compiled, return_errors=True, worker=worker,
        )  # fmt: skip
    for e in executors:
        if isinstance(e, Exception) and not isinstance(e, REFUSALS):
            raise e  # a mistake in the kernel, which must be seen
    left = iter(executors)
    out: list[Any] = []
    for item in items:
        made = [next(left) for _ in _each(item)]
        errors = [e for e in made if isinstance(e, Exception)]
        whole = made if isinstance(item, list) else None if item is None else made[0]
        out.append(errors[0] if errors else whole)
    return out


def _each(item: Any) -> list[Any]:
    """What is compiled for a configuration."""
    listed: list[Any] = item if isinstance(item, list) else [] if item is None else [item]
    return listed


def _most(executors: Any) -> Resources:
    """What the most demanding of a configuration's kernels takes."""
    several: list[Any] = executors if isinstance(executors, list) else [executors]
    each = [resources_of(e) for e in several]
    return max(
        each, key=lambda r: (r.spills, -math.inf if r.blocks is None else -r.blocks, r.registers),
        default=Resources(0, 0),
    )  # fmt: skip


def _weighed(
    trials: Sequence[Trial], made: Sequence[Any], least_occupancy: float,
    floor: Callable[[dict[str, Any], Resources], float] | None,
) -> list[Trial]:  # fmt: skip
    """The trials with what they take; those that it rules out have an error."""
    out: list[Trial] = []
    for trial, executor in zip(trials, made, strict=True):
        if isinstance(executor, Exception):
            trial = _refused(trial.configuration, executor)
        elif executor is not None:
            taken = _most(executor)
            bound = floor(trial.configuration, taken) if floor is not None else 0.0
            trial = replace(trial, resources=taken, floor=bound)
        out.append(trial)
    spills = [t.resources.spills for t in out if t.resources is not None]
    return [_ruled_out(t, least_occupancy, min(spills, default=0)) for t in out]


def _ruled_out(trial: Trial, least_occupancy: float, least_spills: int) -> Trial:
    taken = trial.resources
    if taken is None:
        return trial
    if taken.blocks == 0:
        return replace(trial, error=f"left out: no block fits, {taken.text()}")
    if taken.spills and not least_spills:
        return replace(trial, error=f"left out: {taken.text()}")
    if taken.occupancy is not None and taken.occupancy < least_occupancy:
        return replace(trial, error=f"left out: occupancy {taken.occupancy:.3f}, {taken.text()}")
    return trial


def _timed(
    trials: list[Trial], made: Sequence[Any], prepare: Callable[..., Callable[[], Any]],
    measure: Callable[[Callable[[], Any]], float], screen: Show,
) -> list[Trial]:  # fmt: skip
    """Time what is left, what promises most first."""
    best = math.inf
    order = sorted((i for i, t in enumerate(trials) if not t.error), key=lambda i: trials[i].floor)
    for done, i in enumerate(order):
        trial = trials[i]
        if trial.floor >= best:
            trials[i] = replace(trial, error=f"left out: cannot be below {trial.floor:.3f} us")
        else:
            try:
                us = measure(prepare(made[i], trial.configuration))
                trials[i] = replace(trial, us=us)
                best = min(best, us)
            except REFUSALS as e:
                trials[i] = replace(trial, error=f"{type(e).__name__}: {e}")
        screen.timed(done + 1, len(order), best)
    return trials


def _call(executor: Any, item: Any) -> Callable[[], Any]:
    """A call with the arguments that are not part of the code."""
    if isinstance(executor, list):
        several: list[Any] = executor
        calls = [_call(e, i) for e, i in zip(several, item, strict=True)]
        return lambda: [call() for call in calls]
    assert item is not None
    fn, args = resolve(item[0], tuple(item[1]))
    given = fn.signature.bind_partial(*args, **(item[2] if len(item) > 2 else {}))
    static = fn.static_parameters
    runtime = {n: v for n, v in given.arguments.items() if n not in static}
    return functools.partial(executor, **runtime)
