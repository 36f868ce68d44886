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
from opencute.ir.core import Op

__all__ = ["Factory", "Function", "Rule", "rule_of", "semantics"]

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
    return any(is_blocking(o) for r in op.regions for b in r.blocks for o in b.ops)
