# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that groups load with maps of their own and with those of whole matrices; tiles of 64 rows.

In the checking simulator, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.kernels.gemm.activations import silu
from opencute.kernels.gemm.visitors import chain, scale_rows
from opencute.kernels.grouped_gemm import (
    GroupedConfig,
    grouped_gemm,
    moe_gemm,
    moe_gemm_weights,
    reference,
)

pytestmark = pytest.mark.t1

SMALL = GroupedConfig((128, 32), most=2, depth=2)
BESIDE = GroupedConfig((64, 64), most=2, depth=2, beside=True)


@pytest.fixture(autouse=True)
def on_hopper() -> Iterator[None]:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


def whole(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


@pytest.mark.parametrize(
    "of", [(64, 128, 256), (0, 64, 64, 65, 193), (5, 69, 133, 140), (200,)], ids=str
)
def test_sums_of_whole_steps_and_of_parts(of: tuple[int, ...]) -> None:
    ends = np.array(of, np.int32)
    a, b = whole(of[-1] + 40, 72), whole(of[-1] + 40, 40, seed=1)
    a[of[-1] :], b[of[-1] :] = np.nan, np.inf  # which no group may read
    want = reference.moe_gemm_weights(a[: of[-1]], b[: of[-1]], ends)
    np.testing.assert_array_equal(moe_gemm_weights(a, b, ends, config=SMALL), want)


@pytest.mark.parametrize(
    "of", [(5, 20, 20, 20), (0, 0, 5, 20), (5, 5, 20), (0, 0), (20, 20), (64, 64)], ids=str
)
def test_sums_of_no_rows_where_the_array_ends(of: tuple[int, ...]) -> None:
    ends = np.array(of, np.int32)
    a, b = whole(max(of[-1], 1), 72), whole(max(of[-1], 1), 40, seed=1)
    want = reference.moe_gemm_weights(a, b, ends)
    np.testing.assert_array_equal(moe_gemm_weights(a, b, ends, config=SMALL), want)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_group(bad: float) -> None:
    ends = np.array([60, 130, 194], np.int32)
    a, b = whole(194, 24), whole(194, 40, seed=1)
    a[60:130], b[60:130] = bad, bad
    d = moe_gemm_weights(a, b, ends, config=SMALL)
    parts = [slice(0, 60), None, slice(130, 194)]
    for g, part in enumerate(parts):
        if part is not None:
            np.testing.assert_array_equal(d[g], a[part].T @ b[part])


@pytest.mark.parametrize("gated", [None, silu])
def test_warpgroups_side_by_side(gated: Any) -> None:
    ends = np.array([3, 70, 70, 171, 200], np.int32)
    a, b = whole(200, 64), whole(5, 64, 128, seed=1)
    weights = np.linspace(0.1, 0.4, 200, dtype=np.float32)
    x = reference.moe_gemm(a.astype(np.float32), b.astype(np.float32), ends) * weights[:, None]
    if gated is not None:
        x = x[:, ::2] / (1 + np.exp(-x[:, ::2])) * x[:, 1::2]
    d = moe_gemm(a, b, ends, epilogue=chain(scale_rows(weights), gated=gated), config=BESIDE)
    np.testing.assert_allclose(d.astype(np.float32), x, rtol=2e-3, atol=2e-3)


def test_lists_with_warpgroups_side_by_side() -> None:
    left = [whole(m, 72, seed=m) for m in (5, 64, 130)]
    right = [whole(72, 96, seed=i) for i in range(3)]
    for d, a, b in zip(grouped_gemm(left, right, config=BESIDE), left, right, strict=True):
        np.testing.assert_array_equal(d, a @ b)


@pytest.mark.parametrize("tile", [(64, 96), (64, 160), (192, 192)], ids=str)
def test_halves_of_rows_of_b_that_no_widest_swizzle_divides(tile: tuple[int, int]) -> None:
    config = GroupedConfig(tile, most=2, depth=2, beside=True)
    ends = np.array([5, 70, 130], np.int32)
    a, b = whole(130, 136), whole(3, 136, 200, seed=1)  # contiguous along N
    np.testing.assert_array_equal(
        moe_gemm(a, b, ends, config=config), reference.moe_gemm(a, b, ends)
    )
    grad = whole(130, 96, seed=2)
    d = moe_gemm_weights(a, grad, ends, config=config)
    np.testing.assert_array_equal(d, reference.moe_gemm_weights(a, grad, ends))
