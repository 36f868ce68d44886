# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a compilation for a GPU does once: printing the module, though two caches go by its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.compiler import artefacts, cached
from opencute.integrations.driver_stub import StubDriver
from opencute.jit import calls

pytestmark = pytest.mark.t1


@cute.kernel
def _fill(x: cute.Tensor) -> None:
    x[0] = x[1]


@cute.jit
def _run(x: cute.Tensor) -> None:
    _fill(x).launch(grid=1, block=1)


@pytest.mark.parametrize("lines", [False, True])
def test_one_text_serves_both_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: bool
) -> None:
    printed: list[Any] = []

    def print_op(module: Any, **options: Any) -> str:
        printed.append(options)
        return plain(module, **options)

    plain = calls.print_op
    for module in (calls, cached, artefacts):
        monkeypatch.setattr(module, "print_op", print_op)
    options = "--generate-line-info" if lines else ""
    keys: list[str] = []
    put = cached.cache_key
    monkeypatch.setattr(cached, "cache_key", lambda *a: keys.append(put(*a)) or keys[-1])
    x = np.zeros(2, np.float32)
    made: list[Any] = []
    with StubDriver(), KNOBS.override(target="cuda:sm_80", cache_enabled=True, cache_dir=tmp_path):
        for _ in range(2):  # the second time from the disk
            monkeypatch.setattr(calls, "_runners", calls.Recent(8))
            printed.clear()
            made.append(cute.compile(_run, x, options=options).artefacts)
            assert [o["locations"] for o in printed] == [lines]
    first, again = made
    assert keys[0] == keys[1] == put(first.module, first.target, first.options)
    assert again.cubin == first.cubin
