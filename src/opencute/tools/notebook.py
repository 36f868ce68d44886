# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Run the code cells of a notebook in order, in one namespace.

In: a path to an `.ipynb` file and a namespace. Out: what the cells print; the last expression of a
cell is shown as a notebook shows it. Each cell's text is registered with `linecache`, so
tracebacks and `inspect.getsource` find it::

    run_notebook(Path("demo.ipynb"), {"__name__": "__main__"})

Lines that are no Python (`%magic`, `!command`, `name?`) are skipped with a note on standard error.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["NotebookError", "code_cells", "run_notebook"]

# Cell magics whose body is Python all the same.
_PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")
_MAGIC = re.compile(r"^(\s*)(?:[%!]|\w+(?:\.\w+)*\?{1,2}\s*$|\?{1,2}\w)")
_ASSIGNED = re.compile(r"^(\s*)[\w, ]+=\s*[%!]")


class NotebookError(Exception):
    """The file is no notebook that can be run."""


def code_cells(path: Path) -> list[str]:
    """The sources of the code cells.

    Raises:
        NotebookError: the file is not a notebook.
    """
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        cells = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        out: list[str] = []
        for cell in cells:
            if cell["cell_type"] == "code":
                source = cell["source"] if "source" in cell else cell["input"]
                out.append(source if isinstance(source, str) else "".join(source))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise NotebookError(f"{path} is not a notebook: {error!r}") from error
    return out


def without_magics(source: str) -> tuple[str, list[str]]:
    """Python of the same number of lines, and the lines that were taken out."""
    first = source.lstrip("\n").split("\n", 1)[0].strip()
    if first.startswith("%%"):
        if first[2:].split(" ", maxsplit=1)[0] not in _PYTHON_MAGICS:
            return "", [first]
        at = source.index("%%")
        source = source[:at] + "#" + source[at + 1 :]
        python, rest = without_magics(source)
        return python, [first, *rest]
    if _compiles(source):
        return source, []  # a line that begins with % may well be the rest of an expression
    lines: list[str] = []
    ignored: list[str] = []
    for line in source.split("\n"):
        found = _MAGIC.match(line) or _ASSIGNED.match(line)
        if found:
            ignored.append(line.strip())
            line = f"{found.group(1)}pass"
        lines.append(line)
    return "\n".join(lines), ignored


def _compiles(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _execute(source: str, filename: str, namespace: dict[str, Any]) -> None:
    tree = ast.parse(source, filename)
    last: ast.Expression | None = None
    shown = not source.rstrip().endswith(";")
    if tree.body and isinstance(tree.body[-1], ast.Expr) and shown:
        expression = tree.body.pop()
        assert isinstance(expression, ast.Expr)
        last = ast.Expression(expression.value)
    exec(compile(tree, filename, "exec"), namespace)
    if last is not None:
        value = eval(compile(last, filename, "eval"), namespace)
        if value is not None:
            print(repr(value))


def run_notebook(path: Path, namespace: dict[str, Any]) -> None:
    """Run all code cells of a notebook; an exception of a cell ends it.

    Args:
        path: the notebook.
        namespace: globals of all cells; gets a `display` that prints.
    """
    namespace.setdefault("display", print)
    for number, cell in enumerate(code_cells(path), start=1):
        filename = f"<{path.name}[{number}]>"
        source, ignored = without_magics(cell)
        for line in ignored:
            print(f"opencute: cell {number}: ignored {line!r}", file=sys.stderr)
        if not source.endswith("\n"):
            source += "\n"
        lines = source.splitlines(keepends=True)
        # No modification time: linecache then never drops the entry.
        linecache.cache[filename] = (len(source), None, lines, filename)
        _execute(source, filename, namespace)
