# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function and its arguments, described: what compilation starts from.

In: a host function, arguments, options. Out: what of them the code depends on (`key`), the module
(`trace`), and the run-time values that its parameters take (`values`).
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from opencute.base.counters import COUNTERS
from opencute.compiler.options import Options
from opencute.compiler.targets import RunTarget, run_target
from opencute.frontend.arguments.adapters import adapted
from opencute.frontend.arguments.declared import CallCheck
from opencute.frontend.misuse import bound as bound_arguments
from opencute.frontend.signature import EnvStreamSpec, Spec, StaticSpec, spec_of
from opencute.frontend.tracing import trace_host
from opencute.ir.builder import paused_gc
from opencute.jit.decorated import HostFunction
from opencute.lang.pointers import AddressSpace

__all__ = ["Request"]


class Request:
    """A function and its arguments, described: what compilation starts from."""

    def __init__(
        self, fn: HostFunction, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> None:
        bound = bound_arguments(fn.fn.__name__, fn.signature, args, kwargs, ("options",))
        bound.apply_defaults()
        self._set(fn, options, run_target(options.gpu_arch), bound.arguments)

    def _set(
        self, fn: HostFunction, options: Options, where: RunTarget, arguments: dict[str, Any]
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
