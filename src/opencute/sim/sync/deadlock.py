# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a deadlock: who waits where for what, and where those are who should come."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from opencute.base.errors import DeadlockError
from opencute.sim.values import Array

__all__ = ["deadlock", "describe_slots"]

_SHOWN = 8


def describe_slots(run: Any, slots: Array) -> str:
    """Threads by their numbers among those that started together, as ranges."""
    threads = run.threads
    parts: list[str] = []
    if slots.size == 0:
        return "nobody"
    ends = np.flatnonzero(np.diff(slots) != 1)
    starts = [0, *(ends + 1)]
    stops = [*ends, slots.size - 1]
    for a, b in zip(starts, stops, strict=True):
        first, last = int(slots[a]), int(slots[b])
        while first <= last:
            stop = min(last, first // threads * threads + threads - 1)
            parts.append(_range(run, first, stop))
            first = stop + 1
        if len(parts) > _SHOWN:
            return ", ".join([*parts[:_SHOWN], "..."])
    return ", ".join(parts)


def _range(run: Any, first: int, last: int) -> str:
    threads = run.threads
    block = run.first_block + first // threads
    text = run.describe(block, first % threads)
    if last > first:
        text += f" to {run.describe(block, last % threads)} ({last - first + 1} threads)"
    return text


def deadlock(parked: Sequence[Any]) -> NoReturn:
    """Raise the error for cohorts that all wait.

    Raises:
        DeadlockError: always.
    """
    run = parked[0].lanes.run
    at: dict[str, list[Array]] = {}
    lines: list[str] = []
    parked = sorted(parked, key=lambda c: c.pc)
    for cohort in parked:
        slots = np.sort(cohort.lanes.slot.ravel())
        at.setdefault(f"{cohort.wait.op.name} at {cohort.wait.op.loc}", []).append(slots)
    ended = np.flatnonzero(run.group.ended)
    if ended.size:
        at.setdefault("have ended", []).append(ended)
    for cohort in parked:
        wait = cohort.wait
        who = describe_slots(run, np.sort(cohort.lanes.slot.ravel()))
        lines.append(f"{wait.op.name} at {wait.op.loc}: {who}: {wait.text()}")
        if wait.missing is None:
            continue
        missing = wait.missing()
        for where, groups in at.items():
            slots = np.sort(np.concatenate(groups))
            slots = slots[missing[slots]]
            if slots.size:
                verb = "" if where == "have ended" else "are at "
                lines.append(f"    not there: {describe_slots(run, slots)}, which {verb}{where}")
    first = parked[0].wait
    spinning = all(c.turn is not None and c.wait.missing is None for c in parked)
    raise DeadlockError(
        "no thread can make progress; waiting are\n    " + "\n    ".join(lines),
        code="OC3501",
        loc=first.op.loc,
        hint="a loop waits for memory that nobody writes any more" if spinning else None,
    )
