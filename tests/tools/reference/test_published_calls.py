# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures take the calls that published kernels make.

`published_calls.tsv` has, for each name, how many positional arguments it is called with and which
keywords, as counted in public examples and documentation.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from opencute.lang.tiled.calls import HINTS
from opencute.tools.reference.names import all_names

pytestmark = pytest.mark.t1

TABLE = Path(__file__).with_name("published_calls.tsv")
ROWS = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
# A config of random whole numbers is called with the fields of GaussianInitConfig, for a tensor
# that is to be filled with Gaussian numbers: a slip of one example, which create_and_permute_...
# would refuse too (OC1610).
SLIPS = {("cutlass.torch.RandomInitConfig", word) for word in ("mean", "std", "scale")}


def called(name: str) -> Any:
    """What a name stands for, also a method of a class."""
    head, _, last = name.rpartition(".")
    if name in all_names():
        return all_names()[name].thing
    return getattr(called(head), last) if head in all_names() else _of_module(name)


def _of_module(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def refused(name: str, positional: str, keywords: str) -> list[str]:
    """The published uses of a name that its signature does not take."""
    signature = inspect.signature(called(name))
    counts = [int(n) for n in positional.split()]
    bad: list[str] = []
    for count in counts:
        try:
            signature.bind_partial(*[None] * count)
        except TypeError as e:
            bad.append(f"{name}: {count} positional: {e}")
    for word in keywords.split():
        try:
            if (name, word) not in SLIPS:
                signature.bind_partial(**{word: None})
        except TypeError as e:
            bad.append(f"{name}: {word}=: {e}")
    # What has no default is given in one way or another.
    given = {*keywords.split(), *list(signature.parameters)[: max(counts, default=0)]}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [
        p.name for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in variadic
    ]  # fmt: skip
    missing = [n for n in needed if counts and n not in given]
    return bad + ([f"{name}: published calls leave out {', '.join(missing)}"] if missing else [])


def test_the_calls_are_taken() -> None:
    assert len(ROWS) > 380
    bad = [line for row in ROWS for line in refused(*(*row, "", "")[:3])]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("positional", "keywords", "said"),
    [
        ("9", "", "9 positional: too many"),
        ("1", "modes", "modes=: got an unexpected keyword"),
        ("0", "mode", "leave out a"),
    ],
)
def test_what_is_refused_is_found(positional: str, keywords: str, said: str) -> None:
    assert said in refused("cutlass.cute.size", positional, keywords)[0]


def test_the_slip_is_one() -> None:
    with pytest.raises(TypeError, match="mean"):
        called("cutlass.torch.RandomInitConfig")(mean=0.0)


def test_keywords_that_functions_pass_on() -> None:
    """Signatures with ``**options`` take any keyword; the functions know these."""
    from opencute.lang.tiled import calls

    known = {"cutlass.cute.copy": calls._OPTIONS, "cutlass.cute.make_copy_atom": HINTS,
             "cutlass.cute.autovec_copy": HINTS}  # fmt: skip
    for name, *rest in ROWS:
        if name not in known:
            continue
        own = inspect.signature(called(name)).parameters
        assert {w for w in rest[-1].split() if w not in own} <= {*known[name]}, name
