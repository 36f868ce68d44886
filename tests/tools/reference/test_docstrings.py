# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every public name says what it is, names its parameters rightly, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import cutlass
from cutlass import cute
from opencute.base.knobs import KNOBS
from opencute.tools.reference.entries import Entry, entry, extra_members
from opencute.tools.reference.names import names
from opencute.tools.reference.prose import sections

pytestmark = pytest.mark.t1

ENTRIES = {full: entry(name) for full, name in names().items()}
_ITEM = re.compile(r"\s{4}(\**\w+(?:, \**\w+)*): ")


def described(e: Entry) -> Iterator[tuple[str, str, str]]:
    """Full name, call and docstring of an entry and of its members."""
    yield e.name.full, e.call, e.text
    extra = [m for _, several in extra_members(e.name) for m in several]
    for m in (*e.members, *extra):
        if m.kind != "member":
            yield f"{e.name.full}.{m.name}", m.call if m.kind == "method" else "", m.text


ALL = [each for e in ENTRIES.values() for each in described(e)]


def parameters(call: str) -> list[str]:
    """The parameters of a call, as it is shown."""
    _, _, inside = call.partition("(")
    plain = inside.partition(") ->")[0]
    while "[" in plain:
        plain = re.sub(r"\[[^\[\]]*\]", "", plain)
    words = (p.strip().lstrip("*") for p in re.sub(r"=\s*\([^)]*\)", "=", plain).split(","))
    found = [m[0] for w in words if (m := re.match(r"[A-Za-z_]\w*", w))]
    return found


def bases(e: Entry) -> Iterator[str]:
    """The public classes that a class derives from: they say what it is made of."""
    for base in e.also:
        yield base
        yield from bases(ENTRIES[base])


def test_every_name_has_a_docstring() -> None:
    constants = {full for full, e in ENTRIES.items() if e.kind == "constant"}
    assert constants == {"cutlass.cute.arch.FULL_MASK", "cutlass.cute.arch.WARP_SIZE"}
    assert not [full for full, _, text in ALL if not text and full not in constants]


def test_arguments_are_parameters() -> None:
    """A docstring names no parameter that there is not."""
    wrong: list[str] = []
    for full, call, text in ALL:
        known = set(parameters(call))
        for title, lines in sections(text):
            for line in lines if title == "Args" and call else ():
                found = _ITEM.match(line)
                named = [n.strip().lstrip("*") for n in found[1].split(",")] if found else []
                wrong += [f"{full}: {n}" for n in named if n not in known]
    assert not wrong, "\n".join(wrong)


def test_parameters_are_spoken_of() -> None:
    """Each parameter of a function is named in its docstring."""
    silent: list[str] = []
    for full, call, text in ALL:
        if full in ENTRIES:
            if ENTRIES[full].kind in ("enum", "constant"):
                continue
            text += "".join(ENTRIES[base].text for base in bases(ENTRIES[full]))
        missing = [p for p in parameters(call) if not re.search(rf"\b{re.escape(p)}\b", text)]
        silent += [f"{full}: {', '.join(missing)}"] if missing else []
    assert not silent, "\n".join(silent)


def test_what_is_not_said_is_found() -> None:
    assert parameters("f(a: int = 3, *rest, b=(1, 2), c: dict[str, int] = None) -> int") == [
        "a", "rest", "b", "c"
    ]  # fmt: skip


EXAMPLES = [(full, text) for full, _, text in ALL if ">>>" in text]


@pytest.mark.parametrize(("full", "text"), EXAMPLES, ids=[full for full, _ in EXAMPLES])
def test_the_example_runs(full: str, text: str) -> None:
    scope: dict[str, Any] = {"cute": cute, "cutlass": cutlass}
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), scope, full, None, None)
    said: list[str] = []
    with KNOBS.override(target="sim:sm_90a"):
        failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert tried and not failed, "".join(said)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 60
