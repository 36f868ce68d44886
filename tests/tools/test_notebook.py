# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cells, magics, shown values and sources."""

from __future__ import annotations

import inspect
import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from opencute.tools.notebook import NotebookError, code_cells, run_notebook, without_magics

pytestmark = pytest.mark.t0


def notebook(tmp_path: Path, *cells: str) -> Path:
    path = tmp_path / "demo.ipynb"
    content = {
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": ["# %title"]},
            *({"cell_type": "code", "source": c.splitlines(keepends=True)} for c in cells),
        ],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def execute(tmp_path: Path, *cells: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run_notebook(notebook(tmp_path, *cells), namespace)
    return namespace


def test_cells_share_a_namespace_and_show_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(tmp_path, "a = 20", "a + 1", "a;", "None", "display(a)", "# only a comment", "")
    assert capsys.readouterr().out == "21\n20\n"


def test_sources_of_functions_can_be_read(tmp_path: Path) -> None:
    first, second = "x = 1\ndef f():\n    return 1", "def g():\n    return 2\n"
    namespace = execute(tmp_path, first, second)
    assert inspect.getsource(namespace["f"]) == "def f():\n    return 1\n"
    assert inspect.getsource(namespace["g"]) == second


def test_tracebacks_show_the_cell(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        execute(tmp_path, "x = 1", "\n1 / 0")
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.line) == ("<demo.ipynb[2]>", 2, "1 / 0")


@pytest.mark.parametrize(
    ("source", "python", "ignored"),
    [
        ("%pip install x\na = 1", "pass\na = 1", ["%pip install x"]),
        ("!ls", "pass", ["!ls"]),
        ("if True:\n    %matplotlib inline", "if True:\n    pass", ["%matplotlib inline"]),
        ("files = !ls\nb = 1", "pass\nb = 1", ["files = !ls"]),
        ("print?", "pass", ["print?"]),
        ("%%time\na = 1", "#%time\na = 1", ["%%time"]),
        ("%%bash\nls -l", "", ["%%bash"]),
        ("%%time\n%run x\na = 1", "#%time\npass\na = 1", ["%%time", "%run x"]),
        ("x = (5\n% 3)", "x = (5\n% 3)", []),
        ("t = '''\n%magic\n'''", "t = '''\n%magic\n'''", []),
    ],
)
def test_magics(source: str, python: str, ignored: list[str]) -> None:
    found, lines = without_magics(source)
    assert (found, lines) == (python, ignored)
    assert not python or found.count("\n") == source.count("\n")


def test_magics_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(tmp_path, "%matplotlib inline\nprint('ran')")
    captured = capsys.readouterr()
    assert captured.out == "ran\n"
    assert "cell 1: ignored '%matplotlib inline'" in captured.err


def test_real_syntax_errors_stay(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        execute(tmp_path, "%magic\ndef (")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [{}]}', "no json"])
def test_what_is_no_notebook(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotebookError):
        code_cells(path)
