# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Split-K and stream-K: in the checking simulator in several orders of blocks, with planted faults,
and their code for every processor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.kernels.gemm import GemmConfig, gemm, interface, operands, reference
from opencute.kernels.gemm.config import Problem, heuristic, search_space

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2
SMALL = {
    "f32": GemmConfig((64, 64, 8), (2, 1), 3),
    "tf32": GemmConfig((64, 64, 16), (2, 2), 3),
    "f16": GemmConfig((64, 64, 32), (2, 2), 3),
    "bf16": GemmConfig((64, 64, 32), (2, 2), 3),
    "i8": GemmConfig((64, 64, 64), (2, 2), 3),
}
ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
TYPES = {
    "f32": np.float32, "tf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
}  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    """Small integers, so that sums are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


@t0
@pytest.mark.parametrize(
    ("kind", "m", "n", "k", "batch", "how"),
    [
        ("f16", 64, 64, 256, None, {"split": 4}),
        ("f16", 72, 120, 200, None, {"split": 3}),  # ragged, and parts that meet inside of tiles
        ("f16", 130, 130, 100, None, {"stream": 5}),  # parts of several tiles
        ("f16", 130, 130, 160, None, {"stream": 4, "pieces": 3}),
        ("bf16", 136, 128, 160, None, {"stream": 4, "pieces": 9, "ahead": 4}),
        ("f16", 33, 65, 129, None, {"split": 2}),  # copies of single elements
        ("bf16", 33, 65, 129, None, {"stream": 3}),
        ("bf16", 64, 64, 128, 3, {"stream": 4}),
        ("tf32", 64, 64, 64, None, {"split": 2}),
        ("i8", 64, 64, 256, None, {"split": 2}),
        ("f32", 70, 130, 50, None, {"stream": 7}),
        ("f32", 64, 64, 32, None, {"split": 9}),  # more blocks than steps
    ],
)
def test_shared_steps(
    checked: None, kind: str, m: int, n: int, k: int, batch: int | None, how: dict[str, int]
) -> None:
    lead = () if batch is None else (batch,)
    a, b = numbers((*lead, m, k), TYPES[kind]), numbers((k, n), TYPES[kind])
    config = replace(SMALL[kind], **how)
    same(gemm(a, b, tf32=kind == "tf32", config=config), reference.gemm(a, b))


@t0
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_order_of_blocks_gives_the_same_bits(checked: None, random: Any, seed: int) -> None:
    a, b, c = (random(s, np.float16) for s in ((72, 160), (160, 72), (72, 72)))
    config = replace(SMALL["f16"], stream=7)
    first = gemm(a, b, c, activation="relu", config=config)
    with KNOBS.override(sim_seed=seed):
        np.testing.assert_array_equal(gemm(a, b, c, activation="relu", config=config), first)
    want = reference.gemm(a, b, c, activation=lambda x: np.maximum(x, 0))
    np.testing.assert_allclose(first.astype(np.float64), want, rtol=2e-3, atol=2e-2)


FAULTS = {
    "barrier before the flag": (
        "    cute.arch.sync_threads()\n    if tid == 0:", "    if tid == 0:"
    ),
    "release of the flag": ('sem="release"', 'sem="relaxed"'),
    "acquire of the flag": ('sem="acquire"', 'sem="relaxed"'),
    "barrier after the flag": ("            cute.arch.sync_threads()\n            others",
                               "            others"),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(
    checked: None, planted: Any, monkeypatch: Any, fault: str
) -> None:
    from opencute.kernels.gemm import sm80

    module = planted("opencute.kernels.gemm.share", *FAULTS[fault], 1)
    for name in ("Share", "give", "take"):
        monkeypatch.setattr(sm80, name, getattr(module, name))
    a, b = numbers((64, 128), np.float16), numbers((128, 64), np.float16)
    with pytest.raises(OpenCuTeError, match="OC3401"):
        gemm(a, b, config=replace(SMALL["f16"], split=3))


@t0
def test_a_barrier_between_tiles_is_needed(checked: None, planted: Any, monkeypatch: Any) -> None:
    text = "cute.arch.sync_threads()  # nobody"
    module = planted("opencute.kernels.gemm.sm80", text, "pass  # nobody", 1)
    monkeypatch.setattr(interface, "shared_tensor_core_gemm", module.shared_tensor_core_gemm)
    monkeypatch.setattr(operands, "TensorCorePlan", module.TensorCorePlan)
    a, b = numbers((128, 64), np.float16), numbers((64, 64), np.float16)
    with pytest.raises(OpenCuTeError, match="OC3401"):
        gemm(a, b, config=replace(SMALL["f16"], stream=1))


@t0
def test_when_steps_are_shared() -> None:
    few = heuristic(Problem(128, 128, 16384, 1, "f16", 16), 232448)
    assert few.split > 8 and few.blocks(Problem(128, 128, 16384, 1, "f16", 16)) <= 132
    for m, n, k in ((4096, 4096, 4100), (128, 128, 64), (2048, 2048, 8192)):
        problem = Problem(m, n, k, 1, "f16", 16)
        assert heuristic(problem, 232448).blocks(problem) == 0
    # A last wave of tiles would leave most multiprocessors without work.
    large = heuristic(Problem(8192, 8192, 8192, 1, "f16", 16), 232448)
    assert (large.stream, large.pieces) == (132, 2)
    assert heuristic(Problem(4096, 4096, 4096, 1, "f16", 16), 232448).pieces == 3
    found = list(search_space(Problem(256, 256, 8192, 1, "f16", 16), 232448))
    assert {c.split for c in found} >= {1, 2, 4, 8} and any(c.stream for c in found)
    with pytest.raises(ArgumentError, match="OC2536"):
        replace(few, stream=4).check("f16", 16, 232448)


@t1
@pytest.mark.parametrize(
    ("kind", "n", "arch"),
    [("f16", 128, a) for a in ARCHS] + [("f32", 128, a) for a in ARCHS]
    + [("f16", 136, "sm_90a"), ("f32", 129, "sm_90a")],  # ragged
)  # fmt: skip
def test_no_spills(kind: str, n: int, arch: str) -> None:
    problem = Problem(128, n, 16384, 1, kind, 16 if kind == "f16" else 32, n == 129)
    assert heuristic(problem, target(arch).max_smem).split > 1
    a, b = np.zeros((128, 16384), TYPES[kind]), np.zeros((16384, n), TYPES[kind])
    calls: list[Any] = []
    name = "shared_sgemm" if kind == "f32" else "shared_tensor_core_gemm"
    launch = getattr(interface, name)
    with pytest.MonkeyPatch.context() as patch, KNOBS.override(target=f"sim:{arch}"):
        patch.setattr(interface, name, lambda *args: calls.append(args))
        gemm(a, b)
        traced = cute.compile[cute.GPUArch("sm_80")](launch, *calls[0]).artefacts
    made = Artefacts(traced.name, traced.module, arch, traced.options)
    for kernel, report in made.kernel_info.items():
        assert report.spill_loads == report.spill_stores == report.stack == 0, (kernel, report)
    assert "ld.acquire.gpu" in made.ptx and "st.release.gpu" in made.ptx


@t2
@pytest.mark.parametrize("how", [{"split": 7}, {"stream": 132}, {"stream": 100}], ids=str)
@pytest.mark.parametrize("kind", ["f16", "f32", "i8"])
def test_on_a_gpu(kind: str, how: dict[str, int]) -> None:
    torch = pytest.importorskip("torch")
    for m, n, k in ((128, 128, 16384), (1000, 520, 1000), (16, 64, 8192), (2048, 2048, 512)):
        a, b = numbers((m, k), TYPES[kind]), numbers((k, n), TYPES[kind])
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        config = replace(heuristic(interface.problem_of(x, y, torch.empty(
            (m, n), dtype=torch.int32 if kind == "i8" else x.dtype, device="cuda")), 232448),
            split=1, stream=0)  # fmt: skip
        out = torch.empty((m, n), dtype=torch.int32 if kind == "i8" else torch.float32).cuda()
        for _ in range(3):
            gemm(x, y, out=out, config=replace(config, **how))
            same(out.cpu().numpy(), reference.gemm(a, b))
