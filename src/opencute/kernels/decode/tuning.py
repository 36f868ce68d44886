# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What attention with a cache can be told: for `opencute tune decode_attention`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.kernels.decode.config import DecodeConfig, Work, search_space
from opencute.kernels.decode.interface import clusters, decode_attention
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch, head_dim = case["batch"], case["head_dim"]
    q = case.array(batch, case["queries"], case["heads"], head_dim)
    k, v = (case.array(batch, case["keys"], case["kv_heads"], head_dim) for _ in "kv")
    return (q, k, v), {"out": case.array(batch, case["queries"], case["heads"], head_dim)}


def _space(case: Case) -> Iterator[DecodeConfig]:
    rows = case["queries"] * case["heads"] // case["kv_heads"]
    work = Work(
        rows, case["head_dim"], case["keys"], case["batch"] * case["kv_heads"], None,
        case.processors,
    )  # fmt: skip
    return search_space(work, case.smem, clusters())


def _work(case: Case) -> tuple[float, float]:
    pairs = case["batch"] * case["keys"] * case["head_dim"]
    return 4.0 * pairs * case["heads"] * case["queries"], 4.0 * pairs * case["kv_heads"]


OPERATORS = (
    Operator(
        "decode_attention", decode_attention,
        {"batch": 16, "queries": 1, "keys": 8192, "heads": 32, "kv_heads": 8, "head_dim": 128},
        ("bf16", "f16"), _arguments, _space, _work,
    ),
)  # fmt: skip
