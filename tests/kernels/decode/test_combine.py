# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel that puts results of splits together, with each arrangement of threads."""

from __future__ import annotations

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.cute.runtime import from_dlpack
from opencute.kernels.decode.combine import AHEAD, combine, slots_for

pytestmark = pytest.mark.t0


@cute.jit
def launch(
    parts: cute.Tensor,
    logs: cute.Tensor,
    out: cute.Tensor,
    lse: cute.Tensor,
    size: cutlass.Constexpr[int],
    slots: cutlass.Constexpr[int],
):
    combine(parts, logs, out, lse, size, slots)


@pytest.mark.parametrize(
    ("splits", "heads", "size"), [(3, 3, 64), (16, 2, 40), (21, 1, 64), (5, 1, 520)]
)
def test_parts_are_weighted(checked: None, splits: int, heads: int, size: int) -> None:
    rng = np.random.default_rng(splits)
    parts = rng.standard_normal((splits, 1, 2, heads, size)).astype(np.float32)
    logs = rng.uniform(-3, 3, (splits, 1, heads, 2)).astype(np.float32)
    logs[splits // 2] = -np.inf  # a split without keys may have left anything
    parts[splits // 2] = np.nan
    logs[:, 0, 0, 1] = -np.inf  # a query that sees no key
    out = np.zeros((1, 2, heads, size), np.float16)
    lse = np.zeros((1, heads, 2), np.float32)
    slots = slots_for(splits, size)
    arrays = [from_dlpack(x) for x in (parts, logs, out, lse)]
    launch(*arrays, size, slots)
    weights = np.exp(logs.astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(0)
        factor = np.where(total > 0, weights / total, 0.0).transpose(0, 1, 3, 2)[..., None]
        want = np.where(factor > 0, parts * factor, 0.0).sum(0)
        np.testing.assert_allclose(out, want, atol=2e-3)
        np.testing.assert_allclose(lse, np.log(total), rtol=1e-5, atol=1e-5)


def test_threads_for_splits() -> None:
    assert [slots_for(n, 128) for n in (2, AHEAD, 5, 16, 17, 200)] == [1, 1, 4, 4, 16, 16]
    assert slots_for(66, 512) * 128 <= 1024
