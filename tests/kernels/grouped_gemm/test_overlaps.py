# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which results share memory, against sets of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.kernels.grouped_gemm.overlaps import Spans, shared

pytestmark = pytest.mark.t0


def test_as_sets_of_bytes() -> None:
    rng, hits, asked = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        n = int(rng.integers(2, 5))
        results, size = int(rng.integers(1, n)), int(rng.choice([2, 4]))
        rows, columns = rng.integers(0, 4, n), rng.integers(0, 5, n)
        pitch = np.where(rng.random(n) < 0.8, rng.integers(2, 12), rng.integers(5, 12, n)) * size
        starts, sizes = rng.integers(0, 30, n) * size + 1000, np.full(n, size)
        cells = [
            {
                int(starts[i] + r * pitch[i]) + c
                for r in range(rows[i]) for c in range(int(columns[i]) * size)
            } for i in range(n)
        ]  # fmt: skip

        def slowly(i: int, j: int, cells: Any = cells) -> bool:
            nonlocal asked
            asked += 1
            return bool(cells[i] & cells[j])

        want = any(cells[i] & cells[j] for i in range(results) for j in range(n) if i != j)
        found = shared(starts, Spans(rows, columns, pitch, sizes, sizes), results, slowly)
        assert (found is not None) == want
        if found is not None:
            hits += 1
            assert cells[found[0]] & cells[found[1]]
    assert 200 < hits < 1800
    assert asked > 50
    assert asked < 1000


def test_columns_of_one_matrix_are_apart_without_a_closer_look() -> None:
    n = 40
    ones = np.ones(n, np.int64)
    spans = Spans(64 * ones, 16 * ones, 32 * n * ones, 2 * ones, 2 * ones)

    def never(i: int, j: int) -> bool:
        raise AssertionError

    assert shared(4096 + 32 * np.arange(n), spans, n, never) is None
    assert shared(4096 + 30 * np.arange(n), spans, n, never) == (0, 1)
