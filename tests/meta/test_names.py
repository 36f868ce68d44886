# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every module says which names are public."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.project import sources
from meta.rules import all_violations

pytestmark = pytest.mark.t0


def test_every_module_lists_its_public_names_sorted() -> None:
    bad = [v for p in sources() for v in all_violations(p)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def f(): ...", "no __all__, but it defines f"),
        ("X = 1", "no __all__, but it defines X"),
        ("X: int = 1", "no __all__, but it defines X"),
        ("if True:\n    class C: ...", "no __all__, but it defines C"),
        ("def f(): ...\ndef g(): ...\n__all__ = ['g', 'f']", "not sorted"),
        ("def f(): ...\n__all__ = ['f', 'f']", "not sorted"),
        ("class C: ...\nX = 1\n__all__ = ['C', 'X']\nYY = 2\n__all__ = ['C', 'YY']", "not sorted"),
        ("def f(): ...\n__all__ = ['f', 'g']", "'g', which is not bound"),
        ("def f(): ...\n__all__ = [n for n in dir()]", "not a literal"),
        ("A = B = 1\n__all__ = ['A'] + ['B']", "not a literal"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    found = all_violations(path)
    assert len(found) == 1 and complaint in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"""Only a docstring."""\nfrom __future__ import annotations\nimport os\nfrom a import b',
        "_private = 1\ndef _f(): ...",
        "from a import b\n__all__ = ['b']",
        "X8 = X16 = 1\nclass C: ...\ndef f(): ...\n__all__ = ['X8', 'X16', 'C', 'f']",
        "def __getattr__(name): ...\n__all__ = ['lazy']",
        "__all__: list[str] = ['f']\ndef f(): ...",
        "try:\n    import a as b\nexcept ImportError:\n    b = None\n__all__ = ('b',)",
    ],
)
def test_what_is_right_passes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert all_violations(path) == []
