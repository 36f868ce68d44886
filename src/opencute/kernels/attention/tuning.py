# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What attention and its gradients can be told: for `opencute tune attention`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.kernels.attention.config import (
    backward_search_space,
    search_space,
    warpgroup_backward_search_space,
    warpgroup_search_space,
)
from opencute.kernels.attention.interface import attention, attention_backward
from opencute.kernels.tuning.operators import Case, Operator

__all__ = ["OPERATORS"]

_NARROW = ("e4m3", "e5m2")
_WARPGROUPS = (64, 96, 128, 192, 256)
_EXTENTS = {
    "batch": 4, "queries": 4096, "keys": 4096, "heads": 16, "kv_heads": 16, "head_dim": 128,
}  # fmt: skip


def _inputs(case: Case) -> tuple[Any, Any, Any]:
    batch, head_dim, shared = case["batch"], case["head_dim"], case["kv_heads"]
    q = case.array(batch, case["queries"], case["heads"], head_dim)
    return q, *(case.array(batch, case["keys"], shared, head_dim) for _ in "kv")


def _like(case: Case, dtype: str | None = None) -> Any:
    shape = (case["batch"], case["queries"], case["heads"], case["head_dim"])
    return case.array(*shape, dtype=dtype)


def _result(case: Case) -> Any:
    return _like(case, "bfloat16" if case.dtype in _NARROW else None)


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return _inputs(case), {"causal": "causal" in case.flags, "out": _result(case)}


def _backward_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    lse = case.array(case["batch"], case["heads"], case["queries"], dtype="float32")
    given = (_result(case), *_inputs(case), _result(case), lse)
    return given, {"causal": "causal" in case.flags}


def _space(case: Case) -> Iterator[Any]:
    head_dim = case["head_dim"]
    if case.hopper and head_dim in _WARPGROUPS:
        bits = 8 if case.dtype in _NARROW else 16
        yield from warpgroup_search_space(head_dim, case.smem, bits)
    elif case.dtype not in _NARROW:
        yield from search_space(head_dim, case.smem)


def _backward_space(case: Case) -> Iterator[Any]:
    head_dim = case["head_dim"]
    if case.hopper and head_dim in _WARPGROUPS:
        yield from warpgroup_backward_search_space(head_dim, case.smem)
    else:
        yield from backward_search_space(head_dim, case.smem)


def _work(case: Case) -> tuple[float, float]:
    rows = case["batch"] * case["heads"] * case["head_dim"]
    pairs = case["queries"] * case["keys"] / (2 if "causal" in case.flags else 1)
    size = 1 if case.dtype in _NARROW else 2
    keys = case["batch"] * case["kv_heads"] * case["head_dim"] * case["keys"]
    return 4.0 * rows * pairs, size * (2 * rows * case["queries"] + 2 * keys)


def _backward_work(case: Case) -> tuple[float, float]:
    operations, moved = _work(case)
    if case.dtype in _NARROW:  # products of copies in 16 bits, at half the rate
        return 5.0 * operations, 5 * moved
    return 2.5 * operations, 2 * moved


OPERATORS = (
    Operator(
        "attention", attention, _EXTENTS, ("bf16", "f16", *_NARROW), _arguments, _space, _work,
        ("causal",),
    ),
    Operator(
        "attention_backward", attention_backward, _EXTENTS, ("bf16", "f16", *_NARROW),
        _backward_arguments, _backward_space, _backward_work, ("causal",),
    ),
)  # fmt: skip
