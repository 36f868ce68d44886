# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the doctor sees, and that it says what the errors say."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from opencute.base.knobs import KNOBS
from opencute.codegen import toolchain
from opencute.tools import doctor
from opencute.tools.cli import main

pytestmark = pytest.mark.t0


def test_facts_are_json_and_text() -> None:
    facts = json.loads(CliRunner().invoke(main, ["doctor", "--json"]).stdout)
    assert facts["packages"]["numpy"]
    assert facts["python"].startswith("3.")
    assert isinstance(facts["ptxas"]["architectures"], list)
    text = CliRunner().invoke(main, ["doctor"]).stdout
    assert facts["packages"]["numpy"] in text
    for problem in facts["missing"]:
        assert problem["what"] in text
        assert problem["do"] in text


def test_missing_pieces_have_the_text_of_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_candidates", lambda name: iter(()))
    monkeypatch.setattr(toolchain, "_USUAL_HOME", Path("/none"))
    monkeypatch.setattr(toolchain, "_wheel_file", lambda wheel, name: None)
    with KNOBS.override(ptxas="", cuda_home=""):
        facts = doctor.examine()
    found = {p["piece"]: p for p in facts["missing"]}
    for piece in ("ptxas", "disassembler", "libdevice"):
        error = toolchain.missing(piece)
        assert (found[piece]["code"], found[piece]["what"], found[piece]["do"]) == (
            error.code, error.message, error.hint,
        )  # fmt: skip
    doctor.show(facts)


def test_knobs_that_are_set_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_SIM_SEED", "7")
    assert doctor.examine()["knobs"]["OPENCUTE_SIM_SEED"] == "7"


OURS = "# SPDX-FileCopyrightText: 2026 The OpenCuTe authors\n"
THEIRS = "raise RuntimeError('never imported')\n"


@pytest.mark.parametrize("order", ["ours first", "theirs first", "only ours", "only theirs"])
@pytest.mark.parametrize("alias", [False, True])
def test_which_cutlass(
    order: str, alias: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {"ours": OURS, "theirs": THEIRS}
    entries: list[str] = []
    for name in ("ours", "theirs") if order != "theirs first" else ("theirs", "ours"):
        if order.startswith("only") and name not in order:
            continue
        root = tmp_path / ("nvidia_cutlass_dsl" if name == "theirs" else "own")
        (root / "cutlass").mkdir(parents=True)
        (root / "cutlass" / "__init__.py").write_text(packages[name], encoding="utf-8")
        entries.append(str(root))
    clean = [p for p in sys.path if not (Path(p or ".") / "cutlass").is_dir()]
    monkeypatch.setattr(sys, "path", entries + clean)
    monkeypatch.delitem(sys.modules, "cutlass", raising=False)
    importlib.invalidate_caches()
    with KNOBS.override(alias=alias):
        facts = doctor.examine()["cutlass"]
    expected = {
        "ours first": "opencute" if alias else "vendor", "theirs first": "vendor",
        "only ours": "opencute", "only theirs": "vendor",
    }[order]  # fmt: skip
    assert facts["import_cutlass_is"] == expected
    assert facts["under_opencute_run"] == ("vendor" if order == "only theirs" else "opencute")
    assert facts["both_present"] == ("first" in order)
