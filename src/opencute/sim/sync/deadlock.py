# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a deadlock: who waits where for what, and where those are who should come."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from opencute.base.errors import DeadlockError
from opencute.sim.values import Array

__all__ = ["absent", "collapsed", "deadlock", "describe_slots"]

_SHOWN = 8
_WIDE = 108  # letters of a line


def describe_slots(run: Any, slots: Array) -> str:
    """Threads by their numbers among those that started together, as ranges.

    Blocks of which the same threads are named are counted, after the first of them.
    """
    if slots.size == 0:
        return "nobody"
    ranges: dict[int, list[tuple[int, int]]] = {}
    for first, last in _ranges(slots, run.threads):
        block = first // run.threads
        ranges.setdefault(block, []).append((first % run.threads, last % run.threads))
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for block, parts in ranges.items():
        alike.setdefault(tuple(parts), []).append(block)
    texts: list[str] = []
    for parts, blocks in alike.items():
        texts += [_range(run, blocks[0], *part) for part in parts[:_SHOWN]]
        if len(parts) > _SHOWN:
            texts[-1] += ", ..."
        if len(blocks) > 1:
            texts[-1] += f" {_more(len(blocks) - 1)}"
    return ", ".join([*texts[:_SHOWN], *(["..."] if len(texts) > _SHOWN else [])])


def _ranges(slots: Array, threads: int) -> Iterator[tuple[int, int]]:
    """First and last of each run of slots within a block."""
    ends = np.flatnonzero(np.diff(slots) != 1)
    for a, b in zip([0, *(ends + 1)], [*ends, slots.size - 1], strict=True):
        first, last = int(slots[a]), int(slots[b])
        while first <= last:
            stop = min(last, first // threads * threads + threads - 1)
            yield first, stop
            first = stop + 1


def _range(run: Any, block: int, first: int, last: int) -> str:
    block += run.first_block
    text = run.describe(block, first)
    if last > first:
        text += f" to {run.describe(block, last)} ({last - first + 1} threads)"
    return text


def _more(blocks: int) -> str:
    return f"and {blocks} more block{'s' if blocks > 1 else ''} alike"


_BLOCK = re.compile(r"block \(\d+, \d+, \d+\)")


def collapsed(entries: Iterable[str], mark: str = " ") -> list[str]:
    """Entries with those left out that say of another block what an earlier one says of its own.

    Args:
        entries: texts, in which blocks are named as in "block (0, 0, 0)".
        mark: what stands between an entry and how many blocks are like it.
    """
    kept: dict[str, tuple[str, int]] = {}
    for entry in entries:
        # What names several blocks is about how they differ, and like nothing else.
        key = _BLOCK.sub("block", entry) if len(set(_BLOCK.findall(entry))) == 1 else entry
        text, count = kept.get(key, (entry, -1))
        kept[key] = text, count + 1
    return [f"{text}{mark}{_more(n)}" if n else text for text, n in kept.values()]


_WHOLE = re.compile(r"(?:block|thread) \(\d+, \d+, \d+\)|and \d+ more blocks? alike")
_PARTS = re.compile(r"(?<=;) |(?<=:) (?=phase \d)")
_JOINT = "\0"


def _wrapped(text: str, margin: str) -> list[str]:
    """A text as lines of a width; names of blocks and threads stay whole."""
    joint = _WHOLE.sub(lambda m: m[0].replace(" ", _JOINT), text)
    lines = textwrap.wrap(
        joint, _WIDE, initial_indent=margin, subsequent_indent=margin + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(_JOINT, " ") for line in lines]


def absent(run: Any, here: Array, missing: Array) -> tuple[str, str | None]:
    """Where threads are that should be here, and where some of them wait for those who are.

    Args:
        run: the launch.
        here, missing: slots of threads.
    """
    at: dict[str, list[Array]] = {}
    waiting: str | None = None
    for cohort, where in run.group.rest["whereabouts"]():
        slots = np.intersect1d(cohort.lanes.slot, missing)
        if not slots.size:
            continue
        at.setdefault(where, []).append(slots)
        wait = cohort.wait
        if wait is None or wait.missing is None or ".bar_" in wait.op.name:
            continue
        if wait.missing()[here].any():
            waiting = f"{wait.op.name} at {wait.op.loc}"
    texts = [
        f"\n    not there: {describe_slots(run, np.sort(np.concatenate(slots)))}, which are {where}"
        for where, slots in at.items()
    ]
    return "".join(collapsed(texts)), waiting


def deadlock(parked: Sequence[Any]) -> NoReturn:
    """Raise the error for cohorts that all wait.

    Raises:
        DeadlockError: always.
    """
    run = parked[0].lanes.run
    at: dict[str, list[Array]] = {}
    parked = sorted(parked, key=lambda c: c.pc)
    for cohort in parked:
        slots = np.sort(cohort.lanes.slot.ravel())
        at.setdefault(f"{cohort.wait.op.name} at {cohort.wait.op.loc}", []).append(slots)
    ended = np.flatnonzero(run.group.ended)
    if ended.size:
        at.setdefault("have ended", []).append(ended)
    shown = collapsed([_entry(run, cohort, at) for cohort in parked], "\n    ")
    first = parked[0].wait
    spinning = all(c.turn is not None and c.wait.missing is None for c in parked)
    elected = any(c.wait.op.name == "ptx.elect_sync" for c in parked)
    raise DeadlockError(
        "no thread can make progress; waiting are\n    " + "\n    ".join(shown),
        code="OC3501",
        loc=first.op.loc,
        hint="cute.copy with a TMA atom, and elect_one(), elect a thread of the warp themselves: "
        "the whole warp has to come there, as under 'if warp_idx == 0', not one thread of it, as "
        "under 'if tidx == 0'"
        if elected
        else "a loop waits for memory that nobody writes any more"
        if spinning
        else "find who should arrive or come and does not: an arrival or a release is missing, a "
        "count (of arrivals, threads or bytes) or a parity is wrong, or a condition keeps threads "
        "away",
    )


def _entry(run: Any, cohort: Any, at: dict[str, list[Array]]) -> str:
    """Who waits where for what, and where those are who have not come."""
    wait = cohort.wait
    who = describe_slots(run, np.sort(cohort.lanes.slot.ravel()))
    # Lines end where the names of files do, so that the others do not depend on these.
    lines = [f"{wait.op.name} at {wait.op.loc}:", *_wrapped(f"{who}:", "  ")]
    for part in _PARTS.split(wait.text()):
        lines += [f"  {part}"] if "'" in part else _wrapped(part, "  ")
    if wait.missing is not None:
        missing = wait.missing()
        for where, groups in at.items():
            slots = np.sort(np.concatenate(groups))
            slots = slots[missing[slots]]
            if slots.size:
                verb = "" if where == "have ended" else "are at "
                lines += _wrapped(f"not there: {describe_slots(run, slots)},", "    ")
                lines.append(f"      which {verb}{where}")
    return "\n    ".join(lines)
