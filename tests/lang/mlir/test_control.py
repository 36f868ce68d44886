# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loops that are written out with `for_generate` and `yield_out`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LanguageError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@cute.kernel
def kernel(body: cutlass.Constexpr, out: cute.Tensor, n: cutlass.Int32):
    body(out, n)


@cute.jit
def host(body: cutlass.Constexpr, out: cute.Tensor, n: cutlass.Int32):
    kernel(body, out, n).launch(grid=1, block=1)


def run(body: Any, n: int = 5) -> list[int]:
    out = np.zeros(6, np.int32)
    with KNOBS.override(target="sim:sm_90a"):
        host(body, from_dlpack(out), n)
    return out.tolist()


def test_without_carried_values():
    def body(out: Any, n: Any) -> None:
        for i in cutlass.for_generate(n):
            out[i] = i + 1
            cutlass.yield_out()

    assert run(body) == [1, 2, 3, 4, 5, 0]


def test_with_carried_values():
    def body(out: Any, n: Any) -> None:
        for i, total, last in cutlass.for_generate(1, n, 2, [cutlass.Int32(10)]):  # noqa: B007
            out[i] = total
            cutlass.yield_out([total + i])
        out[0] = last

    assert run(body) == [14, 10, 0, 11, 0, 0]


def test_a_value_that_is_not_handed_on_is_an_error():
    def body(out: Any, n: Any) -> None:
        for _ in cutlass.for_generate(0, n, 1, [cutlass.Int32(0)]):
            cutlass.yield_out([])

    with pytest.raises(LanguageError) as caught:
        run(body)
    assert caught.value.code == "OC1141"
