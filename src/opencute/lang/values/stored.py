# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is written to memory without a word about its type: whether the memory's elements hold it.

In: a number or a vector and the class of the elements that it goes to. Out: nothing, a warning at
the user's line, or an error::

    check_stored(x, Float32)     # x is Float16: every value of it is one of Float32's
    check_stored(x, Float16)     # x is Float32: say .to(Float16)
    check_stored(0.5, Int8)      # no Int8 is 0.5

Silent are conversions that keep every value: to a wider type, of an integer to one of its own width
(the bits stay), of an integer to Float32 or Float64 as arithmetic does it, of anything to Boolean,
and of constants that the type holds. Besides, of a number of 64 bits to an integer of 32: offsets
become Int64 by themselves where layouts ask for that, and nobody wrote a wider type.
"""

from __future__ import annotations

import math
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.ir.attributes import BoolAttr, FloatAttr, IntAttr
from opencute.ir.cleanup import constant_of
from opencute.lang.numbers import Numeric, NumericMeta, number_in
from opencute.lang.vectors import TensorSSA
from opencute.numeric.dtypes import DType
from opencute.numeric.literals import check_fits, plain_kind
from opencute.numeric.promotion import holds

__all__ = ["check_stored", "keeps"]


def keeps(src: DType, dst: DType) -> bool:
    """Whether a conversion that nobody asked for may happen: it keeps every value, or is what
    arithmetic does with an integer beside a Float32.

    Example:
        >>> from opencute.numeric.dtypes import DTYPES as T
        >>> keeps(T["f16"], T["f32"]), keeps(T["f32"], T["f16"]), keeps(T["i32"], T["f32"])
        (True, False, True)
    """
    if src is dst or src.is_bool or dst.is_bool:
        return True
    if src.is_float:
        return dst.is_float and holds(dst, src)
    if dst.is_float:
        return dst.width >= 32 or src.width - src.signed <= dst.mantissa_bits + 1
    return src.width <= dst.width


def check_stored(value: Any, target: NumericMeta) -> None:
    """Refuse what elements of a type cannot hold, and would be changed without a word.

    Args:
        value: a vector, a number of the language, or a Python number.
        target: class of the elements.

    Raises:
        TypeMismatchError: OC1238, a value of another type; OC1243, a Python int that does not fit.
    """
    dst = target.dtype
    if isinstance(value, TensorSSA):
        if not keeps(value.dtype.dtype, dst):
            raise _lossy(value.dtype, target)
        return
    value = number_in(value)
    if isinstance(value, Numeric):
        if keeps(value.dtype, dst) or _is_offset(value.dtype, dst):
            return
        if not _held(_constant(value), dst):
            raise _lossy(type(value), target)
        return
    check_fits(value, dst)
    if plain_kind(value) is float and not _held(value, dst):
        raise TypeMismatchError(
            f"{target.__name__} does not hold this number", code="OC1238",
            expected=f"an integer from {dst.min} to {dst.max}", found=repr(value),
            hint=f"write {target.__name__}({value!r}), which drops the fraction",
        )  # fmt: skip


def _is_offset(src: DType, dst: DType) -> bool:
    """Whether an integer of 64 bits goes to one of 32."""
    return src.is_integer and dst.is_integer and src.width == 64 and dst.width == 32


def _lossy(src: Any, target: NumericMeta) -> TypeMismatchError:
    return TypeMismatchError(
        f"{src.__name__} is stored to elements of {target.__name__}, which do not hold all of its "
        "values", code="OC1238", expected=target.__name__, found=src.__name__,
        hint=f"say that it is converted: value.to({target.__name__})",
    )  # fmt: skip


def _constant(number: Numeric) -> Any:
    """A number that is known while compiling, else None."""
    if not number.is_dynamic:
        return number.value
    known = constant_of(number.ir_value())
    return known.value if isinstance(known, BoolAttr | FloatAttr | IntAttr) else None


def _held(value: Any, dst: DType) -> bool:
    """Whether a type holds a constant; that a float is rounded is no loss worth a word."""
    if value is None or dst.is_float:
        return value is not None
    return math.isfinite(value) and value == int(value) and dst.min <= value <= dst.max
