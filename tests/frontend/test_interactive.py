# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions that are typed, not read from a file: their source comes from where Python keeps it."""

from __future__ import annotations

import code
import doctest
import linecache
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LanguageError

pytestmark = pytest.mark.t0

SOURCE = """\
@cute.jit
def larger(n: cutlass.Int32):
    s = {other}
    if n > 2:
        s = n
    return s
"""


def names() -> dict[str, Any]:
    return {"cute": cute, "cutlass": cutlass, "__name__": "__main__"}


def run_cell(text: str, filename: str) -> dict[str, Any]:
    """As IPython and Jupyter run a cell: each has a name of its own, under which its lines are."""
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = names()
    exec(compile(text, filename, "exec"), scope)
    return scope


@pytest.mark.parametrize("filename", ["<ipython-input-{}-0>", "/tmp/ipykernel_1/{}.py"])
def test_cells_of_a_notebook(filename: str) -> None:
    first = run_cell(SOURCE.format(other=7), filename.format(1))["larger"]
    again = run_cell(SOURCE.format(other=8), filename.format(2))["larger"]
    assert [first(1), first(3), again(1), again(3)] == [7, 3, 8, 3]


def test_an_error_in_a_cell_shows_its_line() -> None:
    text = SOURCE.format(other="cutlass.const_expr(n)")
    with pytest.raises(LanguageError) as e:
        run_cell(text, "<ipython-input-3-0>")["larger"](3)
    assert "<ipython-input-3-0>:3 in larger" in str(e.value)
    assert "s = cutlass.const_expr(n)" in str(e.value)


def test_doctests() -> None:
    lines = [*SOURCE.format(other=7).splitlines(), ""]
    typed = "\n".join((">>> " if i == 0 else "... ") + line for i, line in enumerate(lines))
    text = f"{typed}\n>>> larger(1), larger(3)\n(7, 3)\n"
    test = doctest.DocTestParser().get_doctest(text, names(), "typed", "typed.txt", 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_source_that_nobody_keeps() -> None:
    scope = names()
    exec(SOURCE.format(other=7), scope)
    with pytest.raises(LanguageError) as e:
        scope["larger"](3)
    assert e.value.code == "OC1120" and "linecache" in str(e.value)


def test_a_console_without_the_source(capsys: Any) -> None:
    """`code.InteractiveConsole` keeps no lines; Python's own prompt does from 3.13 on."""
    console = code.InteractiveConsole(names())
    for line in [*SOURCE.format(other=7).splitlines(), "", "print(larger(3))"]:
        console.push(line)
    out, err = capsys.readouterr()
    assert out.strip() == "3" or "OC1120" in err


def test_source_that_has_changed_since(tmp_path: Any) -> None:
    """What is in the file is not what runs: another function is at this place now."""
    path = tmp_path / "edited.py"
    path.write_text(SOURCE.format(other=7))
    scope = names()
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("\n" + SOURCE.format(other=8).replace("larger", "smaller"))
    linecache.checkcache(str(path))
    with pytest.raises(LanguageError) as e:
        scope["larger"](3)
    assert e.value.code == "OC1120" and "changed" in str(e.value)
