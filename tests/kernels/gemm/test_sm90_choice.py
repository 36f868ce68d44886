# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is chosen on Hopper: tiles that are possible, and what an H200 measured as the fastest."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

import opencute as cutlass
from opencute.kernels.gemm import HopperConfig, visitors
from opencute.kernels.gemm.sm90_choice import (
    hopper_estimate,
    hopper_heuristic,
    hopper_search_space,
)
from opencute.kernels.gemm.sm90_plan import HopperPlan

pytestmark = pytest.mark.t0
SMEM = 232448
EXTENTS = (1, 9, 16, 40, 64, 100, 128, 200, 256, 1000, 4096)


def active(blocks: int) -> int:
    """Clusters that run at a time on an H200."""
    return {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 8: 15}[blocks]


def plan_of(config: HopperConfig, dtype: type, out: type, added: int = 0) -> HopperPlan:
    visitor = visitors.chain(*[visitors.add(None)] * added).plan(config.transposed)
    return HopperPlan(
        config.check(), (dtype, dtype, out), (True, True), visitor, (out,) * added,
        (False, False), active(1), SMEM, not config.transposed,
    )  # fmt: skip


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("gated", [False, True])
def test_choices_are_possible(twice: bool, gated: bool) -> None:
    dtype = cutlass.Float8E4M3FN if twice else cutlass.Float16
    for m, n, k in product(EXTENTS, EXTENTS, (64, 4096, 65536)):
        config = hopper_heuristic(
            m, n, k, 1, width=dtype.width, twice=twice, gated=gated, active=active
        )
        assert not (config.transposed and gated)
        for out in (cutlass.Float16, cutlass.Float32, cutlass.Int8):
            for added in (0, 1, 2):
                plan = plan_of(config, dtype, out, added)
                assert plan.stages >= 2 and plan.shares % min(plan.shares, plan.buffers) == 0


@pytest.mark.parametrize("shape", [(16, 4096, 4096), (100, 8192, 8192), (3072, 3072, 4096)])
def test_what_is_tried_is_possible(shape: tuple[int, int, int]) -> None:
    found = list(hopper_search_space(*shape))
    assert len(found) > 20 and len(set(found)) == len(found)


WIDE = HopperConfig((256, 176), (1, 2), group=16)


@pytest.mark.parametrize(
    ("shape", "wide"),
    [
        # Three waves that are nearly full, instead of four and a little or two and a third.
        ((4000, 4104, 4056), True), ((3072, 3840, 4096), True), ((1536, 3840, 4096), True),
        # Others fill theirs as well or better.
        ((4096, 4096, 4096), False), ((8192, 8192, 8192), False), ((2048, 2048, 8192), False),
        ((1536, 4096, 4096), False), ((3072, 3072, 4096), False), ((4096, 4096, 4095), False),
    ],
)  # fmt: skip
def test_tiles_of_176_columns_fill_waves(shape: tuple[int, int, int], wide: bool) -> None:
    lines = (16, 16) if shape[2] % 64 else (256, 256)
    config = hopper_heuristic(*shape, 1, wide=True, lines=lines, active=active)
    assert (config == WIDE) == wide
    without = hopper_heuristic(*shape, 1, lines=lines, active=active)
    assert without.tile[1] != 176 and (wide or without == config)
    assert plan_of(WIDE, cutlass.Float16, cutlass.Float16).stages == 3


def test_what_is_split_is_pushed_through_a_ring_that_is_not_too_deep() -> None:
    for shape, config in (
        ((1, 4096, 4096), HopperConfig((64, 16), split=2, beside=True)),
        ((16, 4096, 4096), HopperConfig((64, 16), split=2, beside=True)),
        ((64, 4096, 4096), HopperConfig((64, 64), split=2, beside=True, depth=8)),
        ((128, 4096, 16384), HopperConfig((128, 128), split=3, promote=256, once=2)),
    ):
        few = shape[0] < 128
        want = replace(config, push=True, transposed=few)
        assert hopper_heuristic(*shape, 1, active=active) == want


# Extents, and microseconds of an H200.
MEASURED: dict[tuple[int, int, int], list[tuple[HopperConfig, float]]] = {
    (64, 4096, 4096): [(HopperConfig((64, 64), transposed=True, split=2, beside=True), 9.3),
                       (HopperConfig((128, 64), transposed=True, split=3), 10.5)],
    (16, 4096, 4096): [(HopperConfig((64, 16), transposed=True, split=2, beside=True), 8.2),
                       (HopperConfig((128, 16), transposed=True, stream=True), 11.8)],
    (16, 8192, 8192): [(HopperConfig((64, 16), (2, 1), True, transposed=True), 35.1),
                       (HopperConfig((128, 16), transposed=True, split=2), 35.9)],
    (100, 8192, 8192): [(HopperConfig((128, 112), transposed=True, split=2), 38.5),
                        (HopperConfig((64, 112), (2, 1), True, transposed=True), 41.2)],
    (4000, 4104, 4056): [(WIDE, 193.8), (HopperConfig((128, 256), (2, 1), stream=True), 200.5)],
}  # fmt: skip


@pytest.mark.parametrize("shape", list(MEASURED))
def test_estimates_are_near_what_was_measured(shape: tuple[int, int, int]) -> None:
    for config, microseconds in MEASURED[shape]:
        few = min(shape) <= 256
        guess = hopper_estimate(config, 0.85 if few else 0.98, *shape, 1, active=active)
        assert abs(guess / microseconds - 1) < 1 / 6
