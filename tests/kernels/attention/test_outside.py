# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of no sequence become 0, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.kernels.attention.outside import clear_outside

pytestmark = pytest.mark.t0


@pytest.mark.parametrize("keys", [False, True])
def test_simulated(checked: None, keys: bool) -> None:
    q = np.ones((40, 2, 24), np.float16)
    k, v = (np.ones((30, 1, 24), np.float16) for _ in range(2))
    starts = [np.array(s, np.int32) for s in ((3, 10, 10, 35), (0, 9, 20, 30))]
    more: tuple[Any, ...] = (k, v, *starts) if keys else (None, None, starts[0], None)
    clear_outside(q, *more, 7, 10)
    # Before the first, behind the last, and behind seven rows of the sequence from 10 to 35.
    want = np.zeros(40, bool)
    want[3:17] = True
    np.testing.assert_array_equal(q.all((1, 2)), want)
    np.testing.assert_array_equal(q.any((1, 2)), want)
    want = np.ones(30, bool)
    want[19] = not keys  # behind ten rows of the sequence from 9 to 20
    for x in (k, v):
        np.testing.assert_array_equal(x.all((1, 2)), want)
