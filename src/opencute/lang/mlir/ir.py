# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.ir``: values and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.base.location import Location
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir import core, types
from opencute.ir.attributes import IntAttr, StringAttr, TypeAttr
from opencute.ir.syntax import Syntax
from opencute.lang.mlir.values import Wrapped, as_type
from opencute.lang.numbers import Numeric

__all__ = [
    "BF16Type", "BoolAttr", "F16Type", "F32Type", "F64Type", "IndexType", "InsertionPoint",
    "IntegerAttr", "IntegerType", "Location", "NoneType", "StringAttr", "Type", "TypeAttr", "Value",
    "VectorType",
]  # fmt: skip

assert LLVMPointerType  # its text can be parsed


class _Like(type):
    """A class of the bindings: instances are those of a class of our IR."""

    core: tuple[type, ...] = ()

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.core) or type.__instancecheck__(cls, instance)


class Value(Wrapped, metaclass=_Like):
    """An SSA value; a class derived from it wraps one."""

    core = (core.Value, Numeric)


class Type(metaclass=_Like):
    """A type of the IR."""

    core = (types.Type,)

    @staticmethod
    def parse(text: str, context: Any = None) -> types.Type:
        """The type that a text such as ``!llvm.struct<(i32, f32)>`` names.

        Raises:
            CompileError: no type is written like that.
        """
        syntax = Syntax(text, "<type>")
        found = syntax.type()
        if syntax.token.kind != "end":
            raise syntax.error("something follows the type")
        return found


class IntegerType(Type):
    """An integer type."""

    core = (types.IntegerType,)

    @staticmethod
    def get_signless(width: int, context: Any = None) -> types.IntegerType:
        """The type of `width` bits."""
        return types.IntegerType(width)

    get = get_signed = get_unsigned = get_signless


def _float(name: str, type: types.FloatType) -> Any:
    members = {"core": (), "get": staticmethod(lambda context=None: type), "__doc__": f"{type}."}
    return _Like(name, (Type,), {**members, "__module__": __name__})


BF16Type = _float("BF16Type", types.BF16)
F16Type = _float("F16Type", types.F16)
F32Type = _float("F32Type", types.F32)
F64Type = _float("F64Type", types.F64)


class IndexType(Type):
    """The index type."""

    core = (types.IndexType,)

    @staticmethod
    def get(context: Any = None) -> types.IndexType:
        """The type."""
        return types.INDEX


class NoneType(Type):
    """MLIR's none."""

    core = (types.NoneType,)

    @staticmethod
    def get(context: Any = None) -> types.NoneType:
        """The type."""
        return types.NoneType()


class VectorType(Type):
    """A vector type of one dimension."""

    core = (types.VectorType,)

    @staticmethod
    def get(shape: Sequence[int], element_type: Any, *, loc: Any = None) -> types.VectorType:
        """The type of a vector of ``[length]`` elements.

        Raises:
            TypeMismatchError: it has not one dimension.
        """
        if len(shape) != 1:
            raise TypeMismatchError(
                "vectors have one dimension here", code="OC1214", found=list(shape)
            )
        return types.VectorType(int(shape[0]), as_type(element_type))


class InsertionPoint:
    """Where operations go: always the place that is being traced. Kept for annotations."""


class IntegerAttr:
    """An integer as an attribute."""

    @staticmethod
    def get(type: Any, value: int) -> IntAttr:
        """The attribute."""
        return IntAttr(value, as_type(type))  # pyright: ignore[reportArgumentType]


class BoolAttr:
    """True or false as an attribute."""

    @staticmethod
    def get(value: bool) -> IntAttr:
        """The attribute."""
        return IntAttr(int(value), types.I1)
