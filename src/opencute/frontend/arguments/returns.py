# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a host function called from Python gives back.

In: the object that the traced function returned. Out: the SSA values that the host code returns,
and a way from their numbers at run time to the object that the caller gets. Numbers become Python
numbers, containers of them stay containers, compile-time values are given as they are::

    returned = Returned((Int32(x), "ok"))     # values: [x]
    returned.object([7])                      # (7, "ok")
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from opencute.base.errors import LanguageError
from opencute.frontend.carried import NoJoin, Number, Parts, Plan, Static, plan_for
from opencute.ir.core import Value
from opencute.ir.types import Type
from opencute.lang.numbers import Numeric, ir_type

__all__ = ["Returned"]


class Returned:
    """The result of a traced host function.

    Args:
        result: what the function returned.

    Raises:
        LanguageError: it has parts that only compiled code can hold.
    """

    def __init__(self, result: Any) -> None:
        try:
            plan = plan_for(result)
            self.values: list[Value] = plan.values(result)
        except NoJoin as e:
            raise _refused(e.found) from None
        self.plan = _for_python(plan)

    @property
    def nothing(self) -> bool:
        """Whether the function returns None."""
        return isinstance(self.plan, Static) and self.plan.obj is None

    def object(self, numbers: Sequence[Any]) -> Any:
        """The object for the caller, from the numbers that the host code returned."""
        return self.plan.rebuild(iter(numbers))

    def forget_values(self) -> None:
        """Let go of the trace."""
        self.values = []


@dataclasses.dataclass
class _HostNumber(Plan):
    """A number that is Python's again."""

    cls: Any

    def types(self) -> list[Type]:
        return [ir_type(self.cls.dtype)]

    def rebuild(self, values: Iterator[Any]) -> Any:
        value, dtype = next(values), self.cls.dtype
        if dtype.is_bool:
            return bool(value & 1) if isinstance(value, int) else bool(value)
        if dtype.is_float:
            return float(value)
        # Bits: neither the simulator's registers nor a slot of the native call has a sign.
        bits = int(value) & (1 << dtype.width) - 1
        return bits - (1 << dtype.width) if dtype.signed and bits >> dtype.width - 1 else bits


def _for_python(plan: Plan) -> Plan:
    if isinstance(plan, Number):
        return _HostNumber(plan.cls)
    if isinstance(plan, Static):
        obj = plan.obj
        return Static(obj.value) if isinstance(obj, Numeric) and not obj.is_dynamic else plan
    if isinstance(plan, Parts) and _crosses(plan.kind):
        return dataclasses.replace(plan, plans=[_for_python(p) for p in plan.plans])
    raise _refused(getattr(getattr(plan, "kind", None), "__name__", type(plan).__name__))


def _crosses(kind: Any) -> bool:
    """Whether containers of a kind mean something outside of compiled code."""
    return kind.__name__ != "TracedTensor"


def _refused(found: Any) -> LanguageError:
    return LanguageError(
        "a host function called from Python returns something that only compiled code can hold",
        code="OC1131", expected="numbers, containers of numbers, or compile-time values",
        found=found, hint="store it to a tensor",
    )  # fmt: skip
