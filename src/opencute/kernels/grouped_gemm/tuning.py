# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What products of groups of rows can be told: for `opencute tune moe_gemm`, `moe_gemm_weights`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.kernels.grouped_gemm.config import GroupedConfig, search_space
from opencute.kernels.grouped_gemm.interface import moe_gemm, moe_gemm_weights
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rows, groups, n, k = (case[name] for name in ("rows", "groups", "n", "k"))
    offsets = case.array(groups, dtype="int32")
    for g in range(groups):  # about as many rows for each, but none a multiple of a tile
        offsets[g] = rows * (g + 1) // groups
    out = case.array(rows, n)
    return (case.array(rows, k), case.array(groups, k, n), offsets), {"out": out}


def _space(case: Case) -> Iterator[GroupedConfig]:
    if case.hopper:
        yield from search_space()


def _work(case: Case) -> tuple[float, float]:
    rows, groups, n, k = (case[name] for name in ("rows", "groups", "n", "k"))
    return 2.0 * rows * n * k, 2.0 * (rows * k + groups * k * n + rows * n)


def _sum_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rows, groups, n, k = (case[name] for name in ("rows", "groups", "n", "k"))
    (a, _, offsets), _ = _arguments(case)
    return (a, case.array(rows, n), offsets), {"out": case.array(groups, k, n)}


OPERATORS = (
    Operator(
        "moe_gemm", moe_gemm, {"rows": 16384, "groups": 16, "n": 4096, "k": 4096},
        ("bf16", "f16"), _arguments, _space, _work,
    ),
    Operator(
        "moe_gemm_weights", moe_gemm_weights, {"rows": 16384, "groups": 16, "n": 4096, "k": 4096},
        ("bf16", "f16"), _sum_arguments, _space, _work,
    ),
)  # fmt: skip
