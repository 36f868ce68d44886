# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Registers that products of warpgroups use: who may touch them, and when.

From the start of a product to the wait for it, its accumulator belongs to the hardware, and A, if
it is in registers, must not change. What ordinary instructions did to such registers has to be
ordered by a fence before the next product. A `Guard` hangs on each fragment that a kernel gives to
products, and is asked at each access. The ISA asks for a fence after reads too; they are over when
a product can begin, and published kernels leave it out, so only writes are looked at.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op, Value
from opencute.sim.lanes import Lanes
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Fences", "Guard", "fences_of", "guarded"]


class Fences:
    """The fragments that products use, and who has ever ordered its registers.

    Args:
        group: the blocks that run together.
    """

    def __init__(self, group: Group) -> None:
        self.guards: WeakSet[Guard] = WeakSet()
        self.ever: Array = np.zeros(group.blocks * group.threads, np.bool_)

    def fence(self, lanes: Lanes) -> None:
        """Threads order what they did to registers."""
        self.ever[lanes.slot] = True
        for guard in self.guards:
            guard.unfenced[lanes.slot] = False


def fences_of(group: Group) -> Fences:
    """The fences of the blocks that run together."""
    return group.state("fences of products", Fences)


@dataclass(eq=False)
class _Flight:
    """Products on one place.

    Args:
        op: the operation of the last one.
        bytes: which of the registers' bytes it uses.
        changes: whether it changes them.
        count: for each lane that started together, how many are under way.
    """

    op: Op
    bytes: Array
    changes: bool
    count: Array


class Guard:
    """What is known of one fragment.

    Args:
        lanes: who has it.
        size: its bytes.
    """

    def __init__(self, lanes: Lanes, size: int) -> None:
        fences = fences_of(lanes.run.group)
        self.size = size
        self.unfenced: Array = ~fences.ever
        self.flights: dict[int, _Flight] = {}
        self.busy = False
        """Whether it is the hardware that uses the registers."""
        fences.guards.add(self)

    # ------------------------------------------------------------------ ordinary accesses
    def touch(self, access: Any, lanes: Lanes, index: Array, verb: str) -> None:
        """An instruction reads or writes elements.

        Raises:
            SimulationError: a product that is under way uses them.
        """
        if self.busy:
            return
        slot = lanes.slot
        for flight in self.flights.values():
            if verb == "read" and not flight.changes:
                continue
            flying = flight.count[slot] > 0
            if flying.any() and self._overlap(flight, access, index):
                self._report(flight, access.op, lanes, flying, verb)
        if verb != "read":
            self.unfenced[slot] = True

    def _overlap(self, flight: _Flight, access: Any, index: Array) -> bool:
        places = np.clip((index << access.shift).reshape(-1), 0, self.size - 1)
        return bool(flight.bytes[places].any())

    @staticmethod
    def _report(flight: _Flight, op: Op, lanes: Lanes, flying: Array, verb: str) -> None:
        where = tuple(int(i) for i in np.argwhere(lanes.full(flying))[0])
        what = "an accumulator" if flight.changes else "operand A"
        done = "read" if verb == "read" else "written"
        raise SimulationError(
            f"{what} is {done} while a product of the warpgroup uses it: {lanes.name(where)}",
            code="OC3040", loc=op.loc, expected="a wait for the product before",
            found=f"the product of {flight.op.loc} is under way",
            hint="warpgroup.commit_group() and warpgroup.wait_group(0) come between; groups that "
            "wait_group(n) leaves, and products without a group, are not waited for",
        )  # fmt: skip

    # ------------------------------------------------------------------ products
    def begin(self, op: Op, lanes: Lanes, where: int, bytes_: Array, *, changes: bool) -> None:
        """A product starts.

        Raises:
            SimulationError: nothing orders it behind what the threads did to the registers.
        """
        unfenced = self.unfenced[lanes.slot]
        if unfenced.any():
            at = tuple(int(i) for i in np.argwhere(lanes.full(unfenced))[0])
            raise SimulationError(
                "a product of the warpgroup uses registers that no fence has ordered: "
                f"{lanes.name(at)}", code="OC3041", loc=op.loc,
                expected="warpgroup.fence() between the last write to registers and the product",
                hint="products that follow each other on one accumulator need one fence only",
            )  # fmt: skip
        flight = self.flights.get(where)
        if flight is None:
            count = np.zeros(self.unfenced.size, np.int32)
            flight = self.flights[where] = _Flight(op, bytes_, changes, count)
        elif flight.op is not op:
            flight.op, flight.bytes = op, flight.bytes | bytes_
        flight.count[lanes.slot] += 1

    def end(self, where: int, lanes: Lanes) -> None:
        """A product is done."""
        flight = self.flights[where]
        flight.count[lanes.slot] -= 1
        if not flight.count.any():
            del self.flights[where]


# ---------------------------------------------------------------------- which fragments
def _top(op: Op) -> Op:
    """The function that an operation is in."""
    block = op.parent
    while block is not None and block.parent is not None and block.parent.parent is not None:
        op = block.parent.parent
        if op.name in ("gpu.func", "func.func"):
            return op
        block = op.parent
    return op


def _root(value: Value) -> Op | None:
    """The allocation that a pointer leads into, if that is plain."""
    op = value.op
    while op is not None and op.name in ("cute.ptr_add", "cute.recast"):
        op = op.operands[0].op
    return op if op is not None and op.name == "cute.alloca" else None


def _of_products(top: Op) -> tuple[set[Op], bool]:
    """The allocations that products of warpgroups in a function use; whether one of them uses
    registers that are not known."""
    roots: set[Op] = set()
    loose = False
    for op in top.walk():
        if op.name == "cute.wgmma":
            for value in op.operands[:2]:
                root = _root(value)
                if root is not None:
                    roots.add(root)
                elif getattr(value.type, "space", "") == "rmem":
                    loose = True
    return roots, loose


_found: list[dict[Op, tuple[set[Op], bool]]] = []


@contextmanager
def products_once() -> Generator[None, None, None]:
    """While functions do not change: `guarded` goes through each of them once."""
    _found.append({})
    try:
        yield
    finally:
        _found.pop()


def guarded(alloca: Op) -> bool:
    """Whether products of warpgroups may use the registers of an allocation."""
    top = _top(alloca)
    known = _found[-1] if _found else {}
    found = known.get(top)
    if found is None:
        found = known[top] = _of_products(top)
    return found[1] or alloca in found[0]
