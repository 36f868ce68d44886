# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Environment variables: declared in one file, well named, documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from meta.project import ROOT, sources
from meta.rules import environment_violations
from opencute.base.knobs import Knob, Knobs, table

pytestmark = pytest.mark.t0

# Variables that others define and we only read.
FOREIGN = {"CUDA_HOME", "XDG_CACHE_HOME"}


def misnamed(knobs: type[Knobs]) -> list[str]:
    """Variables outside our naming rule, ``OPENCUTE_[GROUP_]NAME`` after the attribute's name."""
    return [
        k.env
        for k in knobs.declared()
        if k.env not in FOREIGN and not re.fullmatch(rf"OPENCUTE_([A-Z]+_)?{k.name.upper()}", k.env)
    ]


def test_the_documented_table_is_fresh() -> None:
    text = (ROOT / "docs" / "knobs.md").read_text(encoding="utf-8")
    assert text == table(), "run: python -m opencute.base.knobs > docs/knobs.md"


def test_the_command_prints_the_table() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "opencute.base.knobs"], capture_output=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.stdout.decode("utf-8").replace("\r\n", "\n") == table()


def test_every_knob_has_a_row_and_a_sentence() -> None:
    text = table()
    for knob in Knobs.declared():
        assert f"| `{knob.env}` |" in text
        assert len(knob.help) > 10 and knob.help in text


def test_names_follow_the_rule_and_are_unique() -> None:
    assert misnamed(Knobs) == []
    names = [k.env for k in Knobs.declared()]
    assert len(names) == len(set(names))


def test_a_new_knob_makes_the_table_stale_and_a_bad_name_is_found() -> None:
    class More(Knobs):
        depth = Knob("OPENCUTE_SIM_DEPTH", 3, int, "how deep the simulator looks")
        wrong = Knob("WRONG", True, bool, "not one of ours", in_cache_key=True)

    assert "| `OPENCUTE_SIM_DEPTH` | – | `3` | no | how deep the simulator looks |" in table(More)
    assert "| `WRONG` | – | `1` | yes | not one of ours |" in table(More)
    assert misnamed(More) == ["WRONG"]


def test_the_environment_is_read_in_one_file() -> None:
    bad = [v for p in sources() for v in environment_violations(p)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("import os\nos.environ['X']", 1),
        ("import os\nos.environ.get('X', '')", 1),
        ("import os\nos.getenv('X')", 1),
        ("from os import environ\ndef f():\n    return environ['X']", 1),
        ("import os\n'X' in os.environ", 1),
        ("import os\nos.environ['X'] = '1'", 0),
        ("import os\nenv = {**os.environ, 'X': '1'}\ndict(os.environ)", 0),
        ("settings.get('X')", 0),
    ],
)
def test_reading_the_environment_elsewhere_is_found(tmp_path: Path, text: str, count: int) -> None:
    path = tmp_path / "src" / "opencute" / "runtime" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert len(environment_violations(path, tmp_path)) == count
    own = tmp_path / "src" / "opencute" / "base" / "knobs.py"
    own.parent.mkdir(parents=True)
    own.write_text(text)
    assert environment_violations(own, tmp_path) == []
