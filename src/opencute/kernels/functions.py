# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of users that kernels call with vectors of registers: whether they can be, and where
they are in the user's source when they are not.

In: a function, before anything is compiled (`refuse_function`), or with the vector (`applied`).
Out: what it gives, or an error with the line of the user that it is about::

    [OC2537] the epilogue gives no vector
      expected: a vector as long as the one that it gets
      found:    float
      hint: ...
      --> mine.py:12 in constant
       |  return 1.0
       |  ^^^^^^^^^^
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from opencute import cute
from opencute.base.errors import ArgumentTypeError, OpenCuTeError
from opencute.base.location import Location
from opencute.base.tracebacks import is_ours, users_call

__all__ = ["applied", "is_module", "place_of", "plain", "refuse_function"]

_CODE = "OC2537"
_CALL = "__call__"
_VECTORS = "it works on vectors of registers: cute.where(x > 0, x, 0.0), cute.math.exp(x)"
_VISITORS = (
    "an array reaches the sums through a visitor: epilogue=chain(add_columns(bias)), see "
    "help(opencute.kernels.gemm.visitors); " + _VECTORS
)
# Packages whose functions are for arrays, or numbers, of their own.
_ARRAYS = ("cmath", "cupy", "jax", "jaxlib", "math", "numpy", "scipy", "torch")


def plain(fn: Any) -> Any:
    """The function of Python below a partial, a method, a module of torch or an object with
    ``__call__``; what it is itself where there is none."""
    for _ in range(64):  # partials of methods of partials
        if isinstance(fn, functools.partial):
            fn = fn.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif inspect.isfunction(fn) or inspect.isclass(fn):
            return fn
        elif is_module(fn):
            fn = type(fn).forward
        elif inspect.isfunction(call := getattr(type(fn), _CALL, None)):
            fn = call
        else:
            return fn
    return fn


def is_module(fn: Any) -> bool:
    """Whether this is a `torch.nn.Module`; torch is not imported for that."""
    return any(
        c.__name__ == "Module" and c.__module__ == "torch.nn.modules.module"
        for c in type(fn).__mro__
    )


def _package(fn: Any) -> str:
    """The package that a function is from."""
    owner = getattr(fn, "__self__", None)  # functions of C may know their module only by that
    for named in (fn, owner, type(fn)):
        module = getattr(named, "__module__", None)
        module = named.__name__ if isinstance(named, types.ModuleType) else module
        if isinstance(module, str) and module != "builtins":
            return module.partition(".")[0]
    return "builtins"


def place_of(fn: Any) -> Location | None:
    """Where a function of Python begins; None for others, and for those of this package."""
    code = getattr(plain(fn), "__code__", None)
    if code is None or is_ours(code.co_filename):
        return None
    return Location(code.co_filename, code.co_firstlineno, function=code.co_name)


def _returns(fn: Any) -> Location | None:
    """What a function returns, if that is in one place, else where it begins."""
    code, start = getattr(plain(fn), "__code__", None), place_of(fn)
    if start is None or sys.version_info < (3, 11) or code.co_name == "<lambda>":
        return start
    places = {
        i.positions for i in dis.get_instructions(code)
        if i.opname in ("RETURN_VALUE", "RETURN_CONST")
    }  # fmt: skip
    at = places.pop() if len(places) == 1 else None
    if at is None or at.lineno is None or at.lineno == code.co_firstlineno:
        return start
    end = at.end_col_offset if at.end_lineno == at.lineno else None
    return Location(start.file, at.lineno, at.col_offset or 0, end, start.function)


def refuse_function(what: str, fn: Any) -> None:
    """Raise if a function cannot be called with vectors of registers, whatever it does.

    Args:
        what: of which this is the function, such as "the epilogue".

    Raises:
        ArgumentTypeError: it is a coroutine, a generator, or of another package's arrays.
    """
    if _is_ordinary(fn):
        return
    real = plain(fn)
    kinds = (
        (inspect.iscoroutinefunction(real), "an async function", "async def {}"),
        (inspect.isasyncgenfunction(real), "an async generator", "async def {}"),
        (inspect.isgeneratorfunction(real), "a generator", "def {} with yield"),
    )
    for wrong, kind, found in kinds:
        if wrong:
            raise ArgumentTypeError(
                f"{what} is {kind}: calling it gives no vector", code=_CODE, loc=place_of(real),
                expected="def fn(x): ... return x", found=found.format(real.__name__),
                hint="leave out async and await: what a kernel does is written down once, when it "
                "is compiled" if "async" in kind
                else "return the vector instead of yielding it",
            )  # fmt: skip
    package = _package(real)
    if package in _ARRAYS:
        name = str(getattr(fn, "__name__", None) or type(fn).__name__)
        raise ArgumentTypeError(
            f"{what} is a function of {package}, which cannot take vectors of registers",
            code=_CODE, loc=users_call(), found=f"{package}'s {name}", hint=_instead(name),
            expected="a function of Python that is written with cute",
        )  # fmt: skip


_ODD_CODE = (
    inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_GENERATOR
    | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


def _is_ordinary(fn: Any) -> bool:
    """Whether this is a plain function of no array package: what users pass at each call."""
    return (
        type(fn) is types.FunctionType
        and not fn.__dict__  # no decorator left a mark or what it wraps
        and not fn.__code__.co_flags & _ODD_CODE
        and (fn.__module__ or "").partition(".")[0] not in _ARRAYS
    )


def _instead(name: str) -> str:
    """What does for vectors what a function of this name does for arrays."""
    name = name.lower().rstrip("_")
    if name in cute.math.__all__:
        return f"cute.math.{name} does the same for vectors"
    return _VECTORS


def applied(what: str, fn: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """The vector that a user's function gives for a vector.

    Args:
        what: as for `refuse_function`.
        x, rest: what it is called with.

    Raises:
        ArgumentTypeError: it gives none, or does what vectors cannot do.
    """
    try:
        result = fn(x, *rest)
    except OpenCuTeError:
        raise
    except (TypeError, AttributeError) as e:
        loc, package = _raised(e)
        raise ArgumentTypeError(
            f"{what} does what vectors of registers cannot do", code=_CODE,
            found=f"{type(e).__name__}: {e}"[:160], loc=loc or place_of(fn),
            hint=_VISITORS if str(e).startswith("only integer")  # arrays of NumPy and torch
            else _instead(str(e).partition("(")[0]) if package in _ARRAYS else _VECTORS,
        ) from e  # fmt: skip
    if not isinstance(result, type(x)):
        _no_vector(what, fn, x, result)
    if cute.size(result.shape) != cute.size(x.shape):
        raise ArgumentTypeError(
            f"{what} gives a vector of another length", code=_CODE, loc=_returns(fn),
            expected=f"{cute.size(x.shape)} elements", found=f"{cute.size(result.shape)} elements",
            hint="each element becomes one; what is summed over several belongs after the product",
        )  # fmt: skip
    return result


def _no_vector(what: str, fn: Any, x: Any, result: Any) -> None:
    found, hint = type(result).__name__, _VECTORS
    if result is None:
        found, hint = "None", "return the vector that is to be stored"
    elif inspect.iscoroutine(result):
        result.close()  # which nobody awaits
        hint = "leave out async and await"
    elif isinstance(result, (bool, int, float)):
        found = f"{result!r}, a number"
        hint = f"a vector of it is cute.full_like(x, {result!r}), or x * 0 + {result!r} where " \
            "NaN is to stay"  # fmt: skip
    elif _package(type(result)) in _ARRAYS:
        hint = f"a {found} is not there when the kernel runs; {_VECTORS}"
    elif isinstance(result, (tuple, list)):
        hint = "return one vector; others are kept by tile.store(name, x)"
    elif hasattr(result, "width") or hasattr(type(result), "width"):
        hint = "a number made of a vector, as by x.reduce, is one; return a vector"
    raise ArgumentTypeError(
        f"{what} gives no vector", code=_CODE, found=found, hint=hint, loc=_returns(fn),
        expected="a vector as long as the one that it gets",
    )  # fmt: skip


def _raised(error: BaseException) -> tuple[Location | None, str]:
    """The user's line that an error is from, with the calls that led to it, and the package that
    raised it."""
    loc: Location | None = None
    package = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        package = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if not is_ours(code.co_filename) and package not in _ARRAYS:
            # Names of functions that were rewritten are not those of the source.
            name = "" if code.co_name.startswith("__oc_") else code.co_name
            loc = Location(code.co_filename, trace.tb_lineno, *_columns(trace), name, loc)
        trace = trace.tb_next
    text = str(error)
    return loc, "torch" if "must be Tensor" in text else "numpy" if "ufunc" in text else package


def _columns(trace: types.TracebackType) -> tuple[int, int | None]:
    """From and to where in its line an expression is that was being evaluated."""
    if sys.version_info >= (3, 11):
        positions = list(trace.tb_frame.f_code.co_positions())
        line, last, start, end = positions[trace.tb_lasti // 2]
        if line == trace.tb_lineno and start is not None:
            return start, end if last == line else None
    return 0, None
