# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`autotune_jit` and `tune`: the field's two ways to ask for the fastest configuration."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opencute.compiler.targets import run_target
from opencute.frontend.tracing import current_trace
from opencute.jit.bench import JitArguments, benchmark
from opencute.jit.calls import compile as compile_
from opencute.jit.functions import JitFunction
from opencute.jit.pool import compile_many
from opencute.tune.trials import (
    Trial,
    TuningError,
    best_of,
    configurations,
    describe,
    device_name,
    log,
    read_best,
    remembered_as,
    run_trials,
    write_best,
)

__all__ = ["Autotuned", "autotune_jit", "tune"]


def _copied(value: Any) -> Any:
    """A copy with the same layout, so that trials do not change the caller's data.

    What cannot be copied so (a wrapped tensor, a view with gaps) is used as it is.
    """
    for name, strides in (("clone", "stride"), ("copy", "strides")):
        make, layout = getattr(value, name, None), getattr(value, strides, None)
        if make is None or layout is None or not hasattr(value, "shape"):
            continue
        other = make() if name == "clone" else make(order="K")
        mine, theirs = getattr(value, strides), getattr(other, strides)
        same = (mine(), theirs()) if callable(mine) else (mine, theirs)
        return other if same[0] == same[1] else value
    return value


class Autotuned:
    """A host function that picks its fastest configuration at the first call of a kind.

    Attributes:
        trials: what was tried, by what the choice depends on. A choice that an earlier process made
            has no trials.
    """

    def __init__(
        self,
        fn: JitFunction,
        params: Mapping[str, Iterable[Any]] | None,
        update_on_change: Sequence[str] | None,
        warmup_iterations: int,
        iterations: int,
    ) -> None:
        self.fn = fn
        self.tried = configurations(params)
        known = fn.signature.parameters
        for name in (*(params or {}), *(update_on_change or ())):
            if name not in known:
                raise TuningError(
                    f"{fn.symbol}() has no parameter {name!r}", code="OC2402",
                    expected=", ".join(known), found=name,
                )  # fmt: skip
        self.update_on_change = None if update_on_change is None else tuple(update_on_change)
        self.loops: dict[str, Any] = {
            "warmup_iterations": warmup_iterations, "iterations": iterations
        }  # fmt: skip
        self.trials: dict[Any, list[Trial]] = {}
        self.best: dict[Any, dict[str, Any]] = {}
        wrapper: Any = self
        functools.update_wrapper(wrapper, fn, updated=())
        self.__wrapped__ = fn

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = {name for configuration in self.tried for name in configuration}
        if current_trace() is not None or names & kwargs.keys():
            return self.fn(*args, **kwargs)  # the caller has chosen
        bound = self.fn.signature.bind_partial(*args, **kwargs)
        key = self._key(bound)
        found = self.best.get(key)
        if found is None:
            found = self.best[key] = self._search(bound, key)
        else:
            log("%s: known best %s", self.fn.symbol, found)
        return self.fn(*args, **kwargs, **found)

    def _key(self, bound: inspect.BoundArguments) -> Any:
        given = bound.arguments
        chosen = self.update_on_change
        if chosen is None:
            rest = tuple((n, describe(v, shapes=True)) for n, v in given.items())
        else:
            defaults = {n: p.default for n, p in self.fn.signature.parameters.items()}
            rest = tuple((n, describe(given.get(n, defaults[n]), shapes=True)) for n in chosen)
        types = tuple((n, describe(v, shapes=False)) for n, v in given.items())
        return (device_name(), types, rest)

    def _compiled(self, bound: inspect.BoundArguments) -> list[Any]:
        """An executor, or an error, for each configuration."""
        calls = [
            self.fn.signature.bind_partial(*bound.args, **bound.kwargs, **c) for c in self.tried
        ]
        if run_target().kind == "cuda":
            return compile_many([(self.fn, c.args, c.kwargs) for c in calls], return_errors=True)
        out: list[Any] = []  # the simulator needs no machine code
        for call in calls:
            try:
                out.append(compile_(self.fn, *call.args, **call.kwargs))
            except Exception as e:
                out.append(e)
        return out

    def _search(self, bound: inspect.BoundArguments, key: Any) -> dict[str, Any]:
        start = time.perf_counter()
        static = self.fn.static_parameters
        copies = {n: _copied(v) for n, v in bound.arguments.items()}
        executors = self._compiled(bound)
        stages = ["" if isinstance(e, Exception) else e.__mlir__ for e in executors]
        kept = remembered_as(stages, (key, self.loops))
        known = read_best(kept, self.tried)
        if known is not None:
            log("%s: kept best %s", self.fn.symbol, known)
            return known
        runtime = {n: v for n, v in copies.items() if n not in static}

        def prepare(configuration: dict[str, Any]) -> Callable[[], Any]:
            executor = executors[self.tried.index(configuration)]
            if isinstance(executor, Exception):
                raise executor
            rest = {n: v for n, v in configuration.items() if n not in static}
            return functools.partial(executor, **runtime, **rest)

        trials = run_trials(self.tried, prepare, lambda run: benchmark(run, **self.loops))
        self.trials[key] = trials
        write_best(kept, self.tried, trials)
        best = best_of(trials).configuration
        log("%s: best %s after %.2f s", self.fn.symbol, best, time.perf_counter() - start)
        return best


def autotune_jit(
    params_dict: Mapping[str, Iterable[Any]] | None = None,
    update_on_change: Sequence[str] | None = None,
    warmup_iterations: int = 10,
    iterations: int = 100,
) -> Callable[[Any], Autotuned]:
    """Decorator over `cute.jit`: calls run with the fastest of several configurations.

    The first call of a kind compiles all configurations, times each on copies of the arguments, and
    keeps the choice, also on disk: a later process with the same code, device and arguments does
    not measure again. A configuration that cannot be compiled or launched is left out. A call that
    names a tuned parameter itself is not tuned.

    Args:
        params_dict: parameter names and the values to try, in every combination.
        update_on_change: names of arguments whose values (of tensors: shape and strides) lead to
            another choice; all arguments when omitted. Types and ranks always count.
        warmup_iterations, iterations: calls before and inside of the timed loop.

    Raises:
        TuningError: a name is no parameter, a parameter has no values, or nothing can be run.
    """

    def decorate(fn: Any) -> Autotuned:
        if not isinstance(fn, JitFunction):
            raise TuningError(
                "autotune_jit decorates a @cute.jit function", code="OC2403", found=repr(fn),
                hint="write @cute.testing.autotune_jit(...) above @cute.jit",
            )  # fmt: skip
        return Autotuned(fn, params_dict, update_on_change, warmup_iterations, iterations)

    return decorate


def tune(
    func: Callable[..., Callable[[], Any]],
    params_dict: Mapping[str, Iterable[Any]] | None = None,
    kernel_arguments: JitArguments | None = None,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: Any = None,
) -> dict[str, Any]:
    """The fastest configuration of whatever `func` makes.

    Args:
        func: called as ``func(*arguments, **configuration)``; returns what is timed, a function
            without arguments. It leaves a configuration out by CantImplementError, ValueError,
            NotImplementedError, RuntimeError or any error of OpenCuTe.
        params_dict: parameter names and the values to try, in every combination.
        kernel_arguments: arguments of each call of `func`.
        warmup_iterations, iterations: calls before and inside of the timed loop.
        stream: the stream that the functions launch on; the current one when omitted.

    Returns:
        The configuration, to be passed on as keyword arguments.

    Raises:
        TuningError: nothing can be run.
    """
    arguments = kernel_arguments or JitArguments()
    trials = run_trials(
        configurations(params_dict),
        lambda configuration: func(*arguments.args, **arguments.kwargs, **configuration),
        lambda run: benchmark(
            run, warmup_iterations=warmup_iterations, iterations=iterations, stream=stream
        ),
    )
    best = best_of(trials)
    log("best %s", best.configuration)
    return best.configuration
