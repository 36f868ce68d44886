# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Users' types that say themselves what they are passed as.

An argument of a host function may have three methods: ``__get_mlir_types__`` lists the types of its
parts, ``__c_pointers__`` gives for each part a pointer to its value at a call, and
``__new_from_mlir_values__`` makes the object that compiled code works with. Arguments of kernels
need ``__extract_mlir_values__`` instead of the first two. Tensors, pointers and numbers of the
language have all of them, so that a class can pass the question on to its parts::

    class Batch:
        def __c_pointers__(self): return self.data.__c_pointers__() + self.size.__c_pointers__()
        def __get_mlir_types__(self): ...
        def __new_from_mlir_values__(self, values): return Batch(*values)

`opencute.frontend.structured` does the same for any object.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.frontend.arguments.declared import CallCheck
from opencute.frontend.arguments.kinds import Spec
from opencute.ir.core import Value
from opencute.ir.types import Type
from opencute.lang.arguments.aggregates import leaf_types, read_value, wrap_value
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import Numeric

__all__ = ["ProtocolSpec", "has_protocol"]


def has_protocol(obj: Any) -> bool:
    """Whether an object says itself what it is passed as."""
    return hasattr(obj, "__get_mlir_types__") and not isinstance(obj, type)


class ProtocolSpec(Spec):
    """An argument of a type with the three methods.

    Args:
        obj: the argument.
        name: for messages.
        make: `spec_of`, for parts that are tensors, pointers and numbers of the language.
        space: see `spec_of`.
        like: what this one is a later argument for: what the code was traced with stays.
    """

    def __init__(
        self, obj: Any, name: str, make: Any, space: Any, like: ProtocolSpec | None = None
    ) -> None:
        self.obj = obj
        self.name = name
        self.make = make
        self.space = space
        self.parts: list[Any] = [
            make(t, None, name, space) if _is_ours(t) else t for t in obj.__get_mlir_types__()
        ]
        keys = tuple(p.key if isinstance(p, Spec) else p for p in self.parts)
        bases = tuple(p.base if isinstance(p, Spec) else p for p in self.parts)
        self.state: Any = _static_state(obj) if like is None else like.state
        self.key = ("object", type(obj), self.state, keys)
        self.base = ("object", type(obj), self.state, bases)

    def types(self) -> list[Type]:
        return [
            t for p in self.parts for t in (p.types() if isinstance(p, Spec) else leaf_types(p))
        ]

    def build(self, values: Iterator[Value]) -> Any:
        parts = [
            p.build(values) if isinstance(p, Spec) else wrap_value(p, values) for p in self.parts
        ]
        return self.obj.__new_from_mlir_values__(parts)

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        if type(obj) is not type(self.obj):
            raise call.mistyped(path, type(self.obj).__name__, obj)
        return ProtocolSpec(obj, path, self.make, space, self)

    def extract(self, obj: Any, out: list[Any]) -> None:
        pointers = list(self.obj.__c_pointers__())
        if len(pointers) != len(self.parts):
            raise TypeMismatchError(
                f"argument {self.name!r}: __c_pointers__ and __get_mlir_types__ differ in length",
                code="OC1266", expected=len(self.parts), found=len(pointers),
            )  # fmt: skip
        for part, pointer in zip(self.parts, pointers, strict=True):
            if isinstance(part, Spec):
                part.extract(pointer, out)
            else:
                read_value(part, _address(pointer), out)

    def describe(self, call: CallCheck) -> str:
        return type(self.obj).__name__


def _is_ours(part: Any) -> bool:
    return isinstance(part, ExternalTensor | ExternalPointer | Numeric)


def _address(pointer: Any) -> int:
    """A C pointer as ctypes, an integer or a capsule-like object gives it."""
    if isinstance(pointer, int):
        return pointer
    if isinstance(pointer, ctypes.c_void_p):
        return pointer.value or 0
    if isinstance(pointer, ctypes._Pointer):  # pyright: ignore[reportPrivateUsage]
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0
    if isinstance(pointer, ctypes._SimpleCData | ctypes.Structure | ctypes.Array):  # pyright: ignore[reportPrivateUsage]
        return ctypes.addressof(pointer)
    return int(pointer)


_PLAIN = (int, float, complex, str, bytes, type(None), type)
_DYNAMIC = (
    ExternalTensor,
    ExternalPointer,
    Numeric,
    ctypes.c_void_p,
    ctypes.Structure,
    ctypes.Array,
)


def _static_state(obj: Any) -> Any:
    """What tracing may have read from an object: equal for objects that the same trace serves."""
    state: list[Any] = []
    for name, value in sorted(getattr(obj, "__dict__", {}).items()):
        if isinstance(value, _DYNAMIC):
            continue
        plain = isinstance(value, _PLAIN) or (
            isinstance(value, tuple) and all(isinstance(v, _PLAIN) for v in value)
        )
        # Anything else may change inside: never equal, so that the function is traced again.
        state.append((name, type(value), value if plain else object()))
    return tuple(state)
