# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What decorated functions are, whoever calls them: their code, names and annotations, and what is
known of calls of those that run on the host.

`functions` says what a call of them does.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError, LanguageError
from opencute.base.location import Location
from opencute.frontend.rewrite import rewritten
from opencute.frontend.signature import annotations_of
from opencute.lang.arrays.views import with_arrays
from opencute.lang.typing import is_constexpr

__all__ = ["Bound", "Decorated", "HostFunction"]


def _line_of(fn: Any) -> Location | None:
    """Where a function begins that has a line."""
    code = fn.__code__ if isinstance(fn, types.FunctionType) else None
    return code and Location(code.co_filename, code.co_firstlineno)


def _spelled(name: str) -> str:
    """A name in letters that PTX has: LLVM ends the process at any other."""
    out = re.sub(r"[^A-Za-z0-9_$]", lambda m: f"_u{ord(m[0]):04x}_", name)
    return f"_{out}" if out[:1].isdigit() else out


class Decorated:
    """What both kinds of functions share: the rewrite, the name, binding as a method."""

    __opencute_decorated__ = True

    def __init__(self, fn: Callable[..., Any], preprocess: bool = True) -> None:
        if isinstance(fn, Decorated):
            fn = fn.fn
        plain = isinstance(fn, types.FunctionType)
        if not plain or fn.__name__ == "<lambda>":
            raise LanguageError(
                "only functions defined with 'def' can be decorated", code="OC1121",
                found="a lambda" if plain else type(fn).__name__, loc=_line_of(fn),
                hint="lambdas can be passed as Constexpr arguments" if plain else None,
            )  # fmt: skip
        self.fn = fn
        self.preprocess = preprocess
        self.prefix: str | None = None
        self.keeps_name = True
        self._signature: tuple[Any, Any, inspect.Signature] | None = None
        wrapper: Any = self  # a callable of two kinds, which the stub cannot say
        functools.update_wrapper(wrapper, fn)

    @functools.cached_property
    def rewritten(self) -> Callable[..., Any]:
        """The function with its control flow rewritten."""
        fn = rewritten(self.fn) if self.preprocess else self.fn
        return with_arrays(fn, self.annotations)

    @property
    def signature(self) -> inspect.Signature:
        """The function's signature, with the defaults that it has now."""
        fn: Any = self.fn
        known = self._signature
        if known is None or known[0] is not fn.__defaults__ or known[1] is not fn.__kwdefaults__:
            known = (fn.__defaults__, fn.__kwdefaults__, inspect.signature(fn))
            self._signature = known
        return known[2]

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        """The parameters' annotations."""
        return annotations_of(self.fn)

    @functools.cached_property
    def static_parameters(self) -> frozenset[str]:
        """Names of the parameters that are compile-time values: Constexpr ones, and self."""
        return frozenset(
            name
            for name, parameter in self.signature.parameters.items()
            if name == "self"
            or (
                parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
                and is_constexpr(self.annotations.get(name))
            )
        )

    @functools.cached_property
    def argument_notes(self) -> dict[str, Any]:
        """The annotations of single arguments; `*args: T` says nothing of the tuple `args`."""
        parameters = self.signature.parameters
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {
            n: note for n, note in self.annotations.items()
            if n in parameters and parameters[n].kind not in several
        }  # fmt: skip

    @property
    def symbol(self) -> str:
        """The name that compiled code gets."""
        name = self.fn.__name__
        if self.prefix:
            name = f"{self.prefix}_{name}" if self.keeps_name else self.prefix
        return _spelled(name)

    def set_name_prefix(
        self, prefix: str, *, remove_cutlass_symbol: bool = False, keep_mangled_name: bool = True
    ) -> None:
        """Choose the name of the compiled code; a kernel's also gets a number.

        Args:
            prefix: what the name begins with; empty restores the function's own name.
            remove_cutlass_symbol: accepted; names of OpenCuTe have no such part.
            keep_mangled_name: whether the function's name follows the prefix.

        Raises:
            ArgumentError: OC2195, nothing is left of the name.
        """
        if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError("a name's prefix is text", code="OC2195", found=repr(prefix))
        if not prefix and not keep_mangled_name:
            raise ArgumentError(
                "a name without a prefix and without the function's name is empty", code="OC2195",
                hint="give a prefix, or keep the name",
            )  # fmt: skip
        self.prefix = prefix or None
        self.keeps_name = keep_mangled_name

    def __reduce__(self) -> str:
        return self.fn.__qualname__  # by name, as functions are pickled

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else Bound(self, obj)


class Bound:
    """A decorated method with its object."""

    __opencute_decorated__ = True

    def __init__(self, decorated: Any, obj: Any) -> None:
        self.decorated = decorated
        self.obj = obj

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.decorated(self.obj, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decorated, name)


class HostFunction(Decorated):
    """A host function, and what is known of calls of it.

    Attributes:
        versions: the code that there is for kinds of arguments, and what it depends on.
        retraced_because: why direct calls trace the function each time; empty if they need not.
        fast: native code in front of calls, once there is code for a GPU.
        in_python: kinds of calls that native code cannot make.
        learnt: those that it can, with their guards.
    """

    def __init__(self, fn: Callable[..., Any], preprocess: bool = True) -> None:
        super().__init__(fn, preprocess)
        self.versions: dict[Any, Any] = {}
        self.retraced_because = ""
        self.fast: Any = None
        self.in_python: set[Any] = set()
        self.learnt: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<jit function {self.fn.__qualname__}>"
