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


def test_the_remark_names_the_error_and_not_its_place(upstream: Path) -> None:
    text = "class Wrong(Exception): __str__ = lambda s: '[OC1] no ir\\n  --> a.py:3\\n   |  ^^^'\n"
    text += "raise type('SomeError', (Wrong,), {'__module__': 'a.b'})"
    (upstream / "placed.py").write_text(text, encoding="utf-8")
    done = compat.run_example(upstream, compat.Example("placed.py"), 60.0)
    assert done.remark == "SomeError: [OC1] no ir"


def test_tests_run_under_pytest(upstream: Path) -> None:
    (upstream / "test_right.py").write_text("def test_it(): pass\n", encoding="utf-8")
    (upstream / "test_wrong.py").write_text("def test_it(): assert 1 > 2\n", encoding="utf-8")
    assert compat.run_example(upstream, compat.Example("test_right.py"), 60.0).works
    assert compat.run_example(upstream, compat.Example("test_wrong.py"), 60.0).result == "fails"


def test_files_that_are_written_to_end_in_an_error(upstream: Path) -> None:
    wanted = compat.Example("fails.py", raises="ValueError: a|b")
    assert compat.run_example(upstream, wanted, 60.0).works
    for wrong in (
        compat.Example("fails.py", raises="other"),
        compat.Example("works.py", raises="x"),
    ):
        assert compat.run_example(upstream, wrong, 60.0).result == "fails"


def test_nothing_matches(upstream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with KNOBS.override(upstream=upstream):
        assert compat.main(upstream / "new", only="nothing*") == 2
    assert "nothing*" in capsys.readouterr().err


def test_sizes_differ_between_targets() -> None:
    example = compat.Example("x.py", ("--M", "9"), ("--M", "2"))
    assert example.arguments_for("sim") == ("--M", "2")
    assert example.arguments_for("gpu") == ("--M", "9")
    assert WORKS.arguments_for("sim") == ()


def test_the_page_and_its_record(
    upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compat, "EXAMPLES", (WORKS, ABSENT))
    monkeypatch.setattr(compat.environment, "uses_simulator", lambda: True)
    with KNOBS.override(upstream=upstream):
        assert compat.main(upstream, commit="abc123") == 1
        assert compat.main(upstream, only="works*") == 0
    text = (upstream / "compatibility.md").read_text(encoding="utf-8")
    assert "Upstream commit: `abc123`" in text
    assert (
        "1 of 2 work" in text and "| `no.py` | absent, 0.0 s: not in this copy | not run |" in text
    )
    assert "works.py" in capsys.readouterr().out

    # The other target's results stay.
    monkeypatch.setattr(compat.environment, "uses_simulator", lambda: False)
    monkeypatch.setattr(compat, "_device", lambda target: "a card")
    with KNOBS.override(upstream=upstream):
        assert compat.main(upstream, only="works*") == 0
    text = (upstream / "compatibility.md").read_text(encoding="utf-8")
    assert "1 of 2 work" in text and "GPU (a card" in text and text.count("works, ") == 2


def test_without_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    with KNOBS.override(upstream=None):
        assert compat.main(None) == 2
    assert "OPENCUTE_UPSTREAM" in capsys.readouterr().err


def test_the_list_names_what_the_project_promises() -> None:
    names = [e.name for e in compat.EXAMPLES]
    assert any(n.endswith("elementwise_add.py --M 3 --N 12") for n in names)
    for name in ("hello_world", "composed_layout", "cute_layout_algebra", "elementwise_add"):
        assert f"cute/notebooks/{name}.ipynb" in names
    assert len(names) == len(set(names))


@pytest.mark.upstream
def test_the_list_exists_upstream() -> None:
    assert KNOBS.upstream is not None
    for example in compat.EXAMPLES:
        assert (KNOBS.upstream / example.path).is_file(), example.path
