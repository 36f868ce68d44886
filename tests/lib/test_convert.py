# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing.convert`: numbers of one tensor in the type and layout of another."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute import cute
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def simulated() -> Any:
    with KNOBS.override(target="sim"):
        yield


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.int32, np.float64]
)
def test_numbers_are_rounded(dtype: Any, dynamic: bool) -> None:
    x = np.random.default_rng(1).uniform(-100, 100, (30, 7)).astype(np.float32)
    out = np.zeros((30, 7), dtype, order="F")
    tensors = [from_dlpack(x), from_dlpack(out)]
    if dynamic:
        tensors = [t.mark_layout_dynamic() for t in tensors]
    cute.testing.convert(*tensors)
    assert np.array_equal(out, x.astype(dtype))


def test_elements_that_do_not_fill_bytes() -> None:
    x = from_dlpack(np.zeros((2, 4), np.float32))
    for four in (
        np.zeros((2, 4), ml_dtypes.float4_e2m1fn),  # a byte each
        np.zeros((2, 4), ml_dtypes.int4),
    ):
        with pytest.raises(ArgumentError) as e:
            cute.testing.convert(x, from_dlpack(four))
        assert e.value.code == "OC2231"


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (5,), (2, 3, 4, 5)])
def test_shapes(shape: Any) -> None:
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.full(shape, -1, np.float32)
    cute.testing.convert(from_dlpack(x), from_dlpack(out))
    assert np.array_equal(out, x)


def test_wrong_arguments() -> None:
    x, y = (from_dlpack(np.zeros(n, np.float32)) for n in (4, 5))
    with pytest.raises(ArgumentError) as e:
        cute.testing.convert(x, y)
    assert e.value.code == "OC2230"
    with pytest.raises(ArgumentTypeError, match="dst is no tensor") as e:
        cute.testing.convert(x, np.zeros(4))
    assert e.value.code == "OC2232"
