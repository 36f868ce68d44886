# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""These tests run kernels in the simulator, whatever the machine has.

OPENCUTE_TEST_TARGET picks another target: with a GPU, ``cuda`` runs the same programs there, where
only the tests of the simulator's own checks and printing fail.
"""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", os.environ.get("OPENCUTE_TEST_TARGET", "sim"))
