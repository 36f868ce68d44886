# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""bf16 on a CPU: most have no instruction that makes one, and LLVM would call a missing library.

Before::

    %c = arith.addf %a, %b : bf16
    %d = arith.truncf %x : f64 to f16

After::

    %c = the sum in f32, rounded to bf16 by integer arithmetic
    %d = %x rounded to f16 by integer arithmetic

Why: host functions are compiled for the machine at hand. Cost: linear.
"""

from __future__ import annotations

from opencute.dialects import arith, math
from opencute.ir.builder import build1
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import BF16, F16, F32, F64, FloatType, Type, element_type, with_lanes
from opencute.passes.narrow import dtype_of, encode

__all__ = ["HOST_RULES"]

_IN_F32 = (
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maxnumf", "arith.minnumf",
    "arith.maximumf", "arith.minimumf",
)  # fmt: skip
_LIBRARY = ("arith.remf", "math.fma", *(f"math.{n}" for n in (*math.UNARY, *math.BINARY)))


def _made(value: Value, to: Type) -> Value:
    assert isinstance(to, FloatType)
    return encode(value, dtype_of(to), "rn", saturate=False)


def _truncf(op: Op, rw: Rewriter) -> Replacement:
    src, dst = element_type(op.operands[0].type), element_type(op.results[0].type)
    if dst == BF16 or (src == F64 and dst == F16):
        return _made(op.operands[0], dst)
    return None


def _from_integer(op: Op, rw: Rewriter) -> Replacement:
    dst = element_type(op.results[0].type)
    return _made(arith.cast(op.name[6:], op.operands[0], F64), dst) if dst == BF16 else None


def _in_f32(op: Op, rw: Rewriter) -> Replacement:
    return _widened(op) if element_type(op.results[0].type) == BF16 else None


def _function(op: Op, rw: Rewriter) -> Replacement:
    """C's library has functions of f32 and f64 only."""
    return _widened(op) if element_type(op.results[0].type) in (BF16, F16) else None


def _widened(op: Op) -> Value:
    dst = element_type(op.results[0].type)
    wide = [arith.cast("extf", v, F32) for v in op.operands]
    out = build1(op.name, wide, with_lanes(F32, op.results[0].type))
    return _made(out, dst) if dst == BF16 else arith.cast("truncf", out, dst)


HOST_RULES: dict[str, Rule] = {
    "arith.truncf": _truncf,
    "arith.sitofp": _from_integer,
    "arith.uitofp": _from_integer,
    **dict.fromkeys(_IN_F32, _in_f32),
    **dict.fromkeys(_LIBRARY, _function),
}
"""What `expand` does for host functions besides what it does for kernels."""
