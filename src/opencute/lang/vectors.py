# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`TensorSSA`: a value made of many elements, in registers, with a shape.

Elements are kept in one flat vector, in the order of the shape's linear coordinate (first mode
fastest). Operators work elementwise and follow NumPy's broadcasting on the modes of the shape, with
CuTe's rule that missing modes are appended.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import arith, vector
from opencute.ir.core import Value
from opencute.ir.types import VectorType
from opencute.lang import number_ops as ops
from opencute.lang.broadcasting import broadcast_index, broadcast_shape
from opencute.lang.numbers import (
    Boolean,
    Int32,
    Numeric,
    NumericMeta,
    as_numeric,
    class_of,
    ir_type,
    number_in,
)
from opencute.lang.values.conversion import convert_rounded, random_bits, rounding_of
from opencute.lang.vector_coords import check_range, has_none, plain_coord, reduced_modes
from opencute.layout import make_layout, product, slice_and_offset, to_str
from opencute.layout.ints import is_tuple
from opencute.numeric.literals import decided, plain_kind

__all__ = ["ReductionOp", "TensorSSA", "common", "elementwise", "splat", "where"]


class ReductionOp(enum.Enum):
    """How `TensorSSA.reduce` combines elements."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


class TensorSSA:
    """Elements in registers.

    Args:
        value: SSA vector with one element per coordinate of `shape`.
        shape: static shape, an int or nested tuple.
        dtype: numeric class of the elements.
    """

    __array_ufunc__ = None  # NumPy's scalars leave operators to this class
    __hash__ = object.__hash__

    def __init__(self, value: Any, shape: Any, dtype: NumericMeta) -> None:
        value = value.value if isinstance(value, TensorSSA) else value
        count = product(shape)
        want = VectorType(count, ir_type(dtype.dtype))
        if not isinstance(value, Value) or value.type != want:
            raise TypeMismatchError(
                "the vector does not fit the shape", code="OC1220",
                expected=want, found=getattr(value, "type", value),
            )  # fmt: skip
        self.value = value
        self.shape = shape
        self._dtype = dtype

    @property
    def dtype(self) -> NumericMeta:
        """Numeric class of the elements."""
        return self._dtype

    element_type = dtype

    @property
    def type(self) -> str:
        """The type as it is printed."""
        return str(self)

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The SSA vector."""
        return self.value

    def __str__(self) -> str:
        return f"tensor_value<{self.value.type} o {to_str(self.shape)}>"

    __repr__ = __str__

    def __len__(self) -> int:
        return len(self.shape) if is_tuple(self.shape) else self.shape

    def __bool__(self) -> bool:
        raise TypeMismatchError(
            "a vector has no single truth value", code="OC1221", found=str(self),
            hint="choose element by element with cute.where(x > 0, a, b); one answer for all of "
            "them is cute.any_(...), cute.all_(...) or x.reduce(...)",
        )  # fmt: skip

    # ---- shape
    def broadcast_to(self, shape: Any, *, loc: Any = None, ip: Any = None) -> TensorSSA:
        """The elements repeated along modes of extent 1.

        Args:
            shape: extents of the result.

        Raises:
            LayoutError: a mode is neither 1 nor the target's extent.
        """
        if shape == self.shape:
            return self
        index = broadcast_index(self.shape, shape)
        return TensorSSA(vector.shuffle(self.value, self.value, index), shape, self._dtype)

    def reshape(self, shape: Any, *, loc: Any = None, ip: Any = None) -> TensorSSA:
        """The same elements, in the same linear order, under another shape of the same size."""
        if product(shape) != product(self.shape):
            raise LayoutError(
                "reshape must keep the size", code="OC1351",
                expected=f"{product(self.shape)} elements", found=to_str(shape),
            )  # fmt: skip
        return TensorSSA(self.value, shape, self._dtype)

    def __iter__(self) -> Any:
        """The elements of a vector of one mode; else, as NumPy, what the first mode enumerates."""
        rest = (None,) * (len(self.shape) - 1) if is_tuple(self.shape) else ()
        first: Any = product(self.shape[0]) if is_tuple(self.shape) else self.shape
        return (self[(i, *rest)] if rest else self[i] for i in range(first))

    def __getitem__(self, crd: Any) -> Any:
        layout = make_layout(self.shape)
        crd = plain_coord(crd)
        if crd is Ellipsis:
            return self
        if is_tuple(crd) and Ellipsis in crd:
            at = crd.index(Ellipsis)
            crd = crd[:at] + (None,) * (layout.rank - len(crd) + 1) + crd[at + 1 :]
        check_range(crd, self.shape, self)
        if has_none(crd):
            sub, base = slice_and_offset(crd, layout)
            index = [base + sub(i) for i in range(product(sub.shape))]
            out = vector.shuffle(self.value, self.value, index)
            return TensorSSA(out, sub.shape, self._dtype)
        numeric: Any = self._dtype
        return numeric(vector.extract(self.value, layout(crd)))

    def __setitem__(self, crd: Any, value: Any) -> None:
        raise TypeMismatchError(
            "the elements of a vector in registers cannot be assigned", code="OC1600",
            hint="make a register tensor, cute.make_rmem_tensor(shape, dtype), store() the vector "
            "to it and assign there; or select with cute.where",
        )  # fmt: skip

    # ---- conversion
    def to(
        self,
        dtype: Any,
        *,
        rounding: Any = None,
        saturate: bool | None = None,
        rbits: Any = None,
        loc: Any = None,
        ip: Any = None,
    ) -> TensorSSA:
        """Each element converted, as `Numeric.to` does; `rbits` has one number for each.

        Args:
            dtype: their numeric class.
            rounding, saturate: as of `Numeric.to`.
            rbits: random bits for stochastic rounding, a vector.
        """
        cls = class_of(dtype)
        src, dst = self._dtype.dtype, cls.dtype
        how = rounding_of(rounding, dst, rbits)
        value = self.value
        if (how is not None or saturate is not None) and src is not dst and not dst.is_bool:
            random = None if rbits is None else random_bits(self._like(rbits), value)
            value = convert_rounded(value, src, dst, how, saturate, random)
            if src.is_float or dst.is_float:
                src = dst
        return TensorSSA(ops.convert_value(value, src, dst), self.shape, cls)

    def _like(self, x: Any) -> Any:
        """A vector of this shape, or a number in each of its elements."""
        return x if isinstance(x, TensorSSA) else splat(x, self.shape, type(as_numeric(x)))

    def bitcast(self, dtype: NumericMeta, *, loc: Any = None, ip: Any = None) -> TensorSSA:
        """The same bits as elements of another type.

        Where the widths differ the first mode grows or shrinks, as it is the one whose elements
        are neighbours.

        Args:
            dtype: their numeric class.

        Raises:
            LayoutError: the bits of the first mode are no whole number of elements.
        """
        shape = self._recast_shape(self._dtype.width, dtype.width)
        to = VectorType(product(shape), ir_type(dtype.dtype))
        value = self.value if self.value.type == to else vector.bitcast(self.value, to)
        return TensorSSA(value, shape, dtype)

    def _recast_shape(self, old: int, new: int) -> Any:
        if old == new:
            return self.shape
        first = self.shape[0] if is_tuple(self.shape) else self.shape
        bits = product(first) * old
        if bits % new or is_tuple(first):
            raise LayoutError(
                "bitcast changes the first mode, which does not hold whole elements", code="OC1365",
                expected=f"a multiple of {new} bits", found=f"{to_str(self.shape)} of {old} bits",
                hint="reshape the vector to one mode first",
            )  # fmt: skip
        return (bits // new, *self.shape[1:]) if is_tuple(self.shape) else bits // new

    # ---- reductions
    def reduce(
        self, op: Any, init_val: Any = None, reduction_profile: Any = 0, *,
        loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """Combine elements, starting from `init_val`, in ascending linear order.

        Args:
            op: a `ReductionOp` or its word, or a function of two numbers.
            init_val: the start value; its type is converted to the elements'. When omitted, all
                elements are combined, starting from the first.
            reduction_profile: 0 for all elements, else a tuple with the profile of the shape (or
                its outer levels) that is None in each mode to keep.

        Returns:
            A number, or a TensorSSA over the kept modes.
        """
        combine = _combiner(op)
        numeric: Any = self._dtype
        if init_val is None:
            first = numeric(vector.extract(self.value, 0))
            return self._fold(range(1, product(self.shape)), first, combine)
        start = numeric(init_val)
        if not is_tuple(reduction_profile):
            return self._fold(range(product(self.shape)), start, combine)
        modes: list[tuple[Any, bool]] = []
        reduced_modes(make_layout(self.shape), reduction_profile, modes)
        kept, gone = ([m for m, keep in modes if keep is k] for k in (True, False))
        if not kept:
            return self._fold(range(product(self.shape)), start, combine)
        outer, inner = make_layout(*kept), make_layout(*gone) if gone else None
        steps = [inner(j) for j in range(inner.size())] if inner is not None else [0]
        out: list[Value] = [
            self._fold([outer(i) + j for j in steps], start, combine).ir_value()
            for i in range(outer.size())
        ]
        new = tuple(m.shape for m in kept)
        return TensorSSA(vector.from_elements(out), new[0] if len(new) == 1 else new, self._dtype)

    def _fold(self, index: Sequence[int], start: Any, combine: Callable[[Any, Any], Any]) -> Any:
        numeric: Any = self._dtype
        for i in index:
            start = numeric(combine(start, numeric(vector.extract(self.value, i))))
        return start

    def apply_op(self, op: Callable[..., Any], other: Any, flip: bool = False) -> Any:
        """`op(self, other)`, or with the operands exchanged."""
        return op(other, self) if flip else op(self, other)

    # ---- operators
    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("mod", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return _binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return _binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _binary("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary("shr", other, self)

    def __pow__(self, other: Any) -> Any:
        count = ops.whole_exponent(other, self._dtype.dtype)
        if count is not None:
            return ops.powers(self, count) if count else splat(1, self.shape, self._dtype)
        return self._pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._pow(other, self)

    def _pow(self, base: Any, exponent: Any) -> Any:
        if not _operand(base) or not _operand(exponent):
            return NotImplemented
        a, b, cls = common(base, exponent)
        if not cls.dtype.is_float and isinstance(exponent, TensorSSA | Numeric):
            raise TypeMismatchError(
                "integers to the power of run-time integers", code="OC1244",
                expected="an exponent known at compile time, or floats", found=str(exponent),
                hint="convert one of them: x.to(Float32) ** n; for powers of two: 1 << n",
            )  # fmt: skip
        a, b, cls = common(base, exponent, true_division=True)
        return TensorSSA(ops.emit_math("powf", (a.value, b.value), cls.dtype), a.shape, cls)

    def __neg__(self) -> Any:
        if self._dtype.dtype.is_float:
            return TensorSSA(
                ops.emit_negate(self.value, self._dtype.dtype), self.shape, self._dtype
            )
        return _binary("sub", 0, self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return _binary("xor", self, True if self._dtype.dtype.is_bool else -1)

    def __abs__(self) -> Any:
        if self._dtype.dtype.is_float:
            return elementwise("absf", self)
        return where(self < 0, -self, self)

    def __eq__(self, other: object) -> Any:
        return _compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _compare("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compare("ge", self, other)


def splat(x: Any, shape: Any, cls: NumericMeta) -> TensorSSA:
    """A number in each element of a shape, converted to `cls`."""
    numeric: Any = cls
    x, count = number_in(x), product(shape)
    if isinstance(x, Numeric) and x.is_dynamic:
        return TensorSSA(vector.broadcast(numeric(x).ir_value(), count), shape, cls)
    plain = x.value if isinstance(x, Numeric) else x
    constant = arith.constant(ops.coerce(plain, cls.dtype), VectorType(count, ir_type(cls.dtype)))
    return TensorSSA(constant, shape, cls)


def _kind(x: Any) -> Any:
    if isinstance(x, TensorSSA):
        return x.dtype.dtype
    if isinstance(x, Numeric):
        return x.dtype
    kind = plain_kind(x)
    return as_numeric(x).dtype if kind is None else kind


def common(a: Any, b: Any, *, true_division: bool = False) -> tuple[TensorSSA, TensorSSA, Any]:
    """Two operands as vectors of one shape and class, and the class.

    Args:
        a, b: vectors or numbers, at least one vector.
        true_division: integers become Float32.
    """
    from opencute.lang.numbers import numeric_class

    ka, kb = _kind(a), _kind(b)
    cls = numeric_class(ops.common_kind((a, ka), (b, kb), true_division))
    shapes = [x.shape for x in (a, b) if isinstance(x, TensorSSA)]
    shape = shapes[0] if len(shapes) == 1 else broadcast_shape(*shapes)

    def fit(x: Any) -> TensorSSA:
        if isinstance(x, TensorSSA):
            return x.to(cls).broadcast_to(shape)
        return splat(x, shape, cls)

    return fit(a), fit(b), cls


def _operand(x: Any) -> bool:
    return isinstance(x, TensorSSA | Numeric | bool | int | float) or hasattr(x, "__float__")


def _binary(name: str, a: Any, b: Any) -> Any:
    a, b = number_in(a), number_in(b)
    if not _operand(a) or not _operand(b):
        return NotImplemented
    if name in ("shl", "shr"):
        return _shift(name, a, b)
    x, y, cls = common(a, b, true_division=name == "truediv")
    if cls.dtype.is_float and name in ("and", "or", "xor"):
        raise TypeMismatchError(f"operator {name!r} needs integers", code="OC1207", found=cls)
    if cls.dtype.is_bool and name not in ("and", "or", "xor"):
        x, y, cls = x.to(Int32), y.to(Int32), Int32
    return TensorSSA(ops.emit_binary(name, x.value, y.value, cls.dtype), x.shape, cls)


def _shift(name: str, a: Any, b: Any) -> Any:
    """The result has the type of the left operand, as for numbers."""
    _, _, joint = common(a, b)
    cls: Any = a.dtype if isinstance(a, TensorSSA) else type(a) if _typed(a) else joint
    if cls.dtype.is_float or joint.dtype.is_float:
        raise TypeMismatchError(f"operator {name!r} needs integers", code="OC1207", found=joint)
    cls = Int32 if cls.dtype.is_bool else cls
    b = ops.shift_amount(b, cls.dtype)
    shapes = [x.shape for x in (a, b) if isinstance(x, TensorSSA)]
    shape = shapes[0] if len(shapes) == 1 else broadcast_shape(*shapes)
    x, y = (
        v.to(cls).broadcast_to(shape) if isinstance(v, TensorSSA) else splat(v, shape, cls)
        for v in (a, b)
    )
    return TensorSSA(ops.emit_binary(name, x.value, y.value, cls.dtype), shape, cls)


def _typed(x: Any) -> bool:
    return isinstance(x, Numeric)


def _compare(name: str, a: Any, b: Any) -> Any:
    b = number_in(b)
    if not _operand(b):
        return NotImplemented
    known = decided(name, b, a.dtype.dtype, False)
    if known is not None:
        return splat(known, a.shape, Boolean)
    x, y, cls = common(a, b)
    return TensorSSA(ops.emit_compare(name, x.value, y.value, cls.dtype), x.shape, Boolean)


def _combiner(op: Any) -> Callable[[Any, Any], Any]:
    if isinstance(op, str) and op in {o.value for o in ReductionOp}:
        op = ReductionOp(op)
    if not isinstance(op, ReductionOp):
        if callable(op):
            return op
        raise TypeMismatchError("not a reduction", code="OC1223", found=op)
    table: dict[ReductionOp, Callable[[Any, Any], Any]] = {
        ReductionOp.ADD: lambda a, b: a + b,
        ReductionOp.MUL: lambda a, b: a * b,
        ReductionOp.MAX: lambda a, b: ops.minmax("max", a, b),
        ReductionOp.MIN: lambda a, b: ops.minmax("min", a, b),
        ReductionOp.AND: lambda a, b: a & b,
        ReductionOp.OR: lambda a, b: a | b,
        ReductionOp.XOR: lambda a, b: a ^ b,
    }
    if op not in table:
        raise TypeMismatchError("not a reduction of values", code="OC1223", found=op)
    return table[op]


def elementwise(name: str, x: Any, *, fast: bool = False) -> Any:
    """`math.<name>` of a number or vector; integers are taken as Float32."""
    if not isinstance(x, TensorSSA):
        x = as_numeric(x)
    x = x if x.dtype.is_float or isinstance(x, TensorSSA) else x.to(float)
    cls = x.dtype if isinstance(x, TensorSSA) else type(x)
    if isinstance(x, TensorSSA):
        if not cls.dtype.is_float:
            x, cls = x.to(float), class_of(float)
        return TensorSSA(ops.emit_math(name, (x.value,), cls.dtype, fast=fast), x.shape, cls)
    return cls(ops.emit_math(name, (x.ir_value(),), cls.dtype, fast=fast))


def where(cond: Any, x: Any, y: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """`x` where the condition holds, else `y`; all three broadcast, `x` and `y` promote.

    Args:
        cond: a Boolean, or a vector of them.
    """
    if not any(isinstance(v, TensorSSA) for v in (cond, x, y)):
        cls: Any = ops.promoted(x, y)
        if cls is None:
            raise TypeMismatchError("where() needs numbers", code="OC1208", found=f"{x!r}, {y!r}")
        if not (isinstance(cond, Numeric) and cond.is_dynamic):
            chosen = x if cond else y
            return cls(chosen) if isinstance(x, Numeric) or isinstance(y, Numeric) else chosen
        flag = cond.to(Boolean)
        return cls(arith.select(flag.ir_value(), cls(x).ir_value(), cls(y).ir_value()))
    if not isinstance(x, TensorSSA) and not isinstance(y, TensorSSA):
        cls = ops.promoted(x, y)
        a, b = splat(x, cond.shape, cls), splat(y, cond.shape, cls)
    else:
        a, b, cls = common(x, y)
    if not isinstance(cond, TensorSSA):
        flag = as_numeric(cond).to(Boolean)
        return TensorSSA(arith.select(flag.ir_value(), a.value, b.value), a.shape, cls)
    shape = broadcast_shape(a.shape, cond.shape)
    c = cond.to(Boolean).broadcast_to(shape)
    a, b = a.broadcast_to(shape), b.broadcast_to(shape)
    return TensorSSA(arith.select(c.value, a.value, b.value), shape, cls)
