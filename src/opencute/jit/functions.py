# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The decorators, and what calls of decorated functions do."""

from __future__ import annotations

import inspect
from typing import Any

from opencute.base.errors import ArgumentTypeError, LanguageError
from opencute.base.suggest import did_you_mean
from opencute.base.tracebacks import hidden
from opencute.frontend.arguments.passed import check_passed
from opencute.frontend.locations import place_error
from opencute.frontend.misuse import bound as bound_arguments
from opencute.frontend.tracing import KernelCall, current_trace
from opencute.jit.decorated import Decorated, HostFunction
from opencute.lang.numbers import Numeric, NumericMeta

__all__ = ["JitFunction", "KernelFunction", "jit", "kernel"]


class JitFunction(HostFunction):
    """A host function: compiled and run from Python, inlined into compiled code."""

    def __call__(self, *args: Any, no_cache: bool = False, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is not None:
            trace.functions[id(self)] = self
            try:
                return self.rewritten(*args, **kwargs)
            except TypeError as e:
                if e.__traceback__ is not None and e.__traceback__.tb_next is None:
                    bound_arguments(self.fn.__name__, self.signature, args, kwargs)
                raise
        from opencute.jit.calls import call_jit  # not at import: with it comes the compiler

        try:
            return call_jit(self, args, kwargs)
        except Exception as e:
            __tracebackhide__ = hidden()
            raise place_error(e)  # noqa: B904 - mostly the same error; frames of ours are cut off


class KernelFunction(Decorated):
    """A kernel: called from a host function it waits for `.launch`."""

    def __call__(self, *args: Any, **kwargs: Any) -> KernelCall:
        trace = current_trace()
        if trace is None:
            raise LanguageError(
                f"kernel {self.fn.__name__!r} is called from Python", code="OC1133",
                hint="call it from a @cute.jit function and launch it there: "
                "kernel(...).launch(grid=..., block=...)",
            )  # fmt: skip
        if trace.in_kernel:
            raise LanguageError(
                f"kernel {self.fn.__name__!r} is called from a kernel", code="OC1134",
                hint="decorate functions that kernels call with @cute.jit, or not at all",
            )  # fmt: skip
        trace.functions[id(self)] = self
        bound = self._typed(args, kwargs)
        return KernelCall(self.rewritten, self.symbol, bound.args, bound.kwargs, trace)

    def _typed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Arguments bound by name; Python numbers become what their annotation says."""
        bound = bound_arguments(self.fn.__name__, self.signature, args, kwargs)
        check_passed(self.fn.__name__, self.argument_notes, bound.arguments)
        for name, value in bound.arguments.items():
            want = self.annotations.get(name)
            if (
                isinstance(want, NumericMeta)
                and want is not Numeric
                and isinstance(value, bool | int | float)
            ):
                numeric: Any = want
                bound.arguments[name] = numeric(value)
        return bound

    def __repr__(self) -> str:
        return f"<kernel {self.fn.__qualname__}>"


def _no_others(decorator: str, options: dict[str, Any]) -> None:
    for name in options:
        raise ArgumentTypeError(
            f"cute.{decorator}() has no argument {name!r}", code="OC2196", expected="preprocess",
            hint=did_you_mean(name, ("preprocess", "preprocessor")) or None,
        )  # fmt: skip


def _decorate(kind: type[Decorated], fn: Any, on: bool) -> Any:
    if fn is None:
        return lambda f: _decorate(kind, f, on)
    if isinstance(fn, staticmethod | classmethod):  # either order of the two decorators
        bound: Any = type(fn)
        return bound(kind(fn.__func__, on))
    return kind(fn, on)


def jit(
    fn: Any = None, *, preprocess: bool = True, preprocessor: bool = True, **options: Any
) -> Any:
    """Decorate a host function.

    Args:
        fn: the function.
        preprocess: rewrite control flow; without it the function is traced as it stands.
        preprocessor: the same as `preprocess`.
        options: there are none; another keyword is refused.

    Raises:
        ArgumentTypeError: OC2196, another keyword.

    Example:
        >>> @cute.jit
        ... def add(a: cutlass.Int32, b: cutlass.Int32):
        ...     return a + b
        >>> add(2, 3)
        5
    """
    _no_others("jit", options)
    return _decorate(JitFunction, fn, preprocess and preprocessor)


def kernel(
    fn: Any = None, *, preprocess: bool = True, preprocessor: bool = True, **options: Any
) -> Any:
    """Decorate a kernel: called in a function under @cute.jit, it waits for `launch`.

    Args:
        fn: the function.
        preprocess: rewrite control flow; without it the function is traced as it stands.
        preprocessor: the same as `preprocess`.
        options: there are none; another keyword is refused.

    Raises:
        ArgumentTypeError: OC2196, another keyword.

    Example:
        >>> import numpy as np
        >>> from cutlass.cute.runtime import from_dlpack
        >>> @cute.kernel
        ... def count(x: cute.Tensor):
        ...     i, _, _ = cute.arch.thread_idx()
        ...     x[i] = i
        >>> @cute.jit
        ... def run(x: cute.Tensor):
        ...     count(x).launch(grid=1, block=4)
        >>> x = np.zeros(4, np.int32)
        >>> run(from_dlpack(x))
        >>> x
        array([0, 1, 2, 3], dtype=int32)
    """
    _no_others("kernel", options)
    return _decorate(KernelFunction, fn, preprocess and preprocessor)
