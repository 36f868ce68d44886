# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of measured times."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError
from opencute.runtime.timing import Samples, time_bursts, time_flushed, time_graph

pytestmark = pytest.mark.t0

TIMES = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=30)


@given(TIMES, st.floats(0, 100))
def test_percentiles_are_numpys(times, p):
    samples = Samples(tuple(times))
    assert samples.percentile(p) == pytest.approx(np.percentile(times, p))
    assert samples.median == pytest.approx(np.median(times))
    assert samples.mean == pytest.approx(np.mean(times))


@given(TIMES)
def test_the_summary_is_ordered(times):
    s = Samples(tuple(times)).summary()
    order = [s[k] for k in ("min", "p10", "median", "p90", "max")]
    slack = 1e-9 * max(times)
    assert all(a <= b + slack for a, b in itertools.pairwise(order))
    assert set(s) == {"min", "p10", "median", "p90", "max", "mean"}


def test_deviation():
    assert Samples((3.0,)).deviation == 0
    assert Samples((1.0, 3.0)).deviation == pytest.approx(2**0.5)


def test_nonsense_is_refused():
    for bad in (
        lambda: Samples(()),
        lambda: Samples((1.0,)).percentile(101),
        lambda: time_bursts(lambda s: None, burst=0),
        lambda: time_bursts(lambda s: None, rounds=0),
        lambda: time_flushed(lambda s: None, iterations=0),
        lambda: time_flushed(lambda s: None, warmup=-1),
        lambda: time_graph(lambda s: None, calls=0),
    ):
        with pytest.raises(ArgumentError) as caught:
            bad()
        assert caught.value.code == "OC2160"
