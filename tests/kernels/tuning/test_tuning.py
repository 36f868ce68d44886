# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning operators: what is recorded, compiled and ruled out without a GPU, and what calls then
pick up."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.jit import pool
from opencute.jit.recording import recorded_calls
from opencute.jit.worker import answer
from opencute.kernels.gemm import GemmConfig, HopperConfig, gemm
from opencute.kernels.row_config import RowConfig
from opencute.kernels.softmax import softmax
from opencute.kernels.tuned import config_types, problem_of
from opencute.kernels.tuning import operators, tune
from opencute.kernels.tuning import searches as module
from opencute.tools.cli import main
from opencute.tune import kept

pytestmark = pytest.mark.t1


class Here:
    """Compiles in this process, which is faster than to start another."""

    def compile(self, artefacts: Any) -> dict[str, bytes]:
        return pool.blobs_of(answer(*pool.message(artefacts)))

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pool, "_Process", Here)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # knobs are one for all threads
    with KNOBS.override(target="sim:sm_90a", cache_dir=tmp_path / "cache"):
        kept.reload()
        yield
    kept.reload()


def test_recorded_calls_do_not_run() -> None:
    x = np.ones((4, 64), np.float32)
    out = np.full_like(x, 7.0)
    with recorded_calls() as calls:
        softmax(x, out=out)
    assert len(calls) == 1 and (out == 7.0).all()
    softmax(x, out=out)
    assert (out == np.float32(1 / 64)).all()


def test_every_operator_builds_each_of_its_configurations() -> None:
    """Small problems: what a configuration launches is a call that can be compiled."""
    small = {"m": 64, "n": 512, "k": 256, "batch": 2, "queries": 128, "keys": 256, "heads": 2,
             "kv_heads": 2, "head_dim": 64, "length": 128, "rows": 64, "groups": 2}  # fmt: skip
    for name, what in operators().items():
        sizes = {k: small[k] for k in what.extents}
        if name in ("decode_attention", "mla_decode"):
            sizes["queries"] = 1
        for dtype in what.dtypes if name.startswith("attention") else what.dtypes[:2]:
            case = module._case(what, dtype, what.flags[:1], sizes)
            args, kwargs = what.arguments(case)
            assert problem_of(what.call, args, kwargs)
            built = 0
            for config in [None, *list(what.space(case))[:3]]:
                assert config is None or isinstance(config, config_types(what.call)), name
                with recorded_calls() as calls, contextlib.suppress(ArgumentError):
                    what.call(*args, **kwargs, config=config)
                built += bool(calls)
            assert built > 1, name
            operations, moved = what.work(case)
            assert operations >= 0 and moved > 0


def test_without_a_gpu_everything_is_compiled_and_nothing_kept() -> None:
    found = tune("softmax", m=8, n=256, dtype="f32", arch="sm_80", show=False)
    assert found.arch == "sm_80" and not found.timed and not kept.kept()
    assert found.trials[0].configuration == {"config": None}
    assert len(found.trials) >= 4 and not found.ruled_out
    assert all(t.us is None and t.resources is not None for t in found.trials)
    assert found.us is None and found.default_us is None
    limited = tune("softmax", m=8, n=256, limit=1, show=False)
    assert len(limited.trials) == 2 and limited.arch == "sm_90a"


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Times as if there were a GPU: each configuration is faster than the one before."""
    ran: list[Any] = []

    def cold(run: Any, stream: Any) -> float:
        ran.append(run())
        return 100.0 - len(ran)

    @dataclasses.dataclass(frozen=True)
    class Cuda:
        kind: str = "cuda"
        arch: str = "sm_90a"

    where = module.run_target
    monkeypatch.setattr(module, "run_target", lambda: Cuda(arch=where().arch))
    monkeypatch.setattr(module, "_floor", lambda what, case: None)
    monkeypatch.setattr(module, "_cold", cold)
    monkeypatch.setattr(module, "side_stream", lambda wanted: module.nullcontext())
    return ran


def used(monkeypatch: pytest.MonkeyPatch, **kwargs: Any) -> tuple[Any, Any]:
    """What a call of softmax compiles."""
    x = np.random.default_rng(0).standard_normal((8, 250)).astype(np.float32)
    with recorded_calls() as calls:
        softmax(x, **kwargs)
    return calls[0][1][-1], x


def test_calls_pick_up_what_was_found(timed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    before, x = used(monkeypatch)
    found = tune("softmax", m=8, n=250, dtype="f32", show=False)
    assert len(timed) == len([t for t in found.trials if not t.error]) > 2
    assert found.configuration == found.trials[-1].configuration["config"]
    assert found.us is not None and found.default_us is not None and found.us < found.default_us
    assert len(kept.kept()) == 1
    after, _ = used(monkeypatch)
    assert after == found.configuration.rows(250) != before
    # Rows of other lengths are in the bucket too; other types are not.
    with recorded_calls() as calls:
        softmax(x[:, :226].copy())
    assert calls[0][1][-1] == dataclasses.replace(found.configuration).rows(226)
    with recorded_calls() as calls:
        softmax(x.astype(np.float16))
    assert calls[0][1][-1] != after
    # Opting out, and the caller's own configuration.
    with KNOBS.override(tune_use=False):
        assert used(monkeypatch)[0] == before
    own = RowConfig(32, 2, 4)
    assert used(monkeypatch, config=own)[0] == own.rows(250)
    # A second search finds the first one's choice, and times nothing.
    count = len(timed)
    again = tune("softmax", m=8, n=250, dtype="f32", show=False)
    assert again.configuration == found.configuration and not again.trials and len(timed) == count
    # Another process reads it from disk.
    monkeypatch.setattr(kept, "_loaded", None)
    assert used(monkeypatch)[0] == after
    want = np.exp(x - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    np.testing.assert_allclose(softmax(x), want, rtol=1e-5)
    kept.forget()
    assert used(monkeypatch)[0] == before


def test_a_kept_configuration_that_does_not_fit_gives_way() -> None:
    x = np.ones((4, 63), np.float32)
    kept.remember("softmax", problem_of(softmax, (x,), {}), RowConfig(32, 4, 4))  # 63 % 4
    np.testing.assert_allclose(softmax(x), 1 / 63, rtol=1e-6)
    with pytest.raises(ArgumentError):
        softmax(x, config=RowConfig(32, 4, 4))
    a, b = np.ones((32, 64), np.float16), np.ones((64, 32), np.float16)
    kept.remember("gemm", problem_of(gemm, (a, b), {}), HopperConfig((128, 32)))
    with KNOBS.override(target="sim:sm_80"):  # where Hopper's is not kept, and could not be used
        assert (gemm(a, b) == 64).all()
    kept.remember("gemm", problem_of(gemm, (a, b), {}), GemmConfig((32, 32, 32), (1, 2), 2))
    with recorded_calls() as calls:
        gemm(a, b)
    assert calls[0][1][-1].tile == (32, 32, 32)
    for broken in ({"type": "RowConfig", "fields": {"lanes": 3}}, {"type": "Other"}, 3):
        kept._table()[kept._key("softmax", problem_of(softmax, (x,), {}))] = broken
        assert kept.recall("softmax", problem_of(softmax, (x,), {}), (RowConfig,)) is None


def test_what_a_choice_depends_on() -> None:
    a, b = np.zeros((30, 40), np.int8), np.zeros((40, 20), np.int8)
    plain = problem_of(gemm, (a, b), {})
    assert problem_of(gemm, (a, b), {"out": np.zeros((30, 20), np.int32)}) == plain
    assert problem_of(gemm, (a, b), {"out": np.zeros((30, 20), np.float32)}) != plain
    assert problem_of(gemm, (a, b.T.copy().T), {}) != plain
    assert problem_of(gemm, (a, b), {"alpha": 2.0, "activation": "relu"}) == plain
    assert problem_of(gemm, (a, b), {"tf32": True}) != plain


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gemmm"], "did you mean gemm"),
        (["gemm", "--head", "4"], "no option '--head'"),
        (["gemm", "--m", "x"], "takes a number"),
        (["gemm", "--m", "0"], "m is a whole number, 1 or more"),
        (["softmax", "--dtype", "f8"], "no type 'f8'"),
        (["softmax", "--causal"], "no option '--causal'"),
    ],
)
def test_words_that_mean_nothing(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["tune", *words])
    assert result.exit_code == 2 and said in result.output


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
@pytest.mark.parametrize("word", ["limit", "processes", "m"])
def test_numbers_that_are_none(word: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"{word} is a whole number, 1 or more") as e:
        tune("softmax", arch="sm_80", **{word: value})
    assert e.value.code == "OC2406"


def test_the_command(timed: list[Any]) -> None:
    run = CliRunner().invoke
    result = run(main, ["tune", "softmax", "--m", "8", "--n=256", "--dtype", "f32"])
    assert result.exit_code == 0, result.output
    assert "timed with a cold L2" in result.output and "kept: RowConfig(" in result.output
    listed = run(main, ["tune", "--list"]).output
    assert "gemm --m 4096" in listed and "kept: 1" in listed and "attention_backward" in listed
    assert "an earlier search" in run(main, ["tune", "softmax", "--m", "8", "--n", "256",
                                             "--dtype", "f32"]).output  # fmt: skip
    only = run(main, ["tune", "softmax", "--m", "8", "--n", "256", "--no-time", "--limit", "2"])
    assert "nothing is timed, and nothing is kept" in only.output and "registers" in only.output
    assert run(main, ["tune", "--forget"]).output == "forgotten: 1\n"
    wrong = run(main, ["tune", "mla_decode", "--queries", "17", "--keys", "64", "--no-time"])
    assert wrong.exit_code == 1 and "none of" in wrong.output
