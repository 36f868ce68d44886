# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What matrix products can be told: for `opencute tune gemm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.kernels.gemm.config import search_space
from opencute.kernels.gemm.interface import gemm, problem_of
from opencute.kernels.gemm.rows.gemv import gemv_search_space
from opencute.kernels.gemm.sm90_choice import hopper_search_space
from opencute.kernels.tuning.operators import DTYPES, Case, Operator

__all__ = ["OPERATORS"]

_RESULTS = {"i8": "int32", "e4m3": "float32"}


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    m, n, k, batch = (case[name] for name in ("m", "n", "k", "batch"))
    lead = (batch,) if batch > 1 else ()
    a, b = case.array(*lead, m, k), case.array(*lead, k, n)
    if "nt" in case.flags or case.dtype in ("i8", "e4m3"):
        b = case.array(*lead, n, k).swapaxes(-1, -2)  # contiguous along k
    out = case.array(*lead, m, n, dtype=_RESULTS.get(case.dtype, DTYPES[case.dtype]))
    return (a, b), {"out": out, "tf32": case.dtype == "tf32"}


def _space(case: Case) -> Iterator[Any]:
    m, n, k, batch = (case[name] for name in ("m", "n", "k", "batch"))
    if 1 in (m, n) and case.dtype in ("f16", "bf16", "f32"):
        yield from gemv_search_space()
    if case.hopper and case.dtype != "f32":
        yield from hopper_search_space(m, n, k, batch)
    if case.dtype != "e4m3" and (not case.hopper or case.dtype == "f32" or min(m, n) <= 256):
        (a, b), named = _arguments(case)
        yield from search_space(problem_of(a, b, named["out"], tf32=named["tf32"]), case.smem)


def _work(case: Case) -> tuple[float, float]:
    m, n, k, batch = (case[name] for name in ("m", "n", "k", "batch"))
    size = {"i8": 1, "e4m3": 1, "f16": 2, "bf16": 2}.get(case.dtype, 4)
    out = 4 if case.dtype in _RESULTS else size
    return 2.0 * m * n * k * batch, batch * (size * (m * k + k * n) + out * m * n)


OPERATORS = (
    Operator(
        "gemm", gemm, {"m": 4096, "n": 4096, "k": 4096, "batch": 1},
        ("f16", "bf16", "tf32", "f32", "i8", "e4m3"), _arguments, _space, _work, ("nt",),
    ),
)  # fmt: skip
