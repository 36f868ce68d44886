# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The table of operations in the documentation is the one that the declarations give."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencute import dialects
from opencute.dialects.docs import markdown
from opencute.ir.declare import declarations

pytestmark = pytest.mark.t0
assert dialects.__all__
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "ir.md"


def test_the_page_is_fresh():
    hint = "run: python -m opencute.dialects.docs > docs/reference/ir.md"
    assert PAGE.read_text(encoding="utf-8") == markdown(), hint


def test_every_operation_has_a_row():
    rows = markdown()
    assert [n for n in declarations() if f"\n| `{n}` |" not in rows] == []
