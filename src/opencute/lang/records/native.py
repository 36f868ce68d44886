# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.native_struct`: a class whose fields have fixed types and can be assigned.

In: a class with annotated fields. Out: the class with a constructor, fields that convert what is
assigned to them, and the layout that C gives such a struct::

    @cute.native_struct
    class Sum:
        total: cutlass.Float32
        count: cutlass.Int32

    s = Sum()               # zeros
    s.count += 1            # stays an Int32, in branches and loops too

Fields of other native structs nest; `Constexpr` fields are Python values and no part of the layout.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable
from typing import Any, TypeVar, overload

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.lang.numbers import Numeric
from opencute.lang.typing import is_constexpr

__all__ = ["native_struct"]

T = TypeVar("T")


@overload
def native_struct(cls: type[T], /) -> type[T]: ...
@overload
def native_struct(
    *, zero_init: bool = True, packed: bool = False
) -> Callable[[type[T]], type[T]]: ...
def native_struct(cls: Any = None, /, *, zero_init: bool = True, packed: bool = False) -> Any:
    """Make a class a struct of run-time numbers; a decorator, with or without options.

    Args:
        cls: the class; its annotations are the fields.
        zero_init: fields that the constructor is not given are zero; otherwise they have no value,
            and reading one before it is set is an error.
        packed: no padding between fields.

    Returns:
        The class. `__native_fields__` has each field's class and byte offset; `size_in_bytes` and
        `alignment` are those of the struct.

    Raises:
        TypeMismatchError: OC1258, a field's annotation is no class of numbers and no native struct.
    """
    scope = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage] - classes of functions

    def decorate(cls: Any) -> Any:
        return _finish(cls, scope, zero_init, packed)

    return decorate if cls is None else decorate(cls)


def _hints(cls: Any, scope: dict[str, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, localns=scope)
    except Exception:
        return {k: v for c in reversed(cls.__mro__) for k, v in vars(c).get(
            "__annotations__", {}).items()}  # fmt: skip


def _finish(cls: Any, scope: dict[str, Any], zero_init: bool, packed: bool) -> Any:
    hints = _hints(cls, scope)
    fields: dict[str, tuple[Any, int]] = {}
    offset, most = 0, 1
    for name, kind in hints.items():
        if is_constexpr(kind):
            continue
        size, align = _measure(cls, name, kind)
        align = 1 if packed else align
        offset = -(-offset // align) * align
        fields[name] = kind, offset
        offset, most = offset + size, max(most, align)
    given = {n: getattr(cls, n) for n in hints if hasattr(cls, n)}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(hints):
            raise TypeError(f"{cls.__name__}() takes at most {len(hints)} values")
        values = {**dict(zip(hints, args, strict=False))}
        for name, value in kwargs.items():
            if name not in hints or name in values:
                raise TypeError(f"{cls.__name__}() got an unexpected or repeated field {name!r}")
            values[name] = value
        for name, kind in hints.items():
            if name in values or name in given:
                setattr(self, name, values.get(name, given.get(name)))
            elif name not in fields:
                raise TypeError(f"{cls.__name__}() needs the Constexpr field {name!r}")
            elif zero_init or hasattr(kind, "__native_fields__"):
                setattr(self, name, kind() if hasattr(kind, "__native_fields__") else kind(0))

    cls.__init__ = __init__
    cls.__setattr__ = _set_field
    cls.__getattr__ = _no_field
    cls.__native_fields__ = fields
    cls.size_in_bytes = -(-offset // most) * most
    cls.alignment = most
    cls.__annotations__ = dict(hints)
    for name in given:  # a dataclass's fields without values come first
        delattr(cls, name) if name in vars(cls) else None
    return dataclasses.dataclass(init=False, eq=False, repr=True)(cls)


def _measure(cls: Any, name: str, kind: Any) -> tuple[int, int]:
    """Size and alignment of a field in bytes."""
    if hasattr(kind, "__native_fields__"):
        return kind.size_in_bytes, kind.alignment
    if isinstance(kind, type) and issubclass(kind, Numeric) and kind is not Numeric:
        numeric: Any = kind
        size = -(-numeric.width // 8)
        return size, size
    raise TypeMismatchError(
        f"field {name!r} of {cls.__name__} cannot be in a native struct", code="OC1258",
        expected="a class such as cutlass.Int32, a native struct, or Constexpr", found=kind,
    )  # fmt: skip


def _set_field(self: Any, name: str, value: Any) -> None:
    found = type(self).__native_fields__.get(name)
    if found is not None:
        kind = found[0]
        if not hasattr(kind, "__native_fields__"):
            value = value if isinstance(value, kind) else kind(value)
        elif not isinstance(value, kind):
            raise TypeMismatchError(
                f"field {name!r} of {type(self).__name__} is a struct", code="OC1258",
                expected=kind.__name__, found=f"{type(value).__name__} {value}",
            )  # fmt: skip
    elif name not in type(self).__annotations__:
        names = ", ".join(type(self).__annotations__)
        raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {names}")
    object.__setattr__(self, name, value)


def _no_field(self: Any, name: str) -> Any:
    if name in type(self).__native_fields__:
        raise LanguageError(
            f"field {name!r} of {type(self).__name__} is read before it has a value",
            code="OC1127", hint="set it first, or leave zero_init=False out",
        )  # fmt: skip
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
