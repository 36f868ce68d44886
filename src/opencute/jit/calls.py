# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From a Python call to compiled code: `cute.compile`, and direct calls of `@jit` functions."""

from __future__ import annotations

import functools
import hashlib
import threading
from dataclasses import dataclass
from typing import Any

from opencute.base.bounded import Recent
from opencute.base.errors import LanguageError
from opencute.base.tracebacks import hidden
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.cached import pack, unpack
from opencute.compiler.options import Options, default_options, parse_options
from opencute.compiler.targets import RunTarget
from opencute.frontend.locations import place_error
from opencute.ir.builder import paused_gc
from opencute.ir.printer import outline, print_op
from opencute.jit.decorated import Bound, Decorated, HostFunction
from opencute.jit.executor import Executor, fast_executor
from opencute.jit.guards import Guard, guard_for
from opencute.jit.learning import by_position, learn_call
from opencute.jit.recording import RECORDING, WATCHER
from opencute.jit.request import Request
from opencute.jit.runners import ReturningRunner, Runner, make_runner

__all__ = [
    "CompileCallable", "adopt", "artefacts_of", "call_jit", "compile",
    "compiled_artefacts", "executor_for", "resolve", "runner_key",
]  # fmt: skip

# What is compiled again after as many others: who still holds an executor keeps its code.
_Key = tuple[str, RunTarget, Options]
_runners: Recent[_Key, Runner] = Recent(256)
_outlines: Recent[_Key, None] = Recent(4096)  # of the modules that there was code for
_making: dict[Any, threading.Lock] = {}
_making_lock = threading.Lock()


@paused_gc()
def runner_for(request: Request) -> Runner:
    """Compiled code for a request; equal modules share it, also those of several threads."""
    module = request.trace()
    mark = (outline(module), request.target, request.options)
    with _making_lock:
        lock = _making.setdefault(mark, threading.Lock())
    try:
        with lock:
            runner = _known_or_made(module, mark, request)
    finally:  # also where there is none: the next one with this mark makes a lock of its own
        with _making_lock:
            _making.pop(mark, None)
    return _returning(request, runner)


def _known_or_made(module: Any, mark: _Key, request: Request) -> Runner:
    # Only if there is code for a module with these operations can it be for an equal one.
    text = _text(module, request) if mark in _outlines else None
    runner = None if text is None else _runners.get(_key(text, request))
    if runner is None:
        artefacts = artefacts_of(module, request, later=request.target.kind != "sim")
        artefacts.outline, artefacts.printed = mark[0], text
        runner = make_runner(artefacts, request.target)
        _keep(runner, module, request)
        runner.artefacts.keep()
    return runner


def _keep(runner: Runner, module: Any, request: Request) -> None:
    """Have code serve requests for equal modules."""
    artefacts = runner.artefacts
    # A simulated module's text has lines, and nobody else asks for it.
    simulated = request.target.kind == "sim" and artefacts.printed is None
    text = _text(module, request) if simulated else artefacts.text()
    artefacts.printed = None
    _runners[_key(text, request)] = runner
    _outlines[outline(module), request.target, request.options] = None


def _returning(request: Request, runner: Runner) -> Runner:
    """Code that requests share, with what the function of this one gives back."""
    returned = request.returned
    return runner if returned.nothing else ReturningRunner(runner, returned)


def runner_key(module: Any, request: Request) -> _Key:
    """Equal for requests that the same compiled code serves."""
    return _key(_text(module, request), request)


def _text(module: Any, request: Request) -> str:
    """What tells one module from another. The simulator names lines in its messages, and line
    information does: equal code of two files is not the same there."""
    return print_op(module, locations=request.target.kind == "sim" or request.options.line_info)


def _key(text: str, request: Request) -> _Key:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (digest, request.target, request.options)


def artefacts_of(module: Any, request: Request, *, later: bool = False) -> Artefacts:
    """The stages of a traced module; `later`: see `Artefacts`."""
    name = module.regions[0].block.ops[0].symbol
    return Artefacts(name, module, request.target.arch, request.options, later=later)


def adopt(request: Request, module: Any, artefacts: Artefacts) -> Runner:
    """Have compiled stages serve a request and those like it."""
    runner = make_runner(artefacts, request.target)
    _keep(runner, module, request)
    artefacts.keep()
    return _returning(request, runner)


def compiled_artefacts() -> list[Artefacts]:
    """The stages of everything that this process has compiled, in order."""
    return [r.artefacts for r in _runners.values()]


@dataclass
class _Version:
    """Code for one request, and the guard that says whether its trace still holds."""

    runner: Runner
    guard: Guard


def call_jit(fn: HostFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compile a function for its arguments and run it.

    Code made for an equal request is used again if nothing that its trace read has changed. Where
    that cannot be told (`fn.retraced_because` says why) the function is traced on each call; equal
    traces still share machine code.
    """
    recording = RECORDING.get()
    if recording is not None:
        recording.append((fn, args, kwargs))
        return None
    request = Request(fn, args, kwargs, default_options())
    key = (request.key, request.target, request.options)
    version = fn.versions.get(key)
    if version is None or not version.guard.holds():
        runner, guard = _trace_and_guard(request)
        version = None
        if isinstance(guard, str):
            fn.retraced_because = guard
            fn.versions.pop(key, None)
        else:
            if len(fn.versions) >= _MAX_VERSIONS:
                fn.versions.clear()
            version = fn.versions[key] = _Version(runner, guard)
    else:
        runner = version.runner
    values = request.values(request.arguments)
    run = runner.prepare(values)
    native = runner.reusable and request.target.kind == "cuda"
    watcher = WATCHER.get()
    given = by_position(fn, args, kwargs, request.arguments) if native else None
    if given is not None and version is not None:
        learn_call(fn, given, request, run, version.guard, watcher is not None)
    if watcher is not None:
        watcher.launched(run if native else None, values, version and version.guard)
    result = run()
    return result if isinstance(runner, ReturningRunner) else None


def _trace_and_guard(request: Request) -> tuple[Runner, Guard | str]:
    """Compiled code, and what tells whether its trace still holds, or why nothing does."""
    static = [x for n, s in request.specs.items() if n != "self" for x in s.static()]
    if "self" in request.arguments:
        static.append(request.arguments["self"])
    before = guard_for([request.fn], static)
    runner = runner_for(request)
    guard = guard_for(request.functions.values(), static)
    if isinstance(guard, Guard) and isinstance(before, Guard):
        changed = before.changed()
        if changed:
            return runner, f"it changes {changed} while it is traced"
    return runner, guard


_MAX_VERSIONS = 256


class CompileCallable:
    """`cute.compile`: compile a function for arguments like the given ones.

    ``cute.compile[OptLevel(2), KeepPTX](fn, *args)`` sets typed options.

    Args:
        fn: a @jit function, a bound @jit method, or an object whose `__call__` is one.
        args, kwargs: example arguments; tensors' marks decide what may differ in later calls.
        options: an option string, such as ``"--generate-line-info"``.

    Returns:
        An Executor: call it with arguments without the Constexpr ones.

    Raises:
        CompileError: the function cannot be compiled; the error points at its line.
        ArgumentError: an unknown option, or arguments that do not fit the signature.
    """

    def __init__(self, typed: tuple[Any, ...] = ()) -> None:
        self.typed = typed

    def __getitem__(self, options: Any) -> CompileCallable:
        items: Any = options if isinstance(options, tuple | list) else (options,)
        parse_options("", tuple(items))
        return CompileCallable((*self.typed, *items))

    def __call__(self, fn: Any = None, *args: Any, options: str = "", **kwargs: Any) -> Executor:
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
        fn, args = resolve(fn, args)
        try:
            request = Request(fn, args, kwargs, parse_options(options, self.typed))
            return executor_for(request, runner_for(request))
        except Exception as e:
            __tracebackhide__ = hidden()
            raise place_error(e)  # noqa: B904 - mostly the same error; frames of ours are cut off


def executor_for(request: Request, runner: Runner) -> Executor:
    """What `cute.compile` returns."""
    executor = Executor(request, runner, runner_for, pickled)
    request.forget_tensors()
    return fast_executor(executor) if request.target.kind == "cuda" else executor


def restored(state: dict[str, Any], blobs: dict[str, bytes] | None) -> Executor:
    """An executor from what `pickled` made, in this process or another one."""
    request = object.__new__(Request)
    vars(request).update(state)
    module = request.trace()
    artefacts = artefacts_of(module, request)
    runner = _runners.get(runner_key(module, request))
    if runner is None:
        if blobs is not None:
            artefacts.take_device_code(unpack(blobs))
        runner = adopt(request, module, artefacts)
    else:
        runner = _returning(request, runner)
    return executor_for(request, runner)


def pickled(executor: Executor) -> tuple[Any, ...]:
    """An executor as pickle wants it: the function by name, specs, the machine code if there is
    some. The function is traced again where it is restored."""
    request = executor.request
    code = executor.artefacts.__dict__.get("device")
    state = {k: v for k, v in vars(request).items() if k not in ("functions", "returned")}
    return restored, (state, None if code is None else pack(code))


def resolve(fn: Any, args: tuple[Any, ...]) -> tuple[HostFunction, tuple[Any, ...]]:
    if isinstance(fn, functools.partial) and not fn.keywords:
        return resolve(fn.func, (*fn.args, *args))
    if isinstance(fn, Bound) and isinstance(fn.decorated, HostFunction):
        return fn.decorated, (fn.obj, *args)
    if isinstance(fn, HostFunction):
        return fn, args
    if isinstance(fn, Decorated | Bound):
        raise LanguageError(
            "cute.compile takes a host function, not a kernel", code="OC1135", found=repr(fn),
            hint="write a @cute.jit function that launches the kernel, and compile that",
        )  # fmt: skip
    inner = getattr(fn, "__wrapped__", None)
    if isinstance(inner, HostFunction):  # a decorator on top of @cute.jit, such as autotune_jit
        return inner, args
    method = getattr(type(fn), "__call__", None)  # noqa: B004 - the method itself is wanted
    if isinstance(method, HostFunction):
        return method, (fn, *args)
    raise LanguageError(
        "cute.compile takes a function decorated with @cute.jit", code="OC1136", found=repr(fn)
    )


compile = CompileCallable()
