# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The child's half of `opencute verify`: run the file with several seeds and judge each call.

In: a `Session` and a `Tolerance`. Out: the facts of the JSON report as a dict::

    run_check(session, Tolerance(1e-3, 1e-3), seeds=3)["correct"]
"""

from __future__ import annotations

from typing import Any

from opencute.lab.compare import Comparison
from opencute.lab.kernel_file import UserError
from opencute.lab.rules import Tolerance
from opencute.lab.session import Inputs, Session, freeze_inputs
from opencute.lab.verdict import Call, changed, judge, same

__all__ = ["run_check"]


def run_check(session: Session, tolerance: Tolerance, seeds: int) -> dict[str, Any]:
    """Judge the kernel for seeds 0, 1, ..., stopping at the first that is wrong."""
    before = session.counts()
    total = Comparison()
    ran: list[int] = []
    for seed in range(seeds):
        ran.append(seed)
        try:
            found = _one_seed(session, tolerance, seed)
        except UserError as error:
            total.problems.append(str(error))
            break
        total.leaves += found.leaves
        total.problems += [f"seed {seed}: {p}" for p in found.problems]
        if not found.ok:
            break
    counts = session.counts().since(before)
    if counts.launches == 0:
        session.note("no OpenCuTe kernel was launched")
    return {
        "correct": total.ok,
        "max_abs_diff": total.largest("max_abs_diff"),
        "max_rel_diff": total.largest("max_rel_diff"),
        "problems": total.problems,
        "notes": session.notes,
        "seeds": ran,
        "outputs": _worst(total.leaves),
        "target": session.target,
        "launches": counts.launches,
        "compilations": counts.compilations,
    }


def _one_seed(session: Session, tolerance: Tolerance, seed: int) -> Comparison:
    inputs = session.inputs(seed)
    before = freeze_inputs(inputs)
    kernel = session.frozen_call("kernel_fn", inputs, seed)
    reference = session.reference(inputs, seed)
    session.sender.progress(f"comparing (seed {seed})")
    found = judge(before, kernel, reference, tolerance)
    if seed == 0 and found.ok:
        _check_repeat(session, inputs, kernel)
    return found


def _check_repeat(session: Session, inputs: Inputs, first: Call) -> None:
    """Note whether a second run on the same inputs gives the same bits."""
    try:
        second = session.frozen_call("kernel_fn", inputs, 0)
    except UserError as error:
        session.note(f"a second run with the same seed failed: {error}")
        return
    equal = not changed([first.value], [second.value]) and not changed(first.inputs, second.inputs)
    if not equal:
        session.note("a second run with the same seed gave different bits: not deterministic")


def _worst(leaves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each output, the record of the seed that was furthest off."""
    worst: dict[str, dict[str, Any]] = {}
    for leaf in leaves:
        seen = worst.get(leaf["path"])
        if seen is None or _rank(leaf) > _rank(seen):
            worst[leaf["path"]] = leaf
    return list(worst.values())


def _rank(leaf: dict[str, Any]) -> tuple[int, float]:
    value = float(leaf["max_abs_diff"])
    return (
        leaf["wrong_elements"],
        value if same(value, value) and value == value else float("inf"),
    )
