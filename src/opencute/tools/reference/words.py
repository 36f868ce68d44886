# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names by a part of them: the classes that have a method, and what has a word in it.

In: a method's name, or a word. Out: rows of a name and what its docstring says first::

    owners("get_slice")      # [("cutlass.cute.TiledCopy.get_slice", "..."), ...]
    with_word("im2col")      # names that contain it, and names whose docstrings do
"""

from __future__ import annotations

import functools
import re

from opencute.tools.reference.entries import Entry, entry, extra_members, summary
from opencute.tools.reference.names import names
from opencute.tools.reference.operators import operators

__all__ = ["Rows", "owners", "with_word"]

Rows = list[tuple[str, str]]


@functools.lru_cache(maxsize=1)
def _entries() -> tuple[Entry, ...]:
    return tuple(entry(n) for n in (*names().values(), *operators().values()))


@functools.lru_cache(maxsize=1)
def _members() -> tuple[tuple[str, str, str], ...]:
    """The full name, the own name and the docstring of every method and property."""
    out: dict[str, tuple[str, str, str]] = {}
    for e in _entries():
        several = [m for _, extra in extra_members(e.name) for m in extra]
        for m in (*e.members, *several):
            if m.kind != "member":
                full = f"{e.name.full}.{m.name}"
                out.setdefault(full, (full, m.name, m.text))
    return tuple(out.values())


def _first(text: str) -> str:
    return re.split(r"\n\s*\n|\nArgs:", text)[0].replace("\n", " ")


def owners(method: str) -> Rows:
    """The classes that have a method or property of this name, each as `Class.method`."""
    return [(full, _first(text)) for full, name, text in _members() if name == method]


def _begins(word: str, name: str) -> bool:
    """Whether a part of a name begins with a word: after an underscore, or with a capital."""
    low, at = name.lower(), -1
    while (at := low.find(word, at + 1)) >= 0:
        if at == 0 or name[at].isupper() or not name[at - 1].isalpha():
            return True
    return False


def with_word(word: str) -> tuple[Rows, Rows]:
    """Names that contain a word, methods among them, and other names whose docstrings do.

    Args:
        word: letters and digits; upper and lower case are the same.
    """
    word = word.lower()
    named = {e.name.full: summary(e) for e in _entries() if _begins(word, e.name.last)}
    for full, name, text in _members():
        if _begins(word, name):
            named[full] = _first(text)
    said = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    texts = [e for e in _entries() if said.search(e.text) and e.name.full not in named]
    return sorted(named.items()), sorted((e.name.full, summary(e)) for e in texts)
