# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What HSTU attention can be told: for `opencute tune hstu_attention`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opencute.kernels.attention.config import AttentionConfig, search_space
from opencute.kernels.hstu.interface import hstu_attention
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (case["batch"], case["length"], case["heads"], case["head_dim"])
    q, k, v, out = (case.array(*shape) for _ in "qkvo")
    return (q, k, v), {"causal": "causal" in case.flags, "out": out}


def _space(case: Case) -> Iterator[AttentionConfig]:
    for config in search_space(case["head_dim"], case.smem):
        yield replace(config, stages=1)


def _work(case: Case) -> tuple[float, float]:
    elements = case["batch"] * case["length"] * case["heads"] * case["head_dim"]
    pairs = elements * case["length"] / (2 if "causal" in case.flags else 1)
    return 4.0 * pairs, 8.0 * elements


OPERATORS = (
    Operator(
        "hstu_attention", hstu_attention,
        {"batch": 4, "length": 2048, "heads": 8, "head_dim": 128}, ("bf16", "f16"), _arguments,
        _space, _work, ("causal",),
    ),
)  # fmt: skip
