# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that copies bring to a buffer, counted while a kernel is traced.

A pipeline says what each phase of a buffer's barrier waits for; copies that name the barrier say
what they bring. Where all of that is straight-line code, the two have to be equal::

    ledger = Ledger(4096)
    ledger.begin(index)                     # acquire
    ptr = ledger.barrier(index, ptr)        # for cute.copy(..., tma_bar_ptr=ptr)
    ledger.end(index)                       # commit: raises if the copies brought other than 4096

In run-time branches and loops nothing is said; the simulator counts there.
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.ir.builder import current_block
from opencute.lang.pointers import Pointer

__all__ = ["Ledger", "note_bytes"]


class _Phase:
    """A phase of one barrier.

    Args:
        block: where it began.
        index: of the buffer; kept, as others tell it by its identity.
    """

    def __init__(self, block: Any, index: Any) -> None:
        self.block = block
        self.index = index
        self.brought = 0
        self.unused = 0  # pointers to the barrier that no copy has had yet
        self.exact = True

    def bring(self, size: int) -> None:
        """A copy brings bytes."""
        self.brought += size
        self.exact &= current_block() is self.block


class _Barrier(Pointer):
    """A pointer to a barrier whose bytes are counted."""

    __slots__ = ("phase", "used")

    def __init__(self, pointer: Pointer, phase: _Phase) -> None:
        super().__init__(pointer.value, pointer.dtype)
        self.phase = phase
        self.used = False


def note_bytes(pointer: Any, size: int) -> None:
    """Count what a copy brings to the barrier that it was told."""
    if isinstance(pointer, _Barrier):
        pointer.phase.bring(size)
        pointer.phase.unused -= not pointer.used
        pointer.used = True


class Ledger:
    """The bytes of a pipeline's buffers.

    Args:
        expected: bytes of a phase; anything but an int is not counted.
    """

    def __init__(self, expected: Any) -> None:
        self.expected = expected if isinstance(expected, int) else None
        self.phases: dict[Any, _Phase] = {}

    def begin(self, index: Any) -> None:
        """A phase of a buffer's barrier begins to wait."""
        if self.expected is not None:
            self.phases[_key(index)] = _Phase(current_block(), getattr(index, "value", index))

    def barrier(self, index: Any, pointer: Pointer) -> Pointer:
        """A pointer to a buffer's barrier that counts what copies bring."""
        phase = self.phases.get(_key(index))
        if phase is None:
            return pointer
        phase.unused += 1
        return _Barrier(pointer, phase)

    def end(self, index: Any) -> None:
        """No more copies for this phase.

        Raises:
            ArgumentError: they bring other than what the phase waits for.
        """
        phase = self.phases.pop(_key(index), None)
        if phase is None or phase.unused or not phase.exact or not phase.brought:
            return
        if current_block() is phase.block and phase.brought != self.expected:
            raise ArgumentError(
                "copies bring another number of bytes to a buffer than its pipeline waits for",
                code="OC2192", expected=f"{self.expected} bytes (tx_count)",
                found=f"{phase.brought} bytes",
                hint="tx_count is the sum of cute.size_in_bytes(dtype, layout) over all tensors "
                "that are copied into a stage",
            )  # fmt: skip


def _key(index: Any) -> Any:
    value = getattr(index, "value", index)
    return ("known", value) if isinstance(value, int) else id(value)
