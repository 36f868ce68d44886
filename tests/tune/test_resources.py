# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What configurations take, how many blocks fit, and what a roofline says."""

from __future__ import annotations

import pytest

from opencute.arch.target import target
from opencute.base.errors import ArgumentError
from opencute.tune import Resources, Roofline
from opencute.tune.resources import resident_blocks

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("arch", "registers", "smem", "threads", "blocks"),
    [
        ("sm_90a", 242, 0, 256, 1),  # 248 * 256 = 63,488 of 65,536 registers
        ("sm_90a", 128, 0, 256, 2),
        ("sm_90a", 129, 0, 256, 1),
        ("sm_90a", 32, 0, 1024, 2),
        ("sm_90a", 16, 0, 32, 32),
        ("sm_90a", 16, 100 * 1024, 32, 2),
        ("sm_80", 16, 100 * 1024, 32, 1),
        ("sm_90a", 255, 0, 1024, 0),  # too many registers for a single block
        ("sm_90a", 16, 228 * 1024, 32, 0),
    ],
)
def test_blocks(arch: str, registers: int, smem: int, threads: int, blocks: int) -> None:
    assert resident_blocks(target(arch), registers, smem, threads) == blocks


def test_rooflines() -> None:
    line = Roofline(peak=100.0, bandwidth=10.0, processors=10)
    assert line.floor(1000, 10) == 10.0 and line.floor(1000, 1000) == 100.0
    taken = Resources(32, 0, grid=11, blocks=1)
    # The eleventh block waits for a whole turn of the ten processors.
    assert line.floor(1100, 0, taken) == pytest.approx(20.0)
    assert line.floor(1000, 0, Resources(32, 0, grid=10, blocks=1)) == 10.0
    assert line.floor(1100, 0, Resources(32, 0, grid=11)) == 11.0
    # Two to a processor: eleven of twenty run at once, but one processor has two of them.
    assert line.floor(1100, 0, Resources(32, 0, grid=11, blocks=2)) == pytest.approx(20 / 1.1 * 1.1)
    with pytest.raises(ArgumentError, match="OC2404"):
        Roofline(0, 1)


def test_words() -> None:
    assert Resources(12, 0).text() == "12 registers"
    assert Resources(255, 8, blocks=1).text() == "255 registers, 8 bytes spilled, 1 blocks resident"
