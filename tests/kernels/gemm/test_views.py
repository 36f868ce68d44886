# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of views whose extents or strides are out of the ordinary, with Hopper's kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import gemm, visitors

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def _hopper() -> Iterator[None]:
    with KNOBS.override(target="sim:sm_90a"):
        yield


def bytes_of(*shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def halves_of(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16)


CASES = {
    "part of a row": lambda: (bytes_of(1, 32)[:, :17], bytes_of(17, 4)),
    "no depth": lambda: (bytes_of(33, 48)[:, :0], np.zeros((0, 52), np.uint8)),
    "one column": lambda: (bytes_of(16, 32), bytes_of(1, 32).T),
    "ragged columns": lambda: (bytes_of(33, 48), bytes_of(48, 50)),
    "a row again and again": lambda: (np.broadcast_to(halves_of(1, 40), (33, 40)),
                                      halves_of(40, 56)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_views(name: str) -> None:
    a, b = CASES[name]()
    got = gemm(a, b)
    assert np.array_equal(got.astype(np.int64), a.astype(np.int64) @ b.astype(np.int64))


def test_no_depth_with_a_visitor() -> None:
    ones = np.ones(56, np.float32)
    got = gemm(
        halves_of(33, 0), halves_of(0, 56), epilogue=visitors.chain(visitors.add_columns(ones))
    )
    assert (got == 1).all()


def test_what_is_added_may_repeat() -> None:
    a, b, c = halves_of(33, 40), halves_of(40, 56), halves_of(1, 56)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    assert np.array_equal(gemm(a, b, c=np.broadcast_to(c, (33, 56))), want)


def test_results_may_not_repeat() -> None:
    out = np.lib.stride_tricks.as_strided(halves_of(56), (33, 56), (0, 2))
    with pytest.raises(ArgumentError, match="share memory"):
        gemm(halves_of(33, 40), halves_of(40, 56), out=out)
