# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is added to a product, and that nothing is where the factor is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import (
    FewConfig,
    GemmConfig,
    GemvConfig,
    HopperConfig,
    gemm,
    reference,
    visitors,
)

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
    # Nor are the factors of a product that counts for nothing, whatever calls came before.
    ones, bad = np.ones_like(c), np.full_like(a, NAN)
    for alpha in (2.0, 0, -0.0, np.float32(0), 0.0):
        for given in (config, None):
            got = gemm(bad if alpha == 0 else a, b, ones, alpha=alpha, config=given)
            assert (got == alpha * k + 1).all()
        right = reference.gemm(bad if alpha == 0 else a, b, ones, alpha=alpha)
        assert (right == alpha * k + 1).all()
    assert np.isnan(gemm(bad, b, alpha=1.0, config=config)).all()


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
