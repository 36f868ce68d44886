# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Offsets have one width, however they are asked for: 64 bits unless the layout is static and
small; quotients of coordinates keep theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

N = 100_000  # N * N does not fit in 32 bits
LAST = N * N - 1
WAYS: dict[str, Any] = {
    "call": lambda lay, i, n: lay(i, i),
    "call of a tuple": lambda lay, i, n: lay((i, i)),
    "crd2idx": lambda lay, i, n: cute.crd2idx((i, i), lay),
    "crd2idx of a shape": lambda lay, i, n: cute.crd2idx((i, i), (n, n)),
    "slice_and_offset": lambda lay, i, n: cute.slice_and_offset((i, i), lay)[1],
    "composed": lambda lay, i, n: cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, lay)(
        (i, i)
    ),
    "static": lambda lay, i, n: cute.make_layout((N, N))(i, i),
    "one index": lambda lay, i, n: cute.make_layout((n, n), stride=(n, 1))(i + 0 * n + (n - n)),
}


@cute.kernel
def kernel(o: cute.Tensor, n: cutlass.Int32, way: cutlass.Constexpr):
    layout = cute.make_layout((n, n), stride=(n, 1))
    offset = way(layout, n - 1, n)
    assert type(offset) is cutlass.Int64
    o[0] = offset


@cute.jit
def host(o: cute.Tensor, n: cutlass.Int32, way: cutlass.Constexpr):
    kernel(o, n, way).launch(grid=1, block=1)


@pytest.mark.parametrize("name", WAYS)
def test_the_offset_does_not_wrap(name: str) -> None:
    o = np.zeros(1, np.int64)
    host(from_dlpack(o), N, WAYS[name])
    assert o[0] == (LAST if name != "one index" else N * (N - 1))


def test_machine_code_multiplies_in_64_bits() -> None:
    compiled = cute.compile(host, from_dlpack(np.zeros(1, np.int64)), N, WAYS["call"])
    ptx = compiled.__ptx__
    assert "mul.wide" in ptx or "mul.lo.s64" in ptx or "mad.wide" in ptx
    assert compiled.__cubin__


def test_small_static_layouts_and_coordinates_stay_in_32_bits() -> None:
    @cute.kernel
    def small(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        assert type(cute.make_layout((8, 8))(i, i)) is cutlass.Int32
        assert type(cute.crd2idx((i, i), (8, 8))) is cutlass.Int32
        where = cute.make_identity_tensor((n, n))[i, n]
        assert all(type(c) is cutlass.Int32 for c in where)
        o[0] = where[0] + where[1]

    @cute.jit
    def launch(o: cute.Tensor, n: cutlass.Int32):
        small(o, n).launch(grid=1, block=1)

    o = np.zeros(1, np.int64)
    launch(from_dlpack(o), 5)
    assert o[0] == 5
