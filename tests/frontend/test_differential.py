# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs: CPython on ints against the same source compiled and simulated.

`PYTHONPATH=src:tests python -m frontend.fuzz --minutes 15 --seed 1` runs more of them by hand.
"""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from frontend.fuzz.programs import Writer
from frontend.fuzz.running import assemble, run

GROUPS, SIZE = 4, 10


@pytest.mark.t0
@pytest.mark.parametrize("group", range(GROUPS))
def test_programs_mean_what_cpython_says(group: int, tmp_path: Path) -> None:
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(group * SIZE, (group + 1) * SIZE):
        text = Writer(seed).program()
        verdict = run(text, seed, tmp_path)
        assert not verdict.failed, f"seed {seed}: {verdict.detail}\n{text}"
        counts[verdict.kind] += 1
    assert counts["same"] >= SIZE // 2, counts  # most are accepted and run


@pytest.mark.t1
@pytest.mark.parametrize("seed", [1, 2, 21, 22])
def test_programs_assemble(seed: int, tmp_path: Path) -> None:
    assert assemble(Writer(seed).program(), seed, tmp_path).startswith(b"\x7fELF")


@pytest.mark.t0
def test_a_difference_is_found(tmp_path: Path) -> None:
    """The oracle itself: a program whose two runs differ is reported."""
    text = Writer(1).program().replace("SCALE = 3", "SCALE = 3 if hasattr(cute, 'arch') else 4")
    text = text.replace("    return (x,", "    x = SCALE\n    return (x,")
    assert run(text, 1, tmp_path).kind == "different"
