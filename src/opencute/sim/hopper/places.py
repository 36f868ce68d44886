# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers to shared memory as places in the arena of all blocks."""

from __future__ import annotations

from opencute.ir.core import Op
from opencute.ir.types import I64
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.values import Array

__all__ = ["Places"]


class Places:
    """Finds the 8 bytes of shared memory that the pointers of an operation are to.

    Args:
        op: the operation, for messages.
    """

    def __init__(self, op: Op) -> None:
        self.access = Access(op, I64, vector=False, align=8)

    def __call__(self, lanes: Lanes, ptr: SimPointer) -> Array:
        """The place of each lane, (P, Q); bounds and alignment are checked."""
        return self.access.places(lanes, ptr)
