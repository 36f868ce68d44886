# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of types that belong to others: an adapter is called with the object, and its result is
passed instead.

    @cutlass.register_jit_arg_adapter(TheirTensor)
    class Adapter:                       # or a function that gives something that can be passed
        def __init__(self, obj): ...
        def __c_pointers__(self): ...
        def __get_mlir_types__(self): ...
        def __new_from_mlir_values__(self, values): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["JitArgAdapterRegistry", "adapted", "is_adapted", "register_jit_arg_adapter"]

_ADAPTERS: dict[type, Callable[[Any], Any]] = {}


def register_jit_arg_adapter(*types: type) -> Callable[[Any], Any]:
    """Decorator: adapt arguments of foreign types and of types derived from them.

    Raises:
        ArgumentError: no type is given, or something that is none.
    """
    if not types or not all(isinstance(t, type) for t in types):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "register_jit_arg_adapter takes the types to adapt", code="OC2146", found=types,
            hint="@cutlass.register_jit_arg_adapter(TheirType)",
        )  # fmt: skip

    def decorate(adapter: Any) -> Any:
        for t in types:
            _ADAPTERS[t] = adapter
        return adapter

    return decorate


def _adapter(kind: type) -> Callable[[Any], Any] | None:
    if not _ADAPTERS:
        return None
    return next((_ADAPTERS[base] for base in kind.__mro__ if base in _ADAPTERS), None)


def is_adapted(obj: Any) -> bool:
    """Whether an argument is passed as something else, by an adapter."""
    return _adapter(type(obj)) is not None


def adapted(obj: Any) -> Any:
    """An argument of a foreign type as its adapter gives it; others as they are."""
    adapter = _adapter(type(obj))
    return obj if adapter is None else adapter(obj)


class JitArgAdapterRegistry:
    """The adapters of this process, under the names that published code calls."""

    register_jit_arg_adapter = staticmethod(register_jit_arg_adapter)

    @staticmethod
    def get_registered_adapter(type_: type) -> Callable[[Any], Any] | None:
        """The adapter for objects of a type, None if there is none."""
        return _adapter(type_)
