# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How an operation gets its meaning.

A rule is a factory: it reads types and attributes once and returns the function that runs. The
function takes the operand values (with ``lanes=True``, first the lanes that execute) and returns
the result, or a tuple when there are several. It never sees a mask: lanes that do not take part are
not there. A blocking operation returns None, or a `Wait` that says what it is waiting for::

    @semantics("arith.negf")
    def negf(op: Op) -> Function:
        return lambda x: -x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import SimulationError
from opencute.ir.core import Block, Op, Value

__all__ = ["Factory", "Function", "Rule", "is_blocking", "rule_of", "semantics", "spins"]

Function = Callable[..., Any]
Factory = Callable[[Op], Function]
Sinks = Callable[[Op], Sequence[tuple[int, str]]]


@dataclass(frozen=True)
class Rule:
    """The meaning of one operation.

    Args:
        factory: makes the function that runs.
        lanes: whether the function takes the executing lanes first.
        taint: how uninitialised data passes: ``each`` (element by element), ``memory`` (the
            function takes the operands' taints as ``taints=`` and a load returns value and taint),
            ``none``, or a factory of the function that maps the operands' masks to the result's.
        spread: for results that do not depend on every operand: makes the function that maps the
            tuples of operand values and of their taints to the result's taint.
        sinks: operands in which uninitialised data is reported, and what they are.
        blocking: whether it may have to wait.
    """

    factory: Factory
    lanes: bool = False
    taint: str | Factory = "each"
    sinks: Sinks = lambda op: ()
    blocking: bool = False
    spread: Factory | None = None


_RULES: dict[str, Rule] = {}


def semantics(
    *names: str,
    lanes: bool = False,
    taint: str | Factory = "each",
    sinks: Sinks | Sequence[tuple[int, str]] = (),
    blocking: bool = False,
    spread: Factory | None = None,
) -> Callable[[Factory], Factory]:
    """Decorator: the factory gives the meaning of the operations called `names`."""

    def decorate(factory: Factory) -> Factory:
        where: Sinks = sinks if callable(sinks) else lambda op, fixed=tuple(sinks): fixed
        for name in names:
            assert name not in _RULES, name
            _RULES[name] = Rule(factory, lanes, taint, where, blocking, spread)
        return factory

    return decorate


def rule_of(op: Op) -> Rule:
    """The rule of an operation.

    Raises:
        SimulationError: there is none.
    """
    rule = _RULES.get(op.name)
    if rule is None:
        raise SimulationError(f"the simulator has no rule for {op.name}", code="OC3001", loc=op.loc)
    return rule


def is_blocking(op: Op) -> bool:
    """Whether an operation, or one nested in it, may have to wait."""
    rule = _RULES.get(op.name)
    if rule is not None and rule.blocking:
        return True
    if op.name == "scf.while" and spins(op):
        return True
    return any(is_blocking(o) for r in op.regions for b in r.blocks for o in b.ops)


def spins(loop: Op, *, memory: bool = False) -> bool:
    """Whether an `scf.while` may go on until another thread writes something.

    That is so when its condition depends on what the loop reads from memory, or has changed there
    by an atomic operation, or (unless only `memory` counts) on whether a barrier is complete.
    """
    names = _MEMORY if memory else _OBSERVERS
    before, after = (r.block for r in loop.regions)
    found = any(op.name in names for r in loop.regions for o in r.block.ops for op in o.walk())
    if not found:
        return False
    reads: set[Value] = set()
    size = -1
    while size != len(reads):
        size = len(reads)
        _flow(before, reads, names)
        _pairs(before.terminator.operands[1:], after.args, reads)
        _flow(after, reads, names)
        _pairs(after.terminator.operands, before.args, reads)
    return before.terminator.operands[0] in reads


_BARRIERS = frozenset(("ptx.mbarrier_test_wait", "ptx.mbarrier_try_wait"))
_MEMORY = frozenset(
    ("cute.load", "cute.tile_load", "llvm.load", "ptx.load", "ptx.atomic", "ptx.cas")
)
_OBSERVERS = _MEMORY | _BARRIERS


def _pairs(sources: Sequence[Value], targets: Sequence[Value], reads: set[Value]) -> None:
    reads.update(t for s, t in zip(sources, targets, strict=True) if s in reads)


def _flow(block: Block, reads: set[Value], names: frozenset[str]) -> None:
    """Values that depend on what was read, within a block; regions count as a whole."""
    for op in block.ops:
        if _observes(op, names) or any(v in reads for v in op.operands):
            reads.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                reads.update(a for a in inner.args if any(v in reads for v in op.operands))
                _flow(inner, reads, names)
                if inner.ops and any(v in reads for v in inner.terminator.operands):
                    reads.update(op.results)


def _observes(op: Op, names: frozenset[str]) -> bool:
    if op.name not in names:
        return False
    type = op.operands[0].type
    return getattr(type, "space", "") != "rmem"
