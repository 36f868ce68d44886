# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute error CODE`: what a code means, what to change, and a program that causes it.

In: a code as somebody types it. Out: text for the terminal::

    explained("1221")    # OC1221 (TypeMismatchError): a vector has no single truth value ...

The programs are those of ``tests/diagnostics/corpus``; `write_examples` keeps them in a file of
this package, so that they are there where only the package is.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
import textwrap
from pathlib import Path

from opencute.base import errors
from opencute.base.errors import ArgumentError
from opencute.tools.codes.catalogue import Entry, Example, catalogue, entry_of, examples
from opencute.tools.codes.help import meaning_of, remedy_of

__all__ = ["EXAMPLES", "explained", "is_code", "normal", "write_examples"]

EXAMPLES = Path(__file__).with_name("error_examples.json")
_WIDTH = 96
_TYPED = re.compile(r"\W*(?:OC)?[\s-]*(\d{1,4})\W*", re.IGNORECASE)


def write_examples(folder: Path) -> None:
    """Keep the wrong programs of a folder in a file of this package."""
    kept = {
        code: [[e.title, e.source, e.message] for e in several]
        for code, several in sorted(examples(folder).items())
    }
    text = json.dumps(kept, indent=0, ensure_ascii=False)
    EXAMPLES.write_text(text + "\n", encoding="utf-8")


@functools.lru_cache(maxsize=1)
def _kept() -> dict[str, list[Example]]:
    if not EXAMPLES.is_file():
        return {}
    kept = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return {code: [Example(*e) for e in several] for code, several in kept.items()}


def is_code(text: str) -> bool:
    """Whether something is meant to be a code: `OC` and digits."""
    return bool(_TYPED.fullmatch(text)) and "OC" in text.upper()


def normal(code: str) -> str:
    """The code that is meant by `1221`, `oc1221` or `[OC1221]`.

    Raises:
        ArgumentError: there is none; codes near it are named.
    """
    found = _TYPED.fullmatch(code)
    name = f"OC{int(found[1]):04d}" if found else code.upper()
    if entry_of(name) is None:
        near = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.8)
        raise ArgumentError(
            f"no error has the code {code!r}; codes look like OC1114", code="OC2920",
            hint=f"codes near it: {', '.join(sorted(near))}" if near else None,
        )  # fmt: skip
    return name


def _kind(entry: Entry) -> str:
    """What the class of an error says of all of its kind."""
    cls = getattr(errors, entry.kind, None)
    doc = (cls.__doc__ or "") if cls is not None else ""
    return doc.strip().split("\n\n")[0].replace("\n    ", " ")


def _items(texts: list[str]) -> list[str]:
    return [
        textwrap.fill(t, _WIDTH, initial_indent="  - ", subsequent_indent="    ") for t in texts
    ]


def explained(code: str) -> str:
    """The entry of a code as text.

    Args:
        code: with or without `OC`.

    Raises:
        ArgumentError: there is no such code.
    """
    entry = entry_of(normal(code))
    assert entry is not None
    head = f"{entry.code} ({entry.kind}): {meaning_of(entry)}"
    lines = [textwrap.fill(head, _WIDTH), f"  {_kind(entry)}", "", "What to do:"]
    lines += _items(remedy_of(entry))
    sections = (
        ("What it says (… is filled in):", entry.messages), ("What is expected:", entry.expected)
    )  # fmt: skip
    for title, texts in sections:
        if texts:
            lines += ["", title, *_items(texts)]
    several = _kept().get(entry.code, [])
    if not several:
        lines += ["", "Raised in: " + ", ".join(f"opencute.{m}" for m in entry.modules)]
    for example in several[:2]:
        lines += ["", f"An example: {example.title}", ""]
        lines += [textwrap.indent(example.source, "    "), "", "which says:", ""]
        lines += [textwrap.indent(example.message, "    ")]
    return "\n".join(lines) + "\n"
