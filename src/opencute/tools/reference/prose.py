# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Docstrings as Markdown.

In: a docstring with sections such as ``Args:`` and ``Raises:``. Out: paragraphs, lists and blocks
of code; names in backticks become links where somebody says what they are::

    markdown("Ones.\\n\\nArgs:\\n    n: how many.", lambda name: None)
    # ["Ones.", "", "Arguments:", "", "- `n`: how many."]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = ["Link", "escaped", "markdown", "sections"]

Link = Callable[[str], str | None]

_TITLES = {
    "Args": "Arguments:", "Returns": "Returns:", "Yields": "Yields:", "Raises": "Raises:",
    "Example": "Example:", "Law": "Law:", "Source": "Source:",
}  # fmt: skip
_HEAD = re.compile(rf"({'|'.join(_TITLES)}):(?:\s+(\S.*))?")
_ITEM = re.compile(r"(\**\w+(?:, \**\w+)*): (.*)")
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a docstring and their lines, the part before all of them under ""."""
    title, lines = "", list[str]()
    for line in text.splitlines():
        found = _HEAD.fullmatch(line)
        if found:
            yield title, lines
            title, lines = found[1], [found[2]] if found[2] else []
        elif title in ("Law", "Source") and not line:  # one paragraph; prose may follow
            yield title, lines
            title, lines = "", []
        else:
            lines.append(line)
    yield title, lines


def escaped(text: str, link: Link) -> str:
    """Prose with what Markdown would read as markup made plain, and links of names."""
    out: list[str] = []
    for i, piece in enumerate(_CODE.split(text)):
        if i % 2 == 0:
            out.append(re.sub(r"([*<\[\]])", r"\\\1", piece))
            continue
        inside = piece.strip("`")
        target = link(inside) if piece.count("`") == 2 else None
        out.append(f"[`{inside}`]({target})" if target else f"`{inside}`")
    return "".join(out)


def _dedented(lines: list[str]) -> list[str]:
    filled = [len(ln) - len(ln.lstrip()) for ln in lines if ln.strip()]
    cut = min(filled, default=0)
    return [ln[cut:] for ln in lines]


def _paragraphs(lines: list[str], link: Link) -> list[str]:
    """Prose; what is indented after ``::`` and what begins with ``>>>`` is code."""
    out: list[str] = []
    code = False
    prose: list[str] = []

    def flush() -> None:
        if prose:
            out.extend(escaped("\n".join(prose), link).splitlines())
            prose.clear()

    for line in lines:
        starts = line.startswith(">>>") or (
            line.startswith("    ") and bool(out or prose) and _ends_open(prose or out)
        )
        if not code and starts:
            flush()
            while out and not out[-1]:
                out.pop()
            if out and out[-1].endswith("::"):
                out[-1] = out[-1][:-1]
            out.extend(["", "```python"] if out else ["```python"])
            code = True
        elif code and not line.startswith(("    ", ">>>", "...")) and not line.strip():
            out.append("```")
            code = False
        if code:
            out.append(line.removeprefix("    "))
        elif line.strip():
            prose.append(line)
        else:
            flush()
            out.append("")
    flush()
    if code:
        out.append("```")
    return out


def _ends_open(lines: list[str]) -> bool:
    last = next((ln for ln in reversed(lines) if ln.strip()), "")
    return last.endswith("::")


def _items(lines: list[str], link: Link) -> list[str]:
    """A list of names and what is said of each; plain prose where no names stand."""
    lines = [ln for ln in _dedented(lines) if ln.strip()]
    if not lines or not _ITEM.fullmatch(lines[0]):
        return _paragraphs(lines, link)
    out: list[str] = []
    for line in lines:
        found = None if line.startswith(" ") else _ITEM.fullmatch(line)
        if found:
            names = ", ".join(f"`{n.strip()}`" for n in found[1].split(","))
            out.append(f"- {names}: {escaped(found[2], link)}")
        else:
            out.append("  " + escaped(line.strip(), link))
    return out


def markdown(text: str, link: Link) -> list[str]:
    """A docstring as lines of Markdown."""
    out: list[str] = []
    for title, lines in sections(text):
        while lines and not lines[-1].strip():
            lines.pop()
        while lines and not lines[0].strip():
            lines.pop(0)
        if not lines:
            continue
        if out:
            out.append("")
        if title in ("Law", "Source"):
            first, *rest = escaped("\n".join(ln.strip() for ln in lines), link).splitlines()
            out += [f"{_TITLES[title]} {first}", *rest]
        elif title in ("Args", "Raises", "Returns", "Yields"):
            body = _items(lines, link)
            listed = body[0].startswith("- ")
            out += [_TITLES[title], "", *body] if listed else [f"{_TITLES[title]} {body[0]}"]
            out += [] if listed else body[1:]
        elif title == "Example":
            code = _dedented(lines)
            out += [_TITLES[title], "", "```python", *code, "```"]
        else:
            out += _paragraphs(lines, link)
    return out
