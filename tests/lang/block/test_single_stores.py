# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch.store`: what a typed pointer gets, and what an address without a type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@cute.kernel
def store_kernel(x: cute.Tensor, y: cute.Tensor, how: cutlass.Constexpr[str]):
    at = y.iterator + 2
    if cutlass.const_expr(how == "typed"):
        cute.arch.store(at, x[0])
    elif cutlass.const_expr(how == "constant"):
        cute.arch.store(at, x.element_type(1))
    elif cutlass.const_expr(how == "vector"):
        cute.arch.store(at, x.load())
    elif cutlass.const_expr(how == "recast"):
        cute.arch.store(cute.recast_ptr(at, dtype=x.element_type), x[0])
    else:
        cute.arch.store(at.llvm_ptr, x[0])


@cute.jit
def store(x: cute.Tensor, y: cute.Tensor, how: cutlass.Constexpr[str]):
    store_kernel(x, y, how).launch(grid=1, block=1)


def stored(x: Any, kind: Any, how: str) -> list[float]:
    y = np.zeros(8, kind)
    with KNOBS.override(target="sim", sim_check=True):
        store(from_dlpack(np.array(x)), from_dlpack(y), how)
    return y.tolist()


def rest(*first: float) -> list[float]:
    return [0, 0, *first, *(0,) * (6 - len(first))]


@pytest.mark.parametrize(
    ("x", "kind"), [(np.float16, np.float32), (np.int8, np.int32), (np.int32, np.float32)]
)
def test_values_get_the_pointers_type(x: Any, kind: Any) -> None:
    """As in ``y[i] = x``: elements are written, not as many bytes as the value has."""
    values = np.array([3, 5], x)
    assert stored(values, kind, "typed") == rest(3)
    assert stored(values, kind, "vector") == rest(3, 5)


def test_constants_are_rounded() -> None:
    assert stored(np.zeros(1, np.float32), np.float16, "constant") == rest(1)


@pytest.mark.parametrize("how", ["typed", "vector"])
@pytest.mark.parametrize(
    ("x", "kind"), [(np.float32, np.float16), (np.int32, np.int8), (np.float32, np.int32)]
)
def test_values_that_the_type_does_not_hold(x: Any, kind: Any, how: str) -> None:
    with pytest.raises(TypeMismatchError, match="OC1238") as e:
        stored(np.ones(2, x), kind, how)
    assert e.value.hint and ".to(" in e.value.hint


@pytest.mark.parametrize("how", ["recast", "address"])
def test_bits_of_another_type(how: str) -> None:
    bits = np.array([0x3C004000], np.int32)
    assert stored(bits, np.float16, how) == rest(2, 1)
