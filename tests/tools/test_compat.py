# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The compatibility table, on a small stand-in for the upstream copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencute.base.knobs import KNOBS
from opencute.tools import compat

pytestmark = pytest.mark.t0

WORKS, FAILS, SLOW, ABSENT = (compat.Example(f"{n}.py") for n in ("works", "fails", "slow", "no"))


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    (tmp_path / "works.py").write_text("import sys; print(sys.argv)", encoding="utf-8")
    (tmp_path / "fails.py").write_text("raise ValueError('a|b')", encoding="utf-8")
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    return tmp_path


def test_outcomes(upstream: Path) -> None:
    assert compat.run_example(upstream, WORKS, 60.0).works
    failed = compat.run_example(upstream, FAILS, 60.0)
    assert (failed.result, failed.remark) == ("fails", "ValueError: a\\|b")
    assert compat.run_example(upstream, SLOW, 1.0).result == "too slow"
    assert compat.run_example(upstream, ABSENT, 1.0).result == "absent"


def test_the_page(
    upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compat, "EXAMPLES", (WORKS, ABSENT))
    page = upstream / "page.md"
    with KNOBS.override(upstream=upstream):
        assert compat.main(page, commit="abc123") == 1
        assert compat.main(page, commit="abc123", only="works*") == 0
    text = page.read_text(encoding="utf-8")
    assert "Upstream commit: `abc123`" in text
    assert "1 of 1 work" in text
    assert text.strip() in capsys.readouterr().out


def test_without_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    with KNOBS.override(upstream=None):
        assert compat.main(None) == 2
    assert "OPENCUTE_UPSTREAM" in capsys.readouterr().err


def test_the_list_names_what_the_project_promises() -> None:
    commands = [e.command for e in compat.EXAMPLES]
    assert any(c.endswith("elementwise_add.py --M 3 --N 12") for c in commands)
    for name in ("hello_world", "composed_layout", "cute_layout_algebra", "elementwise_add"):
        assert f"notebooks/{name}.ipynb" in commands
    assert len(commands) == len(set(commands))


@pytest.mark.upstream
def test_the_list_exists_upstream() -> None:
    assert KNOBS.upstream is not None
    for example in compat.EXAMPLES:
        assert (KNOBS.upstream / example.path).is_file(), example.path
