# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Licence headers, and no trace of the machine that a file was written on."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.project import ROOT, project_files
from meta.rules import path_violations, spdx_violations

pytestmark = pytest.mark.t0

HEADER = (
    "# SPDX-FileCopyrightText: 2026 The OpenCuTe authors\n# SPDX-License-Identifier: Apache-2.0\n"
)


def test_every_python_file_has_the_licence_header() -> None:
    bad = [v for p in project_files() if p.suffix in (".py", ".pyi") for v in spdx_violations(p)]
    assert not bad, "\n".join(bad)


def test_no_file_mentions_a_path_of_some_machine() -> None:
    bad = [v for p in project_files() for v in path_violations(p)]
    assert not bad, "\n".join(bad)


def test_the_rules_see_the_project() -> None:
    """A listing that came back empty would make every other rule pass."""
    names = {p.relative_to(ROOT).as_posix() for p in project_files()}
    assert {"pyproject.toml", "src/opencute/base/errors.py", "tests/meta/test_text.py"} <= names
    assert not any("__pycache__" in n or n.startswith(".git/") for n in names)


def test_files_are_found_without_git(tmp_path: Path) -> None:
    for name in ("src/opencute/a.py", "__pycache__/a.pyc", ".hidden/b.py", ".ci/run", "README.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    found = {p.relative_to(tmp_path).as_posix() for p in project_files(tmp_path)}
    assert found == {"src/opencute/a.py", ".ci/run", "README.md"}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (HEADER, True),
        (HEADER + '"""Doc."""\n', True),
        ("#!/usr/bin/env python3\n" + HEADER, True),
        ("", False),
        ('"""Doc."""\n' + HEADER, False),
        (HEADER.replace("Apache-2.0", "MIT"), False),
        (HEADER.splitlines()[0], False),
    ],
)
def test_headers(tmp_path: Path, text: str, good: bool) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)
    assert (spdx_violations(path) == []) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("see " + "/" + "home/me/x.py", False),
        ('path = "' + "/" + 'work/tool"', False),
        ("(" + "/" + "root/x)", False),
        ("C" + ":\\Users\\me", False),
        ("at docs/work/plan.md and src/root/x", True),
        ("https://example.org/home/x", True),
        ("work/s and ~/work/x, the /usr/local/cuda folder, /tmp/x", True),
        ("a / work", True),
    ],
)
def test_machine_paths(tmp_path: Path, text: str, good: bool) -> None:
    path = tmp_path / "a.md"
    path.write_text("first line\n" + text + "\n")
    found = path_violations(path)
    assert (found == []) is good
    if not good:
        assert f"{path}:2:" in found[0]


def test_files_that_are_not_text_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe/" + b"home/me\n")
    assert path_violations(path) == []
