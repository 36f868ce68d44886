# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`T`: types of the IR by short names, ``T.i32()``, ``T.f32()``, ``T.vector(4, T.f32())``."""

from __future__ import annotations

from typing import Any

from opencute.ir import types
from opencute.lang.mlir.values import as_type

__all__ = ["T"]


class T:
    """Types by name; each is a function without arguments unless it says otherwise."""

    @staticmethod
    def bool() -> types.Type:
        """One bit."""
        return types.I1

    @staticmethod
    def i(width: int) -> types.Type:
        """An integer of some bits.

        Args:
            width: how many bits.
        """
        return types.IntegerType(width)

    @staticmethod
    def vector(*args: Any) -> types.Type:
        """A vector: length and element type.

        Args:
            args: the length, then the type of an element.
        """
        length, element = args
        return types.VectorType(int(length), as_type(element))

    @staticmethod
    def index() -> types.Type:
        """MLIR's index."""
        return types.INDEX

    i1 = bool

    @staticmethod
    def i4() -> types.Type:
        """Four bits."""
        return types.IntegerType(4)

    @staticmethod
    def i8() -> types.Type:
        """Eight bits."""
        return types.I8

    @staticmethod
    def i16() -> types.Type:
        """16 bits."""
        return types.I16

    @staticmethod
    def i32() -> types.Type:
        """32 bits."""
        return types.I32

    @staticmethod
    def i64() -> types.Type:
        """64 bits."""
        return types.I64

    @staticmethod
    def i128() -> types.Type:
        """128 bits."""
        return types.IntegerType(128)

    @staticmethod
    def f16() -> types.Type:
        """Half precision."""
        return types.F16

    @staticmethod
    def bf16() -> types.Type:
        """Brain float."""
        return types.BF16

    @staticmethod
    def f32() -> types.Type:
        """Single precision."""
        return types.F32

    @staticmethod
    def f64() -> types.Type:
        """Double precision."""
        return types.F64

    @staticmethod
    def tf32() -> types.Type:
        """TensorFloat32."""
        return types.FLOATS["tf32"]

    @staticmethod
    def f8E4M3FN() -> types.Type:
        """Eight bits, four of them exponent."""
        return types.FLOATS["f8E4M3FN"]

    @staticmethod
    def f8E5M2() -> types.Type:
        """Eight bits, five of them exponent."""
        return types.FLOATS["f8E5M2"]
