# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute cache` against a stand-in for the disk cache."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

from opencute.tools.cli import main

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, float]]:
    entries = [("old", 10, 1.0), ("new", 3 * 1024 * 1024, 2.0)]
    cache = ModuleType("opencute.runtime.cache")

    def clear() -> int:
        count = len(entries)
        entries.clear()
        return count

    members = {
        "ls": lambda: list(entries),
        "stat": lambda: {"dir": "/somewhere", "entries": len(entries), "bytes": 2048},
        "clear": clear,
    }
    vars(cache).update(members)
    runtime = ModuleType("opencute.runtime")
    vars(runtime)["cache"] = cache
    monkeypatch.setitem(sys.modules, "opencute.runtime", runtime)
    monkeypatch.setitem(sys.modules, "opencute.runtime.cache", cache)
    monkeypatch.delitem(sys.modules, "opencute.tools.cache_commands", raising=False)
    return entries


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["cache", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_ls_shows_the_newest_first() -> None:
    lines = invoke("ls").splitlines()
    assert lines[0].endswith("3.0 MiB  new")
    assert lines[1].endswith("10 B  old")


def test_stat_and_clear() -> None:
    assert "2.0 KiB" in invoke("stat")
    assert invoke("clear") == "removed 2 entries\n"
    assert invoke("ls") == "the cache is empty\n"
