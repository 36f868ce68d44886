# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What each error code means, read from the places that raise it.

In: the package's own sources, and optionally a folder of wrong programs with the messages that they
give (``NAME.py`` beside ``NAME.txt``). Out: one entry for each code::

    entry = catalogue()["OC1114"]
    entry.messages[0]        # "const_expr needs a value known at compile time"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import opencute
from opencute.base import errors

__all__ = ["Entry", "Example", "catalogue", "entry_of", "examples", "messages_of"]

_CODE = re.compile(r"OC\d{4}")
_TEXTS = ("expected", "found", "hint")


@dataclass
class Entry:
    """What is known about one code.

    Args:
        code: such as ``"OC1114"``.
        kind: the exception's class; empty where it could not be read.
        messages: what it says, by place that raises it, without repetitions.
        expected: what would have been right.
        found: what is shown of what was there.
        hints: what to change.
        modules: where it is raised, after ``opencute.``.
    """

    code: str
    kind: str = ""
    messages: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Example:
    """A wrong program and what it says.

    Args:
        title: one sentence: the rule that is broken.
        source: the program, without its docstring.
        message: the error as printed.
    """

    title: str
    source: str
    message: str


def _text(node: ast.expr | None) -> str:
    """The text that an expression gives, with … for what is only known at run time."""
    if isinstance(node, ast.Constant):
        return str(node.value) if node.value is not None else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(v) if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…" if node is not None else ""


def _choices(node: ast.expr) -> list[str]:
    """The texts that a choice of several may give; of anything else its one text."""
    if isinstance(node, ast.IfExp):
        return [*_choices(node.body), *_choices(node.orelse)]
    return [_text(node)]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _code_of(call: ast.Call) -> str:
    values = [*call.args, *(k.value for k in call.keywords if k.arg in ("code", None))]
    for v in values:
        if isinstance(v, ast.Constant) and isinstance(v.value, str) and _CODE.fullmatch(v.value):
            return v.value
    return ""


def _kinds() -> dict[str, str]:
    """Exception classes by the beginning of the codes that are theirs."""
    kinds: dict[str, str] = {}
    for name in errors.__all__:
        code = getattr(errors, name).default_code
        for prefix in (code[:4], code[:3]):
            kinds.setdefault(prefix, name)
    return kinds


def _calls(tree: ast.AST, texts: dict[str, ast.expr]) -> Iterator[tuple[str, ast.Call]]:
    """Calls with a code; in their arguments the variables of `texts` are what was assigned."""
    if isinstance(tree, ast.FunctionDef):
        assigned = (n for n in ast.walk(tree) if isinstance(n, ast.Assign))
        texts = {t.id: n.value for n in assigned for t in n.targets if isinstance(t, ast.Name)}
    if isinstance(tree, ast.Call):
        code = _code_of(tree)
        if code:
            args = [texts.get(a.id, a) if isinstance(a, ast.Name) else a for a in tree.args]
            yield code, ast.Call(tree.func, args, tree.keywords)
    for child in ast.iter_child_nodes(tree):
        yield from _calls(child, texts)


def _note(entry: Entry, call: ast.Call, module: str) -> None:
    name = _name(call.func)
    if name.endswith("Error"):
        entry.kind = name
    texts = [_text(a) for a in call.args if isinstance(a, (ast.Constant, ast.JoinedStr, ast.BinOp))]
    texts = [t for t in texts if t and not _CODE.fullmatch(t) and t.strip("…")]
    given = {k.arg: _choices(k.value) for k in call.keywords if k.arg in _TEXTS}
    rows = (
        (entry.messages, texts[:1]),
        (entry.expected, given.get("expected", [])),
        (entry.found, given.get("found", [])),
        (entry.hints, given.get("hint", texts[1:2] if name == "Piece" else [])),
        (entry.modules, [module]),
    )
    for row, choices in rows:
        row += [t for t in dict.fromkeys(choices) if t and t != "…" and t not in row]


def messages_of(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Each code that a file gives, with the messages that go with it; a class's own code too."""
    for code, call in _calls(tree, {}):
        entry = Entry(code)
        _note(entry, call, "")
        yield code, entry.messages
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if (
                    isinstance(item, ast.Assign)
                    and _name(item.targets[0]) == "default_code"
                    and isinstance(item.value, ast.Constant)
                ):
                    yield str(item.value.value), [ast.get_docstring(node) or node.name]


def _read(part: str) -> dict[str, Entry]:
    """The codes of the files that have a text somewhere; to parse a file takes far longer."""
    root = Path(opencute.__file__).parent
    out: dict[str, Entry] = {}
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if part not in text:
            continue
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        for code, call in _calls(ast.parse(text), {}):
            _note(out.setdefault(code, Entry(code)), call, module)
    kinds = _kinds()
    for entry in out.values():
        entry.kind = entry.kind or kinds.get(entry.code[:4]) or kinds.get(entry.code[:3], "")
    return dict(sorted(out.items()))


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Entry]:
    """All codes that the package raises, in order."""
    return _read("OC")


@lru_cache(maxsize=8)
def entry_of(code: str) -> Entry | None:
    """What the catalogue says of one code, without a look at files that do not have it."""
    return _read(code).get(code) if _CODE.fullmatch(code) else None


def examples(folder: Path) -> dict[str, list[Example]]:
    """Wrong programs of a folder, by the code of their message."""
    out: dict[str, list[Example]] = {}
    for file in sorted(folder.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        title = ast.get_docstring(ast.parse(text)) or file.stem
        source = re.sub(r'\A(#[^\n]*\n)*"""(?s:.*?)"""\n+', "", text).rstrip()
        message = file.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
        found = _CODE.search(message)
        if found:
            out.setdefault(found[0], []).append(Example(title, source, message))
    return out
