# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`arith`: integers wrap at their width, floats round to nearest even after each operation.

Where MLIR leaves a case open, this is what PTX does: a shift by the width or more gives 0 (or the
sign, for ``shrsi``), as PTX's ``shl``/``shr`` clamp the amount; the smallest integer divided by -1
wraps. Division by zero is a warning that names the thread, on the host an error. `min` and `max`
order -0 before +0. Conversions are in `casts`.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.base.log import warn
from opencute.dialects.arith import CMPF, CMPI
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Op
from opencute.ir.types import IntegerType, Type, VectorType, element_type
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer, common_buffer
from opencute.sim.numbers.bulk import blend, compared, through_f32
from opencute.sim.numbers.wide import is_wide, wide_binary
from opencute.sim.numbers.wide import unsigned as wide_unsigned
from opencute.sim.registry import Function, semantics
from opencute.sim.taint import Taint, join
from opencute.sim.values import (
    Array,
    constant_value,
    dtype_of,
    int_width,
    scalar_of,
    unsigned_dtype,
    wrap,
    wrap_array,
)

__all__ = ["float_binary", "int_binary", "uniform"]

nd = np.ndarray


@semantics("arith.constant")
def constant(op: Op) -> Function:
    """The attribute's value."""
    value = constant_value(op.attributes["value"], op.results[0].type)
    return lambda: value


# ---------------------------------------------------------------------- integers
def _trunc_div(a: Any, b: Any) -> Any:
    if type(a) is nd or type(b) is nd:
        q = np.floor_divide(a, b)
        r = a - q * b
        return q + ((r != 0) & ((r < 0) != (np.less(a, 0)))).astype(q.dtype)
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _trunc_rem(a: Any, b: Any) -> Any:
    if type(a) is nd or type(b) is nd:
        return np.fmod(a, b)
    r = abs(a) % abs(b)
    return -r if a < 0 else r


def _ceil_div(a: Any, b: Any) -> Any:
    if type(a) is nd or type(b) is nd:
        q = np.floor_divide(a, b)
        return q + (a - q * b != 0).astype(q.dtype)
    return -(-a // b)


def _floor_div(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b) if type(a) is nd or type(b) is nd else a // b


def _floor_rem(a: Any, b: Any) -> Any:
    return np.remainder(a, b) if type(a) is nd or type(b) is nd else a % b


def _larger(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if type(a) is nd or type(b) is nd else max(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if type(a) is nd or type(b) is nd else min(a, b)


def _shift(left: bool, width: int, dtype: np.dtype[Any]) -> Callable[[Any, Any], Any]:
    """Shift by an amount that is read as unsigned and clamped to the width."""

    def shift(a: Any, n: Any) -> Any:
        if type(n) is not nd:
            if n >= width:
                return _sign(a) if not left else a * 0
            return a << n if left else a >> n
        over = n >= width
        n = np.minimum(n, width - 1).astype(dtype)
        if type(a) is not nd:
            a = dtype.type(a)
        out = np.left_shift(a, n) if left else np.right_shift(a, n)
        if over.any():
            out = np.where(over, np.zeros_like(out) if left else _sign(out), out)
        return out

    return shift


def _sign(a: Any) -> Any:
    """What is left of `a` when all its bits are shifted out to the right."""
    if type(a) is nd:
        return (a < 0).astype(a.dtype) * a.dtype.type(-1) if a.dtype.kind == "i" else a * 0
    return -1 if a < 0 else 0


# name -> (function on exact integers, reads its operands as unsigned)
_INT: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "addi": (lambda a, b: a + b, False),
    "subi": (lambda a, b: a - b, False),
    "muli": (lambda a, b: a * b, False),
    "andi": (lambda a, b: a & b, False),
    "ori": (lambda a, b: a | b, False),
    "xori": (lambda a, b: a ^ b, False),
    "divsi": (_trunc_div, False),
    "divui": (_floor_div, True),
    "remsi": (_trunc_rem, False),
    "remui": (_floor_rem, True),
    "floordivsi": (_floor_div, False),
    "ceildivsi": (_ceil_div, False),
    "ceildivui": (_ceil_div, True),
    "maxsi": (_larger, False),
    "maxui": (_larger, True),
    "minsi": (_smaller, False),
    "minui": (_smaller, True),
}
_DIVISIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
_LOGIC = ("andi", "ori", "xori")


def int_binary(name: str, type: Type) -> Callable[[Any, Any], Any]:
    """The function of `arith.<name>` on values of a type, without the check for zero."""
    width = int_width(type)
    dtype = dtype_of(type)
    if width == 1:
        return _bit_binary(name)
    if is_wide(width):
        return wide_binary(name, width)
    unsigned = unsigned_dtype(dtype)
    mask = (1 << width) - 1
    full = width == dtype.itemsize * 8

    def as_unsigned(x: Any) -> Any:
        if type_(x) is nd:
            return x.view(unsigned) if full else x.view(unsigned) & unsigned.type(mask)
        return x & mask

    def back(r: Any) -> Any:
        if type_(r) is nd:
            r = r.view(dtype)
            return r if full else wrap_array(r, width)
        return wrap(r, width)

    if name in ("shli", "shrsi", "shrui"):
        shift = _shift(name == "shli", width, unsigned if name == "shrui" else dtype)
        if name == "shrui":
            return lambda a, b: back(shift(as_unsigned(a), as_unsigned(b)))
        return lambda a, b: back(shift(a, as_unsigned(b)))
    fn, is_unsigned = _INT[name]
    if is_unsigned:
        return lambda a, b: back(fn(as_unsigned(a), as_unsigned(b)))
    if name in _LOGIC:
        return fn
    if not full:
        return lambda a, b: back(fn(a, b))
    half = 1 << (width - 1)

    def wrapped(a: Any, b: Any) -> Any:
        r = fn(a, b)
        if r.__class__ is int and not -half <= r < half:
            return wrap(r, width)
        return r

    return wrapped


type_ = type


def _bit_binary(name: str) -> Callable[[Any, Any], Any]:
    """One-bit integers are bools; what is not logic is done on wider integers."""
    logic = {
        "addi": "xori", "subi": "xori", "muli": "andi", "maxui": "ori", "minui": "andi",
        "maxsi": "andi", "minsi": "ori",
    }.get(name, name)  # fmt: skip
    if logic in _LOGIC:
        return _INT[logic][0]
    wide = int_binary(name, IntegerType(2))
    signed = name in ("divsi", "remsi", "floordivsi", "ceildivsi", "shrsi")

    def widen(x: Any) -> Any:
        if type(x) is nd:
            return -x.view(np.int8) if signed else x.view(np.int8)
        return -int(x) if signed else int(x)

    def bit(a: Any, b: Any) -> Any:
        if name in ("shli", "shrsi", "shrui"):
            shifted = a if name == "shrsi" else a & ~b if type(a & b) is nd else a and not b
            return shifted
        r = wide(widen(a), widen(b))
        return (r & 1).astype(np.bool_) if type(r) is nd else bool(r & 1)

    return bit


def _decided(op: Op) -> Callable[..., Taint | None]:
    """`and` with a clean 0 is clean, whatever the other operand is, as is `or` with all ones."""
    width = int_width(op.results[0].type)
    absorbing = 0 if op.name == "arith.andi" else True if width == 1 else -1

    def spread(values: tuple[Any, Any], taints: tuple[Any, Any]) -> Taint | None:
        out = join(*taints)
        if out is None:
            return None
        mask = out.mask
        for value, taint in zip(values, taints, strict=True):
            settled = np.atleast_2d(value == absorbing)
            if taint is not None:
                settled = settled & ~taint.mask
            mask = mask & ~settled
        return Taint(mask, out.origin)

    return spread


@semantics("arith.andi", "arith.ori", spread=_decided)
@semantics(
    *(
        f"arith.{n}"
        for n in [*_INT, "shli", "shrsi", "shrui"]
        if n not in _DIVISIONS and n not in ("andi", "ori")
    )
)
def integer(op: Op) -> Function:
    """Two operands, exact, wrapped at the width."""
    return int_binary(op.name[6:], op.results[0].type)


@semantics(*(f"arith.{n}" for n in _DIVISIONS), lanes=True)
def division(op: Op) -> Function:
    """As above. By zero it is an error on the host; in a kernel no fault, but a number that PTX
    leaves open ("div", "rem"): all bits set, or the dividend, and a warning."""
    name = op.name[6:]
    fn = int_binary(name, op.results[0].type)
    rest = name.startswith("rem")
    full = True if int_width(op.results[0].type) == 1 else -1

    def divide(lanes: Lanes, a: Any, b: Any) -> Any:
        if type(b) is nd:
            zero = b == 0
            if zero.any():
                _by_zero(op, lanes, tuple(np.argwhere(lanes.full(zero))[0]))
                some = b.copy()
                some[zero] = 1
                got = np.array(fn(a, some))
                zero = np.broadcast_to(zero, got.shape)
                got[zero] = np.broadcast_to(a, got.shape)[zero] if rest else full
                return got
        elif not b:
            _by_zero(op, lanes, (0, 0))
            return a if rest else full
        return fn(a, b)

    return divide


def _by_zero(op: Op, lanes: Lanes, where: tuple[int, ...]) -> None:
    message = f"division by zero in {op.name}: {lanes.name(where)}"
    if lanes.run.host:
        raise SimulationError(message, code="OC3003", loc=op.loc)
    warn(f"[OC3003] {message}: a GPU gives some number, and no error", RuntimeWarning, op.loc)


@semantics("arith.cmpi")
def cmpi(op: Op) -> Function:
    """Compare as signed or unsigned integers."""
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    name = next(k for k, v in CMPI.items() if v == predicate.value)
    type_of = op.operands[0].type
    width = int_width(type_of)
    relation = name if name in ("eq", "ne") else name[1:]
    compare = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }[relation]  # fmt: skip
    if is_wide(width):  # comparing Python ints gives an array of objects
        exact = compare

        def compare(a: Any, b: Any) -> Any:
            r = exact(a, b)
            return r.astype(np.bool_) if type(r) is nd else r

    if relation == name or (name[0] == "s" and width > 1):
        return compare
    if width == 1:
        # As a signed integer, a set bit is -1; as an unsigned one, NumPy's order is right.
        return compare if name[0] == "u" else lambda a, b: compare(b, a)
    if is_wide(width):
        return lambda a, b: compare(wide_unsigned(a, width), wide_unsigned(b, width))
    unsigned = unsigned_dtype(dtype_of(type_of))
    mask = (1 << width) - 1
    full = width == unsigned.itemsize * 8

    def u(x: Any) -> Any:
        if type(x) is nd:
            return x.view(unsigned) if full else x.view(unsigned) & unsigned.type(mask)
        return x & mask

    return lambda a, b: compare(u(a), u(b))


# ---------------------------------------------------------------------- floats
def _zeros_ordered(larger: bool, propagate: bool, dtype: np.dtype[Any]) -> Function:
    """min or max where -0 < +0; a NaN either wins or loses."""
    if larger:
        fn: Any = np.maximum if propagate else np.fmax
    else:
        fn = np.minimum if propagate else np.fmin
    bits = unsigned_dtype(dtype)

    def pick(a: Any, b: Any) -> Any:
        r = fn(a, b)
        zero = r == 0
        if zero.any() if type(r) is nd else zero:
            a, b = (np.asarray(x, dtype).view(bits) for x in (a, b))
            both = (a & b) if larger else (a | b)
            fixed = np.where(a.view(dtype) == b.view(dtype), both.view(dtype), r)
            return fixed if type(r) is nd else dtype.type(fixed[()])
        return r

    return pick


def _remainder(dtype: np.dtype[Any]) -> Function:
    """C's fmod, which is exact; narrow floats go through f32."""
    if dtype.itemsize >= 4:
        return np.fmod

    def rem(a: Any, b: Any) -> Any:
        r = np.fmod(np.asarray(a).astype(np.float32), np.asarray(b).astype(np.float32))
        r = np.asarray(r).astype(dtype)
        return r if r.ndim else r[()]

    return rem


def float_binary(name: str, dtype: np.dtype[Any]) -> Function:
    """The function of `arith.<name>` on floats.

    f16, bf16 and narrower operands are widened to f32 and the result rounded back, by NumPy and
    ml_dtypes or in `bulk`, which says why this rounds once.
    """
    plain: dict[str, Function] = {
        "addf": lambda a, b: a + b,
        "subf": lambda a, b: a - b,
        "mulf": lambda a, b: a * b,
        "divf": lambda a, b: a / b,
    }
    if name in plain:
        return through_f32(plain[name], dtype)
    return {
        "remf": _remainder(dtype),
        "maximumf": _zeros_ordered(True, True, dtype),
        "minimumf": _zeros_ordered(False, True, dtype),
        "maxnumf": _zeros_ordered(True, False, dtype),
        "minnumf": _zeros_ordered(False, False, dtype),
    }[name]


@semantics(
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf",
    "arith.minimumf", "arith.maxnumf", "arith.minnumf",
)  # fmt: skip
def floating(op: Op) -> Function:
    """Two operands, one rounding."""
    return float_binary(op.name[6:], dtype_of(op.results[0].type, op.loc))


@semantics("arith.negf")
def negf(op: Op) -> Function:
    """Flip the sign bit, of a NaN too."""
    dtype = dtype_of(op.results[0].type, op.loc)
    bits = unsigned_dtype(dtype)
    sign = bits.type(1 << (int(getattr(element_type(op.results[0].type), "width", 32)) - 1))

    def neg(x: Any) -> Any:
        if type(x) is nd:
            return (x.view(bits) ^ sign).view(dtype)
        return (np.array([x], dtype).view(bits) ^ sign).view(dtype)[0]

    return neg


def _flip(x: Any) -> Any:
    return ~x if type(x) is nd else not x


def _ordered(a: Any, b: Any) -> Any:
    return (a == a) & (b == b)


_CMPF: dict[str, Callable[[Any, Any], Any]] = {
    "false": lambda a, b: (a != a) & (a == a),
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": _ordered,
    "ueq": lambda a, b: _flip((a < b) | (a > b)),
    "ugt": lambda a, b: _flip(a <= b),
    "uge": lambda a, b: _flip(a < b),
    "ult": lambda a, b: _flip(a >= b),
    "ule": lambda a, b: _flip(a > b),
    "une": lambda a, b: a != b,
    "uno": lambda a, b: _flip(_ordered(a, b)),
    "true": lambda a, b: (a != a) | (a == a),
}


@semantics("arith.cmpf")
def cmpf(op: Op) -> Function:
    """Compare floats; an unordered predicate holds when an operand is NaN."""
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    name = next(k for k, v in CMPF.items() if v == predicate.value)
    compare = compared(_CMPF[name], dtype_of(op.operands[0].type, op.loc))

    def run(a: Any, b: Any) -> Any:
        r = compare(a, b)
        return r if type(r) is nd else bool(r)

    return run


# ---------------------------------------------------------------------- select
def _picked_taint(op: Op) -> Callable[..., Taint | None]:
    """The taint of what is picked, and of the condition."""
    whole = isinstance(op.results[0].type, VectorType) and not isinstance(
        op.operands[0].type, VectorType
    )

    def spread(values: tuple[Any, ...], taints: tuple[Any, ...]) -> Taint | None:
        cond, a, b = taints
        picked = values[0]
        if type(picked) is not nd:
            return join(cond, a if picked else b)
        if whole:
            picked = picked[..., None]
        masks = [False if t is None else t.mask for t in (a, b)]
        known = next((t for t in (a, b) if t is not None), None)
        chosen = None
        if known is not None:
            chosen = Taint(np.where(picked, masks[0], masks[1]), known.origin)
        return join(cond, chosen)

    return spread


@semantics("arith.select", spread=_picked_taint)
def select(op: Op) -> Function:
    """One of two values; a scalar condition picks a whole vector."""
    result = op.results[0].type
    whole = isinstance(result, VectorType) and not isinstance(op.operands[0].type, VectorType)
    try:
        dtype = dtype_of(result)
    except SimulationError:
        return _select_pointer

    def pick(c: Any, a: Any, b: Any) -> Any:
        if type(c) is not nd:
            return a if c else b
        if whole:
            c = c[..., None]
        return blend(c, _typed(a, dtype), _typed(b, dtype))

    return pick


def _typed(x: Any, dtype: np.dtype[Any]) -> Array:
    return x if type(x) is nd else np.asarray(x, dtype)


def _select_pointer(c: Any, a: SimPointer, b: SimPointer) -> SimPointer:
    if type(c) is not nd:
        return a if c else b
    buffer = common_buffer((a, b))
    if buffer is not None:
        return SimPointer(buffer, np.where(c, a.offset, b.offset))
    return SimPointer(RAW, np.where(c, a.address(), b.address()))


def uniform(value: Any, dtype: np.dtype[Any]) -> Any:
    """The one element of an array as a value that all lanes share."""
    return scalar_of(value.reshape(-1)[0], dtype)
