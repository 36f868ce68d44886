# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Replaced functions are noticed and put back."""

from __future__ import annotations

import math
import time

import pytest

from opencute.lab.guard import Guard

pytestmark = pytest.mark.t0


def test_replaced_functions_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(math, "fabs", lambda x: x)
    assert guard.restore() == ["time.time", "math.fabs"]
    assert time.time is real
    assert guard.restore() == []


def test_new_names_are_no_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    monkeypatch.setattr(time, "brand_new", lambda: 0.0, raising=False)
    assert guard.restore() == []


def test_torch_is_watched_too(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    guard = Guard()
    monkeypatch.setattr(torch, "allclose", lambda *_: True)
    monkeypatch.setattr(torch.Tensor, "__hash__", torch.Tensor.__hash__)
    assert guard.restore() == ["torch.allclose"]
