# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which numbers an atomic operation takes: none that loses its fraction without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

arch = cute.arch


def total(act: Callable[[Any, Any], Any], x: Any, of: Any, threads: int = 1) -> Any:
    @cute.kernel
    def kernel(x: cute.Tensor, out: cute.Tensor) -> None:
        act(out.iterator, x[0])

    @cute.jit
    def host(x: cute.Tensor, out: cute.Tensor) -> None:
        kernel(x, out).launch(grid=1, block=threads)

    out = np.zeros(1, of)
    with KNOBS.override(target="sim"):
        host(from_dlpack(np.array([x])), from_dlpack(out))
    return out[0]


@pytest.mark.parametrize(
    "act",
    [
        arch.atomic_add,
        arch.red_add,
        arch.atomic_max,
        arch.atomic_exch,
        lambda p, v: arch.atomic_cas(p, 0, v),
        lambda p, v: arch.atomic_add(p, 0.75),
        lambda p, v: arch.atomic_add(p, cutlass.Float32(1.0)),
    ],
)
def test_a_float_does_not_go_into_an_integer(act: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TypeMismatchError, match="OC1238") as e:
        total(act, np.float32(0.75), np.int32)
    assert "value.to(Int32)" in str(e.value)


def test_what_keeps_its_kind_goes_in() -> None:
    assert total(arch.atomic_add, np.int64(3), np.int32, 4) == 12
    assert total(arch.atomic_add, np.int32(3), np.int64, 4) == 12
    assert total(arch.atomic_add, np.int32(3), np.float32) == 3
    assert total(arch.atomic_add, np.float64(0.5), np.float32) == 0.5
    assert total(lambda p, v: arch.atomic_add(p, 2), np.int32(0), np.int32, 4) == 8
    assert total(lambda p, v: arch.atomic_add(p, 2.0), np.int32(0), np.int32) == 2
    assert (
        total(lambda p, v: arch.atomic_add(p, v.to(cutlass.Int32)), np.float32(1.75), np.int32) == 1
    )
