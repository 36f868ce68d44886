# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cold times are the difference of two graphs; the legacy stream is timed call by call."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from opencute.base.knobs import KNOBS
from opencute.runtime.timing import Samples
from opencute.tune import cold

pytestmark = pytest.mark.t0


class Buffer:
    """Notes that it is written."""

    def __init__(self, size: int) -> None:
        assert size == 2 * 1000

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def fill(self, byte: int, stream: int) -> None:
        EVENTS.append("fill")


EVENTS: list[str] = []


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    EVENTS.clear()

    def graph(work: Callable[[int], object], *, calls: int, **_: Any) -> Samples:
        start = len(EVENTS)
        for _ in range(calls):
            work(7)
        # A launch takes 3 us, overwriting the cache 40.
        took = sum({"fill": 40.0, "run": 3.0}[e] for e in EVENTS[start:])
        return Samples((took / calls,))

    monkeypatch.setattr(cold, "run_target", lambda: SimpleNamespace(kind="cuda"))
    monkeypatch.setattr(cold, "driver", SimpleNamespace(ensure_context=lambda: 0))
    monkeypatch.setattr(cold, "properties", lambda device: SimpleNamespace(l2_bytes=1000))
    monkeypatch.setattr(cold, "DeviceBuffer", Buffer)
    monkeypatch.setattr(cold, "stream_handle", lambda stream: stream or 0)
    monkeypatch.setattr(cold, "time_graph", graph)
    monkeypatch.setattr(cold, "time_flushed", lambda work, **_: Samples((work(0) or 5.0,)))


@pytest.mark.usefixtures("gpu")
def test_graphs() -> None:
    assert cold.cold_us(lambda: EVENTS.append("run"), calls=4, stream=7) == pytest.approx(3.0)
    assert EVENTS == ["fill", "run"] * 4 + ["fill"] * 4


@pytest.mark.usefixtures("gpu")
def test_the_legacy_stream() -> None:
    assert cold.cold_us(lambda: None) == 5.0 and not EVENTS


def test_the_simulator() -> None:
    runs: list[int] = []
    with KNOBS.override(target="sim"):
        assert cold.cold_us(lambda: runs.append(1), calls=3) > 0
    assert len(runs) == 3
