# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What attention with a latent cache can be told: for `opencute tune mla_decode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.kernels.mla.config import LATENT, ROPE, MlaConfig, search_space
from opencute.kernels.mla.interface import mla_decode
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (case["batch"], case["queries"], case["heads"])
    q_nope, q_rope = case.array(*shape, LATENT), case.array(*shape, ROPE)
    cache = case.array(case["batch"], case["keys"], LATENT + ROPE)
    return (q_nope, q_rope, cache), {"scale": 0.1, "out": case.array(*shape, LATENT)}


def _space(case: Case) -> Iterator[MlaConfig]:
    rows = case["queries"] * case["heads"]
    return search_space(rows, case["keys"], case["batch"], case.processors)


def _work(case: Case) -> tuple[float, float]:
    rows = case["batch"] * case["queries"] * case["heads"]
    moved = 2.0 * case["batch"] * case["keys"] * (LATENT + ROPE)
    return 2.0 * rows * case["keys"] * (2 * LATENT + ROPE), moved


OPERATORS = (
    Operator(
        "mla_decode", mla_decode, {"batch": 16, "queries": 1, "keys": 8192, "heads": 128},
        ("bf16", "f16"), _arguments, _space, _work,
    ),
)  # fmt: skip
