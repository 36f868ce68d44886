# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of samples, and the host's clock."""

from __future__ import annotations

import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.lab.clocks import HostClock, pick_clock, quantile, summary

pytestmark = pytest.mark.t0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_summary_is_ordered_and_exact(values: list[float]) -> None:
    found = summary(values)
    assert found is not None
    assert found["min"] == min(values)
    assert found["median"] == pytest.approx(statistics.median(values))
    assert found["min"] <= found["p10"] <= found["median"] <= found["p90"] <= max(values)


def test_summary_of_nothing_is_nothing() -> None:
    assert summary([]) is None
    assert quantile([1.0, 2.0], 0.5) == 1.5


def test_the_simulator_is_timed_by_the_host() -> None:
    clock = pick_clock(simulated=True, flush_l2=True)
    assert clock.name == "simulated"
    sample = clock.sample(lambda: time.sleep(0.01))
    assert 8 < sample.device_ms < 1000
    assert sample.host_ms is None
    with pytest.raises(RuntimeError, match="CUDA graph"):
        HostClock("host clock").graphed(lambda: None)
