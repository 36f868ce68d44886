# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that meet know what all of them knew, whether that is worked out once or for each."""

from __future__ import annotations

import numpy as np
import pytest

from opencute.sim.sync.clocks import FREED, OVER, SEEN, THREAD, Clocks, Row, key
from opencute.sim.sync.group import Group
from opencute.sim.sync.shadow import RunsOfEach, Shadow

pytestmark = pytest.mark.t0


def _clocks(rng: np.random.Generator) -> Clocks:
    """Eight warps of two blocks, which know of other threads, well or less well."""
    clocks = Clocks()
    clocks.start(Group(2, 128), 0)
    for warp in range(8):
        times = {
            key(THREAD, int(t), int(k)): int(when)
            for t, k, when in zip(
                rng.integers(0, 40, 30), rng.integers(0, 3, 30), rng.integers(1, 9, 30), strict=True
            )
        }
        clocks.row[warp * 32 : warp * 32 + 32] = clocks.add_row(Row(times, FREED))
    return clocks


@pytest.mark.parametrize("seed", range(4))
def test_news_of_those_who_learn(seed: int) -> None:
    clocks = _clocks(np.random.default_rng(seed))
    rows = [clocks.rows[i] for i in range(1, 9)]
    slots = np.arange(0, 192)  # two warps tell others what they know, and learn nothing
    news = [{key(THREAD, 200): 5}, *(row.times for row in rows)]
    want = [row.merged(news) for row in rows]
    clocks.learn(slots, news)
    for warp in range(8):
        row = clocks.rows[clocks.row[warp * 32]]
        for thread in (*range(40), 200):
            for kind in (SEEN, OVER, FREED):
                expected = want[warp] if warp < 6 else rows[warp]
                got = row.knows(clocks, thread, kind)
                assert got == expected.knows(clocks, thread, kind)
    assert np.unique(clocks.row[:192]).size == 1


def test_one_who_tells_nothing_learns_alone() -> None:
    clocks = _clocks(np.random.default_rng(9))
    before = clocks.rows[1]
    clocks.learn(np.arange(64), [clocks.rows[2].times])
    mine, other = (clocks.rows[clocks.row[s]] for s in (0, 32))
    assert mine is not other and other is clocks.rows[2]
    assert all(mine.times[k] >= t for k, t in before.times.items() if k in mine.times)


@pytest.mark.parametrize("grain", [16, 4])
def test_writers_of_several_groups(grain: int) -> None:
    shadow = Shadow(4096, 4)
    shadow.fit(np.array([grain]), grain)
    places = np.arange(0, 4096, 16)
    shadow.writer[: shadow.pieces_in_all // 2] = 7 << 33
    shadow.writer[: shadow.pieces_in_all // 4] = 5 << 33
    shadow.writer[-(1024 // grain) :] = np.arange(1024 // grain)
    groups = [[places[:16], places[16:32]], [places[:100]], [places[70:90], places[:10]],
              [places[-64:]]]  # fmt: skip
    found = shadow.writers_of_each(RunsOfEach(groups))
    for words, group in zip(found, groups, strict=True):
        want = shadow.few_writers(tuple(map(id, group)), group, 16)
        assert words is want is None or set(words or ()) == set(want or ())
    assert found[-1] is None and sorted(found[2] or ()) == [5 << 33, 7 << 33]
