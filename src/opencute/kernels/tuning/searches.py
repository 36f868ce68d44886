# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`tune`: compile all configurations of an operator at once, time what is left, keep the best.

In: an operator's name and a problem. Out: a `Tuned`, printed by `opencute tune`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError, DeviceError
from opencute.base.knobs import KNOBS
from opencute.base.suggest import did_you_mean
from opencute.compiler.targets import run_target
from opencute.jit.recording import recorded_calls
from opencute.kernels.tuned import config_types, problem_of
from opencute.kernels.tuning.arrays import maker, side_stream
from opencute.kernels.tuning.operators import Case, Operator, operator
from opencute.runtime.timing import time_flushed
from opencute.tune.cold import cold_us
from opencute.tune.kept import recall, remember
from opencute.tune.resources import Resources, Roofline
from opencute.tune.searching import search
from opencute.tune.trials import Trial

__all__ = ["Tuned", "tune"]

# Dense operations of 16-bit tensor cores, for each multiprocessor and cycle; types of other widths
# do as many more or fewer as they have bits.
_RATES = {80: 2048, 86: 1024, 87: 2048, 89: 1024, 90: 4096, 100: 8192, 103: 8192, 120: 1024}
_MARGIN = 0.01  # what another choice must gain to be kept: measurements differ by as much
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "i8": 8, "e4m3": 8, "e5m2": 8}


@dataclass(frozen=True)
class Tuned:
    """What a tuning has found.

    Args:
        operator: its name.
        case: the problem.
        arch: what was compiled for.
        configuration: the best; None: the operator's own choice, also where others are hardly
            faster. Without times, the first that nothing rules out.
        trials: every configuration; empty if an earlier search had found the best.
        timed: whether anything ran: without a GPU nothing does, and nothing is kept.
    """

    operator: str
    case: Case
    arch: str
    configuration: Any
    trials: tuple[Trial, ...]
    timed: bool

    @property
    def us(self) -> float | None:
        """Microseconds of the configuration, with a cold L2."""
        own = [t.us for t in self.trials if t.configuration["config"] == self.configuration]
        return own[0] if own else None

    @property
    def default_us(self) -> float | None:
        """Microseconds of the operator's own choice."""
        own = [t.us for t in self.trials if t.configuration["config"] is None]
        return own[0] if own else None

    @property
    def ruled_out(self) -> tuple[Trial, ...]:
        """Configurations that were not timed, and why."""
        return tuple(t for t in self.trials if t.error)


def tune(
    name: str, *, dtype: str | None = None, flags: tuple[str, ...] = (), arch: str | None = None,
    limit: int | None = None, processes: int | None = None, show: bool | None = None,
    time: bool = True, cluster: str | None = None, **sizes: int,
) -> Tuned:  # fmt: skip
    """Find a good configuration of an operator, and keep it for calls with these extents.

    Args:
        name: one of `operators`.
        dtype: of the operands; the operator's usual one when omitted.
        flags: what else is asked for, such as ``("causal",)``.
        arch: compile for this architecture, and time nothing.
        limit: try only so many configurations, the most promising.
        processes: how many compile at once; one for each processor when omitted.
        show: progress and a table on standard error; when omitted, on a terminal only.
        time: whether to time on the GPU, if there is one.
        cluster: address of a ray cluster that compiles.
        sizes: extents; those of `Operator.extents` when omitted.

    Raises:
        ArgumentError: no such operator, extent, type or flag; or a number that is not positive.
        TuningError: nothing can be run.
    """
    what = operator(name)
    for word, number in (("limit", limit), ("processes", processes)):
        if number is not None:
            _positive(word, number)
    there = arch is not None
    with KNOBS.override(target=f"sim:{arch}") if there else nullcontext():
        where = run_target()
        timed = time and where.kind == "cuda"
        case = _case(what, dtype, flags, sizes)
        args, kwargs = what.arguments(case)
        problem = problem_of(what.call, args, kwargs)
        configs = [None, *itertools.islice(what.space(case), limit)]
        tried = [{"config": c} for c in dict.fromkeys(configs)]

        def build(c: dict[str, Any]) -> list[Any]:
            with recorded_calls() as calls:
                what.call(*args, **kwargs, config=c["config"])
            return list(calls)

        def ready(_: Any, c: dict[str, Any]) -> Callable[[], Any]:
            return lambda: what.call(*args, **kwargs, config=c["config"])

        with KNOBS.override(tune_use=False), side_stream(timed) as stream:
            found = search(
                build, tried, name=name, problem=problem, prepare=ready, show=show, time=timed,
                processes=processes, cluster=cluster, floor=_floor(what, case) if timed else None,
                measure=lambda run: _cold(run, stream), margin=_MARGIN,
            )  # fmt: skip
        best = found.configuration["config"]
        result = Tuned(name, case, where.arch, best, found.trials, timed)
        known = recall(name, problem, config_types(what.call))
        if timed and (found.trials or known != best):
            remember(name, problem, best, us=result.us or 0.0, default_us=result.default_us or 0.0)
    return result


def _case(what: Operator, dtype: str | None, flags: tuple[str, ...], sizes: dict[str, int]) -> Case:
    for kind, given, known in (
        ("extent", tuple(sizes), tuple(what.extents)), ("flag", flags, what.flags),
        ("type", () if dtype is None else (dtype,), what.dtypes),
    ):  # fmt: skip
        for word in given:
            if word not in known:
                raise ArgumentError(
                    f"{what.name} has no {kind} {word!r}", code="OC2406",
                    expected=", ".join(known) or "none", hint=did_you_mean(word, known) or None,
                )  # fmt: skip
    whole = {**what.extents, **sizes}
    for extent, value in whole.items():
        _positive(f"{what.name}: {extent}", value)
    return Case(whole, dtype or what.dtypes[0], frozenset(flags), maker())


def _positive(what: str, value: Any) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ArgumentError(
            f"{what} is a whole number, 1 or more", code="OC2406", found=repr(value)[:80]
        )


def _floor(what: Operator, case: Case) -> Callable[[dict[str, Any], Resources], float] | None:
    """What cannot be beaten on this GPU; None where its rates are not known."""
    from opencute.runtime.device import properties

    facts = properties()
    number = facts.capability[0] * 10 + facts.capability[1]
    rate = _RATES.get(number, 0) * 16 / _BITS.get(case.dtype, 0) if case.dtype in _BITS else 256
    bandwidth = 2e3 * facts.memory_clock_khz * facts.memory_bus_bits / 8 / 1e6
    if not rate or not facts.clock_khz or not bandwidth:
        return None
    # Clocks may be above the typical one, and data in the L2: an eighth is left to that.
    peak = rate * facts.sms * facts.clock_khz / 1e3 * 1.125
    roofline = Roofline(peak, bandwidth * 1.125)
    operations, moved = what.work(case)
    return lambda c, taken: roofline.floor(operations, moved)


def _cold(run: Callable[[], Any], stream: Any) -> float:
    try:
        return cold_us(run, stream=stream)
    except DeviceError:  # what cannot be captured
        return time_flushed(lambda _: run(), iterations=30, stream=stream).median
