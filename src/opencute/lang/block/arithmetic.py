# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that stands for one instruction: pairs of floats, bits and bytes, approximations."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import arith, math, ptx_math, vector
from opencute.ir.core import Value
from opencute.ir.types import I32, IntegerType
from opencute.lang.block.words import word
from opencute.lang.numbers import Float32, Int32, Numeric, Uint32, as_numeric
from opencute.lang.vectors import TensorSSA

__all__ = [
    "add_packed_f32x2",
    "clz",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "mul_packed_f32x2",
    "popc",
    "prmt",
    "rcp_approx",
    "sub_packed_f32x2",
]


def _f32(x: Any) -> Value:
    return as_numeric(x, Float32).to(Float32).ir_value()


def _pair(x: Any) -> Value:
    if isinstance(x, TensorSSA):
        x = (x[0], x[1])
    return vector.from_elements([_f32(v) for v in x])


def _packed(name: str, values: tuple[Any, ...], rnd: Any, ftz: bool) -> tuple[Any, Any]:
    mode = str(getattr(rnd, "name", rnd)).lower()
    if mode not in ptx_math.ROUNDINGS:
        raise ArgumentError(
            "no such rounding", code="OC2128", expected=", ".join(ptx_math.ROUNDINGS), found=rnd
        )
    out = ptx_math.rounded(name, mode, *map(_pair, values), ftz=ftz)
    return Float32(vector.extract(out, 0)), Float32(vector.extract(out, 1))


def add_packed_f32x2(
    src_a: Any, src_b: Any, *, rnd: Any = "rn", ftz: bool = False, loc: Any = None, ip: Any = None
) -> tuple[Any, Any]:
    """Sums of two pairs of Float32, rounded by "rn", "rz", "rm" or "rp"; one instruction on
    sm_100 and its like. Never combined with other operations.

    Args:
        src_a: a pair of Float32, as a tuple or a vector.
        src_b: another.
        rnd: the rounding: "rn" to nearest even, "rz" towards zero, "rm" down, "rp" up.
        ftz: take subnormal numbers as zero.

    Raises:
        ArgumentError: no such rounding.

    Source: PTX ISA, "add" of .f32x2.
    """
    return _packed("add", (src_a, src_b), rnd, ftz)


def sub_packed_f32x2(
    src_a: Any, src_b: Any, *, rnd: Any = "rn", ftz: bool = False, loc: Any = None, ip: Any = None
) -> tuple[Any, Any]:
    """Differences of two pairs of Float32; see `add_packed_f32x2`.

    Args:
        src_a: a pair of Float32, as a tuple or a vector.
        src_b: what is subtracted.
        rnd, ftz: as for `add_packed_f32x2`.
    """
    return _packed("sub", (src_a, src_b), rnd, ftz)


def mul_packed_f32x2(
    src_a: Any, src_b: Any, *, rnd: Any = "rn", ftz: bool = False, loc: Any = None, ip: Any = None
) -> tuple[Any, Any]:
    """Products of two pairs of Float32; see `add_packed_f32x2`.

    Args:
        src_a: a pair of Float32, as a tuple or a vector.
        src_b: another.
        rnd, ftz: as for `add_packed_f32x2`.
    """
    return _packed("mul", (src_a, src_b), rnd, ftz)


def fma_packed_f32x2(
    src_a: Any, src_b: Any, src_c: Any, *, rnd: Any = "rn", ftz: bool = False,
    loc: Any = None, ip: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``a * b + c`` of pairs of Float32 with one rounding each; see `add_packed_f32x2`.

    Args:
        src_a: a pair of Float32, as a tuple or a vector.
        src_b: what it is multiplied by.
        src_c: what is added.
        rnd, ftz: as for `add_packed_f32x2`.
    """
    return _packed("fma", (src_a, src_b, src_c), rnd, ftz)


def _extreme(name: str, a: Any, b: Any, c: Any, nan: bool) -> Any:
    op = f"{name}imumf" if nan else f"{name}numf"
    out = arith.binary(op, _f32(a), _f32(b))
    return Float32(out if c is None else arith.binary(op, out, _f32(c)))


def fmax(
    a: Any, b: Any, c: Any = None, *, nan: bool = False, loc: Any = None, ip: Any = None
) -> Any:
    """The greatest of two or three Float32; a number wins over NaN unless `nan`.

    Args:
        a: a number, which becomes Float32.
        b: another.
        c: a third, if there is one.
        nan: NaN wins over numbers.
    """
    return _extreme("max", a, b, c, nan)


def fmin(
    a: Any, b: Any, c: Any = None, *, nan: bool = False, loc: Any = None, ip: Any = None
) -> Any:
    """The least of two or three Float32; a number wins over NaN unless `nan`.

    Args:
        a: a number, which becomes Float32.
        b: another.
        c: a third, if there is one.
        nan: NaN wins over numbers.
    """
    return _extreme("min", a, b, c, nan)


def rcp_approx(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """About ``1 / a`` of a Float32, off by at most one unit in the last place; subnormal numbers
    count as zero.

    Args:
        a: a number, which becomes Float32.

    Source: PTX ISA, "rcp.approx.ftz.f32".
    """
    return Float32(ptx_math.rcp_approx(_f32(a)))


def _integer(x: Any, what: str) -> tuple[Value, int]:
    number: Numeric = as_numeric(x)
    value = number.ir_value()
    if not isinstance(value.type, IntegerType):
        raise TypeMismatchError(f"{what} takes an integer", code="OC1290", found=repr(x))
    return value, value.type.width


def popc(value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """How many bits of an integer are set, as Int32.

    Args:
        value: an integer of any width.

    Raises:
        TypeMismatchError: no integer.
    """
    bits, width = _integer(value, "popc")
    if width < 32:
        bits = arith.cast("extui", bits, I32)
    out = Int32(_narrow(math.int_unary("ctpop", bits)))
    out.nonneg = True
    return out


def clz(value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """How many bits of an integer before its highest set one are 0, as Int32.

    Args:
        value: an integer of any width; of 0 all bits count.

    Raises:
        TypeMismatchError: no integer.
    """
    bits, width = _integer(value, "clz")
    if width < 32:
        bits = arith.cast("extui", bits, I32)
    count = _narrow(math.int_unary("ctlz", bits))
    if width < 32:
        count = arith.binary("subi", count, arith.constant(32 - width, I32))
    out = Int32(count)
    out.nonneg = True
    return out


def _narrow(value: Value) -> Value:
    return value if value.type == I32 else arith.cast("trunci", value, I32)


def prmt(
    src: Any, src_reg_shifted: Any, prmt_indices: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """Four bytes picked from two 32-bit words.

    Args:
        src: bytes 0 to 3.
        src_reg_shifted: bytes 4 to 7.
        prmt_indices: nibble i picks byte i of the result; its top bit spreads that byte's sign.

    Source: PTX ISA, "prmt".
    """
    kind: Any = type(src) if isinstance(src, Int32 | Uint32) else Int32
    return kind(ptx_math.prmt(word(src), word(src_reg_shifted), word(prmt_indices)))
