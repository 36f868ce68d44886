# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of swizzles and thread-value layouts are right (NVIDIA/cutlass 2634 and 2376)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencute.layout import Layout
from opencute.tools.layout_pages import SWIZZLES, chunk_table, markdown, tv_table

pytestmark = pytest.mark.t0

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "layouts.md"

# PTX ISA, "Swizzling modes": the pattern repeats after so many lines, and a chunk's number is
# combined with that of its line within the pattern.
PATTERN = {"SWIZZLE_128B": 8, "SWIZZLE_64B": 4, "SWIZZLE_32B": 2}


@pytest.mark.parametrize("name", SWIZZLES)
def test_2634_swizzles_are_those_of_the_ptx_isa(name: str) -> None:
    want = [[place ^ (line % PATTERN[name]) for place in range(8)] for line in range(16)]
    assert chunk_table(SWIZZLES[name], 16) == want


def test_2634_a_wrong_swizzle_gives_another_table() -> None:
    assert chunk_table(SWIZZLES["SWIZZLE_64B"]) != chunk_table(SWIZZLES["SWIZZLE_128B"])


@pytest.mark.parametrize(
    ("thr", "val"),
    [
        (Layout((2, 4), (4, 1)), Layout((2, 2), (2, 1))),
        (Layout((4, 2), (1, 4)), Layout((1, 4), (4, 1))),
        (Layout((2, 2)), Layout((3, 1))),
    ],
)
def test_2376_a_thread_value_layout_is_what_its_parts_say(thr: Any, val: Any) -> None:
    """The tile is the threads' arrangement, each element of it a block of values."""
    table = tv_table(thr, val)
    (tm, tn), (vm, vn) = thr.shape, val.shape
    assert (len(table), len(table[0])) == (tm * vm, tn * vn)
    for i, row in enumerate(table):
        for j, cell in enumerate(row):
            thread, value = thr((i // vm, j // vn)), val((i % vm, j % vn))
            assert cell == f"T{thread} V{value}"


def test_the_page_is_fresh() -> None:
    hint = "run python -m opencute.tools.layout_pages > docs/reference/layouts.md"
    assert PAGE.read_text(encoding="utf-8") == markdown(), hint
