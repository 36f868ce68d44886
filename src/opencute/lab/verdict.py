# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Decide whether one call of a kernel was right, from what it returned and what it changed.

In: the frozen inputs before the call, and a `Call` (return value, inputs afterwards) for kernel and
reference. Out: a `Comparison`. The rules:

1. A kernel that returns a value is compared with the reference's value. An input that it changes
   and the reference leaves alone is wrong; one that both change is compared.
2. A kernel that returns nothing is judged by the inputs that it changed: against the reference's
   value if there is one (several, in the order of the inputs), else against the reference's inputs.
3. A kernel that returns nothing and changes nothing is wrong.

    judge(before, Call(None, after), Call(expected, before), tolerance).ok
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute.base.words import singular
from opencute.lab.arrays import Frozen, leaves
from opencute.lab.compare import Comparison, compare
from opencute.lab.rules import Tolerance

__all__ = ["Call", "changed", "judge", "same"]


@dataclass(frozen=True)
class Call:
    """A finished call, frozen: its return value and its inputs afterwards."""

    value: Any
    inputs: Any


def same(a: Any, b: Any) -> bool:
    """Whether two frozen leaves hold the same bits."""
    if isinstance(a, Frozen) and isinstance(b, Frozen):
        return a.same_bits(b)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)


def changed(before: Any, after: Any) -> list[str]:
    """Paths of the inputs that differ in a bit, or that appeared or vanished."""
    old, new = dict(leaves(before, "input")), dict(leaves(after, "input"))
    return [p for p in {**old, **new} if p not in old or p not in new or not same(old[p], new[p])]


def judge(before: Any, kernel: Call, reference: Call, tolerance: Tolerance) -> Comparison:
    """Apply the module's rules to one call."""
    by_kernel, by_reference = (
        changed(before, kernel.inputs), changed(before, reference.inputs),
    )  # fmt: skip
    if kernel.value is None:
        return _judge_in_place(kernel, reference, by_kernel, by_reference, tolerance)
    out = Comparison()
    if reference.value is None:
        out.problems.append("the kernel returns a value, the reference returns nothing")
        return out
    out.add(compare(kernel.value, reference.value, tolerance))
    extra = [p for p in by_kernel if p not in by_reference]
    if extra:
        out.problems.append(
            f"the kernel returns a value and also changes {', '.join(extra)}, which the reference "
            "leaves alone"
        )
    both = [p for p in by_kernel if p in by_reference]
    out.add(_compare_inputs(both, kernel, reference, tolerance))
    return out


def _judge_in_place(
    kernel: Call, reference: Call, by_kernel: list[str], by_reference: list[str],
    tolerance: Tolerance,
) -> Comparison:  # fmt: skip
    out = Comparison()
    if not by_kernel:
        out.problems.append("the kernel returns nothing and changes none of its inputs")
    elif reference.value is None:
        extra = [p for p in by_kernel if p not in by_reference]
        if not by_reference:
            out.problems.append("the reference returns nothing and changes none of its inputs")
        if extra:
            out.problems.append(
                f"the kernel changes {', '.join(extra)}, which the reference leaves alone"
            )
        out.add(_compare_inputs(by_reference, kernel, reference, tolerance))
    else:
        _judge_against_value(kernel, reference, by_kernel, tolerance, out)
    return out


def _judge_against_value(
    kernel: Call, reference: Call, by_kernel: list[str], tolerance: Tolerance, out: Comparison
) -> None:
    after = dict(leaves(kernel.inputs, "input"))
    expected = [v for _, v in leaves(reference.value, "output")]
    if len(expected) != len(by_kernel):
        said = (
            f"the kernel returns nothing and changes {len(by_kernel)} inputs "
            f"({', '.join(by_kernel)}), but the reference returns {len(expected)} values"
        )
        out.problems.append(singular(said))
        return
    for path, right in zip(by_kernel, expected, strict=True):
        out.add(compare(after[path], right, tolerance, path))


def _compare_inputs(
    paths: list[str], kernel: Call, reference: Call, tolerance: Tolerance
) -> Comparison:
    ours, theirs = dict(leaves(kernel.inputs, "input")), dict(leaves(reference.inputs, "input"))
    out = Comparison()
    for path in paths:
        if path in ours and path in theirs:
            out.add(compare(ours[path], theirs[path], tolerance, path))
        else:
            out.problems.append(f"{path}: only one of kernel and reference still has it")
    return out
