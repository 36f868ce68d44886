# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Counts of the simulator: a total over everything that ran, also over code that is gone."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.bounded import Recent
from opencute.base.knobs import KNOBS
from opencute.jit import calls
from opencute.jit.runners import simulated

pytestmark = pytest.mark.t0


@cute.kernel
def _fill(x: cute.Tensor, value: cutlass.Constexpr[int]):
    x[cute.arch.thread_idx()[0]] = value


@cute.jit
def fill(x: cute.Tensor, value: cutlass.Constexpr[int]):
    _fill(x, value).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_counts_outlive_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_runners", Recent[Any, Any](1))
    x = np.zeros(32, np.int16)
    with KNOBS.override(target="sim"):
        before = simulated().accesses["write", "gmem", 2]
        for n in range(1, 4):
            cute.compile(fill, x, n)(x)
            gc.collect()
            assert simulated().accesses["write", "gmem", 2] == before + 32 * n
