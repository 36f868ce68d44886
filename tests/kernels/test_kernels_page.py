# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The page about the operators: its examples run, its signatures are those of the functions."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import opencute.kernels
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t1

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "kernels.md"
START, *SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")
IMPORT = re.compile(r"`from opencute\.kernels\.([\w.]+) import ([\w, ]+)`")


def imported(section: str) -> tuple[str, list[str]]:
    found = IMPORT.search(section)
    assert found is not None
    return found[1], found[2].split(", ")


def code(text: str) -> str:
    (found,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return found


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: imported(s)[0])
def test_the_example_runs(section: str) -> None:
    module, names = imported(section)
    scope: dict[str, Any] = {}
    exec(f"from opencute.kernels.{module} import {', '.join(names)}\n{code(START)}", scope)
    text = code(section)
    assert "assert " in text
    with KNOBS.override(target="sim:sm_90a"):
        exec(text, scope)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: imported(s)[0])
def test_the_signatures(section: str) -> None:
    name, names = imported(section)
    module = importlib.import_module(f"opencute.kernels.{name}")
    want = []
    for function in names:
        plain = inspect.signature(getattr(module, function))
        bare = [p.replace(annotation=p.empty) for p in plain.parameters.values()]
        want.append(f"{function}{plain.replace(parameters=bare, return_annotation=plain.empty)}")
    assert re.findall(r"^- `(.*)`$", section, re.MULTILINE) == want


def test_every_operator_is_on_the_page() -> None:
    listed = {imported(s)[0]: set(imported(s)[1]) for s in SECTIONS}
    for info in pkgutil.iter_modules(opencute.kernels.__path__):
        module = importlib.import_module(f"opencute.kernels.{info.name}")
        if info.ispkg:
            functions = {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
            assert functions == listed.get(info.name, set())
