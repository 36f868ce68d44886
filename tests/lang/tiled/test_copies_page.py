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
