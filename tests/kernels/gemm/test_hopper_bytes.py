# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's products of unsigned bytes, and results of 8 bits: rounded, and the nearest there is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import HopperConfig, gemm, reference

t1, t2 = pytest.mark.t1, pytest.mark.t2

S, U, H = np.int8, np.uint8, np.float16
E4, E5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
WIDE, TURNS = HopperConfig((128, 32)), HopperConfig((64, 32), pingpong=True)
ROW = HopperConfig((128, 16), transposed=True)
# Types of A, B and the result, configuration, extents, what sums are multiplied with.
CASES: list[tuple[Any, Any, Any, HopperConfig, tuple[int, int, int], float]] = [
    (U, S, np.int32, TURNS, (40, 36, 80), 1.0),
    (S, U, S, TURNS, (72, 48, 144), 0.25),
    (U, U, U, ROW, (16, 48, 144), 1.0),
    (S, S, S, WIDE, (40, 35, 144), 1.0),  # stored by threads
    (E4, E5, E4, TURNS, (40, 48, 144), 4.0),
    (H, H, E5, TURNS, (40, 48, 72), 0.5),
]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    least = 0 if dtype is U else -3
    return np.random.default_rng([seed, *shape]).integers(least, 4, shape).astype(dtype)


def wanted(a: Any, b: Any, alpha: float, dtype: Any) -> Any:
    exact = reference.gemm(a, b, alpha=alpha)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(exact), limits.min, limits.max).astype(dtype)
    most = float(ml_dtypes.finfo(dtype).max)
    return np.clip(exact, -most, most).astype(dtype)


@t1
@pytest.mark.parametrize("case", range(len(CASES)))
def test_results(case: int) -> None:
    left, right, dtype, config, (m, n, k), alpha = CASES[case]
    a, b, out = numbers((m, k), left, 0), numbers((n, k), right, 1).T, np.zeros((m, n), dtype)
    with KNOBS.override(target="sim", sim_check=True):
        gemm(a, b, out=out, alpha=alpha, config=config)
    np.testing.assert_array_equal(
        out.astype(np.float64), wanted(a, b, alpha, dtype).astype(np.float64)
    )


@t1
def test_other_processors_do_not_multiply_them() -> None:
    a, b = numbers((32, 32), U, 0), numbers((32, 32), S, 1)
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError, match="OC2539"):
        gemm(a, b)


@t2
@pytest.mark.parametrize("config", [None, HopperConfig((128, 128), (2, 1)), TURNS], ids=str)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_on_a_gpu(case: int, config: HopperConfig | None) -> None:
    torch = pytest.importorskip("torch")
    left, right, dtype, _, _, alpha = CASES[case]
    a, b = numbers((520, 1040), left, 0), numbers((784, 1040), right, 1)
    names = {t: getattr(torch, np.dtype(t).name) for t in (left, right, dtype)}
    x, y = (torch.from_numpy(t.astype(np.float32)).to(names[d]).cuda()
            for t, d in ((a, left), (b, right)))  # fmt: skip
    out = torch.empty((520, 784), dtype=names[dtype], device="cuda")
    gemm(x, y.T, out=out, alpha=alpha, config=config)
    want = wanted(a, b.T, alpha, dtype).astype(np.float64)
    np.testing.assert_array_equal(out.cpu().double().numpy(), want)
