# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Source positions, and how they are shown: the user's line with a caret below it."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

__all__ = ["Location"]


@dataclass(frozen=True)
class Location:
    """A position in the user's source.

    Args:
        file: path as Python knows it (also ``<ipython-input-...>``).
        line: line number, from 1.
        col: column offset, from 0.
        end_col: column offset just past the construct, when known.
        function: name of the enclosing function.
        caller: the call through which this code was reached, for inlined helpers.
    """

    file: str
    line: int
    col: int = 0
    end_col: int | None = None
    function: str = ""
    caller: Location | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def render(self) -> str:
        """The position as text: file and line, the source line, a caret, then the call chain."""
        where = f" in {self.function}" if self.function else ""
        out = [f"  --> {self.file}:{self.line}{where}"]
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if text.strip():
            body = text.lstrip()
            indent = len(text) - len(body)
            start = max(self.col - indent, 0)
            width = max((self.end_col or 0) - self.col, 1)
            width = min(width, max(len(body) - start, 1))
            out.append(f"   |  {body}")
            out.append(f"   |  {' ' * start}{'^' * width}")
        if self.caller is not None:
            out.append("  called from")
            out.append(self.caller.render())
        return "\n".join(out)
