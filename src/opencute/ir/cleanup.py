# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What every pipeline runs between its real passes: constants, equal operations, dead code.

Each takes an operation (a module or a function), changes what is inside and returns how many
operations went::

    fold_and_merge(function, arith.constant_of)   # one walk forward
    erase_dead(function)                          # one walk backward

What an operation folds to is said by its folder, registered by name::

    @folder("arith.addi")
    def _(op, constants): ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from opencute.base.errors import OpenCuTeError
from opencute.ir.attributes import Attribute
from opencute.ir.builder import at_loc, insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import Trait, declaration, traits_of
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import Type

__all__ = [
    "FOLDERS",
    "Cleaner",
    "Folder",
    "constant_of",
    "erase_dead",
    "fold",
    "fold_and_merge",
    "folder",
    "removable",
]

Folder: TypeAlias = Callable[[Op, Sequence[Attribute | None]], Attribute | Value | None]
"""What the result of an operation is, from the values of its operands where they are constants:
an attribute (a constant), another value, or None (not known)."""

FOLDERS: dict[str, Folder] = {}
"""Folders by the name of the operation; filled with `folder`."""

_KEEP = Trait.WRITES | Trait.BLOCKING | Trait.CONVERGENT | Trait.TERMINATOR
_UNUSED_GOES = Trait.PURE | Trait.READS | Trait.CONSTANT | Trait.ALLOCATES

# What the traits of an operation come to. Asking enum.Flag each time would be half of the cost.
_STAYS, _GOES, _MERGES, _CONSTANT, _AS_ITS_REGIONS = range(5)
_KINDS: dict[str, int] = {}
_KINDS_OF_TRAITS: dict[int, int] = {}
_CONSTANTS: dict[str, bool] = {}


def _kind(op: Op) -> int:
    """How an operation may be treated; remembered where it follows from the name alone."""
    kind = _KINDS.get(op.name)
    if kind is None:
        traits = traits_of(op)
        kind = _KINDS_OF_TRAITS.get(traits.value)
        if kind is None:
            kind = _KINDS_OF_TRAITS[traits.value] = _kind_of(traits)
        declared = declaration(op.name)
        if declared is not None and declared.own_traits is None:
            _KINDS[op.name] = kind
    return kind


def _kind_of(traits: Trait) -> int:
    if traits & _KEEP:
        return _STAYS
    if traits & Trait.REGION_EFFECTS:
        return _AS_ITS_REGIONS
    if traits & Trait.CONSTANT:
        return _CONSTANT
    if traits & Trait.PURE:
        return _MERGES
    return _GOES if traits & _UNUSED_GOES else _STAYS


def removable(op: Op) -> bool:
    """Whether nothing is lost when `op` is removed while its results are unused."""
    kind = _kind(op)
    if kind == _AS_ITS_REGIONS:
        blocks = [b for region in op.regions for b in region.blocks]
        return all(removable(o) or traits_of(o) & Trait.TERMINATOR for b in blocks for o in b.ops)
    return kind != _STAYS and not op.regions


def erase_dead(root: Op) -> int:
    """Remove operations whose results are unused and that do nothing else.

    Reads, allocations and whole loops and branches go too. Values that a loop only carries for
    itself stay.
    """
    used: set[Value] = set()

    def block(b: Block) -> int:
        kept: list[Op] = []
        erased = 0
        for op in reversed(b.ops):
            if used.isdisjoint(op.results) and removable(op):
                erased += 1
                continue
            if op.regions:
                erased += regions(op)
            used.update(op.operands)
            kept.append(op)
        if len(kept) < len(b.ops):
            b.ops = kept[::-1]
        return erased

    def regions(op: Op) -> int:
        blocks = [b for region in op.regions for b in region.blocks]
        return sum(block(b) for b in reversed(blocks))

    return regions(root)


def folder(*names: str) -> Callable[[Folder], Folder]:
    """Decorator: the function folds these operations (of one result)."""

    def decorate(fn: Folder) -> Folder:
        for name in names:
            if name in FOLDERS:
                raise ValueError(f"{name} has two folders")
            FOLDERS[name] = fn
        return fn

    return decorate


def constant_of(value: Value) -> Attribute | None:
    """The value of a constant, None for anything else."""
    op = value.op
    if op is None:
        return None
    constant = _CONSTANTS.get(op.name)
    if constant is None:
        declared = declaration(op.name)
        if declared is None:
            return None
        constant = _CONSTANTS[op.name] = Trait.CONSTANT in declared.traits
    return op.attributes["value"] if constant else None


def fold(op: Op) -> Attribute | Value | None:
    """What the result of `op` is known to be: a constant, another value, or None."""
    fn = FOLDERS.get(op.name)
    return None if fn is None else fn(op, [constant_of(v) for v in op.operands])


class Cleaner(Rewriter):
    """The walk of `fold_and_merge`; rules see it as their rewriter.

    Args:
        materialize: builds a constant of a type at the insertion point.
        rules: tried first, by the name of the operation.
        local: types whose values are merged within one block only.
    """

    def __init__(
        self,
        materialize: Callable[[Attribute, Type], Value],
        rules: Mapping[str, Rule] | None = None,
        local: Collection[Type] = (),
    ) -> None:
        super().__init__(self._clean)
        self.materialize = materialize
        self._first = rules or {}
        self._local = local
        self._known: dict[object, Value] = {}
        self._added: list[object] = []
        self._scope = 0
        self._constants: dict[tuple[Attribute, Type], Value] = {}
        self._top = Block()

    def constant(self, value: Attribute, type: Type) -> Value:
        """A constant at the top of the function, where it serves every use."""
        key = value, type
        found = self._constants.get(key)
        if found is None:
            with insert_at(self._top), at_loc(None):
                found = self._constants[key] = self.materialize(value, type)
        return found

    def regions(self, op: Op) -> None:
        outermost = not self._entered
        if not op.regions or not (outermost or traits_of(op) & Trait.ISOLATED):
            super().regions(op)
            return
        before = self._known, self._constants, self._top
        self._known, self._constants, self._top = {}, {}, Block()
        super().regions(op)
        first = op.regions[0].blocks[0]
        if self._top.ops:
            first.set_ops(self._top.ops + first.ops)
        self._known, self._constants, self._top = before

    def enter(self) -> tuple[list[object], int]:
        """A block begins: what it computes is known within it only."""
        before = self._added, self._scope
        self._added, self._scope = [], self._scope + 1
        return before

    def leave(self, before: tuple[list[object], int]) -> None:
        """The block that began with what `enter` gave back ends."""
        for key in self._added:
            del self._known[key]
        self._added, self._scope = before

    def block(self, block: Block) -> None:
        before = self.enter()
        ops = block.ops
        block.ops = kept = []
        values, first = self.values, self._first
        with insert_at(block):
            for op in ops:
                if op.name in first:
                    self._visit(op, block)
                    continue
                # As `_visit` does with `_clean`, for what builds nothing here.
                if values and not values.keys().isdisjoint(op.operands):
                    op.operands = [values.get(v, v) for v in op.operands]
                answer = self._answer(op)
                if answer is None:
                    op.parent = block
                    kept.append(op)
                    if op.regions:
                        self.regions(op)
                    continue
                self.replaced += 1
                made = (answer,) if isinstance(answer, Value) else answer
                for old, new in zip(op.results, made, strict=True):
                    self._replace(old, new)
        self.leave(before)

    def _clean(self, op: Op, _: Rewriter) -> Replacement:
        rule = self._first.get(op.name)
        answer = rule(op, self) if rule is not None else None
        return self._answer(op) if answer is None else answer

    def _answer(self, op: Op) -> Replacement:
        """What stands for an operation that no rule has an answer for; None: itself."""
        kind = _KINDS.get(op.name)
        if kind is None:
            kind = _kind(op)
        if kind == _STAYS:
            return None
        if kind == _CONSTANT:
            return self.constant(op.attributes["value"], op.results[0].type)
        if kind != _MERGES or op.regions or not op.results:
            return None
        try:
            found = fold(op)
        except OpenCuTeError as e:
            raise e.at(op.loc) from e.__cause__
        if found is not None:
            return found if isinstance(found, Value) else self.constant(found, op.results[0].type)
        return self._merge(op)

    def _merge(self, op: Op) -> Replacement:
        attributes, results = op.attributes, op.results
        facts = frozenset(attributes.items()) if attributes else None
        first = results[0].type
        types = first if len(results) == 1 else tuple([r.type for r in results])
        scope = self._scope if first in self._local else 0
        key = op.name, scope, tuple(op.operands), types, facts
        same = self._known.get(key)
        if same is None:
            self._known[key] = op.results[0]
            self._added.append(key)
            return None
        assert same.op is not None
        return same.op.results


def fold_and_merge(
    root: Op,
    materialize: Callable[[Attribute, Type], Value],
    *,
    rules: Mapping[str, Rule] | None = None,
    local: Collection[Type] = (),
) -> int:
    """Replace operations whose result is known, or computed by an equal one that dominates them.

    Constants move to the top of the function, each of them once.

    Args:
        root: a module or a function.
        materialize: builds a constant of a type at the insertion point.
        rules: tried first, by the name of the operation.
        local: types whose values are merged within one block only.
    """
    return Cleaner(materialize, rules, local).run(root)
