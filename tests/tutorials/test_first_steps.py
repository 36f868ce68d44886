# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The first tutorials: steps are right, and their pages show what the commands print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.jit.runners import simulated
from opencute.tools.check import _row
from tutorials.first_steps import FAULTS, FOLDER, PROFILES, STEPS, changed, page
from tutorials.steps import load

pytestmark = pytest.mark.t0

_COUNTED = re.compile(r"^(step(\d)\.py:\d+ +(?:read|write) [gs]mem .*)$", re.MULTILINE)


def rows(path: Path) -> set[str]:
    """What `opencute profile --simulate` prints of a file's lines."""
    lines = (r for r in simulated().by_line.values() if r.loc and r.loc.file == str(path))
    return {_row(line) for line in lines}


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_a_step_is_right_and_asks_for_what_the_page_says(
    name: str, step: int, monkeypatch: Any, tmp_path: Path
) -> None:
    path = changed(name, step, None, tmp_path)
    module = load(path, monkeypatch)
    inputs = module.get_inputs()
    with KNOBS.override(target="sim:sm_90a", sim_check=True, sim_profile=True):
        got = module.kernel_fn(*inputs)
    np.testing.assert_allclose(got, module.reference_fn(*inputs), rtol=1e-5, atol=1e-6)
    found = rows(path)
    if (name, step) in PROFILES:  # the page shows both layouts
        (tmp_path / "other").mkdir()
        path = changed(name, step, PROFILES[name, step], tmp_path / "other")
        module = load(path, monkeypatch)
        with KNOBS.override(target="sim:sm_90a", sim_profile=True):
            module.kernel_fn(*inputs)
        found |= rows(path)
    shown = {row for row, at in _COUNTED.findall(page(name)) if int(at) == step}
    assert shown <= found, "\n".join(sorted(found))


def test_every_count_on_the_pages_is_of_a_step() -> None:
    for name in ("first_kernel", "sgemm"):
        counted = {int(step) for _, step in _COUNTED.findall(page(name))}
        assert len(counted) >= 4 and counted <= {step for n, step in STEPS if n == name}
        assert re.findall(r"\((?:first_kernel|sgemm)/step(\d)\.py\)", page(name)) == list("12345")


@pytest.mark.parametrize(("name", "step"), FAULTS)
def test_what_is_missing_is_reported_as_the_page_says(
    name: str, step: int, monkeypatch: Any, tmp_path: Path
) -> None:
    module = load(changed(name, step, FAULTS[name, step], tmp_path), monkeypatch)
    with (
        KNOBS.override(target="sim:sm_90a", sim_check=True),
        pytest.raises(OpenCuTeError) as raised,
    ):
        module.kernel_fn(*module.get_inputs())
    said = str(raised.value).replace(f"{tmp_path}/", "").split("\n  -->")[0]
    assert said in page(name), said


def test_the_tutorials_lead_from_one_to_the_next() -> None:
    assert "(sgemm.md)" in page("first_kernel")
    assert "(hopper_gemm.md)" in page("sgemm") and (FOLDER / "hopper_gemm.md").is_file()
