# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The fast ways give what the plain ways give."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.sim.numbers import bulk
from opencute.sim.semantics.arith import float_binary

pytestmark = pytest.mark.t1


def every(dtype: Any) -> Any:
    """Every value of a 16-bit type, each with another one beside it."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    return bits.view(dtype), np.random.default_rng(0).permutation(bits).view(dtype)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk.Patience, "left", 0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
def test_large_and_small_arrays_agree(dtype: Any, name: str) -> None:
    a, b = every(dtype)
    fn = float_binary(name, np.dtype(dtype))
    with np.errstate(all="ignore"):
        large = fn(a, b)
        parts = zip(np.split(a, 64), np.split(b, 64), strict=True)
        small = np.concatenate([fn(x, y) for x, y in parts])
    same = (large.view(np.uint16) == small.view(np.uint16)) | (
        np.isnan(large.astype(np.float32)) & np.isnan(small.astype(np.float32))
    )
    assert same.all()


TYPES = [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(40, 50, 4), (40, 50, 1), (1, 50, 4)])
def test_blend_is_where(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2, (40, 50, 4)).astype(dtype) for _ in range(2))
    cond = rng.random(shape) < 0.5
    for y in (b, b[:1, :1], np.asarray(b[0, 0, 0])):
        np.testing.assert_array_equal(bulk.blend(cond, a, y), np.where(cond, a, y))


def test_scatter_of_many_items() -> None:
    memory = np.zeros(1 << 18, np.uint8)
    offsets = np.random.default_rng(0).permutation(1 << 15).reshape(128, 256) * 8
    values = np.arange(1 << 15, dtype=np.int64).reshape(128, 256, 1)
    assert bulk.scatter(memory, offsets, values)
    np.testing.assert_array_equal(memory.view(np.int64)[offsets // 8], values[..., 0])


def test_the_plain_way_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk.Patience, "left", 1 << 17)
    big = np.zeros(1 << 16)
    assert [bulk.is_large(big, 1) for _ in range(3)] == [False, False, True]
    assert not bulk.is_large(np.zeros(100))
