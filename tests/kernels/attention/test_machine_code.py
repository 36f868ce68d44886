# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Code of the derivatives, and of sequences end to end, at default choices on every processor."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import read_sass
from opencute.codegen.toolchain import find_disassembler
from opencute.compiler.artefacts import Artefacts
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention.config import BackwardConfig, backward_heuristic, heuristic
from opencute.kernels.attention.sm80 import AttentionPlan, attention_forward
from opencute.kernels.attention.sm80_backward import BackwardPlan, attention_backward

pytestmark = pytest.mark.t1
ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]


def _heads(count: int, head_dim: int) -> tuple[Any, ...]:
    x = np.zeros((1, 8, 1, head_dim), ml_dtypes.bfloat16)
    return tuple(from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(count))


@cache
def traced(head_dim: int, causal: bool, config: BackwardConfig, varlen: bool) -> Artefacts:
    plan = BackwardPlan(
        cutlass.BFloat16, head_dim, config.m, config.n, config.warps, config.stages, None,
        0 if causal else None, 1,
    )  # fmt: skip
    logs, stats, sums = (
        np.zeros(s, np.float32)
        for s in ((1, 1, 8), (1, 1, 2, config.m), (1, 1, config.m * plan.depth))
    )
    starts = np.zeros(2, np.int32) if varlen else None
    args = (*_heads(8, head_dim), logs, stats, sums, None, starts, starts, 8, 8, 1.0, plan)
    with KNOBS.override(target="sim"):
        return cute.compile[cute.GPUArch("sm_80")](attention_backward, *args).artefacts


def compiled(head_dim: int, causal: bool, arch: str, varlen: bool = False) -> Artefacts:
    base = traced(head_dim, causal, backward_heuristic(head_dim, target(arch).max_smem), varlen)
    return Artefacts(base.name, base.module, arch, base.options)


def no_spills(made: Artefacts) -> None:
    for name, report in made.kernel_info.items():
        assert report.spill_loads == report.spill_stores == report.stack == 0, (name, report)
    assert ".local" not in made.ptx


# Code without a mask is a part of code with one.
@pytest.mark.parametrize(
    ("causal", "arch"), [(False, "sm_80"), (False, "sm_90a"), *((True, arch) for arch in ARCHS)]
)
def test_derivatives_have_no_spills(arch: str, causal: bool) -> None:
    no_spills(compiled(128, causal, arch))


@pytest.mark.parametrize(
    ("head_dim", "arch"),
    [
        (64, "sm_90a"),
        (96, "sm_90a"),
        (32, "sm_86"),
        (192, "sm_86"),
        (256, "sm_80"),
        (256, "sm_90a"),
        (256, "sm_120a"),
    ],
)
def test_derivatives_of_other_heads_have_no_spills(head_dim: int, arch: str) -> None:
    no_spills(compiled(head_dim, True, arch))


def test_windows_have_no_spills() -> None:
    config = backward_heuristic(128, target("sm_80").max_smem)
    plan = BackwardPlan(
        cutlass.BFloat16, 128, config.m, config.n, config.warps, config.stages, 200, 100, 1
    )
    logs, stats, sums = (
        np.zeros(s, np.float32) for s in ((1, 1, 8), (1, 1, 2, 64), (1, 1, 64 * 128))
    )
    args = (*_heads(8, 128), logs, stats, sums, None, None, None, 8, 8, 1.0, plan)
    forward = heuristic(128, target("sm_80").max_smem)
    plan_forward = AttentionPlan(
        cutlass.BFloat16, 128, forward.m, forward.n, forward.warps, False, 1, True,
        forward.stages, forward.ahead, 200, 100,
    )  # fmt: skip
    with KNOBS.override(target="sim"):
        compiler = cute.compile[cute.GPUArch("sm_80")]
        no_spills(compiler(attention_backward, *args).artefacts)
        arrays = (*_heads(4, 128), logs, None, None, 8, 1.0, plan_forward)
        no_spills(compiler(attention_forward, *arrays).artefacts)


def test_sequences_end_to_end_have_no_spills() -> None:
    no_spills(compiled(128, True, "sm_90a", True))
    config, starts = heuristic(128, target("sm_90a").max_smem, True), np.zeros(2, np.int32)
    plan = AttentionPlan(
        cutlass.BFloat16,
        128,
        config.m,
        config.n,
        config.warps,
        True,
        1,
        alike=True,
        stages=config.stages,
        ahead=config.ahead,
    )
    args = (*_heads(4, 128), np.zeros((1, 1, 8), np.float32), starts, starts, 8, 1.0, plan)
    with KNOBS.override(target="sim"):
        no_spills(cute.compile[cute.GPUArch("sm_90a")](attention_forward, *args).artefacts)


def test_the_instructions_of_a_tile() -> None:
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    made = compiled(128, False, "sm_90a")
    sass = read_sass(made.cubin)
    # Two loops, with and without a mask; a warp has 16 keys and 64 queries, and 32 x 32 of dQ.
    assert sass.count("HMMA.16816.F32.BF16") == 2 * (4 * 64 + 64)
    assert sass.count("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU") == 2 * 32
    assert sass.count("MUFU.EX2") == 2 * 32
    assert not sass.local_memory
