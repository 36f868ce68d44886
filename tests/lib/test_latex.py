# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts as LaTeX: every cell is there with its offset, and what cannot be drawn is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from opencute import cute, utils
from opencute.base.errors import LayoutError
from opencute.lib.latex import latex, latex_tv

pytestmark = pytest.mark.t0
CELL = re.compile(r"\\node\[fill=(.+)\] at \((\d+),(\d+)\) \{(.+)\};")


def cells(text: str) -> dict[tuple[int, int], str]:
    return {(int(i), int(j)): what for _, i, j, what in CELL.findall(text)}


@pytest.mark.parametrize(
    "layout",
    [
        cute.make_layout((10, 10)),
        cute.make_layout((4, 8), stride=(8, 1)),
        cute.make_layout(((2, 2), (2, 4)), stride=((1, 4), (2, 8))),
        cute.make_composed_layout(
            cute.make_swizzle(2, 0, 3), 0, cute.make_layout((4, 8), stride=(8, 1))
        ),
    ],
    ids=str,
)
def test_each_coordinate_has_its_offset(layout: Any):
    found = cells(latex(layout))
    rows, cols = cute.size(layout, mode=[0]), cute.size(layout, mode=[1])
    assert found == {(i, j): str(layout((i, j))) for i in range(rows) for j in range(cols)}


def test_one_mode_is_a_row():
    assert cells(latex(cute.make_layout(4, stride=3))) == {
        (0, 0): "0", (0, 1): "3", (0, 2): "6", (0, 3): "9",
    }  # fmt: skip


def test_thread_values_cover_the_tile():
    thr = cute.make_ordered_layout((4, 32), order=(1, 0))
    val = cute.make_ordered_layout((4, 1), order=(1, 0))
    tiler, tv = cute.make_layout_tv(thr, val)
    found = cells(latex_tv(tv, tiler))
    assert len(found) == 16 * 32
    assert found[0, 0] == r"\shortstack{T0\\V0}" and found[5, 3] == r"\shortstack{T35\\V1}"


def test_the_document_is_whole(capsys: pytest.CaptureFixture[str]):
    utils.print_latex(cute.make_layout((2, 2)))
    utils.print_latex_tv(cute.make_layout((2, 2), stride=(1, 2)), (2, 2))
    text = capsys.readouterr().out
    assert text.count(r"\begin{document}") == text.count(r"\end{document}") == 2
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: latex(cute.make_layout((2, 2, 2))), "at most two modes"),
        (lambda: latex_tv(cute.make_layout(4), (2, 2)), "thread, value"),
    ],
)
def test_what_cannot_be_drawn(call: Any, message: str):
    with pytest.raises(LayoutError, match=message):
        call()
