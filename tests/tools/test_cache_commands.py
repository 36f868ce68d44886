# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute cache` on a disk cache of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from opencute.base.knobs import KNOBS
from opencute.runtime.cache import default_cache
from opencute.tools.cli import main

pytestmark = pytest.mark.t0

OLD, NEW = "0" * 64, "1" * 64


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[None]:
    with KNOBS.override(cache_dir=tmp_path, cache_enabled=True):
        default_cache().put(OLD, {"x": b"1"})
        for file in tmp_path.rglob("*"):
            os.utime(file, (1, 1))
        default_cache().put(NEW, {"x": bytes(3 << 20)})
        yield


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["cache", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_ls_shows_the_newest_first() -> None:
    lines = invoke("ls").splitlines()
    assert lines[0].endswith(NEW) and "3.0 MiB" in lines[0]
    assert lines[1].endswith(OLD) and " B " in lines[1]


def test_stat_and_clear(tmp_path: Path) -> None:
    shown = invoke("stat")
    assert str(tmp_path) in shown and "3.0 MiB" in shown
    assert invoke("clear") == "removed 2 entries\n"
    assert invoke("ls") == "the cache is empty\n"
