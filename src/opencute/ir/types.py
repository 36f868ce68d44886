# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Types of SSA values. ``str(type)`` is MLIR's spelling.

>>> str(VectorType(8, F16))
'vector<8xf16>'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = [
    "BF16",
    "F16",
    "F32",
    "F64",
    "FLOATS",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "INDEX",
    "FloatType",
    "FunctionType",
    "IndexType",
    "IntegerType",
    "NoneType",
    "Type",
    "VectorType",
    "element_type",
    "lanes",
    "with_lanes",
]


T = TypeVar("T")
_MADE: dict[tuple[Any, ...], Any] = {}


class _Interning(type):
    """Makes each value of a type once, so that comparing and hashing need no fields."""

    def __call__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        key = (cls, *args)
        found = None if kwargs else _MADE.get(key)
        if found is None:
            new: Any = type.__call__(cls, *args, **kwargs)
            fields = (cls, *vars(new).values())
            # Another thread may have been first, or another way to spell the arguments.
            found = _MADE.setdefault(fields, new)
            if not kwargs:
                found = _MADE.setdefault(key, found)
        return found


class Type(metaclass=_Interning):
    """Base of all types: immutable, hashable, equal ones are the same object.

    A subclass is declared with ``@dataclass(frozen=True, eq=False)``.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())


@dataclass(frozen=True, eq=False)
class IntegerType(Type):
    """A signless integer; whether it is read as signed is decided by each operation.

    Args:
        width: bits, 1 to 128.
    """

    width: int

    def __str__(self) -> str:
        return f"i{self.width}"


@dataclass(frozen=True, eq=False)
class FloatType(Type):
    """A floating-point type, by MLIR's name: ``f16``, ``bf16``, ``tf32``, ``f8E4M3FN``, ..."""

    name: str
    width: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class IndexType(Type):
    """MLIR's ``index``; only appears where an MLIR dialect asks for it."""

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True, eq=False)
class NoneType(Type):
    """MLIR's ``none``."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, eq=False)
class VectorType(Type):
    """A vector in one thread's registers.

    Args:
        length: number of elements, at least 1.
        element: type of one element.
    """

    length: int
    element: Type

    def __str__(self) -> str:
        return f"vector<{self.length}x{self.element}>"


@dataclass(frozen=True, eq=False)
class FunctionType(Type):
    """Argument and result types of a function."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        ins = ", ".join(map(str, self.inputs))
        if len(self.results) == 1 and not isinstance(self.results[0], FunctionType):
            return f"({ins}) -> {self.results[0]}"
        return f"({ins}) -> ({', '.join(map(str, self.results))})"


I1 = IntegerType(1)
I8 = IntegerType(8)
I16 = IntegerType(16)
I32 = IntegerType(32)
I64 = IntegerType(64)
INDEX = IndexType()
F16 = FloatType("f16", 16)
BF16 = FloatType("bf16", 16)
F32 = FloatType("f32", 32)
F64 = FloatType("f64", 64)
FLOATS = {
    t.name: t
    for t in (
        F16, BF16, F32, F64, FloatType("tf32", 32), FloatType("f8E5M2", 8), FloatType("f8E4M3", 8),
        FloatType("f8E4M3FN", 8), FloatType("f8E4M3B11FNUZ", 8), FloatType("f8E8M0FNU", 8),
        FloatType("f8E3M4", 8), FloatType("f8E5M2FNUZ", 8), FloatType("f8E4M3FNUZ", 8),
        FloatType("f6E3M2FN", 6), FloatType("f6E2M3FN", 6), FloatType("f4E2M1FN", 4),
    )
}  # fmt: skip
"""Every float type by its name."""


def element_type(type: Type) -> Type:
    """The element of a vector, or the type itself."""
    return type.element if isinstance(type, VectorType) else type


def lanes(type: Type) -> int | None:
    """The length of a vector, None for a scalar."""
    return type.length if isinstance(type, VectorType) else None


def with_lanes(element: Type, like: Type) -> Type:
    """`element` as a scalar or as a vector as long as `like`."""
    return VectorType(like.length, element) if isinstance(like, VectorType) else element
