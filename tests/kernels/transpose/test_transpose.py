# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Transposes: results, accesses and bank conflicts; a barrier that is gone is missed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.jit.runners import simulated
from opencute.kernels.transpose import interface, reference, transpose

DTYPES = [np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int64]
t0, t2 = pytest.mark.t0, pytest.mark.t2


def _counts() -> tuple[int, dict[Any, int]]:
    report = simulated()
    return sum(report.conflicts.values()), dict(report.accesses)


@t0
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1), (7, 13), (3, 40, 208), (129, 65), (2, 2, 80, 48), (272, 96)]
)
def test_every_type(checked, random, shape: tuple[int, ...], dtype: Any) -> None:
    x = (random(shape, np.float32) * 10).astype(dtype)
    with KNOBS.override(sim_profile=True):
        conflicts, before = _counts()
        got = transpose(x)
        after, accesses = _counts()
    np.testing.assert_array_equal(got, reference.transpose(x))
    assert after == conflicts
    if not any(extent % (16 // x.dtype.itemsize) for extent in shape[-2:]):
        assert {k for k in accesses if accesses[k] != before.get(k)} == {
            (verb, space, 16) for verb in ("read", "write") for space in ("gmem", "smem")
        }


@t0
def test_views_and_empty(checked, random) -> None:
    big = random((4, 72, 80), np.float16)
    for x in (big[:, :64, :64], big[:, 1:65, 8:72], big[1:3, :, 3:67], big[0, ::2, :64]):
        np.testing.assert_array_equal(transpose(x), reference.transpose(x))
    out = np.zeros((64, 80), np.float16)
    transpose(big[0, :, :64], out=out[:, 8:])
    np.testing.assert_array_equal(out[:, 8:], big[0, :, :64].T)
    assert not out[:, :8].any()
    assert transpose(np.ones((3, 0, 5))).shape == (3, 5, 0)


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: transpose(x[0]), "OC2500"),
        (lambda x: transpose(x.T), "OC2501"),
        (lambda x: transpose(x, out=x.copy()), "OC2502"),
        (lambda x: transpose(x, out=np.ones((8, 4), np.int32)), "OC2502"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32))
    assert caught.value.code == code


@t0
@pytest.mark.parametrize("shape", [(64, 64), (33, 33)])
def test_a_missing_barrier_is_found(
    checked, random, monkeypatch, without_barriers, shape: Any
) -> None:
    x = random(shape, np.float32)
    transpose(x)
    planted = without_barriers("opencute.kernels.transpose.sm80")
    for name in planted.__all__:
        monkeypatch.setattr(interface, name, getattr(planted, name))
    with pytest.raises(OpenCuTeError, match="OC34"):
        transpose(x)


@t2
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7, 13), (4096, 4096), (5, 1000, 333), (3, 96, 4000)])
def test_on_a_gpu(shape: tuple[int, ...], name: str) -> None:
    torch = pytest.importorskip("torch")
    x = (torch.randn(shape, device="cuda") * 10).to(getattr(torch, name))
    assert torch.equal(transpose(x), x.transpose(-1, -2).contiguous())
