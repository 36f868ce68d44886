# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reductions over any axis against NumPy, in the checking simulator; on a GPU against torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.kernels import reduce
from opencute.kernels.reduce import interface

NAMES = ["sum", "mean", "max", "min", "argmax", "argmin"]
t0, t2 = pytest.mark.t0, pytest.mark.t2


def _check(x: Any, axis: Any, name: str, **options: Any) -> None:
    got = getattr(reduce, name)(x, axis, **options)
    want = getattr(np, name)(x.astype(np.float64), axis, **options)
    assert got.shape == np.shape(want)
    if name.startswith("arg"):
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, want)
    else:
        assert got.dtype == x.dtype
        allowed = float(ml_dtypes.finfo(x.dtype).eps) / 2 * np.abs(want)  # rounding of the result
        if name in ("sum", "mean"):
            squares = (x.astype(np.float64) ** 2).sum(axis, **options)
            allowed = allowed + _summation_error(squares, x.size / max(got.size, 1), name)
        assert (np.abs(got.astype(np.float64) - want) <= allowed).all()


def _summation_error(squares: Any, count: float, name: str) -> Any:
    """Six standard deviations of the error of sums in f32: 64 roundings on the way of each element,
    each of half a unit in the last place of a partial sum, which grows like a random walk."""
    return 6 * 2.0**-24 * (64 * squares) ** 0.5 / (count if name == "mean" else 1)


@t0
@pytest.mark.parametrize("name", ["sum", "argmax"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5, 7), None), ((5, 7), 0), ((3, 64), -1), ((3, 40, 24), 1), ((300,), 0), ((2, 5000), 1),
        ((600, 9), 0), ((1, 70000), None), ((4, 1, 3), 1), ((), None),
    ],
)  # fmt: skip
def test_every_axis(checked, random, name: str, shape: tuple[int, ...], axis: Any) -> None:
    _check(np.asarray(random(shape, np.float32)), axis, name)


@t0
@pytest.mark.parametrize("name", ["mean", "max", "min", "argmin"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 7), 1), ((40, 24), 0), ((2, 5000), 1)])
def test_every_name(checked, random, name: str, shape: tuple[int, ...], axis: Any) -> None:
    _check(random(shape, np.float32), axis, name)


@t0
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_narrow_types(checked, random, name: str, dtype: Any) -> None:
    x = random((6, 40, 16), dtype)
    for axis in (1, 2):
        _check(x, axis, name, keepdims=True)


@t0
def test_nan_and_equal_values(checked) -> None:
    x = np.zeros((3, 1000), np.float32)
    x[1, [5, 700]] = np.nan
    x[2, [9, 90]] = 1.0
    x[2, [7, 70]] = -1.0
    assert np.isnan(reduce.max(x, 1)[1]) and np.isnan(reduce.min(x, 1)[1])
    assert reduce.argmax(x, 1).tolist() == [0, 5, 9]
    assert reduce.argmin(x, 1).tolist() == [0, 5, 7]
    x[:] = -np.inf
    assert reduce.argmax(x, 1).tolist() == [0, 0, 0]


@t0
def test_views_out_and_empty(checked, random) -> None:
    big = random((6, 8, 80), np.float32)
    for x in (big[:, :, 3:67], big[::2, 1:5, :64], big.transpose(2, 0, 1), big[:, :, ::2]):
        for axis in (1, 2):
            _check(x, axis, "sum")
    out = np.zeros((6, 8), np.float16)
    assert reduce.sum(big, 2, out=out) is out
    np.testing.assert_allclose(out, big.sum(2), rtol=2e-3, atol=1e-2)
    assert reduce.sum(np.ones((0, 3), np.float32), 0).tolist() == [0, 0, 0]
    assert np.isnan(reduce.mean(np.ones((0, 3), np.float32), 0)).all()
    assert reduce.max(np.ones((0, 3), np.float32), 1).shape == (0,)


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: reduce.sum(x, 2), "OC2509"),
        (lambda x: reduce.sum(x, -3), "OC2509"),
        (lambda x: reduce.max(x[:0], 0), "OC2510"),
        (lambda x: reduce.argmax(x[:, :0]), "OC2510"),
        (lambda x: reduce.sum(x, 0, out=x.copy()), "OC2502"),
        (lambda x: reduce.sum(x.astype(np.int32)), "OC2507"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32))
    assert caught.value.code == code


@t0
@pytest.mark.parametrize("axis", [0, 1])
def test_a_missing_barrier_is_found(
    checked, random, monkeypatch, without_barriers, axis: int
) -> None:
    x = random((64, 4096), np.float32)
    reduce.sum(x, axis)
    planted = without_barriers("opencute.kernels.reduce.sm80")
    for name in planted.__all__:
        monkeypatch.setattr(interface, name, getattr(planted, name))
    with pytest.raises(OpenCuTeError, match="OC34"):
        reduce.sum(x, axis)


@t2
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1000, 333), (64, 64, 640), (1 << 22,), (3, 100_000)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_on_a_gpu(shape: tuple[int, ...], name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(shape, device="cuda", dtype=getattr(torch, dtype))
    for axis in (None, *range(len(shape))):
        got = getattr(reduce, name)(x, axis)
        if name.startswith("arg"):
            assert torch.equal(got, getattr(torch, name)(x, axis))
            continue
        function = {"max": "amax", "min": "amin"}.get(name, name)
        along = () if axis is None else (axis,)
        want = getattr(torch, function)(x.double(), *along)
        # Rounding of the result; numbers below the smallest normal one are that far apart as well.
        allowed = torch.finfo(x.dtype).eps / 2 * want.abs().clamp(min=torch.finfo(x.dtype).tiny)
        if name in ("sum", "mean"):
            squares = (x.double() ** 2).sum(*along)
            allowed += _summation_error(squares, x.numel() / squares.numel(), name)
        assert ((got.double() - want).abs() <= allowed).all()
