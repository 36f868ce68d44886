# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What searches leave behind: also where the file is damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencute.base.knobs import KNOBS
from opencute.runtime.cache import default_cache
from opencute.tools.tune_command import listed
from opencute.tune import kept

pytestmark = pytest.mark.t0


@dataclass(frozen=True)
class Choice:
    tile: tuple[int, int]


@dataclass(frozen=True)
class Problem:
    m: int


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    with KNOBS.override(cache_dir=tmp_path, cache_enabled=True):
        kept.reload()
        yield
    kept.reload()


def test_a_choice_comes_back() -> None:
    kept.remember("op", Problem(64), Choice((1, 2)), us=2.0, default_us=3.0)
    kept.reload()
    assert kept.recall("op", Problem(64), (Choice,)) == Choice((1, 2))
    assert any("Choice(tile=[1, 2]), 2.00 us" in line for line in listed())
    kept.forget()
    assert kept.recall("op", Problem(64), (Choice,)) is None


@pytest.mark.parametrize(
    "blob",
    [
        b"\xff", b"[" * 100_000, b"[]", json.dumps({"a": 3}).encode(),
        json.dumps({"a": {"type": "Choice", "fields": {}}}).encode(),
        json.dumps({"a": {"type": 1, "fields": [], "us": "x", "default_us": 0}}).encode(),
    ],
    ids=["bytes", "deep", "list", "number", "no times", "other types"],
)  # fmt: skip
def test_a_damaged_file_is_as_good_as_none(blob: bytes) -> None:
    default_cache().put(kept._KEY, {kept._BLOB: blob})
    kept.reload()
    assert not kept.anything_kept()
    assert "kept: 0" in list(listed())
    assert kept.recall("op", Problem(64), (Choice,)) is None
