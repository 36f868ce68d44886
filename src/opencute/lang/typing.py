# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names for annotations: compile-time parameters, and the tuples of the layout algebra."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ALGEBRA",
    "Constexpr",
    "Coord",
    "GridConstant",
    "Int",
    "IntTuple",
    "Shape",
    "Stride",
    "Tile",
    "Tiler",
    "XTuple",
    "dtype",
    "is_constexpr",
]


class _Marked(type):
    def __getitem__(cls, item: Any) -> Any:
        return type(cls)(cls.__name__, (cls,), {"item": item})

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__


class Constexpr(metaclass=_Marked):
    """A parameter that is known at compile time: ``n: Constexpr`` or ``n: Constexpr[int]``."""


class GridConstant(metaclass=_Marked):
    """A parameter that lies in constant memory, the same for the whole grid: ``m:
    GridConstant[TensorMap]``. Tensor maps always do."""


class _Algebra(metaclass=_Marked):
    """A nested tuple of integers; Python integers in it are compile-time values."""


class Shape(_Algebra):
    """Extents."""


class Stride(_Algebra):
    """Steps."""


class Coord(_Algebra):
    """A coordinate."""


class IntTuple(_Algebra):
    """Any nested tuple of integers."""


class XTuple(_Algebra):
    """Any nested tuple."""


class Tile(_Algebra):
    """Extents or layouts, one per mode."""


class Tiler(_Algebra):
    """Extents or layouts, one per mode."""


class Int(_Algebra):
    """An integer, static or dynamic."""


ALGEBRA = _Algebra


def is_constexpr(annotation: Any) -> bool:
    """Whether an annotation says that a parameter is known at compile time."""
    return isinstance(annotation, type) and issubclass(annotation, Constexpr)


def dtype(name: str) -> Any:
    """The numeric class of a name, such as ``"Float16"``; for command lines.

    Raises:
        ValueError: no class has this name.
    """
    from opencute.lang.numbers import NUMERIC_CLASSES

    by_name = {c.__name__: c for c in NUMERIC_CLASSES.values()}
    if name not in by_name:
        raise ValueError(f"no type is called {name!r}; there are {', '.join(sorted(by_name))}")
    return by_name[name]
