# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From a Python call to compiled code: `cute.compile`, and direct calls of `@jit` functions."""

from __future__ import annotations

import functools
import hashlib
import inspect
from dataclasses import dataclass
from typing import Any

from opencute.base.counters import COUNTERS
from opencute.base.errors import LanguageError
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.options import Options, default_options, parse_options
from opencute.compiler.targets import RunTarget, run_target
from opencute.frontend.arguments.adapters import adapted
from opencute.frontend.arguments.declared import CallCheck
from opencute.frontend.locations import place_error
from opencute.frontend.signature import EnvStreamSpec, Spec, StaticSpec, spec_of
from opencute.frontend.tracing import trace_host
from opencute.ir.builder import paused_gc
from opencute.jit.executor import Executor, fast_executor
from opencute.jit.functions import Bound, JitFunction, KernelFunction
from opencute.jit.guards import Guard, guard_for
from opencute.jit.runners import ReturningRunner, Runner, SimRunner, make_runner
from opencute.lang.pointers import AddressSpace
from opencute.sim import RunReport

__all__ = [
    "CompileCallable", "Request", "call_jit", "compile", "compiled_artefacts", "simulated",
]  # fmt: skip

_runners: dict[tuple[str, RunTarget, Options], Runner] = {}


class Request:
    """A function and its arguments, described: what compilation starts from."""

    def __init__(
        self, fn: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> None:
        bound = fn.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self._set(fn, options, run_target(options.gpu_arch), bound.arguments)

    def _set(
        self, fn: JitFunction, options: Options, where: RunTarget, arguments: dict[str, Any]
    ) -> None:
        self.fn = fn
        self.options = options
        self.target = where
        self.arguments = arguments
        # In the simulator host arrays stand for device memory.
        space = AddressSpace.gmem if where.kind == "sim" else None
        static, notes = fn.static_parameters, fn.argument_notes
        self.specs: dict[str, Spec] = {
            n: StaticSpec(v) if n in static else spec_of(v, notes.get(n), n, space)
            for n, v in arguments.items()
        }

    def forget_tensors(self) -> None:
        """Let go of the example's tensors; what they were is kept for messages."""
        for name, spec in self.specs.items():
            spec.forget()
            if not isinstance(spec, StaticSpec):
                self.arguments[name] = None

    def like(self, arguments: dict[str, Any]) -> Request:
        """The same function, options and target with the arguments of a call.

        Raises:
            ArgumentError: one of them breaks what the example promised.
        """
        new = object.__new__(Request)
        new.fn, new.options, new.target = self.fn, self.options, self.target
        new.arguments = arguments
        space = AddressSpace.gmem if self.target.kind == "sim" else None
        static, notes = self.fn.static_parameters, self.fn.argument_notes
        call = CallCheck(self.fn.symbol, spec_of, self.positions, self._describe)
        new.specs = {}
        for n, v in arguments.items():
            spec = self.specs.get(n)
            if n in static:
                new.specs[n] = StaticSpec(v)
            elif spec is None:
                new.specs[n] = spec_of(v, notes.get(n), n, space)
            else:
                new.specs[n] = spec.like(adapted(v), call, n, notes.get(n), space)
        return new

    def _describe(self, call: CallCheck) -> list[str]:
        return [f"{n}: {self.specs[n].describe(call)}" for n in self.positions]

    @functools.cached_property
    def positions(self) -> dict[str, int]:
        """The arguments that calls pass, numbered."""
        static = self.fn.static_parameters
        names = [
            n for n, s in self.specs.items()
            if n not in static and not isinstance(s, EnvStreamSpec)
        ]  # fmt: skip
        return {n: i for i, n in enumerate(names)}

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for requests that the same code serves."""
        return tuple(s.key for s in self.specs.values())

    @paused_gc()
    def trace(self) -> Any:
        """The module of this request."""
        COUNTERS.compilations += 1
        types = [t for s in self.specs.values() for t in s.types()]

        def build(values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            it = iter(values)
            bound = inspect.BoundArguments(
                self.fn.signature,
                {n: s.build(it) for n, s in self.specs.items()},  # type: ignore[arg-type]
            )
            return bound.args, bound.kwargs

        self.functions = {id(self.fn): self.fn}
        module, self.returned = trace_host(
            self.fn.rewritten, self.fn.symbol, types, build, self.target.arch, self.functions
        )
        return module

    def values(self, arguments: dict[str, Any]) -> list[Any]:
        """The run-time values of arguments, in the order of the parameters."""
        out: list[Any] = []
        for name, spec in self.specs.items():
            spec.extract(adapted(arguments[name]), out)
        return out


def runner_for(request: Request) -> Runner:
    """Compiled code for a request; equal modules share it."""
    module = request.trace()
    text = str(module)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = (digest, request.target, request.options)
    runner = _runners.get(key)
    if runner is None:
        name = module.regions[0].block.ops[0].symbol
        artefacts = Artefacts(name, module, request.target.arch, request.options)
        runner = _runners[key] = make_runner(artefacts, request.target)
        artefacts.keep()
    returned = request.returned
    return runner if returned.nothing else ReturningRunner(runner, returned)


def simulated() -> RunReport:
    """What the simulator has counted in this process, over all kernels."""
    total = RunReport()
    for runner in _runners.values():
        if isinstance(runner, SimRunner):
            total.add(runner.simulator.report)
    return total


def compiled_artefacts() -> list[Artefacts]:
    """The stages of everything that this process has compiled, in order."""
    return [r.artefacts for r in _runners.values()]


@dataclass
class _Version:
    """Code for one request, and the guard that says whether its trace still holds."""

    runner: Runner
    guard: Guard


def call_jit(fn: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compile a function for its arguments and run it.

    Code made for an equal request is used again if nothing that its trace read has changed. Where
    that cannot be told (`fn.retraced_because` says why) the function is traced on each call; equal
    traces still share machine code.
    """
    request = Request(fn, args, kwargs, default_options())
    key = (request.key, request.target, request.options)
    version = fn.versions.get(key)
    if version is None or not version.guard():
        runner = runner_for(request)
        static = [
            s.value for n, s in request.specs.items() if isinstance(s, StaticSpec) and n != "self"
        ]
        owner = [request.arguments["self"]] if "self" in request.arguments else []
        guard = guard_for(request.functions.values(), [*static, *owner])
        if isinstance(guard, str):
            fn.retraced_because = guard
            fn.versions.pop(key, None)
        else:
            if len(fn.versions) >= _MAX_VERSIONS:
                fn.versions.clear()
            fn.versions[key] = _Version(runner, guard)
    else:
        runner = version.runner
    result = runner(request.values(request.arguments))
    return result if isinstance(runner, ReturningRunner) else None


_MAX_VERSIONS = 256


class CompileCallable:
    """`cute.compile`: call it with a function and example arguments; options by subscription."""

    def __init__(self, typed: tuple[Any, ...] = ()) -> None:
        self.typed = typed

    def __getitem__(self, options: Any) -> CompileCallable:
        items: Any = options if isinstance(options, tuple | list) else (options,)
        parse_options("", tuple(items))
        return CompileCallable((*self.typed, *items))

    def __call__(self, fn: Any, *args: Any, options: str = "", **kwargs: Any) -> Executor:
        """Compile `fn` for arguments like the given ones.

        Args:
            fn: a @jit function, a bound @jit method, or an object whose `__call__` is one.
            args: example arguments; tensors' marks decide what may differ in later calls.
            options: an option string, such as ``"--generate-line-info"``.

        Returns:
            An Executor: call it with arguments without the Constexpr ones.

        Raises:
            CompileError: the function cannot be compiled; the error points at its line.
            ArgumentError: an unknown option, or arguments that do not fit the signature.
        """
        fn, args = _resolve(fn, args)
        try:
            request = Request(fn, args, kwargs, parse_options(options, self.typed))
            executor = Executor(request, runner_for(request), runner_for)
            request.forget_tensors()
            return fast_executor(executor) if request.target.kind == "cuda" else executor
        except Exception as e:
            place_error(e)
            raise


def _resolve(fn: Any, args: tuple[Any, ...]) -> tuple[JitFunction, tuple[Any, ...]]:
    if isinstance(fn, functools.partial) and not fn.keywords:
        return _resolve(fn.func, (*fn.args, *args))
    if isinstance(fn, Bound) and isinstance(fn.decorated, JitFunction):
        return fn.decorated, (fn.obj, *args)
    if isinstance(fn, JitFunction):
        return fn, args
    if isinstance(fn, KernelFunction | Bound):
        raise LanguageError(
            "cute.compile takes a host function, not a kernel", code="OC1135", found=repr(fn),
            hint="write a @cute.jit function that launches the kernel, and compile that",
        )  # fmt: skip
    inner = getattr(fn, "__wrapped__", None)
    if isinstance(inner, JitFunction):  # a decorator on top of @cute.jit, such as autotune_jit
        return inner, args
    method = getattr(type(fn), "__call__", None)  # noqa: B004 - the method itself is wanted
    if isinstance(method, JitFunction):
        return method, (fn, *args)
    raise LanguageError(
        "cute.compile takes a function decorated with @cute.jit", code="OC1136", found=repr(fn)
    )


compile = CompileCallable()
