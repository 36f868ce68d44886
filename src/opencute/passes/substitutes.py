# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `expand` for instructions that a target lacks: the same from what it has.

=================================== ============================================================
before                              after, where there is no such instruction
=================================== ============================================================
registers of clusters               a cluster is one block
``ptx.elect_sync``                  the lowest lane of the mask
``ptx.redux_sync`` of floats        the same of integers that are ordered alike
``ptx.rounded`` on two floats       one by one
``ptx.fence`` of a cluster          of a block
=================================== ============================================================

Why: what is left has one instruction each, and LLVM ends the process at one that it cannot select.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import arith, math, ptx, vector
from opencute.dialects.ptx_math import RoundedOp, rounded
from opencute.dialects.ptx_warp import ElectSyncOp, ReduxSyncOp, redux_sync
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import F32, I32, VectorType

__all__ = ["substitute_rules"]

_NO_CLUSTERS: dict[str, str | int] = {
    **{f"clusterid.{a}": f"ctaid.{a}" for a in "xyz"},
    **{f"nclusterid.{a}": f"nctaid.{a}" for a in "xyz"},
    **{f"cluster_ctaid.{a}": 0 for a in "xyz"},
    **{f"cluster_nctaid.{a}": 1 for a in "xyz"},
    "cluster_ctarank": 0, "cluster_nctarank": 1,
}  # fmt: skip


def substitute_rules(target: Target) -> dict[str, Rule]:
    """The rules that this target needs, by the operation's name."""
    rules: dict[str, Rule] = {}
    if not target.has_clusters:
        rules["ptx.sreg"] = _sreg
        rules["ptx.elect_sync"] = _elect
        rules["ptx.fence"] = _fence
    if not target.has_redux_f32:
        rules["ptx.redux_sync"] = _redux
    if not target.has_f32x2:
        rules["ptx.rounded"] = _rounded
    return rules


def _sreg(op: Op, rw: Rewriter) -> Replacement:
    reg = op.attributes["reg"]
    assert isinstance(reg, StringAttr)
    instead = _NO_CLUSTERS.get(reg.value)
    if instead is None:
        return None
    return arith.constant(instead, I32) if isinstance(instead, int) else ptx.sreg(instead)


def _elect(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, ElectSyncOp)
    ptx.bar_warp_sync(op.mask)
    leader = math.int_unary("cttz", op.mask)
    return leader, arith.cmpi("eq", ptx.sreg("laneid"), leader)


def _fence(op: Op, rw: Rewriter) -> Replacement:
    if op.attributes["scope"] == StringAttr("cluster"):
        op.attributes["scope"] = StringAttr("cta")
    return None


def _rounded(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, RoundedOp)
    if not isinstance(op.out.type, VectorType):
        return None
    ftz = "ftz" in op.attributes
    return vector.from_elements(
        [
            rounded(
                op.op.value, op.rnd.value, *[vector.extract(v, i) for v in op.operands], ftz=ftz
            )
            for i in range(op.out.type.length)
        ]
    )


# ---------------------------------------------------------------- reductions of floats
_NAN = 0x7FFFFFFF
_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
"""Keys below and above those of all numbers: no number has the bits of these NaNs."""


def _int(value: int) -> Value:
    return arith.constant(value, I32)


def _key(bits: Value) -> Value:
    """Flip the other bits of negative numbers: the result is ordered as the floats are. Its own
    inverse."""
    spread = arith.binary("shrsi", bits, _int(31))
    return arith.binary("xori", bits, arith.binary("andi", spread, _int(_NAN)))


def _redux(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, ReduxSyncOp)
    if op.value.type != F32:
        return None
    greatest, keep_nan = op.op.value == "fmax", "nan" in op.attributes
    value: Value = op.value
    bits: Value = arith.cast("bitcast", value, I32)
    if "abs" in op.attributes:
        bits = arith.binary("andi", bits, _int(_NAN))
    # A NaN that wins is beyond all numbers in the direction of the search, else on the other side.
    nan_key = _HIGH if greatest == keep_nan else _LOW
    is_nan = arith.cmpf("uno", value, value)
    key = arith.select(is_nan, _int(nan_key), _key(bits))
    best = redux_sync("max" if greatest else "min", op.mask, key)
    found = arith.select(arith.cmpi("eq", best, _int(nan_key)), _int(_NAN), _key(best))
    return arith.cast("bitcast", found, F32)
