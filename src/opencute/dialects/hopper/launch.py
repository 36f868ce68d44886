# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Events of a launch, which the device fires before the kernel has ended::

"cute.launch_event"(%event) {at_start = 0, flags = 0, kind = "programmatic"} : (i64) -> ()
"gpu.launch_func"(...)      // the launch that it belongs to is the next one
"""

from __future__ import annotations

from opencute.dialects.ptx import check_word
from opencute.ir.attributes import Attribute, IntAttr, StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, operand
from opencute.ir.types import I64

__all__ = ["LAUNCH_EVENTS", "LaunchEventOp", "launch_event"]

LAUNCH_EVENTS = ("completion", "programmatic")


@op("cute.launch_event", Trait.READS | Trait.WRITES)
class LaunchEventOp(Op):
    """Let the next launch fire an event (a handle, i64): when all its blocks have started
    (completion), or have said griddepcontrol.launch_dependents or ended (programmatic; with
    `at_start` when they start)."""

    event = operand(SCALAR_INT)
    kind = attr(StringAttr)
    flags = attr(IntAttr)
    at_start = attr(IntAttr)

    def verify(self) -> None:
        check_word(self, "kind", LAUNCH_EVENTS)


def launch_event(kind: str, event: Value, flags: int = 0, *, at_start: bool = False) -> Op:
    """Let the next launch fire an event: `kind` is one of LAUNCH_EVENTS."""
    attrs: dict[str, Attribute] = {
        "kind": StringAttr(kind), "flags": IntAttr(flags, I64),
        "at_start": IntAttr(int(at_start), I64),
    }  # fmt: skip
    return build("cute.launch_event", (event,), (), attrs)
