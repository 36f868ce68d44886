# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Callbacks run right after an import and leave no trace on the module."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from opencute.integrations.import_hook import after_import

pytestmark = pytest.mark.t0

NAME = "opencute_hook_example"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{NAME}.py").write_text("value = 1", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def test_callbacks_run_in_order_after_the_import(example: None) -> None:
    seen: list[object] = []
    after_import(NAME, lambda m: seen.append(m.__dict__["value"]))
    after_import(NAME, lambda m: seen.append(m))
    assert seen == []
    module = importlib.import_module(NAME)
    assert seen == [1, module]
    assert module.__spec__ is not None
    assert isinstance(module.__spec__.loader, SourceFileLoader)
    assert isinstance(module.__loader__, SourceFileLoader)


def test_an_imported_module_is_called_at_once() -> None:
    seen: list[ModuleType] = []
    after_import("sys", seen.append)
    assert seen == [sys]


def test_a_module_that_does_not_exist_keeps_waiting() -> None:
    seen: list[ModuleType] = []
    after_import("opencute_no_such_module", seen.append)
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("opencute_no_such_module")
    assert seen == []
