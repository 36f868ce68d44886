# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native multiply-adds give the bits of those that NumPy is made to round once."""

from __future__ import annotations

import numpy as np
import pytest

from opencute.sim.fused import products
from opencute.sim.numbers import exact

pytestmark = pytest.mark.t1
RNG = np.random.default_rng(0)


def some_bits(*shape: int) -> np.ndarray:
    return RNG.integers(0, 1 << 32, shape, np.uint32).view(np.float32)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))).all())


def plain(monkeypatch: pytest.MonkeyPatch, *values: np.ndarray) -> np.ndarray:
    with monkeypatch.context() as m, np.errstate(all="ignore"):
        m.setattr(products.LOOPS, "patience", 1 << 60)
        return exact.fma(*values, np.dtype(np.float32))


def test_elementwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products.LOOPS, "patience", 0)
    a, b, c = some_bits(64, 1, 64), some_bits(1, 8, 64), some_bits(64, 8, 1)
    got = products.fma(a, b, c)
    assert got is not None
    assert same(got, plain(monkeypatch, a, b, c))


def test_outer_products_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products.LOOPS, "patience", 0)
    lanes, k, m, n = 32, 3, 4, 8
    a, b, c = (RNG.standard_normal(s).astype(np.float32)
               for s in ((lanes, k, m), (lanes, k, n), (lanes, n, m)))  # fmt: skip
    got = products.outer(a, b, c)
    want = c
    for i in range(k):
        want = plain(monkeypatch, a[:, i, None, :], b[:, i, :, None], want)
    assert got is not None
    assert same(got, np.ascontiguousarray(want))


def test_few_are_left_to_numpy() -> None:
    one = np.ones(4, np.float32)
    assert products.fma(one, one, one) is None
