# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of `numbers.Numeric`: promotion, folding, and the operation that each operator builds.

Concrete operands are computed in Python with the type's width and rounding, so that a kernel's
source run by plain Python is an oracle for the compiled code. Dynamic operands build `arith` ops.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith
from opencute.dialects import math as math_dialect
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Value
from opencute.lang import facts
from opencute.lang.emission import (
    convert_value,
    emit_binary,
    emit_compare,
    emit_math,
    emit_minmax,
    emit_negate,
)
from opencute.lang.numeric_meta import NumericMeta, ir_type
from opencute.lang.values.conversion import (
    convert_concrete,
    convert_rounded,
    random_bits,
    rounding_of,
)
from opencute.lang.values.number import NUMERIC_CLASSES, Number, number_in, numeric_class
from opencute.numeric.dtypes import DType
from opencute.numeric.literals import decided, literal_kind, plain_kind, plain_type
from opencute.numeric.promotion import promote
from opencute.numeric.scalars import coerce_scalar, decode_scalar, encode_scalar

__all__ = [
    "absolute",
    "binary",
    "bitcast",
    "ceil_div",
    "coerce",
    "common_kind",
    "compare",
    "convert",
    "convert_as",
    "convert_value",
    "emit_binary",
    "emit_compare",
    "emit_math",
    "emit_minmax",
    "emit_negate",
    "invert",
    "literal_kind",
    "minmax",
    "negate",
    "power",
    "powers",
    "promoted",
    "rounded",
    "shift_amount",
    "whole_exponent",
]


def coerce(value: Any, dtype: DType) -> Any:
    """A Python number rounded or wrapped to a type; raises TypeMismatchError for anything else."""
    if isinstance(value, bool | int | float):
        return coerce_scalar(value, dtype)
    if isinstance(value, np.generic) or hasattr(value, "__index__"):
        plain = value.item() if isinstance(value, np.generic) else operator.index(value)
        return coerce_scalar(plain, dtype)
    raise TypeMismatchError(
        f"{dtype.display} cannot be made from {type(value).__name__}",
        code="OC1205",
        found=repr(value)[:80],
        expected="a number",
    )


def _kind(value: Any) -> Any:
    return value.dtype if isinstance(value, Number) else plain_kind(value)


def promoted(a: Any, b: Any, *, true_division: bool = False) -> NumericMeta | None:
    """The class that both operands are converted to, None if one is no number."""
    ka, kb = _kind(a), _kind(b)
    if ka is None or kb is None:
        return None
    return numeric_class(common_kind((a, ka), (b, kb), true_division))


def common_kind(a: tuple[Any, Any], b: tuple[Any, Any], true_division: bool = False) -> DType:
    """The type of an operation on two operands, each given with its kind."""
    ka, kb = literal_kind(*a, b[1]), literal_kind(*b, a[1])
    if ka is int and kb is int:
        ka, kb = plain_type(a[0]) or ka, plain_type(b[0]) or kb
    dtype = promote(ka, kb)
    return promote(dtype, float) if true_division and not dtype.is_float else dtype


# ---------------------------------------------------------------- numbers
def convert_as(
    x: Number, cls: NumericMeta, rounding: Any = None, saturate: bool | None = None,
    rbits: Any = None,
) -> Number:  # fmt: skip
    """`x` as another class, rounded and saturated as the caller says (`Numeric.to`)."""
    how = rounding_of(rounding, cls.dtype, rbits)
    same: Any = cls
    if (how is None and saturate is None) or type(x) is same or cls.dtype.is_bool:
        return convert(x, cls)
    src, dst = x.dtype, cls.dtype
    dynamic = rbits is not None and getattr(rbits, "is_dynamic", False)
    if not x.is_dynamic and not dynamic:
        out = _make(cls, 0)  # an infinity is one even where the type's own rule is to clamp
        out.value = convert_concrete(x.value, src, dst, how, saturate, rbits)
        return out
    value = x.ir_value()
    random = None if rbits is None else random_bits(rbits, value)
    value = convert_rounded(value, src, dst, how, saturate, random)
    if not src.is_float and not dst.is_float:
        value = convert_value(value, src, dst)
    return same(value)


def convert(x: Number, cls: NumericMeta) -> Number:
    """`x` as another class."""
    same: Any = cls
    if type(x) is same:
        return x
    if not x.is_dynamic:
        return _make(cls, _convert_concrete(x.value, x.dtype, cls.dtype))
    out = cls(convert_value(x.ir_value(), x.dtype, cls.dtype))
    src, dst = x.dtype, cls.dtype
    if not (dst.is_float or src.is_float or dst.is_bool):
        fits = dst.width >= src.width
        grows = dst.width > src.width and (src.is_bool or not src.signed)
        out.nonneg = fits and (x.nonneg or grows)
        out.is_index = fits and (x.is_index or src.is_bool) and dst.signed
        # Without a change of value all divisors stay, else those that wrapping cannot touch.
        keeps = out.nonneg or (fits and dst.signed and src.signed) or grows
        out.div = x.div if keeps else facts.pow2(x.div)
    return out


def _convert_concrete(value: Any, src: DType, dst: DType) -> Any:
    if src.is_float and not dst.is_float and not dst.is_bool:
        if math.isnan(value):
            return 0
        return max(min(math.trunc(value) if math.isfinite(value) else math.copysign(1e99, value),
                       dst.max), dst.min)  # fmt: skip
    return value


def binary(name: str, a: Any, b: Any) -> Any:
    """An arithmetic or bitwise operator of numbers; NotImplemented if one is no number."""
    a, b = number_in(a), number_in(b)
    cls = promoted(a, b, true_division=name == "truediv")
    if cls is None:
        return NotImplemented
    if cls.dtype.is_float and name in ("and", "or", "xor", "shl", "shr"):
        raise TypeMismatchError(
            f"operator {name!r} needs integers", code="OC1207", found=f"{cls.__name__} operands"
        )
    if name in ("shl", "shr") and isinstance(a, Number):
        cls = type(a)
    if cls.dtype.is_bool and name not in ("and", "or", "xor"):
        cls = NUMERIC_CLASSES["i32"]
    dtype: DType = cls.dtype
    if name in ("shl", "shr"):
        b = shift_amount(b, dtype)
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, _eager(name, x.value, y.value, dtype))
    if not dtype.is_float:
        simple = _identity(name, x, y)
        if simple is not None:
            return simple
        rest = facts.remainder(x, y) if name == "mod" else None
        if rest is not None:
            return _make(cls, rest)
    nonneg = not dtype.is_float and facts.nonneg(x) and facts.nonneg(y)
    out = _new(cls, emit_binary(name, x.ir_value(), y.ir_value(), dtype, nonneg=nonneg))
    if not dtype.is_float and not dtype.is_bool:
        facts.of_binary(name, x, y, out)
    return out


def shift_amount(b: Any, dtype: DType) -> Any:
    """A shift's right operand; a static one is checked, and limited to the width.

    Raises:
        ValueError: it is negative.
    """
    value = b.value if type(b).__name__ != "TensorSSA" and hasattr(b, "dtype") else b
    if not isinstance(value, int):
        return b
    if value < 0:
        raise ValueError("negative shift count")
    return min(value, dtype.width)


def _make(cls: Any, value: Any) -> Any:
    """A concrete number even while tracing."""
    out = cls.__new__(cls)
    out.value, out.div = coerce(value, cls.dtype), 1
    out.nonneg = out.is_index = False
    out.rest = None
    return out


def _new(cls: Any, value: Value) -> Any:
    """A run-time number."""
    return cls(value)


def _operand(value: Any, cls: Any) -> Number:
    if isinstance(value, Number):
        return convert(value, cls)
    return _make(cls, value)


def _identity(name: str, x: Number, y: Number) -> Number | None:
    """``x + 0``, ``x * 1``, ``x // 1`` and the like, which keep all facts."""
    xv, yv = (v.value if not v.is_dynamic else None for v in (x, y))
    if (name in ("add", "sub", "or", "xor", "shl", "shr") and yv == 0) or (
        name in ("mul", "floordiv") and yv == 1
    ):
        return x
    if (name in ("add", "or", "xor") and xv == 0) or (name == "mul" and xv == 1):
        return y
    return None


def _eager(name: str, x: Any, y: Any, dtype: DType) -> Any:
    if dtype.is_float:
        wide = np.float64 if dtype.name == "f64" else np.float32
        with np.errstate(all="ignore"):
            a, b = wide(x), wide(y)
            if name == "floordiv":
                return _floor(coerce(float(a / b), dtype))
            fn = {
                "add": operator.add, "sub": operator.sub, "mul": operator.mul,
                "truediv": operator.truediv, "mod": _float_mod, "pow": np.power,
            }[name]  # fmt: skip
            return float(fn(a, b))
    return {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
        "or": operator.or_, "xor": operator.xor, "floordiv": operator.floordiv,
        "mod": operator.mod, "shl": operator.lshift, "shr": operator.rshift,
    }[name](x, y)  # fmt: skip


def _float_mod(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; a zero keeps the sign of the dividend."""
    r = np.fmod(a, b)
    return r + b if r != 0 and (r < 0) != (b < 0) else r


def _floor(x: float) -> float:
    """The floor of a float as a float; infinities and NaN stay."""
    return float(math.floor(x)) if math.isfinite(x) else x


def compare(name: str, a: Any, b: Any) -> Any:
    """A comparison; NotImplemented if one operand is no number."""
    a, b = number_in(a), number_in(b)
    boolean: Any = NUMERIC_CLASSES["i1"]
    for value, other, flip in ((b, a, False), (a, b, True)):
        known = decided(name, value, _kind(other), flip)
        if known is not None:
            dynamic = isinstance(other, Number) and other.is_dynamic
            return boolean(known) if dynamic else _make(boolean, known)
    cls = promoted(a, b)
    if cls is None:
        return NotImplemented
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(boolean, getattr(operator, name)(x.value, y.value))
    return boolean(emit_compare(name, x.ir_value(), y.ir_value(), cls.dtype))


def minmax(name: str, a: Any, b: Any) -> Any:
    """The lesser or greater of two numbers, in their common type."""
    a, b = number_in(a), number_in(b)
    cls = promoted(a, b)
    if cls is None:
        raise TypeMismatchError(f"{name}() needs numbers", code="OC1208", found=f"{a!r}, {b!r}")
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, _eager_minmax(name, x.value, y.value))
    out = cls(emit_minmax(name, x.ir_value(), y.ir_value(), cls.dtype))
    if not cls.dtype.is_float:
        known = facts.nonneg(x), facts.nonneg(y)
        # One is enough for the greatest of signed and for the least of unsigned numbers.
        one = name == ("max" if cls.dtype.signed else "min")
        out.nonneg = any(known) if one else all(known)
        out.is_index = facts.is_index(x) and facts.is_index(y)
        out.div = math.gcd(*(v.div if v.is_dynamic else abs(v.value) for v in (x, y))) or 1
        facts.bound_div(out)
    return out


def _eager_minmax(name: str, x: Any, y: Any) -> Any:
    """A number wins over NaN, and -0.0 is less than 0.0."""
    if x != x or y != y:
        return y if x != x else x
    return (min if name == "min" else max)(x, y, key=lambda v: (v, math.copysign(1.0, v)))


def ceil_div(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for integers with ``b > 0``."""
    return (a + (b - 1)) // b


def negate(x: Number) -> Number:
    """``-x``."""
    if x.dtype.is_bool:
        return binary("sub", 0, x)
    if not x.is_dynamic:
        return _make(type(x), -x.value)
    if x.dtype.is_float:
        return _new(type(x), emit_negate(x.ir_value(), x.dtype))
    return binary("sub", 0, x)


def absolute(x: Number) -> Number:
    """``abs(x)``; the most negative integer stays itself, as in two's complement."""
    if not x.is_dynamic:
        return _make(type(x), abs(x.value))
    if x.dtype.is_float:
        return _new(type(x), emit_math("absf", (x.ir_value(),), x.dtype))
    if not x.dtype.signed or x.nonneg:
        return x
    return _new(type(x), math_dialect.int_unary("absi", x.ir_value()))


def rounded(x: Number) -> Any:
    """The whole number nearest to a run-time float, as a float; ties to even."""
    return _new(type(x), emit_math("roundeven", (x.ir_value(),), x.dtype))


def invert(x: Number) -> Number:
    """``~x``; of a Boolean: not."""
    if x.dtype.is_float:
        raise TypeMismatchError("operator '~' needs an integer", code="OC1207", found=repr(x))
    if x.dtype.is_bool:
        return binary("xor", x, True)
    return binary("xor", x, -1)


def power(a: Any, b: Any) -> Any:
    """``a ** b``.

    Integers, and floats with a small whole exponent, are multiplied; all else is `math.powf`, in
    Float32 for integers with a negative or fractional exponent.

    Raises:
        TypeMismatchError: integers with an exponent that is only known at run time.
    """
    cls = promoted(a, b)
    if cls is None:
        return NotImplemented
    base: Any = type(a) if isinstance(a, Number) else cls
    count = whole_exponent(b, base.dtype)
    if count is not None:
        return powers(_operand(a, base), count) if count else base(1)
    if not cls.dtype.is_float and isinstance(b, Number) and b.is_dynamic:
        raise TypeMismatchError(
            "an integer to the power of a run-time integer", code="OC1244",
            expected="an exponent known at compile time, or a float", found=repr(b),
            hint="convert one of them: x.to(Float32) ** n; for powers of two: 1 << n",
        )  # fmt: skip
    cls = promoted(a, b, true_division=True)
    assert cls is not None and issubclass(cls, Number)
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, _eager("pow", x.value, y.value, cls.dtype))
    return _new(cls, emit_math("powf", (x.ir_value(), y.ir_value()), cls.dtype))


def _known(x: Any) -> int | None:
    """The value of an integer that is concrete, or a constant of the function being traced."""
    if not x.is_dynamic:
        return x.value
    op = x.value.op
    attr = op.attributes["value"] if op is not None and op.name == "arith.constant" else None
    return attr.value if isinstance(attr, IntAttr) else None


def whole_exponent(b: Any, base: DType) -> int | None:
    """An exponent to multiply for; None where `math.powf` does it."""
    if isinstance(b, Number) and b.dtype.is_integer:
        b = _known(b)
    if plain_kind(b) is not int:
        return None
    count = operator.index(b)
    return count if 0 <= count <= (16 if base.is_float else count) else None


def powers(x: Any, count: int) -> Any:
    """``x ** count`` for a positive count: floats one by one from the left, integers (where every
    order gives the same bits) by squaring."""
    kind = x.dtype if isinstance(x.dtype, DType) else x.dtype.dtype
    if kind.is_float:
        out = x
        for _ in range(count - 1):
            out = out * x
        return out
    out = None
    while count:
        if count & 1:
            out = x if out is None else out * x
        count >>= 1
        if count:
            x = x * x
    return out


def bitcast(x: Number, cls: NumericMeta) -> Number:
    """The bits of `x` as another class of the same width."""
    if cls.dtype.width != x.dtype.width:
        raise TypeMismatchError(
            "bitcast needs types of one width", code="OC1209",
            expected=f"{x.dtype.width} bits", found=f"{cls.__name__}: {cls.dtype.width} bits",
        )  # fmt: skip
    if not x.is_dynamic:
        return _make(cls, decode_scalar(encode_scalar(x.value, x.dtype), cls.dtype))
    value = x.ir_value()
    to = ir_type(cls.dtype)
    return cls(value if value.type == to else arith.cast("bitcast", value, to))
