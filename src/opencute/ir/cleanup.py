# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What every pipeline runs between its real passes: dead code, common subexpressions, constants.

Each takes an operation (a module), changes what is inside and returns how many operations went::

    fold_constants(module, arith.constant_of)
    common_subexpressions(module)
    erase_dead(module)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from opencute.ir.attributes import Attribute
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import Trait, traits_of
from opencute.ir.rewrite import Replacement, Rewriter
from opencute.ir.types import Type

__all__ = [
    "FOLDERS",
    "Folder",
    "common_subexpressions",
    "erase_dead",
    "fold_constants",
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


def removable(op: Op) -> bool:
    """Whether nothing is lost when `op` is removed while its results are unused."""
    traits = traits_of(op)
    if traits & _KEEP:
        return False
    if traits & Trait.REGION_EFFECTS:
        blocks = [b for region in op.regions for b in region.blocks]
        return all(removable(o) or traits_of(o) & Trait.TERMINATOR for b in blocks for o in b.ops)
    return bool(traits & _UNUSED_GOES) and not op.regions


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
            if removable(op) and not any(r in used for r in op.results):
                erased += 1
                continue
            erased += regions(op)
            used.update(op.operands)
            kept.append(op)
        if erased:
            b.ops = kept[::-1]
        return erased

    def regions(op: Op) -> int:
        blocks = [b for region in op.regions for b in region.blocks]
        return sum(block(b) for b in reversed(blocks))

    return regions(root)


def common_subexpressions(root: Op) -> int:
    """Replace a pure operation by an equal one that stands before it, or around its region."""
    values: dict[Value, Value] = {}

    def block(b: Block, known: dict[object, Op]) -> int:
        added: list[object] = []
        kept: list[Op] = []
        erased = 0
        for op in b.ops:
            op.operands = [values.get(v, v) for v in op.operands]
            key = _key(op)
            same = known.get(key) if key is not None else None
            if same is not None:
                values.update(zip(op.results, same.results, strict=True))
                erased += 1
                continue
            if key is not None:
                known[key] = op
                added.append(key)
            kept.append(op)
            erased += regions(op, known)
        b.ops = kept
        for key in added:
            del known[key]
        return erased

    def regions(op: Op, known: dict[object, Op]) -> int:
        inside = {} if traits_of(op) & Trait.ISOLATED else known
        return sum(block(b, inside) for region in op.regions for b in region.blocks)

    return regions(root, {})


def _key(op: Op) -> object:
    """Equal for operations that compute the same; None for one that must stay its own."""
    traits = traits_of(op)
    if not traits & (Trait.PURE | Trait.CONSTANT) or traits & _KEEP or op.regions:
        return None
    attributes = frozenset(op.attributes.items())
    return op.name, tuple(op.operands), tuple([r.type for r in op.results]), attributes


def folder(*names: str) -> Callable[[Folder], Folder]:
    """Decorator: the function folds these operations (of one result)."""

    def decorate(fn: Folder) -> Folder:
        for name in names:
            if name in FOLDERS:
                raise ValueError(f"{name} has two folders")
            FOLDERS[name] = fn
        return fn

    return decorate


def fold_constants(
    root: Op,
    materialize: Callable[[Attribute, Type], Value],
    folders: Mapping[str, Folder] | None = None,
) -> int:
    """Replace operations whose result is known when compiling.

    Args:
        root: what to rewrite.
        materialize: builds a constant of a type at the insertion point.
        folders: by the name of the operation; FOLDERS when omitted.
    """
    table = FOLDERS if folders is None else folders
    constants: dict[Value, Attribute] = {}

    def rule(op: Op, _: Rewriter) -> Replacement:
        if traits_of(op) & Trait.CONSTANT:
            constants[op.results[0]] = op.attributes["value"]
            return None
        fold = table.get(op.name)
        answer = fold(op, [constants.get(v) for v in op.operands]) if fold is not None else None
        if isinstance(answer, Attribute):
            value = materialize(answer, op.results[0].type)
            constants[value] = answer
            return value
        return answer

    return Rewriter(rule).run(root)
