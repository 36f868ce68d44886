# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A grid without blocks launches nothing, and that is no error; a block without threads is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.runners import simulated

pytestmark = pytest.mark.t0


@cute.kernel
def fill_kernel(x: cute.Tensor):
    x[cute.arch.block_idx()[0]] = 1.0


@cute.jit
def fill(x: cute.Tensor, y: cute.Tensor, gx: int, gy: int):
    fill_kernel(x).launch(grid=(cute.size(y), gx, gy), block=1)


@cute.jit
def none(x: cute.Tensor):
    fill_kernel(x).launch(grid=0, block=1)


def launches() -> int:
    return simulated().launches


@pytest.mark.parametrize(("n", "gx", "gy"), [(0, 1, 1), (3, 0, 1), (3, 1, 0), (0, 0, 0)])
def test_of_run_time(n: int, gx: int, gy: int) -> None:
    x = np.zeros(3, np.float32)
    some: Any = from_dlpack(np.zeros(n, np.float32)).mark_layout_dynamic()
    with KNOBS.override(target="sim"):
        before = launches()
        fill(from_dlpack(x), some, gx, gy)
        assert launches() == before and not x.any()
        full: Any = from_dlpack(np.zeros(3, np.float32)).mark_layout_dynamic()
        fill(from_dlpack(x), full, 1, 1)
        assert launches() == before + 1 and x.all()


def test_of_compile_time() -> None:
    x = np.zeros(3, np.float32)
    with KNOBS.override(target="sim"):
        before = launches()
        none(from_dlpack(x))
        assert launches() == before and not x.any()


@cute.jit
def no_threads(x: cute.Tensor):
    fill_kernel(x).launch(grid=1, block=0)


def test_blocks_have_threads() -> None:
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError, match="OC2111") as e:
        no_threads(from_dlpack(np.zeros(3, np.float32)))
    assert "block must be positive" in str(e.value)
