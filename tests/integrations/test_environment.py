# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where kernels run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from opencute.base.knobs import KNOBS
from opencute.integrations import environment

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("target", "simulated"), [("sim", True), ("sim:sm_100a", True), ("cuda", False)]
)
def test_the_knob_decides(target: str, simulated: bool) -> None:
    with KNOBS.override(target=target):
        assert environment.uses_simulator() is simulated


@pytest.mark.parametrize("count", [0, 1])
def test_else_the_machine_decides(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "gpu_count", lambda: count)
    with KNOBS.override(target=""):
        assert environment.uses_simulator() is (count == 0)


def test_gpus_and_driver_agree() -> None:
    assert len(environment.gpus()) == environment.gpu_count()
    if environment.gpu_count():
        assert environment.driver_version() is not None


def test_our_cutlass_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("own", "other"):
        (tmp_path / name / "cutlass").mkdir(parents=True)
        (tmp_path / name / "cutlass" / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(environment, "source_root", lambda: tmp_path / "own")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "other"), *sys.path])
    monkeypatch.delitem(sys.modules, "cutlass", raising=False)
    monkeypatch.setenv("OPENCUTE_ALIAS", "0")
    environment.own_cutlass_first()
    assert sys.path[0] == str(tmp_path / "own")
    assert os.environ["OPENCUTE_ALIAS"] == "1"
    environment.own_cutlass_first()
    assert sys.path.count(str(tmp_path / "own")) == 1
