# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""simplify: constants are folded, equal pure operations merged, unused ones dropped.

Before::

    %a = arith.muli %i, %c8 ; %b = arith.muli %i, %c8 ; %u = arith.addi %a, %c0
    scf.if %true { A } else { B }

After::

    %a = arith.muli %i, %c8
    A

Why: LLVM would do most of this as well, but our own passes look for constants (loop bounds, offsets
of fragments), and every operation that is not printed need not be parsed.

Cost: two walks, linear.
"""

from __future__ import annotations

from collections.abc import Mapping

from opencute.arch.target import Target
from opencute.dialects import arith
from opencute.ir.attributes import DenseI32Attr, IntAttr, StringAttr
from opencute.ir.cleanup import Cleaner, erase_dead, fold_and_merge
from opencute.ir.core import Op
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I1, I32
from opencute.passes import folding

__all__ = ["UNSHARED", "clean", "rules_for", "simplify", "turns_of"]

assert folding.__all__  # it registers the folders of arith


def simplify(function: Op, target: Target) -> None:
    """Fold, merge and drop in one function."""
    clean(function)


def clean(function: Op, more: Mapping[str, Rule] | None = None) -> None:
    """`simplify` with further rules.

    Args:
        function: changed in place.
        more: rules by the name of the operation, asked before those of `simplify`.
    """
    rules = rules_for(function, more)
    fold_and_merge(function, arith.constant_of, rules=rules, local=UNSHARED)
    erase_dead(function)


UNSHARED = (I1,)
"""Types whose values are merged within a block only: a condition is cheaper made twice than kept in
one of seven predicate registers."""


def rules_for(function: Op, more: Mapping[str, Rule] | None = None) -> dict[str, Rule]:
    """The rules of `clean`."""
    rules: dict[str, Rule] = {"scf.if": _if, "scf.for": _for, "ptx.sreg": _sreg(function)}
    for name, first in (more or {}).items():
        rules[name] = _either(first, rules.get(name))
    return rules


def _either(first: Rule, then: Rule | None) -> Rule:
    if then is None:
        return first

    def rule(op: Op, rw: Rewriter) -> Replacement:
        answer = first(op, rw)
        return then(op, rw) if answer is None else answer

    return rule


def turns_of(loop: Op) -> int | None:
    """How often a loop with constant bounds runs, None for others."""
    lower, upper, step = (folding.int_of(v) for v in loop.operands[:3])
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return max(0, -(-(upper - lower) // step))


def _if(op: Op, rw: Rewriter) -> Replacement:
    """A branch on a constant is one of its regions."""
    known = folding.int_of(op.operands[0])
    return None if known is None else rw.inline(op.regions[0 if known else 1].block, ())


def _for(op: Op, rw: Rewriter) -> Replacement:
    """A loop that never runs, or runs once, is no loop."""
    lower, upper, step = (folding.int_of(v) for v in op.operands[:3])
    if lower is None or upper is None:
        return None
    inits = op.operands[3:]
    if lower >= upper:
        return inits
    if step is None or lower + step < upper:
        return None
    return rw.inline(op.regions[0].block, [op.operands[0], *inits])


def _sreg(function: Op) -> Rule:
    """With an exact block size, the size is constant, and the index along an extent of 1."""
    size = function.attributes.get("cute.reqntid")
    axes = size.values if isinstance(size, DenseI32Attr) else ()

    def rule(op: Op, rw: Rewriter) -> Replacement:
        reg = op.attributes["reg"]
        assert isinstance(reg, StringAttr) and isinstance(rw, Cleaner)
        name, _, axis = reg.value.partition(".")
        place = "xyz".find(axis) if axis else -1
        if not 0 <= place < len(axes) or name not in ("tid", "ntid"):
            return None
        if name == "ntid":
            return rw.constant(IntAttr(axes[place], I32), I32)
        return rw.constant(IntAttr(0, I32), I32) if axes[place] == 1 else None

    return rule
