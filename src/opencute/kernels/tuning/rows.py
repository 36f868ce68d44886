# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators on rows as things to tune: they take a matrix, and a `RowConfig`.

In: an operator and how many arrays like its first it reads and writes. Out: an `Operator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opencute.kernels.row_config import RowConfig, search_space
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["ROWS", "on_rows", "vectors"]

ROWS = {"m": 16384, "n": 8192}
"""Extents of a matrix."""


def vectors(case: Case) -> Iterator[RowConfig]:
    """Choices with the widest vectors that divide the rows."""
    widest = 16 // (4 if case.dtype == "f32" else 2)
    vec = next(v for v in (widest, 4, 2, 1) if v <= widest and case["n"] % v == 0)
    return search_space(case["n"], vec)


def on_rows(
    name: str, call: Callable[..., Any], moved: int,
    arguments: Callable[[Case], tuple[tuple[Any, ...], dict[str, Any]]],
    space: Callable[[Case], Iterable[Any]] = vectors,
) -> Operator:  # fmt: skip
    """The record of an operator on rows.

    Args:
        name, call, arguments, space: as of `Operator`.
        moved: how often it reads or writes a matrix like its first.
    """

    def work(case: Case) -> tuple[float, float]:
        size = 4 if case.dtype == "f32" else 2
        return 0.0, float(moved * size * case["m"] * case["n"])

    return Operator(name, call, ROWS, ("f16", "bf16", "f32"), arguments, space, work)
