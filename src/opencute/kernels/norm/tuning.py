# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What norms can be told: for `opencute tune layer_norm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.kernels.norm.config import ClusterRows, ring_space
from opencute.kernels.norm.interface import (
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)
from opencute.kernels.tuning.operators import Case
from opencute.kernels.tuning.rows import on_rows, vectors

__all__ = ["OPERATORS"]


def _arguments(case: Case, biased: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, out = (case.array(case["m"], case["n"]) for _ in range(2))
    weights = tuple(case.array(case["n"]) for _ in range(2 if biased else 1))
    return (x, *weights), {"out": out}


def _backward_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    grad, x = (case.array(case["m"], case["n"]) for _ in range(2))
    return (grad, x, case.array(case["n"])), {}


def _space(case: Case) -> Iterator[Any]:
    yield from vectors(case)
    widest = 16 // (4 if case.dtype == "f32" else 2)
    for blocks in (2, 4, 8) if case.hopper else ():
        for threads in (128, 256, 512, 1024):
            config = ClusterRows(threads, widest, blocks)
            try:
                config.part(case["n"])
            except ArgumentError:
                continue
            yield config
    if case.hopper:
        yield from ring_space(case["n"], widest, 16 // widest)


def _backward_space(case: Case) -> Iterator[Any]:
    yield from vectors(case)
    if case.hopper:
        widest = 16 // (4 if case.dtype == "f32" else 2)
        yield from ring_space(case["n"], widest, 16 // widest * 2, derived=True)


OPERATORS = (
    on_rows("layer_norm", layer_norm, 2, lambda case: _arguments(case, True), _space),
    on_rows("rms_norm", rms_norm, 2, lambda case: _arguments(case, False), _space),
    on_rows("layer_norm_backward", layer_norm_backward, 3, _backward_arguments, _backward_space),
    on_rows("rms_norm_backward", rms_norm_backward, 3, _backward_arguments, _backward_space),
)
