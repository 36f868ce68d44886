# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Docstrings become Markdown: sections, lists, code, links, and nothing by accident."""

from __future__ import annotations

import pytest

from opencute.tools.reference.prose import escaped, markdown

pytestmark = pytest.mark.t0


def nothing(name: str) -> None:
    return None


def test_sections() -> None:
    text = (
        "Ones.\n\nArgs:\n    n, m: how many,\n        in all.\n    more: others.\n\n"
        "Raises:\n    ValueError: too many.\n\nLaw: ``f(0)`` is\nnothing.\n\nAnd prose."
    )
    assert markdown(text, nothing) == [
        "Ones.", "", "Arguments:", "", "- `n`, `m`: how many,", "  in all.", "- `more`: others.",
        "", "Raises:", "", "- `ValueError`: too many.", "", "Law: `f(0)` is", "nothing.", "",
        "And prose.",
    ]  # fmt: skip


def test_code() -> None:
    text = "Write::\n\n    f(*a)\n\nor so.\n\nExample:\n    >>> f(1)\n    2"
    assert markdown(text, nothing) == [
        "Write:", "", "```python", "f(*a)", "```", "", "or so.", "", "Example:", "", "```python",
        ">>> f(1)", "2", "```",
    ]  # fmt: skip


def test_what_returns_is_a_sentence() -> None:
    assert markdown("F.\n\nReturns:\n    The sum,\n    rounded.", nothing) == [
        "F.", "", "Returns: The sum,", "rounded."
    ]  # fmt: skip


def test_plain_text_stays_plain() -> None:
    assert escaped("a * b of <T> and `a * b`", nothing) == r"a \* b of \<T> and `a * b`"


def test_links() -> None:
    def link(name: str) -> str | None:
        return "#f" if name == "f" else None

    assert escaped("see `f`, ``f`` and `g`", link) == "see [`f`](#f), `f` and `g`"
