# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A dict that forgets what was not used for longest."""

from __future__ import annotations

import pytest

from opencute.base.bounded import Recent

pytestmark = pytest.mark.t0


def test_what_was_used_last_stays() -> None:
    recent: Recent[str, int] = Recent(2)
    recent["a"], recent["b"] = 1, 2
    assert recent.get("a") == 1
    recent["c"] = 3
    assert list(recent) == ["a", "c"] and recent.get("b") is None and recent.get("b", 7) == 7
    recent["a"] = 5
    assert list(recent.items()) == [("c", 3), ("a", 5)]
    recent.clear()
    assert not recent
