# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the options of `cutlass.range` ask for and do not get, with the reason.

In: a traced module. Out: warnings, one for each loop and option::

    for w in unmet_requests(module):
        warnings.warn(str(w), PerformanceWarning)   # [OC1070] this loop is not pipelined ...
"""

from __future__ import annotations

from opencute.base.errors import CompileError
from opencute.ir.core import Op
from opencute.passes.loops.prefetch import ASKED, unmet
from opencute.passes.simplify import turns_of

__all__ = ["VECTOR_TURNS", "unmet_requests"]

VECTOR_TURNS = 128
"""Turns up to which ``vectorize=True`` lays the turns of a loop side by side."""


def unmet_requests(module: Op) -> list[CompileError]:
    """Warnings for the loops of a module's kernels."""
    out: list[CompileError] = []
    for op in module.walk():
        if op.name != "scf.for":
            continue
        if ASKED in op.attributes and "cute.unroll_full" not in op.attributes:
            why = unmet(op)
            if why:
                out.append(
                    CompileError(
                        "prefetch_stages: this loop's loads are not, or not all, made ahead",
                        code="OC1070", loc=op.loc, found=why,
                        hint="load from global memory at the top of the loop, at addresses made of "
                        "its variable, and store and synchronise in another loop; or copy ahead "
                        "yourself, with cp.async and several buffers in shared memory",
                    )
                )  # fmt: skip
        if "cute.vectorize" in op.attributes and "cute.unroll_full" not in op.attributes:
            turns = turns_of(op)
            if turns is None or turns > VECTOR_TURNS:
                out.append(
                    CompileError(
                        "vectorize: this loop stays a loop", code="OC1069", loc=op.loc,
                        expected=f"at most {VECTOR_TURNS} turns, known at compile time",
                        found="an unknown number of turns" if turns is None else f"{turns} turns",
                        hint="loop over an inner block of constant length, or use vectors: "
                        "tensor.load(), arithmetic, tensor.store()",
                    )
                )  # fmt: skip
    return out
