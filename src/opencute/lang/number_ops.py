# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of `numbers.Numeric`: promotion, folding, and the operation that each operator builds.

Concrete operands are computed in Python with the type's width and rounding, so that a kernel's
source run by plain Python is an oracle for the compiled code. Dynamic operands build `arith` ops.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, cute
from opencute.dialects import math as math_dialect
from opencute.ir.core import Value
from opencute.lang import facts
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.promotion import promote
from opencute.numeric.scalars import coerce_scalar, decode_scalar, encode_scalar

if TYPE_CHECKING:
    from opencute.lang.numbers import Numeric, NumericMeta

__all__ = [
    "absolute",
    "binary",
    "bitcast",
    "ceil_div",
    "coerce",
    "compare",
    "convert",
    "convert_value",
    "emit_binary",
    "emit_compare",
    "emit_minmax",
    "invert",
    "literal_kind",
    "minmax",
    "negate",
    "power",
    "promoted",
    "shift_amount",
]


def _lang() -> Any:
    from opencute.lang import numbers

    return numbers


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
    lang = _lang()
    if isinstance(value, lang.Numeric):
        return value.dtype
    if isinstance(value, bool | int | float):
        return type(value)
    if hasattr(value, "__index__"):
        return int
    return None


def literal_kind(value: Any, kind: Any, other: Any) -> Any:
    """The kind of an operand; a Python int whose bits the other operand's integer type cannot hold
    counts as Int32, or Int64 if that cannot hold it either."""
    if kind is not int or not isinstance(other, DType) or not other.is_integer:
        return kind
    number = operator.index(value)
    for name in (other.name, "i32", "i64"):
        width = DTYPES[name].width
        if -(1 << (width - 1)) <= number < 1 << width:
            return int if name == other.name else DTYPES[name]
    return kind


def promoted(a: Any, b: Any, *, true_division: bool = False) -> NumericMeta | None:
    """The class that both operands are converted to, None if one is no number."""
    ka, kb = _kind(a), _kind(b)
    if ka is None or kb is None:
        return None
    dtype = promote(literal_kind(a, ka, kb), literal_kind(b, kb, ka))
    if true_division and not dtype.is_float:
        dtype = promote(dtype, float)
    return _lang().numeric_class(dtype)


# ---------------------------------------------------------------- emission on SSA values
_INT = {
    "add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori",
    "shl": "shli",
}  # fmt: skip
_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "truediv": "divf"}


def emit_binary(name: str, a: Value, b: Value, dtype: DType, *, nonneg: bool = False) -> Value:
    """Build `name` on two values (scalars or vectors) of element type `dtype`."""
    if dtype.is_float:
        return _emit_float(name, a, b)
    if name in _INT:
        return arith.binary(_INT[name], a, b)
    signed = dtype.signed and not nonneg and not dtype.is_bool
    if name == "shr":
        return arith.binary("shrsi" if dtype.signed else "shrui", a, b)
    if name == "floordiv":
        return arith.binary("floordivsi" if signed else "divui", a, b)
    if name == "mod":
        if not signed:
            return arith.binary("remui", a, b)
        q = arith.binary("floordivsi", a, b)
        return arith.binary("subi", a, arith.binary("muli", q, b))
    raise TypeMismatchError(f"{dtype.display} has no operator {name!r}", code="OC1206")


def _emit_float(name: str, a: Value, b: Value) -> Value:
    if name in _FLOAT:
        return arith.binary(_FLOAT[name], a, b)
    if name == "floordiv":
        return math_dialect.unary("floor", arith.binary("divf", a, b))
    if name == "mod":
        # CPython: the result has the sign of the divisor.
        r = arith.binary("remf", a, b)
        zero = arith.constant(0.0, a.type)
        wrong = arith.binary(
            "andi",
            arith.cmpf("une", r, zero),
            arith.cmpi("ne", _negative(r), _negative(b)),
        )
        return arith.select(wrong, arith.binary("addf", r, b), r)
    raise TypeMismatchError(f"floats have no operator {name!r}", code="OC1206")


def _negative(v: Value) -> Value:
    return arith.cmpf("olt", v, arith.constant(0.0, v.type))


def emit_compare(name: str, a: Value, b: Value, dtype: DType) -> Value:
    """Build a comparison of two values of element type `dtype`."""
    if dtype.is_float:
        return arith.cmpf("une" if name == "ne" else f"o{name}", a, b)
    if name in ("eq", "ne"):
        return arith.cmpi(name, a, b)
    return arith.cmpi(("s" if dtype.signed and not dtype.is_bool else "u") + name, a, b)


def emit_minmax(name: str, a: Value, b: Value, dtype: DType) -> Value:
    """Build the lesser or greater of two values; for floats a number wins over NaN."""
    if dtype.is_float:
        return arith.binary(f"{name}numf", a, b)
    return arith.binary(f"{name}{'s' if dtype.signed and not dtype.is_bool else 'u'}i", a, b)


def convert_value(value: Value, src: DType, dst: DType) -> Value:
    """Build the conversion of a scalar or vector from one element type to another."""
    from opencute.lang.numbers import ir_type

    if src is dst:
        return value
    to = ir_type(dst)
    if dst.is_bool:
        zero = arith.constant(0, value.type)
        return arith.cmpf("une", value, zero) if src.is_float else arith.cmpi("ne", value, zero)
    if src.is_float and dst.is_float:
        return _float_to_float(value, src, dst)
    if src.is_float:
        return arith.cast("fptosi" if dst.signed else "fptoui", _plain(value, src), to)
    unsigned = src.is_bool or not src.signed
    if dst.is_float:
        wide = ir_type(dst if dst.name in _ARITH_FLOATS else _f32())
        out = arith.cast("uitofp" if unsigned else "sitofp", value, wide)
        return out if dst.name in _ARITH_FLOATS else _float_to_float(out, _f32(), dst)
    if src.width == dst.width:
        return value
    if src.width > dst.width:
        return arith.cast("trunci", value, to)
    return arith.cast("extui" if unsigned else "extsi", value, to)


_ARITH_FLOATS = ("f16", "bf16", "f32", "f64")


def _f32() -> DType:
    return DTYPES["f32"]


def _plain(value: Value, src: DType) -> Value:
    return value if src.name in _ARITH_FLOATS else _float_to_float(value, src, _f32())


def _float_to_float(value: Value, src: DType, dst: DType) -> Value:
    from opencute.ir.types import with_lanes
    from opencute.lang.numbers import ir_type

    if src.name in _ARITH_FLOATS and dst.name in _ARITH_FLOATS:
        if src.width == dst.width:  # f16 and bf16: through f32, which holds both
            value, src = arith.cast("extf", value, ir_type(_f32())), _f32()
        return arith.cast("extf" if src.width < dst.width else "truncf", value, ir_type(dst))
    rounding = "rna" if dst.name == "tf32" else "rn"
    to = with_lanes(ir_type(dst), value.type)
    return cute.convert(value, to, rounding, saturate=dst.width < 16)


# ---------------------------------------------------------------- numbers
def convert(x: Numeric, cls: NumericMeta) -> Numeric:
    """`x` as another class."""
    if type(x) is cls:
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
        same = out.nonneg or (fits and dst.signed and src.signed) or grows
        out.div = x.div if same else facts.pow2(x.div)
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
    lang = _lang()
    cls = promoted(a, b, true_division=name == "truediv")
    if cls is None:
        return NotImplemented
    if name in ("shl", "shr"):
        cls = type(a) if isinstance(a, lang.Numeric) else cls
        b = shift_amount(b, cls.dtype)
    dtype: DType = cls.dtype
    if dtype.is_bool and name not in ("and", "or", "xor"):
        cls = lang.Int32
        dtype = cls.dtype
    if dtype.is_float and name in ("and", "or", "xor", "shl", "shr"):
        raise TypeMismatchError(
            f"operator {name!r} needs integers", code="OC1207", found=f"{cls.__name__} operands"
        )
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, _eager(name, x.value, y.value, dtype))
    if not dtype.is_float:
        simple = _identity(name, x, y)
        if simple is not None:
            return simple
    nonneg = not dtype.is_float and facts.nonneg(x) and facts.nonneg(y)
    out = cls(emit_binary(name, x.ir_value(), y.ir_value(), dtype, nonneg=nonneg))
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
    return out


def _operand(value: Any, cls: Any) -> Numeric:
    lang = _lang()
    if isinstance(value, lang.Numeric):
        return convert(value, cls)
    return _make(cls, value)


def _identity(name: str, x: Numeric, y: Numeric) -> Numeric | None:
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
                "truediv": operator.truediv, "mod": np.mod, "pow": np.power,
            }[name]  # fmt: skip
            return float(fn(a, b))
    return {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
        "or": operator.or_, "xor": operator.xor, "floordiv": operator.floordiv,
        "mod": operator.mod, "shl": operator.lshift, "shr": operator.rshift,
    }[name](x, y)  # fmt: skip


def _floor(x: float) -> float:
    """The floor of a float as a float; infinities and NaN stay."""
    return float(math.floor(x)) if math.isfinite(x) else x


def compare(name: str, a: Any, b: Any) -> Any:
    """A comparison; NotImplemented if one operand is no number."""
    lang = _lang()
    cls = promoted(a, b)
    if cls is None:
        return NotImplemented
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(lang.Boolean, getattr(operator, name)(x.value, y.value))
    return lang.Boolean(emit_compare(name, x.ir_value(), y.ir_value(), cls.dtype))


def minmax(name: str, a: Any, b: Any) -> Any:
    """The lesser or greater of two numbers, in their common type."""
    cls = promoted(a, b)
    if cls is None:
        raise TypeMismatchError(f"{name}() needs numbers", code="OC1208", found=f"{a!r}, {b!r}")
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, (min if name == "min" else max)(x.value, y.value))
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


def ceil_div(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for integers with ``b > 0``."""
    return (a + (b - 1)) // b


def negate(x: Numeric) -> Numeric:
    """``-x``."""
    if x.dtype.is_bool:
        return binary("sub", 0, x)
    if not x.is_dynamic:
        return _make(type(x), -x.value)
    if x.dtype.is_float:
        return type(x)(arith.negf(x.ir_value()))
    return binary("sub", 0, x)


def absolute(x: Numeric) -> Numeric:
    """``abs(x)``; the most negative integer stays itself, as in two's complement."""
    if not x.is_dynamic:
        return _make(type(x), abs(x.value))
    if x.dtype.is_float:
        return type(x)(math_dialect.unary("absf", x.ir_value()))
    if not x.dtype.signed or x.nonneg:
        return x
    return type(x)(math_dialect.int_unary("absi", x.ir_value()))


def invert(x: Numeric) -> Numeric:
    """``~x``; of a Boolean: not."""
    if x.dtype.is_float:
        raise TypeMismatchError("operator '~' needs an integer", code="OC1207", found=repr(x))
    if x.dtype.is_bool:
        return binary("xor", x, True)
    return binary("xor", x, -1)


def power(a: Any, b: Any) -> Any:
    """``a ** b``: repeated multiplication for small whole exponents, else `math.powf`."""
    lang = _lang()
    if isinstance(b, lang.Integer) and not b.is_dynamic:
        b = b.value
    if isinstance(b, int) and not isinstance(b, bool) and 0 <= b <= 16:
        out: Any = a if b else type(a)(1)
        for _ in range(b - 1):
            out = out * a
        return out
    cls = promoted(a, b, true_division=True)
    if cls is None:
        return NotImplemented
    x, y = _operand(a, cls), _operand(b, cls)
    if not x.is_dynamic and not y.is_dynamic:
        return _make(cls, _eager("pow", x.value, y.value, cls.dtype))
    assert issubclass(cls, lang.Numeric)
    return cls(math_dialect.binary("powf", x.ir_value(), y.ir_value()))


def bitcast(x: Numeric, cls: NumericMeta) -> Numeric:
    """The bits of `x` as another class of the same width."""
    if cls.dtype.width != x.dtype.width:
        raise TypeMismatchError(
            "bitcast needs types of one width", code="OC1209",
            expected=f"{x.dtype.width} bits", found=f"{cls.__name__}: {cls.dtype.width} bits",
        )  # fmt: skip
    if not x.is_dynamic:
        return _make(cls, decode_scalar(encode_scalar(x.value, x.dtype), cls.dtype))
    value = x.ir_value()
    to = _lang().ir_type(cls.dtype)
    return cls(value if value.type == to else arith.cast("bitcast", value, to))
