# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The page about copies: its examples run, and its tables name what there is."""

from __future__ import annotations

import inspect
import re

import pytest

from meta.project import ROOT
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import CacheEvictionPriority, L2PrefetchSize, common
from opencute.dialects.ptx_memory import LOAD_CACHES, STORE_CACHES
from opencute.lang.block import access
from opencute.lang.hopper.bulk import BulkAtom
from opencute.lang.hopper.im2col import Im2colAtom
from opencute.lang.hopper.tma_copy import copy_tiles
from opencute.lang.tiled.hints import HINTS

pytestmark = pytest.mark.t1

PAGE = (ROOT / "docs" / "reference" / "copies.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one file: functions are read from their source."""
    code = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    assert code.count("assert ") >= 5
    (tmp_path / "copies_page.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with KNOBS.override(target="sim:sm_90a"):
        __import__("copies_page")


def test_all_hints_are_named() -> None:
    rows = re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)
    assert set(HINTS) <= set(rows)
    for enumeration in (CacheEvictionPriority, common.MemoryOrder, common.MemoryScope):
        assert all(re.search(rf"\b{member.name}\b", PAGE) for member in enumeration)
    assert all(m.name in PAGE for m in L2PrefetchSize if m.value)


def test_keywords_of_single_accesses() -> None:
    words = {*inspect.signature(access.load).parameters} - {"ptr", "dtype", "loc", "ip"}
    assert all(f"`{word}`" in PAGE for word in words - {"num_elements"})
    for operator in {*LOAD_CACHES, *STORE_CACHES} - {""}:
        assert f'"{operator}"' in PAGE


def test_keywords_of_the_copy_unit() -> None:
    """The table has a column for each keyword of its atoms, and no place where one has none."""
    header, _, *rows = re.findall(
        r"^\|.*", PAGE[PAGE.index("| atom | `tma_bar_ptr`") :], re.MULTILINE
    )
    columns = re.findall(r"`(\w+)`", header)
    rows = [[c.strip() for c in row.strip("|").split(" | ")] for row in rows[:7]]

    def keywords(function: object) -> set[str]:
        signature = inspect.signature(function)  # type: ignore[arg-type]
        keyword = inspect.Parameter.KEYWORD_ONLY
        names = {n for n, p in signature.parameters.items() if p.kind is keyword}
        return names - {"loc", "ip", "pred"}

    tiles, bulk = keywords(copy_tiles), keywords(BulkAtom.copy_tensors)
    assert tiles == keywords(Im2colAtom.copy_tensors) and tiles | bulk == set(columns)
    for row in rows:
        assert row[-1] in ("a whole warp", "one thread")
        own = tiles if row[-1] == "a whole warp" else bulk
        given = {name for name, cell in zip(columns, row[1:], strict=False) if cell != "–"}
        assert given <= own, row
