# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What came out when people tried to break things: each with the right behaviour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import MisalignedError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1


@cute.kernel
def copy_kernel(x: cute.Tensor, out: cute.Tensor):
    out.store(x.load())


@cute.jit
def copy_tile(x: cute.Tensor, out: cute.Tensor):
    copy_kernel(x, out).launch(grid=1, block=1)


@pytest.mark.parametrize("column", [2, 3, 5, 6, 8, 12])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_columns_may_begin_anywhere(column: int, dtype: Any) -> None:
    """The alignment of a pointer says nothing of the other runs of its tile."""
    base = np.arange(64, dtype=dtype)
    size = base.itemsize
    x = np.lib.stride_tricks.as_strided(base, (2, 2), (size, column * size))
    out = np.zeros((2, 2), dtype)
    with KNOBS.override(target="sim"):
        copy_tile(from_dlpack(x), from_dlpack(out))
    np.testing.assert_array_equal(out, x)


def test_a_broken_promise_is_still_found() -> None:
    @cute.kernel
    def kernel(x: cute.Tensor):
        p = (x.iterator + 1).align(16)
        cute.make_tensor(p, cute.make_layout((4, 2), stride=(1, 8))).fill(1.0)

    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=1, block=1)

    with KNOBS.override(target="sim"), pytest.raises(MisalignedError, match="OC3201"):
        host(from_dlpack(np.zeros(32, np.float32), assumed_align=16))


@pytest.mark.parametrize("to_float", [True, False])
@pytest.mark.parametrize("cls", [cutlass.Int128, cutlass.Uint128])
def test_128_bit_integers_and_floats_compile(cls: Any, to_float: bool) -> None:
    """LLVM ended the process."""

    @cute.kernel
    def kernel(x: cute.Tensor):
        i = cutlass.Int32(cute.arch.thread_idx()[0])
        if cutlass.const_expr(to_float):
            x[0] = cls(i).to(cutlass.Float64)
        else:
            x[0] = cutlass.Float64(x[1].to(cls).to(cutlass.Int32))

    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=1, block=1)

    with KNOBS.override(target="sim"):
        assert cute.compile(host, from_dlpack(np.zeros(2))).__cubin__
