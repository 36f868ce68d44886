# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Choosing configurations: what is tried, what is kept, and what the caller's data look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.testing import CantImplementError, JitArguments, autotune_jit, tune
from opencute.tune import Trial, TuningError, configurations
from opencute.tune import decorator as decorator_module
from opencute.tune.trials import best_of, table

pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def simulator(tmp_path: Path) -> Iterator[None]:
    with KNOBS.override(target="sim", cache_dir=tmp_path / "cache"):
        yield


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Wide configurations are faster; each measured one is noted."""
    measured: list[int] = []

    def fake(run: Callable[[], Any], **_: Any) -> float:
        run()
        measured.append(1)
        return 10.0 / len(measured)

    monkeypatch.setattr(decorator_module, "benchmark", fake)
    return measured


@cute.kernel
def add_kernel(x: cute.Tensor, width: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    for k in cutlass.range_constexpr(width):
        if i * width + k < cute.size(x):
            x[i * width + k] = x[i * width + k] + 1


def make(**options: Any) -> Any:
    @autotune_jit(params_dict={"width": [1, 2, 4]}, iterations=2, **options)
    @cute.jit
    def add(x: cute.Tensor, n: cutlass.Int32, width: cutlass.Constexpr = 1):
        if cutlass.const_expr(width == 4):
            raise CantImplementError("too wide")
        add_kernel(x, width).launch(grid=1, block=64)

    return add


def test_every_combination_is_tried() -> None:
    assert configurations(None) == [{}]
    assert configurations({"a": [1, 2], "b": "xy"}) == [
        {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"},
    ]  # fmt: skip
    with pytest.raises(TuningError, match="OC2401"):
        configurations({"a": []})


def test_a_call_in_place_changes_the_data_once(clock: list[int]) -> None:
    add = make(update_on_change=["n"])
    x = np.zeros(64, np.float32)
    add(x, 3)
    assert x.tolist() == [1.0] * 64
    assert list(add.best.values()) == [{"width": 2}]
    trials = next(iter(add.trials.values()))
    assert [t.us is None for t in trials] == [False, False, True]
    assert "too wide" in trials[2].error


def test_what_leads_to_another_choice(clock: list[int]) -> None:
    add = make(update_on_change=["n"])
    x = np.zeros(64, np.float32)
    add(x, 3)
    add(x, 3)
    assert len(clock) == 2
    add(np.zeros(32, np.float32), 3)  # the shape is not among the names
    assert len(clock) == 2
    add(x, 4)
    assert len(clock) == 4
    add(np.zeros(64, np.float64), 4)
    assert len(clock) == 6

    every = make()
    every(x, 3)
    every(np.zeros(32, np.float32), 3)
    assert len(every.best) == 2


def test_a_later_process_does_not_measure_again(clock: list[int]) -> None:
    x = np.zeros(64, np.float32)
    make()(x, 3)
    assert len(clock) == 2
    again = make()
    again(x, 3)
    assert len(clock) == 2 and list(again.best.values()) == [{"width": 2}] and not again.trials
    with KNOBS.override(cache_enabled=False):
        make()(x, 3)
    assert len(clock) == 4


def test_a_caller_that_chooses_is_not_tuned(clock: list[int]) -> None:
    add = make()
    x = np.zeros(8, np.float32)
    add(x, 3, width=2)
    assert not clock and x.tolist() == [1.0] * 8
    compiled = cute.compile(add, x, 3, width=1)
    compiled(x, 3)
    assert x.tolist() == [2.0] * 8


def test_inside_of_compiled_code_the_defaults_hold(clock: list[int]) -> None:
    add = make()

    @cute.jit
    def outer(x: cute.Tensor):
        add(x, 3)

    x = np.zeros(8, np.float32)
    outer(x)
    assert not clock and x.tolist() == [1.0] * 8


def test_methods(clock: list[int]) -> None:
    class Op:
        step = 2

        @autotune_jit(params_dict={"width": [1, 2]})
        @cute.jit
        def __call__(self, x: cute.Tensor, width: cutlass.Constexpr = 1):
            add_kernel(x, width).launch(grid=1, block=64)

    x = np.zeros(8, np.float32)
    Op()(x)
    assert x.tolist() == [1.0] * 8 and len(clock) == 2


def test_nothing_can_be_run() -> None:
    @autotune_jit(params_dict={"block": [2048, 4096]})
    @cute.jit
    def bad(x: cute.Tensor, block: cutlass.Constexpr = 1):
        add_kernel(x, 1).launch(grid=1, block=block)

    with pytest.raises(TuningError, match="none of 2") as e:
        bad(np.zeros(8, np.float32))
    assert "OC2112" in str(e.value)


def test_wrong_uses() -> None:
    with pytest.raises(TuningError, match="OC2402"):
        autotune_jit(params_dict={"depth": [1]})(make().fn)
    with pytest.raises(TuningError, match="OC2402"):
        autotune_jit(update_on_change=["depth"])(make().fn)
    with pytest.raises(TuningError, match="OC2403"):
        autotune_jit()(lambda x: x)


def test_a_mistake_in_the_kernel_is_not_hidden() -> None:
    @autotune_jit(params_dict={"width": [1, 2]})
    @cute.jit
    def wrong(x: cute.Tensor, width: cutlass.Constexpr = 1):
        undefined_name(x)  # noqa: F821  # pyright: ignore

    with pytest.raises(NameError):
        wrong(np.zeros(8, np.float32))


def test_tune(clock: list[int]) -> None:
    x = np.zeros(64, np.float32)

    def prepare(x: Any, scale: int, width: int) -> Callable[[], Any]:
        if width == 8:
            raise ValueError("no")
        compiled = cute.compile(make().fn, x, scale, width=width)
        return lambda: compiled(x, scale)

    best = tune(
        prepare, params_dict={"width": [8, 1, 2]}, kernel_arguments=JitArguments(x, scale=3)
    )
    assert best == {"width": 2}
    with pytest.raises(TuningError):
        tune(prepare, params_dict={"width": [8]}, kernel_arguments=JitArguments(x, scale=3))


def test_real_times_of_the_simulator() -> None:
    add = make()
    x = np.zeros(64, np.float32)
    add(x, 3)
    times = [t.us for t in next(iter(add.trials.values()))]
    assert times[0] and times[0] > 0
    assert x.tolist() == [1.0] * 64


def test_the_log_and_the_table(capsys: pytest.CaptureFixture[str], clock: list[int]) -> None:
    with KNOBS.override(log_autotune=True):
        make()(np.zeros(8, np.float32), 1)
    said = capsys.readouterr().err
    assert "'width': 2" in said and "best" in said and "us per call" in said
    rows = table([Trial({"a": 1}, 3.0), Trial({"a": 2}, None, "E: x\ny"), Trial({"a": 3}, 1.0)])
    assert [line.split("  ")[-1] for line in rows.splitlines()[1:]] == [
        "{'a': 3}", "{'a': 1}", "E: x",
    ]  # fmt: skip
    assert best_of([Trial({"a": 1}, 3.0), Trial({"a": 3}, 3.0)]).configuration == {"a": 1}


def test_errors_are_ours() -> None:
    assert issubclass(TuningError, OpenCuTeError)


def test_on_a_gpu_configurations_compile_at_once(
    clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[tuple[Any, ...]]] = []

    def many(items: list[tuple[Any, ...]], *, return_errors: bool) -> list[Any]:
        asked.append(items)
        assert return_errors
        out: list[Any] = []
        for fn, args, kwargs in items:
            try:
                out.append(cute.compile(fn, *args, **kwargs))
            except CantImplementError as e:
                out.append(e)
        return out

    monkeypatch.setattr(decorator_module, "compile_many", many)
    monkeypatch.setattr(decorator_module, "run_target", lambda: SimpleNamespace(kind="cuda"))
    add = make()
    add(np.zeros(64, np.float32), 3)
    assert [len(items) for items in asked] == [3]
    assert list(add.best.values()) == [{"width": 2}] and len(clock) == 2
