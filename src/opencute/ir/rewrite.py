# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rewriting by a walk forward: the tool that passes are written with.

There are no use lists. A walk visits operations in order and carries a substitution, old value to
new; since a definition stands before its uses, every operation is seen with its operands already
replaced. A rule looks at one operation and answers with

- ``None``: keep it (it may have been changed in place);
- a value, or a list with one value per result: the operation is gone, and later uses of its results
  see these values. What the rule built on the way stands in its place, with its source location;
- ``()``: gone, for an operation without results.

::

    RULES = Rules()

    @RULES.on("cute.ptr_add")
    def _(op: Op, rw: Rewriter) -> Replacement:
        ptr, offset = op.operands                  # already rewritten: an llvm pointer
        element = pointee(rw.source_type(0))       # what it was: !cute.ptr<f16, ...>
        return llvm.gep(ptr, offset, element)

    RULES.apply(module, convert_type=lower_type)   # block arguments and kept results change type

An operation that a rule builds is not visited again, but the operations inside of its regions are:
a rule may make a new loop around the old body, which is then rewritten in turn. `Rewriter.inline`
puts the body of a region in place of its operation. `cleanup` holds what is built on top: dead
code, common subexpressions, constant folding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from opencute.base.errors import OpenCuTeError
from opencute.ir.attributes import TypeAttr
from opencute.ir.builder import at_loc, current_block, current_loc, insert_at, set_loc
from opencute.ir.core import Block, Op, OpResult, Value
from opencute.ir.types import FunctionType, Type

__all__ = [
    "Replacement",
    "Rewriter",
    "Rule",
    "Rules",
    "inline_block",
    "replace_uses",
    "rewrite_block",
]

Replacement: TypeAlias = "Value | Sequence[Value] | None"
Rule: TypeAlias = "Callable[[Op, Rewriter], Replacement]"
ConvertType: TypeAlias = Callable[[Type], Type]


class Rewriter:
    """One walk over an operation's regions.

    Args:
        rule: called for each operation, in order, or rules by name; see the module's text.
        convert_type: maps the types of block arguments, of the results of kept operations, and of
            attributes that are types (a function's type); gives back a type that shall stay.

    Attributes:
        values: the substitution so far. A rule may add to it.
        replaced: number of operations that a rule replaced.
    """

    def __init__(self, rule: Rule | Rules, *, convert_type: ConvertType | None = None) -> None:
        by_name = isinstance(rule, Rules)
        self._rules: Mapping[str, Rule] = rule.table if by_name else {}
        self._rule: Rule | None = None if by_name else rule
        self.values: dict[Value, Value] = {}
        self.replaced = 0
        self._convert = convert_type
        self._converted: dict[int, tuple[Type, Type]] = {}
        self._before: dict[Value, Type] = {}
        self._originals: Sequence[Value] = ()
        self._entered: set[Op] = set()

    def run(self, root: Op) -> int:
        """Rewrite everything inside of `root`; returns how many operations were replaced."""
        before = self.replaced
        self._keep_types(root)
        with at_loc(None):
            self.regions(root)
        return self.replaced - before

    def source_type(self, index: int) -> Type:
        """The type that an operand of the visited operation had before any conversion."""
        value = self._originals[index]
        return self._before.get(value, value.type)

    def keep(self, op: Op) -> list[OpResult]:
        """Put the visited operation here, so that what the rule builds next comes after it.

        Returns the results, for the rule to answer with (or with values made from them).
        """
        block, loc = current_block(), current_loc()
        assert block is not None
        self._keep(op, block)
        set_loc(loc)
        return op.results

    def inline(self, block: Block, args: Sequence[Value], *, clone: bool = False) -> list[Value]:
        """Put the operations of `block` here and rewrite them; its terminator is left out.

        Args:
            block: a block of the visited operation (moved: it cannot be used again), or any block
                when it is cloned, as often as needed (unrolling).
            args: what its arguments stand for.
            clone: copy the operations.

        Returns:
            The operands of the terminator, rewritten.
        """
        ops, params = block.ops, block.args
        if clone:
            # The copy has arguments of its own, which remember the types from before.
            copies: dict[Value, Value] = {}
            own = Block()
            for p in params:
                copies[p] = own.add_argument(p.type, p.hint)
            ops, params = [op.clone(copies) for op in ops], own.args
        self.values.update(zip(params, args, strict=True))
        target = current_block()
        assert target is not None
        saved, loc = self._originals, current_loc()
        for op in ops[:-1]:
            self._visit(op, target)
        self._originals = saved
        set_loc(loc)
        return [self.values.get(v, v) for v in ops[-1].operands]

    def block(self, block: Block) -> None:
        """Rewrite the operations of one block."""
        if self._convert is not None:
            for arg in block.args:
                self._value_type(arg)
        ops = block.ops
        block.ops = kept = []
        plain = self._rule is None and self._convert is None
        rules, values = self._rules, self.values
        with insert_at(block):
            for op in ops:
                if plain and op.name not in rules:  # as `_visit` does, for most operations
                    if values and not values.keys().isdisjoint(op.operands):
                        op.operands = [values.get(v, v) for v in op.operands]
                    op.parent = block
                    kept.append(op)
                    if op.regions:
                        self.regions(op)
                else:
                    self._visit(op, block)

    def regions(self, op: Op) -> None:
        """Rewrite what is inside of an operation, unless that has been done."""
        if op in self._entered:
            return
        self._entered.add(op)
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _visit(self, op: Op, block: Block) -> None:
        values, originals = self.values, op.operands
        if values and not values.keys().isdisjoint(originals):
            op.operands = [values.get(v, v) for v in originals]
        rule = self._rule or self._rules.get(op.name)
        if rule is None:
            self._keep(op, block)
            return
        self._originals = originals
        start = len(block.ops)
        set_loc(op.loc)
        try:
            answer = rule(op, self)
        except OpenCuTeError as e:
            raise e.at(op.loc) from e.__cause__
        if len(block.ops) > start:
            made = block.ops[start:]
            for new in made:
                if new.regions:
                    self.regions(new)
            if answer is None and op in made:
                return
        if answer is None:
            self._keep(op, block)
            return
        self.replaced += 1
        new_values = (answer,) if isinstance(answer, Value) else answer
        for old, new_value in zip(op.results, new_values, strict=True):
            if old is not new_value:
                self._replace(old, new_value)

    def _keep(self, op: Op, block: Block) -> None:
        if self._convert is not None:
            self._keep_types(op)
        op.parent = block
        block.ops.append(op)
        if op.regions:
            self.regions(op)

    def _replace(self, old: OpResult, new: Value) -> None:
        self.values[old] = new
        if old.hint and not new.hint:
            new.hint = old.hint

    def _type(self, type: Type) -> Type:
        assert self._convert is not None
        # By identity, which is cheap; the pair keeps the type alive and so its identity its own.
        known = self._converted.get(id(type))
        if known is None:
            known = self._converted[id(type)] = (type, self._convert(type))
        return known[1]

    def _value_type(self, value: Value) -> None:
        new = self._type(value.type)
        if new is not value.type:
            self._before.setdefault(value, value.type)
            value.type = new

    def _keep_types(self, op: Op) -> None:
        if self._convert is None:
            return
        for r in op.results:
            self._value_type(r)
        for key, attr in op.attributes.items():
            if isinstance(attr, TypeAttr):
                op.attributes[key] = TypeAttr(self._attribute_type(attr.value))

    def _attribute_type(self, type: Type | FunctionType) -> Type | FunctionType:
        if isinstance(type, FunctionType):
            ins, outs = map(self._type, type.inputs), map(self._type, type.results)
            return FunctionType(tuple(ins), tuple(outs))
        return self._type(type)


class Rules:
    """Rules by the name of the operation that they are for.

    Args:
        table: rules to start from.

    >>> RULES = Rules()
    >>> @RULES.on("arith.muli")
    ... def _(op, rw): return None
    """

    def __init__(self, table: Mapping[str, Rule] | None = None) -> None:
        self.table: dict[str, Rule] = dict(table or {})

    def on(self, *names: str) -> Callable[[Rule], Rule]:
        """Decorator: the function is the rule for these operations."""

        def decorate(rule: Rule) -> Rule:
            for name in names:
                if name in self.table:
                    raise ValueError(f"there are two rules for {name}")
                self.table[name] = rule
            return rule

        return decorate

    def __or__(self, more: Mapping[str, Rule]) -> Rules:
        """These rules and `more`, which a function or target makes for itself."""
        return Rules({**self.table, **more})

    def apply(self, root: Op, *, convert_type: ConvertType | None = None) -> int:
        """Rewrite everything inside of `root`; returns how many operations were replaced."""
        return Rewriter(self, convert_type=convert_type).run(root)


def rewrite_block(
    block: Block, fn: Callable[[Op], Replacement], values: Mapping[Value, Value] | None = None
) -> dict[Value, Value]:
    """Rewrite one block, and what is nested in it, by a function of the operation alone.

    Args:
        block: changed in place.
        fn: answers as a rule does.
        values: a substitution to start from.

    Returns:
        The substitution at the end.
    """
    rewriter = Rewriter(lambda op, _: fn(op))
    rewriter.values.update(values or {})
    with at_loc(None):
        rewriter.block(block)
    return rewriter.values


def replace_uses(root: Op, values: Mapping[Value, Value]) -> None:
    """Replace operands of all operations inside of `root` (and its own) by `values`."""
    for op in root.walk():
        if any(v in values for v in op.operands):
            op.operands = [values.get(v, v) for v in op.operands]


def inline_block(block: Block, args: Sequence[Value]) -> list[Value]:
    """Copy the operations of `block` to the insertion point, without its terminator.

    Args:
        block: stays as it is.
        args: what its arguments stand for.

    Returns:
        What the terminator's operands are in the copy.
    """
    target = current_block()
    assert target is not None, "there is no insertion point"
    values: dict[Value, Value] = dict(zip(block.args, args, strict=True))
    for op in block.ops[:-1]:
        target.append(op.clone(values))
    return [values.get(v, v) for v in block.ops[-1].operands]
