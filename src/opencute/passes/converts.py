# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `expand` splits ``cute.convert`` into conversions that exist.

================================ ===============================================================
conversion                       becomes
================================ ===============================================================
f8, f6, f4 to any float          an instruction to f16 (two lanes) where the target has one, else
                                 integer arithmetic to f32; both are exact; then the rest
f16, bf16 to f8, f6, f4, tf32    to f32, exactly, and then the rest
f32 to f8, f6, f4                left alone where the target has the instruction (two lanes each),
                                 which rounds to nearest even and saturates
f32 to f16, bf16, tf32           left alone for the roundings that have an instruction
f64 to any                       integer arithmetic: one rounding
tf32 to f32                      nothing: a tf32 is an f32 whose last 13 bits are 0
all others                       integer arithmetic (`opencute.passes.narrow`)
================================ ===============================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.arch.target import Target
from opencute.dialects import arith, cute
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement
from opencute.ir.types import BF16, F16, F32, F64, FloatType, element_type, with_lanes
from opencute.numeric.dtypes import DTYPES
from opencute.passes.narrow import decode, dtype_of, encode

__all__ = ["expand_convert", "has_instruction"]

_F8 = ("f8E4M3FN", "f8E5M2")
_NARROWER = ("f6E3M2FN", "f6E2M3FN", "f4E2M1FN")
_TF32 = FloatType("tf32", 32)
# What cvt takes from f32 to these types: (rounding, saturate).
_SCALAR = {
    "f16": (("rn", False), ("rz", False)),
    "bf16": (("rn", False), ("rz", False)),
    "tf32": (("rna", False),),
}


@dataclass(frozen=True)
class _How:
    """How to round.

    Args:
        rounding: as in ``cute.convert``.
        saturate: clamp to the largest finite value.
        random: bits for stochastic rounding.
    """

    rounding: str = "rn"
    saturate: bool = False
    random: Value | None = None


def has_instruction(
    src: FloatType, dst: FloatType, how: tuple[str, bool], sm: Target | None
) -> bool:
    """Whether one instruction converts, with a rounding and saturation.

    Args:
        src, dst: element types; instructions start from f32, or end at f16.
        how: rounding, and whether it saturates.
        sm: the processor; None for the host's, which has none of them.
    """
    if sm is None:
        return False

    def narrow(t: FloatType) -> bool:
        return (t.name in _F8 and sm.has_f8_cvt) or (t.name in _NARROWER and sm.has_narrow_cvt)

    if src == F32 and dst.name in _SCALAR:
        return how in _SCALAR[dst.name]
    if src == F32:
        return narrow(dst) and how == ("rn", True)
    return dst == F16 and narrow(src)


def expand_convert(op: Op, target: Target | None) -> Replacement:
    """What replaces a ``cute.convert``; None keeps it."""
    value = op.operands[0]
    src, dst = element_type(value.type), element_type(op.results[0].type)
    assert isinstance(src, FloatType) and isinstance(dst, FloatType)
    rounding, saturate = op.attributes["rounding"], op.attributes["saturate"]
    assert isinstance(rounding, StringAttr) and isinstance(saturate, IntAttr)
    if has_instruction(src, dst, (rounding.value, bool(saturate.value)), target):
        return None
    random = op.operands[1] if len(op.operands) > 1 else None
    how = _How(rounding.value, bool(saturate.value), random)
    return _convert(value, src, dst, how, target)


def _convert(
    value: Value, src: FloatType, dst: FloatType, how: _How, target: Target | None
) -> Value:
    if src == dst:
        return value
    if src.width < 16:
        wide = _widened(value, src, target)
        middle = element_type(wide.type)
        assert isinstance(middle, FloatType)
        return _convert(wide, middle, dst, how, target)
    if src.name == "tf32":
        return _convert(arith.cast("bitcast", value, F32), F32, dst, how, target)
    if src.width == 16 and dst != F32 and dst != F64:
        return _convert(arith.cast("extf", value, F32), F32, dst, how, target)
    if dst.width > src.width:
        return arith.cast("extf", value, dst)
    if dst == _TF32 and _is_exact(value):
        return arith.cast("bitcast", value, _TF32)
    if (how.rounding, how.saturate) == ("rn", False) and _truncates(src, dst, target):
        return arith.cast("truncf", value, dst)
    if has_instruction(src, dst, (how.rounding, how.saturate), target):
        to = with_lanes(dst, value.type)
        return cute.convert(value, to, how.rounding, saturate=how.saturate)
    out = dtype_of(dst)
    return encode(value, out, how.rounding, saturate=how.saturate, random=how.random)


def _truncates(src: FloatType, dst: FloatType, target: Target | None) -> bool:
    """Whether there is a plain instruction; CPUs have few for 16 bits (`passes.host_floats`)."""
    if target is None:
        return dst == F32 or (dst == F16 and src == F32)
    return dst in (F32, F16, BF16)


def _is_exact(value: Value) -> bool:
    """Whether an f32 was made of a 16-bit float, which tf32 holds."""
    op = value.op
    if op is None or op.name != "arith.extf":
        return False
    return element_type(op.operands[0].type) in (F16, BF16)


def _widened(value: Value, src: FloatType, target: Target | None) -> Value:
    """A float of at most 8 bits, exactly, as f16 if there is an instruction, else as f32."""
    if has_instruction(src, F16, ("rn", False), target):
        return cute.convert(value, with_lanes(F16, value.type))
    return decode(value, DTYPES[src.name.lower()])
