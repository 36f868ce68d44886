# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Activations where exponentials overflow."""

from __future__ import annotations

import numpy as np
import pytest

from opencute.kernels.gemm import gemm

pytestmark = pytest.mark.t1


def test_silu_of_numbers_far_from_zero() -> None:
    x = np.array([-np.inf, -1e30, -200, -88, -87, -20, 0, 20, 88, 200, 1e30, np.inf], np.float32)
    a, b = np.zeros((len(x), 8), np.float32), np.zeros((8, 16), np.float32)
    a[:, 0], b[0] = x, 1
    got = gemm(a, b, activation="silu")
    assert np.isnan(got[0]).all()  # as -inf / inf is
    wide = x[1:].astype(np.float64)
    with np.errstate(over="ignore"):
        want = wide / (1 + np.exp(-wide))
    np.testing.assert_allclose(got[1:], np.tile(want[:, None], 16), rtol=1e-5, atol=1e-35)
