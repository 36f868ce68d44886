# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Searches: what is compiled where, what is left out and why, what is kept, what is shown."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.cute.testing import CantImplementError
from opencute.jit import pool
from opencute.jit.worker import answer
from opencute.tune import Resources, Trial, TuningError, bucket, search
from opencute.tune.searching import _ruled_out

pytestmark = pytest.mark.t1


class Here:
    """Compiles in this process, which is faster than to start another."""

    def compile(self, artefacts: Any) -> dict[str, bytes]:
        return pool.blobs_of(answer(*pool.message(artefacts)))

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pool, "_Process", Here)
    with KNOBS.override(target="sim:sm_90a", cache_dir=tmp_path / "cache"):
        yield


@cute.kernel
def add_kernel(x: cute.Tensor, width: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    i += b * (32 // width)
    for k in cutlass.range_constexpr(width):
        x[i * width + k] = x[i * width + k] + 1


@cute.jit
def add(x: cute.Tensor, n: cutlass.Int32, width: cutlass.Constexpr):
    add_kernel(x, width).launch(grid=2, block=32 // width)


class Clock:
    """Runs each configuration once, and says what it is told to."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)
        self.ran = 0

    def __call__(self, run: Callable[[], Any]) -> float:
        run()
        self.ran += 1
        return self.times.pop(0)


WIDTHS = [{"width": w} for w in (1, 2, 4)]


def build(c: dict[str, Any]) -> tuple[Any, ...]:
    if c["width"] == 3:
        raise CantImplementError("not three")
    return add, (np.zeros(64, np.float32), 64, c["width"])


def find(clock: Clock, tried: Any = WIDTHS, **options: Any) -> Any:
    return search(build, tried, name="add", measure=clock, processes=1, **options)


def test_the_fastest_is_found_and_kept() -> None:
    clock = Clock(3.0, 1.0, 2.0)
    found = find(clock, problem=(100, "f32"))
    assert found.configuration == {"width": 2} and clock.ran == 3
    taken = found.trials[1].resources
    assert (taken.threads, taken.grid, taken.spills) == (16, 2, 0)
    assert taken.blocks == 32 and 0 < taken.registers < 64 and taken.occupancy == 0.25
    # The same bucket of extents is known, another is not; nor are other configurations.
    again = find(clock, problem=(128, "f32"))
    assert again.configuration == {"width": 2} and not again.trials and clock.ran == 3
    for options in ({"problem": (129, "f32")}, {"problem": (100, "f16")}, {"tried": WIDTHS[:2]}):
        clock.times = [1.0, 2.0, 3.0]
        assert find(clock, **options).configuration == {"width": 1}


def test_refusals_and_mistakes() -> None:
    found = find(Clock(2.0), [{"width": 3}, {"width": 4}])
    assert found.configuration == {"width": 4} and "not three" in found.trials[0].error
    with pytest.raises(TuningError, match="none of 1"):
        find(Clock(), [{"width": 3}])

    @cute.jit
    def wrong(x: cute.Tensor):
        undefined_name(x)  # noqa: F821  # pyright: ignore

    with pytest.raises(NameError):
        search(lambda c: (wrong, (np.zeros(4),)), [{}], name="wrong", processes=1)


def test_what_cannot_win_is_not_timed() -> None:
    floors = {1: 5.0, 2: 0.5, 4: 2.0}
    clock = Clock(3.0, 2.5)
    found = find(clock, floor=lambda c, taken: floors[c["width"]])
    # In the order of their floors: 2, then 4; 1 cannot be below 5.
    assert clock.ran == 2 and found.configuration == {"width": 4}
    assert "cannot be below 5" in found.trials[0].error
    with pytest.raises(TuningError, match="occupancy"):
        find(Clock(), problem="another", least_occupancy=1.1)


def test_resources_rule_out() -> None:
    def error(taken: Resources, least: float = 0.0, spills: int = 0) -> str:
        return _ruled_out(Trial({}, resources=taken), least, spills).error

    assert "8 bytes spilled" in error(Resources(255, 8))
    assert not error(Resources(255, 8), spills=8)  # all spill
    assert "no block fits" in error(Resources(255, 0, blocks=0))
    assert "occupancy" in error(Resources(9, 0, blocks=1, occupancy=0.1), 0.2)
    assert not error(Resources(9, 0, blocks=1, occupancy=0.3), 0.2)
    assert not error(Resources(9, 0), 0.2)


def test_buckets() -> None:
    assert [bucket(n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 97, 129, 192, 193)] == [
        0, 1, 2, 3, 4, 6, 6, 8, 8, 12, 128, 192, 192, 256,
    ]  # fmt: skip
    assert bucket((100, [5], "f16", None, True, 1.5)) == (128, (6,), "f16", None, True, "1.5")
    assert bucket(np.zeros((100, 5), np.float16)) == ("float16", (128, 6))


def test_prepare_gets_executor_and_configuration() -> None:
    seen: list[int] = []

    def prepare(executor: Any, c: dict[str, Any]) -> Callable[[], Any]:
        x = np.zeros(64, np.float32)

        def run() -> None:
            executor(x, 64)
            seen.append(int(x.sum()))

        return run

    find(Clock(1.0, 2.0, 3.0), prepare=prepare)
    assert seen == [64, 64, 64]


def test_the_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    find(Clock(3.0, 1.0, 2.0), show=True)
    said = capsys.readouterr().err
    rows = [line for line in said.splitlines() if "width=" in line]
    assert [r.split("width=")[1][0] for r in rows] == ["2", "4", "1"]
    assert "3.00" in rows[2] and "registers" in rows[0]
    find(Clock(3.0, 1.0, 2.0), problem=5, show=False)
    assert not capsys.readouterr().err


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stands in for ray: tasks run when they are asked for."""
    module: Any = types.ModuleType("ray")
    module.calls = []
    module.up = False

    def init(address: str, **_: Any) -> None:
        module.calls.append(("init", address))
        module.up = True

    def shutdown() -> None:
        module.calls.append(("shutdown", ""))
        module.up = False

    def remote(fn: Callable[..., Any]) -> Any:
        def submit(header: dict[str, Any], blobs: dict[str, bytes]) -> Any:
            module.calls.append(("task", header["arch"]))
            return fn, (header, blobs)

        return types.SimpleNamespace(remote=submit)

    module.init, module.shutdown, module.remote = init, shutdown, remote
    module.is_initialized = lambda: module.up
    module.cluster_resources = lambda: {"CPU": 2.0}
    module.get = lambda task: task[0](*task[1])
    monkeypatch.setitem(sys.modules, "ray", module)
    return module


def test_a_cluster_compiles(ray: Any) -> None:
    with KNOBS.override(tune_cluster="ray://head:10001"):
        found = search(build, WIDTHS, name="add", measure=Clock(3.0, 1.0, 2.0), processes=1)
    assert found.configuration == {"width": 2}
    tasks = [("task", "sm_90a")] * 3
    assert ray.calls == [("init", "ray://head:10001"), *tasks, ("shutdown", "")]
    # A connection of the program itself is used and left alone.
    ray.up, ray.calls[:] = True, []
    found = search(build, WIDTHS, name="b", measure=Clock(3.0, 1.0, 2.0), cluster="auto")
    assert found.configuration == {"width": 2} and ray.up
    assert not ray.calls  # the machine code is in the cache by now


def test_errors_of_a_cluster(ray: Any) -> None:
    ray.remote = lambda fn: types.SimpleNamespace(remote=lambda *_: None)
    failed = {
        "ok": False, "kind": "CompileError", "loc": None, "message": "too big", "code": "OC1234",
        "expected": None, "found": None, "hint": None,
    }  # fmt: skip
    ray.get = lambda task: (failed, {})
    with pytest.raises(TuningError, match="too big"):
        search(build, WIDTHS, name="add", measure=Clock(), cluster="auto")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPieceError, match="OC5012"):
        search(build, WIDTHS, name="add", measure=Clock(), cluster="auto")
