# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is added to a product, and that nothing is where the factor is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.gemm import (
    FewConfig,
    GemmConfig,
    GemvConfig,
    HopperConfig,
    gemm,
    reference,
    visitors,
)
from opencute.kernels.gemm.activations import plus

pytestmark = pytest.mark.t1

NAN = float("nan")


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim:sm_90a"):
        yield


KERNELS = [
    ((40, 32, 24), np.float32, GemmConfig((64, 64, 16), (2, 2), 2)),
    ((40, 32, 24), np.float16, GemmConfig((64, 64, 32), (2, 2), 3)),
    ((64, 32, 48), np.float16, HopperConfig((128, 48))),
    ((4, 32, 41), np.float16, FewConfig()),
    ((1, 32, 40), np.float16, GemvConfig()),
]


@pytest.mark.parametrize(("shape", "dtype", "config"), KERNELS, ids=lambda x: type(x).__name__)
def test_what_is_not_added_is_not_read(
    shape: tuple[int, int, int], dtype: Any, config: Any
) -> None:
    m, k, n = shape
    a, b = np.ones((m, k), dtype), np.asfortranarray(np.ones((k, n), dtype))
    c = np.full((m, n), NAN, dtype)
    for beta in (0, -0.0, np.float32(0)):
        got = gemm(a, b, c, beta=beta, config=config)
        assert (got == k).all() and (reference.gemm(a, b, c, beta=beta) == k).all()
    assert np.isnan(gemm(a, b, c, beta=1, config=config)).all()


@cute.kernel
def plus_kernel(x: cute.Tensor, c: cute.Tensor, y: cute.Tensor, beta: cutlass.Float32):
    tid, _, _ = cute.arch.thread_idx()
    y[tid, None].store(plus(x[tid, None].load(), c[tid, None].load(), beta))
    y[tid, 0] = plus(x[tid, 0], c[tid, 0], beta)  # of numbers


@cute.jit
def plus_all(x: cute.Tensor, c: cute.Tensor, y: cute.Tensor, beta: cutlass.Float32):
    plus_kernel(x, c, y, beta).launch(grid=1, block=8)


@pytest.mark.parametrize("beta", [0.0, -0.0, 2.0])
def test_a_factor_that_is_known_when_the_kernel_runs(beta: float) -> None:
    x, c, y = np.ones((8, 4), np.float32), np.full((8, 4), NAN, np.float32), np.empty((8, 4), "f4")
    c[1] = 3.0
    plus_all(from_dlpack(x), from_dlpack(c), from_dlpack(y), cutlass.Float32(beta))
    assert (y[1] == 1 + 3 * beta).all()
    assert np.isnan(y[0]).all() == (beta != 0) == np.isnan(y).any()


def test_a_piece_that_adds_nothing_reads_nothing() -> None:
    a, b = np.ones((64, 32), np.float16), np.ones((32, 48), np.float16)
    r = np.full((64, 48), NAN, np.float16)
    epilogue = visitors.chain(visitors.add(r, 0.0))
    assert not epilogue.operands and (gemm(a, b, epilogue=epilogue) == 32).all()
    assert np.isnan(gemm(a, b, epilogue=visitors.chain(visitors.add(r)))).all()


def test_the_shape_of_what_is_not_read_still_counts() -> None:
    a, b = np.ones((64, 32), np.float16), np.ones((32, 48), np.float16)
    with pytest.raises(ValueError, match="c does not fit the result"):
        gemm(a, b, np.zeros((64, 40), np.float16), beta=0)
