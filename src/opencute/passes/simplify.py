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

from opencute.arch.target import Target
from opencute.ir.attributes import Attribute, DenseI32Attr, IntAttr, StringAttr
from opencute.ir.builder import build1, current_block, insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import Trait, has_trait
from opencute.ir.types import I1, I32, Type
from opencute.passes.folding import fold, int_of
from opencute.passes.rewriter import Handler, Rewriter

__all__ = ["drop_unused", "simplify"]


def simplify(function: Op, target: Target) -> None:
    """Fold, merge and drop in one function."""
    _Simplifier(function).block(function.regions[0].block)
    drop_unused(function.regions[0].block)


Key = tuple[object, ...]


class _Simplifier(Rewriter):
    """A rewriter that looks up every pure operation among those that dominate it."""

    def __init__(self, function: Op) -> None:
        super().__init__({"scf.if": _if, "scf.for": _for, "ptx.sreg": _sreg(function)})
        self.scopes: list[dict[Key, Value]] = []
        self.entry = function.regions[0].block
        self.constants: dict[Attribute, Value] = {}
        self.hoisted: list[Op] = []

    def block(self, block: Block) -> None:
        self.scopes.append({})
        super().block(block)
        self.scopes.pop()
        if block is self.entry:
            block.set_ops(self.hoisted + block.ops)

    def constant(self, attr: Attribute, type: Type) -> Value:
        """A constant at the top of the function, where it serves every use."""
        if attr not in self.constants:
            made = Block()
            with insert_at(made):
                self.constants[attr] = build1("arith.constant", (), type, {"value": attr})
            self.hoisted.append(made.ops[0])
        return self.constants[attr]

    def keep(self, out: Block, op: Op) -> None:
        if len(op.results) != 1 or not has_trait(op, Trait.PURE):
            super().keep(out, op)
            return
        result = op.results[0]
        if op.name == "arith.constant":
            self.values[result] = self.constant(op.attributes["value"], result.type)
            return
        op.operands = self.get_all(op.operands)
        found = fold(op)
        if isinstance(found, Attribute):
            self.values[result] = self.constant(found, result.type)
            return
        if isinstance(found, Value):
            self.values[result] = found
            return
        facts = tuple(sorted(op.attributes.items(), key=_name)) if op.attributes else ()
        key = (op.name, tuple(op.operands), result.type, facts)
        # A condition is cheaper made twice than kept in one of seven predicate registers.
        scopes = self.scopes[-1:] if result.type == I1 else reversed(self.scopes)
        for scope in scopes:
            if key in scope:
                self.values[result] = scope[key]
                return
        self.scopes[-1][key] = result
        super().keep(out, op)


def _name(item: tuple[str, Attribute]) -> str:
    return item[0]


def _inline(rw: Rewriter, block: Block) -> list[Value]:
    """Put a region's operations here and return what it yields."""
    out = current_block()
    assert out is not None
    rw.inline(block.ops[:-1], out)
    return rw.get_all(block.ops[-1].operands)


def _if(rw: Rewriter, op: Op) -> list[Value] | None:
    """A branch on a constant is one of its regions."""
    known = int_of(rw.get(op.operands[0]))
    if known is not None:
        return _inline(rw, op.regions[0 if known else 1].block)
    return None


def _for(rw: Rewriter, op: Op) -> list[Value] | None:
    """A loop that never runs, or runs once, is no loop."""
    lower, upper, step = (int_of(rw.get(v)) for v in op.operands[:3])
    if lower is None or upper is None:
        return None
    inits = rw.get_all(op.operands[3:])
    if lower >= upper:
        return inits
    if step is None or lower + step < upper:
        return None
    body = op.regions[0].block
    for arg, value in zip(body.args, [rw.get(op.operands[0]), *inits], strict=True):
        rw.values[arg] = value
    return _inline(rw, body)


def _sreg(function: Op) -> Handler:
    """With an exact block size, the size is constant, and the index along an extent of 1."""
    size = function.attributes.get("cute.reqntid")
    axes = size.values if isinstance(size, DenseI32Attr) else ()

    def handler(rw: Rewriter, op: Op) -> list[Value] | None:
        reg = op.attributes["reg"]
        assert isinstance(reg, StringAttr)
        name, _, axis = reg.value.partition(".")
        place = "xyz".find(axis) if axis else -1
        if not 0 <= place < len(axes) or name not in ("tid", "ntid"):
            return None
        assert isinstance(rw, _Simplifier)
        if name == "ntid":
            return [rw.constant(IntAttr(axes[place], I32), I32)]
        return [rw.constant(IntAttr(0, I32), I32)] if axes[place] == 1 else None

    return handler


def drop_unused(block: Block) -> None:
    """Drop pure operations, and loads, whose results nothing uses; walks backwards."""
    used: set[Value] = set()
    _drop(block, used)


def _drop(block: Block, used: set[Value]) -> None:
    kept: list[Op] = []
    for op in reversed(block.ops):
        removable = has_trait(op, Trait.PURE) or op.name in _READS
        if removable and not any(r in used for r in op.results):
            continue
        for region in op.regions:
            for nested in region.blocks:
                _drop(nested, used)
        if (
            op.name == "scf.if"
            and not op.results
            and all(len(r.block.ops) == 1 for r in op.regions)
        ):
            continue
        used.update(op.operands)
        kept.append(op)
    kept.reverse()
    block.set_ops(kept)


_READS = ("cute.load", "cute.tile_load", "llvm.load")
