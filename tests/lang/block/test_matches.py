# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lanes are matched by the bits of numbers of any width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

KINDS = (
    cutlass.Boolean, cutlass.Int8, cutlass.Uint16, cutlass.Int32, cutlass.Int64, cutlass.Float16,
    cutlass.BFloat16, cutlass.Float8E4M3FN, cutlass.Float32, cutlass.Float64,
)  # fmt: skip


@cute.kernel
def matched(o: cute.Tensor, kind: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    value = (lane % 2).to(kind)
    o[lane, 0] = cute.arch.match_any_sync(value)
    everybody, equal = cute.arch.match_all_sync(value)
    o[lane, 1] = everybody + cutlass.Int32(equal)
    o[lane, 2] = cute.arch.match_all_sync((lane * 0).to(kind))[0]


@cute.jit
def host(o: cute.Tensor, kind: cutlass.Constexpr):
    matched(o, kind).launch(grid=1, block=32)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_numbers_of_every_width(kind: Any) -> None:
    o = np.full((32, 3), 7, np.int32)
    even = 0x55555555
    with KNOBS.override(target="sim"):
        host(from_dlpack(o), kind)
        assert cute.compile(host, from_dlpack(o), kind).__cubin__
    want = [even if lane % 2 == 0 else (even << 1) - (1 << 32) for lane in range(32)]
    assert o[:, 0].tolist() == want
    assert o[:, 1].tolist() == [0] * 32 and o[:, 2].tolist() == [-1] * 32
