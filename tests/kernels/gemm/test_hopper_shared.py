# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's products whose tiles blocks share, transposed ones: numbers, planted faults, code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from kernels.gemm.hopper_faults import PACKAGE, changed
from opencute import cute
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import HopperConfig, gemm, reference, visitors
from opencute.kernels.gemm.activations import gelu
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.gemm.sm90_shared import hopper_shared_gemm

t1, t2 = pytest.mark.t1, pytest.mark.t2

HALF = cutlass.Float16
ROW = HopperConfig((128, 16), transposed=True)
PAIR = HopperConfig((128, 16), split=2, most=1, depth=2)
PUSH = replace(PAIR, push=True)
LINE = HopperConfig((128, 16), stream=True, most=2, depth=2)
TAG = 7


def numbers(shape: tuple[int, ...], dtype: Any = np.float16, seed: int = 0) -> Any:
    """Small integers, so that sums are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


# Types, configuration, extents.
CASES: list[tuple[Any, HopperConfig, tuple[int, int, int]]] = [
    (np.float16, replace(ROW, split=3, tile=(128, 32)), (1, 72, 136)),
    (np.float32, replace(ROW, split=2), (4, 136, 72)),
    (np.float16, PAIR, (136, 16, 136)),  # two tiles, one after the other
    (np.float16, replace(PAIR, split=8), (72, 16, 72)),  # more blocks than steps
    (np.float16, PAIR, (9, 37, 71)),  # nothing that TMA reads or writes
    (np.float16, PUSH, (136, 16, 136)),
    (np.float16, replace(ROW, split=3, tile=(128, 32), push=True), (1, 72, 136)),
    (np.float16, HopperConfig((64, 32), split=4, beside=True, most=1, push=True), (72, 40, 264)),
    (np.float16, HopperConfig((64, 32), split=2, beside=True, most=1), (72, 40, 72)),
    (np.float16, HopperConfig((192, 32), beside=True), (200, 40, 72)),
    (np.float16, HopperConfig((256, 176), (1, 2), group=16), (264, 184, 72)),
    (np.float16, HopperConfig((64, 16), (2, 1), True, once=2, promote=256), (200, 16, 200)),
    (np.float16, LINE, (264, 16, 72)),
    (np.float16, replace(LINE, cluster=(2, 1)), (520, 16, 136)),
    (np.float16, replace(LINE, most=3), (72, 16, 264)),  # three blocks for one tile
]


@t1
@pytest.mark.parametrize("case", range(len(CASES)))
def test_shared_tiles(case: int) -> None:
    dtype, config, (m, n, k) = CASES[case]
    a, b = numbers((m, k), dtype), numbers((n, k), dtype).T
    with KNOBS.override(target="sim", sim_check=True):
        same(gemm(a, b, tf32=dtype is np.float32, config=config), reference.gemm(a, b))


@t1
def test_whole_tiles_after_those_that_are_shared() -> None:
    a, b = numbers((5, 72, 72)), numbers((72, 16))
    with KNOBS.override(target="sim", sim_check=True):
        same(gemm(a, b, config=LINE), reference.gemm(a, b))


@t1
@pytest.mark.parametrize(
    "config", [replace(ROW, split=2), HopperConfig((64, 32), beside=True, split=2)], ids=str
)
def test_everything_that_is_added(config: HopperConfig) -> None:
    a, b, bias = numbers((8, 72)), numbers((72, 40)), numbers((40,), seed=3)
    c, r = numbers((8, 40), seed=1), numbers((8, 40), seed=2)
    given: dict[str, Any] = {"alpha": 0.5, "beta": 2.0, "bias": bias, "residual": r}
    with KNOBS.override(target="sim", sim_check=True):
        got = gemm(a, b, c, activation="relu", config=config, **given)
    same(got, reference.gemm(a, b, c, activation=lambda x: np.maximum(x, 0), **given))


@t1
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_wide_parts_wait_for_each_other(dtype: Any) -> None:
    """In the place of what is added, and in a buffer of their own."""
    a, b, r = numbers((72, 72)), numbers((72, 184)), numbers((72, 184), dtype, 1)
    pieces = visitors.chain(visitors.add(r))
    with KNOBS.override(target="sim", sim_check=True):
        got = gemm(a, b, epilogue=pieces, config=HopperConfig((256, 176), most=1))
    same(got, a.astype(np.float32) @ b.astype(np.float32) + r.astype(np.float32))


@t1
def test_what_cannot_be_shared() -> None:
    for wrong in ({"pingpong": True, "tile": (64, 32)}, {"stream": True}, {"cluster": (2, 1)},
                  {"push": True, "split": 1}):  # fmt: skip
        with pytest.raises(ArgumentError, match="OC2538"):
            replace(PAIR, **wrong).check()


# ---------------------------------------------------------------- faults
def tensor(x: Any, leading: int = 2) -> Any:
    return from_dlpack(x).mark_layout_dynamic(leading_dim=leading)


def plan_of(config: HopperConfig, visitor: Any = None, aux: Any = ()) -> HopperPlan:
    return HopperPlan(
        config.check(), (HALF,) * 3, (True, True), visitor or visitors.chain().plan(), aux,
        (False, False), config.most or 66, 232448, not config.transposed,
    )  # fmt: skip


def workspace(plan: HopperPlan, flags: Any = None) -> tuple[Any, Any, Any]:
    if not plan.config.stream:
        return None, None, None
    groups = 2 * plan.clusters
    sums = np.zeros((groups, 128 * plan.sums), np.float32)
    flags = np.full(groups, 6) if flags is None else flags
    return (*(from_dlpack(x).mark_layout_dynamic() for x in (sums, flags)), cutlass.Int64(TAG))


def multiply(launch: Any, config: HopperConfig, m: int, k: int, flags: Any = None) -> None:
    a, b, d = numbers((1, m, k)), numbers((1, 16, k)), np.zeros((1, m, 16), np.float16)
    plan = plan_of(config)
    with KNOBS.override(target="sim", sim_check=True):
        launch(tensor(a), tensor(b), tensor(d), (), *workspace(plan, flags), plan)
    same(d[0], a[0].astype(np.float32) @ b[0].astype(np.float32).T)


@t1
def test_flags_are_taken_down_so_that_a_call_can_be_replayed() -> None:
    flags = np.full(4, 6)
    multiply(hopper_shared_gemm, LINE, 264, 72, flags)
    assert 0 in flags and TAG not in flags


MEET = "    sums.barrier.arrive_and_wait()\n"
# Configuration, text, what stands there instead, code of the error.
FAULTS: dict[str, tuple[HopperConfig, str, str, str]] = {
    "meeting before the flag": (LINE, MEET + "    if sums", "    if sums", "OC3401"),
    "release of the flag": (LINE, 'sem="release"', 'sem="relaxed"', "OC3401"),
    "acquire of the flag": (LINE, 'sem="acquire"', 'sem="relaxed"', "OC3401"),
    "meeting after the flag": (LINE, "    " + MEET + "        add", "        add", "OC3401"),
    "wait for sums": (PAIR, "    sums.ready.wait(sums.group, sums.turn & 1)\n", "", "OC3301"),
    "wait for a slot": (
        PAIR, "    sums.read.wait(sums.group, (sums.turn & 1) ^ 1)\n", "", "OC3401",
    ),
    "meeting before sums are told": (
        PAIR, "    cute.arch.sync_warp()\n    cute.arch.fence_acq_rel_cluster()  # of",
        "    cute.arch.fence_acq_rel_cluster()  # of", "OC3401",
    ),
    "meeting before a slot is free": (
        PAIR, "        cute.arch.sync_warp()\n        cute.arch.fence_acq_rel_cluster()\n",
        "        cute.arch.fence_acq_rel_cluster()\n", "OC3401",
    ),
    "fence before the warp meets": (
        PAIR, "        cute.arch.sync_warp()\n        cute.arch.fence_acq_rel_cluster()\n",
        "        cute.arch.fence_acq_rel_cluster()\n        cute.arch.sync_warp()\n", "OC3401",
    ),
    "telling of a free slot": (
        PAIR, "            sums.read.arrive(sums.group, sums.other(lane))\n", "            pass\n",
        "OC3501",
    ),
    "wait for a slot that is pushed to": (
        PUSH, "    sums.read.wait(sums.group, (sums.turn & 1) ^ 1)\n", "", "OC3402",
    ),
    "too few bytes": (PUSH, "each = 4 * 128", "each = 2 * 128", "OC3402"),
    "telling who may be gone": (PAIR, "    if sums.work.goes_on():", "    if True:", "OC3407"),
}  # fmt: skip


@t1
@pytest.mark.parametrize("case", list(FAULTS))
def test_faults_are_reported(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, text, other, code = FAULTS[case]
    changed(tmp_path, monkeypatch, "sm90_share", [(text, other)])
    imports = (f"from {PACKAGE}sm90_share import", "from planted_sm90_share import")
    launch = changed(tmp_path, monkeypatch, "sm90_shared", [imports]).hopper_shared_gemm
    with pytest.raises(OpenCuTeError) as raised:
        multiply(launch, config, *((264, 72) if config is LINE else (136, 136)))
    assert raised.value.code == code


# ---------------------------------------------------------------- code
@t1
@pytest.mark.parametrize(
    ("config", "chain"),
    [
        (HopperConfig((128, 112), transposed=True, split=3), False),
        (HopperConfig((128, 256), stream=True), True),
    ],
    ids=["split", "stream"],
)
def test_no_spills(config: HopperConfig, chain: bool) -> None:
    lead = 1 if config.transposed else 2
    a, b, d, r = (np.zeros((1, 256, 256), np.float16) for _ in range(4))
    d, r = (x.swapaxes(1, 2) if config.transposed else x for x in (d, r))
    visitor, extra, aux = None, (), ()
    if chain:
        v = from_dlpack(np.zeros(256, np.float16)).mark_layout_dynamic()
        pieces = (visitors.add_columns(v), visitors.apply(gelu), visitors.add(r))
        visitor, extra = visitors.chain(*pieces).plan(config.transposed), (v, tensor(r, lead))
        aux = (HALF,)
    plan = plan_of(config, visitor, aux)
    with KNOBS.override(target="sim:sm_90a"):
        cute.compile(
            hopper_shared_gemm, tensor(a), tensor(b), tensor(d, lead), extra, *workspace(plan),
            plan,
        )  # fmt: skip
    code = compiled_artefacts()[-1].device
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers == 168 and not code.report.diagnostics


# ---------------------------------------------------------------- on a GPU
@t2
@pytest.mark.parametrize(
    "config",
    [None, HopperConfig((128, 32), transposed=True, split=2), HopperConfig((128, 64), split=3),
     HopperConfig((128, 128), stream=True), HopperConfig((128, 256), (2, 1), stream=True),
     HopperConfig((256, 128), transposed=True, split=8),
     HopperConfig((64, 64), transposed=True, split=2, beside=True),
     HopperConfig((128, 64), transposed=True, split=4, push=True),
     HopperConfig((256, 176), (2, 1)),
     HopperConfig((192, 192), (2, 1), beside=True, promote=256),
     HopperConfig((64, 32), (2, 1), True, transposed=True, once=1)],
    ids=str,
)  # fmt: skip
def test_on_a_gpu(config: HopperConfig | None) -> None:
    torch = pytest.importorskip("torch")
    shapes = ((1, 4096, 2048), (16, 1032, 4096), (100, 264, 8200), (2048, 2056, 2048))
    for m, n, k in shapes:
        a, b = numbers((m, k)), numbers((n, k))
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda().T
        want = (x.double() @ y.double()).float()
        for _ in range(3):
            out = torch.empty((m, n), dtype=torch.float32, device="cuda")
            gemm(x, y, out=out, config=config)
            assert torch.equal(out, want)
