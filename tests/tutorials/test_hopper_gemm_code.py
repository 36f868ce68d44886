# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the Hopper tutorial as machine code of the tile that is measured: no spills, no
advisory of ptxas."""

from __future__ import annotations

from typing import Any

import pytest

import cutlass.cute as cute
from opencute.base.knobs import KNOBS
from tutorials.steps import FOLDER, STEPS, load, operands

pytestmark = pytest.mark.t1

TILE = (128, 128, 64)


@pytest.mark.parametrize("step", STEPS)
def test_machine_code(step: int, monkeypatch: Any) -> None:
    args, _, _ = operands(step, 256, 256, 256)
    module = load(FOLDER / f"step{step}.py", monkeypatch)
    with KNOBS.override(target="sim:sm_90a", cache_enabled=False):
        # An advisory (C75xx, spills) is a warning, and warnings are errors here.
        compiled: Any = cute.compile(module.gemm, *args, TILE)
        assert compiled.__cubin__
        text = compiled.__sass__
    assert "HGMMA.64x128x16.F32" in text
    assert "STL" not in text and "LDL" not in text
    assert ("UTMALDG" in text) is (step >= 2)
    assert ("USETMAXREG" in text) is (step >= 4)
    assert ("MULTICAST" in text) is (step >= 5)
    assert ("UTMASTG" in text) is (step == 7)
