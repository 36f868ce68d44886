# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of attention share: the kernels for warpgroups with one thing left out, forward and
backward."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention import reference, sm90_backward
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan


def run(module: Any) -> None:
    """Four tiles of keys through two stages, by the kernels of a module."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, n, 1, 64)).astype(np.float16) for n in (128, 64, 64))
    out = np.zeros_like(q)
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
    plan = module.WarpgroupPlan(cutlass.Float16, 64, 2, 16, 2, None, None, 1)
    module.attention_forward(*tensors, None, 64**-0.5 * np.log2(np.e), plan)
    want, _ = reference.attention(q, k, v, 64**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


@pytest.fixture
def report_of(
    checked: None, planted: Callable[..., ModuleType]
) -> Callable[[str, str], OpenCuTeError | None]:
    """What the checking simulator reports of the kernels with another text, or None."""

    def report(text: str, other: str) -> OpenCuTeError | None:
        try:
            run(planted("opencute.kernels.attention.sm90", text, other, 1))
        except OpenCuTeError as e:
            return e
        return None

    return report


def run_backward(module: Any, tiles: int) -> None:
    """The derivatives by the kernels of a module: a block of keys, some tiles of 64 queries."""
    rng = np.random.default_rng(0)
    q, g = (rng.standard_normal((1, 64 * tiles, 1, 64)).astype(np.float16) for _ in range(2))
    k, v = (rng.standard_normal((1, 128, 1, 64)).astype(np.float16) for _ in range(2))
    out, lse = reference.attention(q, k, v, 0.125)
    arrays = (q, k, v, out.astype(q.dtype), g, *(np.empty_like(x) for x in (q, k, v)))
    plan = WarpgroupBackwardPlan(cutlass.Float16, 64, 64, 2, 1, True, None, None, 1)
    module.attention_backward(
        tuple(from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in arrays),
        lse.astype(np.float32), np.empty((tiles, 1, 2, 64), np.float32),
        np.empty((tiles, 1, 64 * 64), np.float32), None, 0.125, plan,
    )  # fmt: skip
    for got, want in zip(arrays[5:], reference.attention_backward(g, q, k, v, 0.125), strict=True):
        np.testing.assert_allclose(got.astype(np.float64), want, atol=2e-3 * abs(want).max())


@pytest.fixture
def backward_report_of(
    checked: None, planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., OpenCuTeError | None]:
    """What the checking simulator reports of the derivatives with another text, or None.

    Called with the text, the other one, how many tiles of queries there are, and whether the text
    is the worker's.
    """

    def report(text: str, other: str, tiles: int, worker: bool = False) -> OpenCuTeError | None:
        module: Any = sm90_backward
        if worker:
            name = "opencute.kernels.attention.sm90_backward_worker"
            monkeypatch.setattr(module, "Worker", planted(name, text, other, 1).Worker)
        else:
            module = planted("opencute.kernels.attention.sm90_backward", text, other, 1)
        try:
            run_backward(module, tiles)
        except OpenCuTeError as e:
            return e
        return None

    return report
