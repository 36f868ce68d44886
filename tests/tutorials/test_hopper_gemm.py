# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the Hopper tutorial compute products, and its page shows what is said when a line is
missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import DeadlockError, OpenCuTeError, RaceError, SimulationError
from opencute.base.knobs import KNOBS
from tutorials.steps import FOLDER, PAGE, STEPS, broken, load, operands

pytestmark = pytest.mark.t0

# The line that is left out (or what it becomes), the error.
FAULTS: dict[int, tuple[str, str, type[OpenCuTeError]]] = {
    1: (
        '        cute.arch.fence_proxy("async.shared", space="cta")  # wgmma reads through another'
        " proxy\n",
        "", RaceError,
    ),
    2: (
        "        cute.arch.mbarrier_wait(full, k % 2)  # phases are told apart by their parity\n",
        "", RaceError,
    ),
    3: ("        full.release()\n", "", DeadlockError),
    4: (
        "        warpgroup.wait_group(0)\n        buffer.release()\n",
        "        buffer.release()\n        warpgroup.wait_group(0)\n", RaceError,
    ),
    5: (
        "            producer.tail()  # no block leaves while others still arrive at its"
        " barriers\n",
        "", RaceError,
    ),
    6: ("        warpgroup.fence()\n", "", SimulationError),
    7: (
        "        cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last tile has left sC\n",
        "        pass\n", RaceError,
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
    """What `opencute check` calls: the kernel file's function with its own inputs."""
    old, new, error = FAULTS[step]
    module = load(broken(step, old, new, tmp_path), monkeypatch)
    with (
        KNOBS.override(target="sim:sm_90a", sim_check=True),
        pytest.raises(OpenCuTeError) as raised,
    ):
        module.kernel_fn(*module.get_inputs())
    assert isinstance(raised.value, error)
    assert said(raised.value, tmp_path) in PAGE.read_text(encoding="utf-8")


def test_a_tma_copy_of_one_thread_is_told_that_it_elects(monkeypatch: Any, tmp_path: Path) -> None:
    old = """        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, tile_bytes)
"""
    new = """        if tidx == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(full, tile_bytes)
"""
    module = load(broken(2, old, new, tmp_path), monkeypatch)
    with KNOBS.override(target="sim:sm_90a", sim_check=True), pytest.raises(DeadlockError) as e:
        module.kernel_fn(*module.get_inputs())
    text = str(e.value)
    assert "ptx.elect_sync" in text and "and 3 more blocks alike" in text
    assert "block (1, 0, 0)" not in text  # what is alike is said once
    assert e.value.hint is not None and "the whole warp has to come there" in e.value.hint


def fetched(step: int, tile_m: int, tile_n: int, m: int, n: int, k: int) -> int:
    """Bytes that the blocks fetch; from step 5 on a tile of B serves two blocks."""
    tiles = (m // tile_m) * (n // tile_n)
    if step >= 5:
        return tiles // 2 * (2 * tile_m + tile_n) * k * 2
    return tiles * (tile_m + tile_n) * k * 2


def test_what_is_counted_on_the_page() -> None:
    m = n = k = 8192
    page = PAGE.read_text(encoding="utf-8").replace("\n", " ")
    operations, once = 2 * m * n * k, 2 * (m * k + n * k + m * n)
    assert f"{operations / 1e12:.2f} · 10¹² operations" in page
    assert (
        f"800 TFLOP/s of a product of random numbers on an H200 take {operations / 8e8:.0f} µs"
        in page
    )
    moved = re.search(r"(\d+\.\d+) GB of matrices moved once, (\d+) µs", page)
    assert moved is not None and moved[1] == f"{once / 1e9:.2f}"
    assert 4.0e12 < once / (int(moved[2]) * 1e-6) < 4.8e12  # what the memory of an H200 gives


def test_the_table_of_the_page() -> None:
    """What is fetched is counted; what was measured agrees with itself."""
    m = n = k = 8192
    page = PAGE.read_text(encoding="utf-8")
    torch = {7: int(found[1])} if (found := re.search(r"step 7, (\d+) µs", page)) else {}
    usual = re.search(r"`torch.matmul` took (\d+) µs", page)
    assert torch and usual is not None
    rows = re.findall(r"^\| (\d) [^|]*\|(.*)\|$", page, re.MULTILINE)
    assert [int(step) for step, _ in rows] == list(STEPS)
    for name, row in rows:
        step, cells = int(name), [cell.strip() for cell in row.split("|")]
        for tile_n, (moved, micros, rate, ratio) in zip(
            (128, 256), (cells[:4], cells[4:]), strict=True
        ):
            assert moved == f"{fetched(step, 128, tile_n, m, n, k) / 1e9:.1f} GB"
            assert abs(float(rate) - 2 * m * n * k / int(micros) / 1e6) <= 1
            assert abs(float(ratio) - int(micros) / torch.get(step, int(usual[1]))) < 0.01
