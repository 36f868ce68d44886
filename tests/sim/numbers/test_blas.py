# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products in the simulator take one core, and others as many as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencute.sim.numbers import blas

pytestmark = pytest.mark.t0

SOURCE = """
from opencute.sim.numbers import blas

tell = blas._calls()[0]
before = tell()
with blas.one_thread():
    with blas.one_thread():
        assert tell() == 1
    assert tell() == 1
assert tell() == before
print(before)
"""


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    if blas._calls() is None:
        pytest.skip("another BLAS")
    path = str(Path(blas.__file__).parents[3])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", SOURCE], env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) in (1, 2)  # one where there is but one core


def test_where_there_is_another_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_calls", lambda: None)
    with blas.one_thread():
        pass
