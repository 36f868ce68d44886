# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""contract_fma: a product that is only added to something is added with one rounding.

Before::

    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %c : f32

After::

    %s = math.fma %a, %b, %c : f32

Why: it is faster and more accurate, and people expect it. It is done here, where the simulator
sees it, and nowhere else: LLVM gets no ``contract`` flags and ptxas ``--fmad=false``. A function
with the attribute ``cute.no_contract`` is left alone. If both addends are such products, the
first is merged.

Cost: linear.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import arith, math
from opencute.ir.cleanup import erase_dead
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule, Rules
from opencute.ir.types import BF16, F16, F32, F64, element_type

__all__ = ["contract_fma"]

_SUMS = frozenset({"arith.addf", "arith.subf"})
_TYPES = (F16, BF16, F32, F64)


def contract_fma(function: Op, target: Target) -> None:
    """Contract the sums of products of one function."""
    if "cute.no_contract" in function.attributes:
        return
    uses: dict[Value, int] = {}  # of products
    sums = False
    for op in function.walk():
        if uses and not uses.keys().isdisjoint(op.operands):
            for v in op.operands:
                if v in uses:
                    uses[v] += 1
                    sums = sums or op.name in _SUMS
        if op.name == "arith.mulf":
            uses[op.results[0]] = 0
    if sums:
        contract = _sum(uses)
        Rules({"arith.addf": contract, "arith.subf": contract}).apply(function)
    erase_dead(function)


def _sum(uses: dict[Value, int]) -> Rule:
    def product(value: Value) -> Op | None:
        op = value.op
        return op if op is not None and op.name == "arith.mulf" and uses[value] == 1 else None

    def rule(op: Op, rw: Rewriter) -> Replacement:
        if element_type(op.results[0].type) not in _TYPES:
            return None
        left, right = op.operands
        minus = op.name == "arith.subf"
        first = product(left)
        if first is not None:
            a, b = first.operands
            return math.fma(a, b, arith.negf(right) if minus else right)
        second = product(right)
        if second is not None:
            a, b = second.operands
            return math.fma(arith.negf(a) if minus else a, b, left)
        return None

    return rule
