# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the Hopper tutorial compute products, and its page shows what is said when a line is
missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, OpenCuTeError, RaceError, SimulationError
from opencute.base.knobs import KNOBS
from tutorials.steps import FOLDER, PAGE, STEPS, broken, load, operands

pytestmark = pytest.mark.t0

# The line that is left out (or what it becomes), the extents, the error.
FAULTS: dict[int, tuple[str, str, tuple[int, int, int], type[OpenCuTeError]]] = {
    1: (
        '        cute.arch.fence_proxy("async.shared", space="cta")  # wgmma reads through another'
        " proxy\n",
        "", (64, 64, 64), RaceError,
    ),
    2: (
        "        cute.arch.mbarrier_wait(full, k % 2)  # phases are told apart by their parity\n",
        "", (64, 64, 64), RaceError,
    ),
    3: ("        full.release()\n", "", (64, 64, 192), DeadlockError),
    4: (
        "        warpgroup.wait_group(0)\n        buffer.release()\n",
        "        buffer.release()\n        warpgroup.wait_group(0)\n", (64, 64, 192), RaceError,
    ),
    5: (
        "            producer.tail()  # no block leaves while others still arrive at its"
        " barriers\n",
        "", (128, 64, 192), RaceError,
    ),
    6: ("        warpgroup.fence()\n", "", (128, 64, 64), SimulationError),
    7: (
        "        cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last tile has left sC\n",
        "        pass\n", (128, 128, 64), RaceError,
    ),
}  # fmt: skip


def said(error: OpenCuTeError, folder: Path) -> str:
    """The message up to the lines of source, with names of files alone."""
    text = str(error).replace(f"{folder}/", "")
    return text.split("\n  -->")[0]


@pytest.mark.parametrize("step", STEPS)
def test_product(step: int, monkeypatch: Any) -> None:
    # Two blocks at least; where blocks take tile after tile, two tiles for each.
    size = (128, 64, 128) if step < 6 else (128, 128, 192)
    args, got, want = operands(step, *size)
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        load(FOLDER / f"step{step}.py", monkeypatch).gemm(*args)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_left_out_is_reported_as_the_page_says(
    step: int, monkeypatch: Any, tmp_path: Path
) -> None:
    old, new, size, error = FAULTS[step]
    module = load(broken(step, old, new, tmp_path), monkeypatch)
    args, _, _ = operands(step, *size)
    with (
        KNOBS.override(target="sim:sm_90a", sim_check=True),
        pytest.raises(OpenCuTeError) as raised,
    ):
        module.gemm(*args)
    assert isinstance(raised.value, error)
    assert said(raised.value, tmp_path) in PAGE.read_text(encoding="utf-8")


def test_floors_of_the_page() -> None:
    m = n = k = 8192
    tile_m = tile_n = 128
    blocks = (m // tile_m) * (n // tile_n)
    fetched = blocks * (tile_m + tile_n) * k * 2
    with_pairs = blocks // 2 * (2 * tile_m + tile_n) * k * 2
    once = 2 * (m * k + n * k + m * n)
    page = PAGE.read_text(encoding="utf-8")
    rows = {
        int(line[2]): line for line in page.splitlines() if line[:2] == "| " and line[2].isdigit()
    }
    assert set(rows) == set(STEPS)
    for step, row in rows.items():
        assert f"{2 * m * n * k / 1e12:.2f}" in row and f"{once / 1e9:.2f}" in row
        assert f" {(with_pairs if step >= 5 else fetched) / 1e9:.1f} " in row
