# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention: small sizes in the simulator against NumPy, machine code of the default choices, and
real sizes on a GPU against torch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention import AttentionConfig, attention, attention_varlen
from opencute.kernels.attention.config import heuristic, search_space
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.sm80 import AttentionPlan, attention_forward

ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]


def operands(b: int, sq: int, sk: int, h: int, hk: int, d: int, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((b, sq, h, d), (b, sk, hk, d), (b, sk, hk, d))
    return [rng.standard_normal(s, np.float32).astype(dtype) for s in shapes]


@pytest.mark.t0
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("sq", "sk", "h", "hk", "d", "causal", "config"),
    [
        (32, 64, 1, 1, 64, False, AttentionConfig(32, 32, 2)),
        (50, 70, 2, 1, 40, True, AttentionConfig(32, 32, 1, 2, 2)),  # grouped, all ragged
        (40, 20, 1, 1, 32, True, AttentionConfig(32, 16, 1, 2, 9)),  # queries that see no key
    ],
)
def test_simulated(
    sq: int, sk: int, h: int, hk: int, d: int, causal: bool, config: AttentionConfig, dtype: Any
) -> None:
    q, k, v = operands(1, sq, sk, h, hk, d, dtype)
    with KNOBS.override(target="sim"):
        out, logs = attention(q, k, v, causal=causal, return_lse=True, config=config)
    want, want_logs = reference(q, k, v, d**-0.5, causal=causal)
    step = 2e-3 if dtype == np.float16 else 1.6e-2  # weights are rounded, then the result
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=step, atol=step / 2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
def test_nothing_is_read_past_the_keys() -> None:
    # What follows the last key in memory is not a number, and a weight of 0 would not hide it.
    q, k, v = operands(1, 16, 32, 1, 1, 32, np.float16)
    k[:, 20:], v[:, 20:] = np.nan, np.nan
    with KNOBS.override(target="sim"):
        out = attention(q, k[:, :20], v[:, :20], config=AttentionConfig(16, 32, 1))
    want, _ = reference(q, k[:, :20], v[:, :20], 32**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


@pytest.mark.t0
def test_the_largest_scale_leaves_one_key() -> None:
    q, k, v = operands(1, 16, 16, 1, 1, 32, np.float16)
    with KNOBS.override(target="sim"):
        out = attention(q, k, v, scale=2.0**20, config=AttentionConfig(16, 16, 1))
    best = np.einsum("bqhd,bkhd->bqk", q.astype(np.float64), k.astype(np.float64)).argmax(-1)
    np.testing.assert_allclose(out[0, :, 0], v[0, best[0], 0], rtol=2**-9)


def shared(like: Any) -> Any:
    """An array of this shape whose batches, and heads, are one."""
    return np.lib.stride_tricks.as_strided(
        np.zeros(like.shape, like.dtype), strides=(*like.strides[:2], 0, like.strides[3])
    )


@pytest.mark.t0
@pytest.mark.parametrize(
    ("q", "k", "v", "hint"),
    [
        ((2, 4, 16, 32), (2, 4, 24, 32), None, "(B, H, S, D)"),
        ((2, 16, 4, 32), (2, 24, 3, 32), None, "the 3 heads of k and v"),
        ((16, 4, 32), (24, 4, 32), None, "q[None]"),
        ((2, 16, 4, 36), (2, 24, 4, 36), None, "zeros to a multiple of 8"),
        ((2, 16, 4, 32), (2, 24, 4, 32), (2, 24, 4, 64), "k and v have one shape"),
        ((2, 16, 4, 32), (3, 24, 4, 32), None, "q has 2 batches, k has 3"),
        ((2, 16, 4, 32), (2, 24, 4, 40), None, "heads of q have 32 elements, those of k 40"),
        ((2, 16, 4, 264), (2, 24, 4, 264), None, "no kernel for larger heads"),
    ],
)
def test_what_to_do_about_shapes_that_do_not_fit(q: Any, k: Any, v: Any, hint: str) -> None:
    arrays = [np.zeros(s, np.float16) for s in (q, k, v or k)]
    with pytest.raises(ArgumentError, match="OC2526") as e:
        attention(*arrays)
    assert hint in str(e.value.hint)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v = operands(1, 16, 16, 2, 2, 32, np.float16)
    for bad, code in (
        (lambda: attention(q, k, v.astype(np.float32)), "OC2525"),
        (lambda: attention(q, k[:, :, :, :24], v), "OC2526"),
        (lambda: attention(q, k, v, scale=-1.0), "OC2522"),
        *(
            (lambda s=s: attention(q, k, v, scale=s), "OC2522")
            for s in (np.nan, np.inf, 2.0**21, 1e-40)
        ),
        (lambda: attention(q, k, v, out=shared(q)), "OC2541"),
        (lambda: attention(q, k, v, out=q[:, :8]), "OC2523"),
        (lambda: attention(q, k, v, config=AttentionConfig(24, 16, 1)), "OC2520"),
        (lambda: attention(q, k, v, config=AttentionConfig(1024, 1024, 4)), "OC2521"),
    ):
        with KNOBS.override(target="sim"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code


@pytest.mark.t0
def test_nothing_to_do() -> None:
    q, k, v = operands(1, 4, 0, 1, 1, 32, np.float16)
    out, logs = attention(q, k, v, return_lse=True)
    assert not out.any() and (logs == -np.inf).all()


@pytest.mark.t0
@pytest.mark.parametrize("head_dim", [32, 64, 96, 128, 192, 256])
def test_choices_are_possible(head_dim: int) -> None:
    for smem in (99 * 1024, 163 * 1024, 227 * 1024):  # sm_86, 80 and 90; 89 and 120 are like 86
        heuristic(head_dim, smem).check(head_dim, smem)
    assert list(search_space(head_dim, 160 * 1024))


@cache
def traced(head_dim: int, causal: bool, config: AttentionConfig) -> Artefacts:
    plan = AttentionPlan(
        cutlass.BFloat16,
        head_dim,
        config.m,
        config.n,
        config.warps,
        causal,
        1,
        alike=True,
        stages=config.stages,
        ahead=config.ahead,
    )
    array = np.zeros((1, 8, 1, head_dim), ml_dtypes.bfloat16)
    args = [from_dlpack(array).mark_layout_dynamic(leading_dim=3) for _ in range(4)]
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_80")](
            attention_forward, *args, None, None, None, 0, 1.0, plan
        )
    return made.artefacts


def machine_code(head_dim: int, causal: bool, arch: str) -> Artefacts:
    base = traced(head_dim, causal, heuristic(head_dim, target(arch).max_smem))
    return Artefacts(base.name, base.module, arch, base.options)


@pytest.mark.t1
# Code without a mask is a part of code with one.
@pytest.mark.parametrize(
    ("causal", "arch"), [(False, "sm_80"), (False, "sm_90a"), *((True, arch) for arch in ARCHS)]
)
def test_no_spills(arch: str, causal: bool) -> None:
    (report,) = machine_code(128, causal, arch).kernel_info.values()
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@pytest.mark.t1
@pytest.mark.parametrize("head_dim", [64, 192, 256])
def test_no_spills_of_other_heads(head_dim: int) -> None:
    (report,) = machine_code(head_dim, True, "sm_90a").kernel_info.values()
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@pytest.mark.t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("b", "s", "h", "hk", "d"),
    [(2, 2048, 8, 8, 128), (1, 1000, 8, 2, 64), (1, 513, 4, 4, 96), (1, 777, 4, 1, 256)],
)
def test_on_a_gpu(b: int, s: int, h: int, hk: int, d: int, dtype: str, causal: bool) -> None:
    torch = pytest.importorskip("torch")
    q, k, v = (
        torch.randn(b, s, n, d, device="cuda", dtype=getattr(torch, dtype)) for n in (h, hk, hk)
    )
    out = attention(q, k, v, causal=causal)
    wide = [x.float().transpose(1, 2) for x in (q, k, v)]
    wide[1:] = (x.repeat_interleave(h // hk, 1) for x in wide[1:])
    want = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal)
    torch.testing.assert_close(
        out.float(), want.transpose(1, 2), rtol=2e-2, atol=4e-3 if dtype == "float16" else 2e-2
    )


@pytest.mark.parametrize(
    ("starts", "longest"), [([0, 20, 65], 64), ([0, 40, 20], 64), ([-1, 20, 40], 64), ([0, 40], 32)]
)
def test_sequences_that_the_arrays_do_not_have(starts: list[int], longest: int) -> None:
    q, cu = np.zeros((64, 1, 64), np.float16), np.array(starts, np.int32)
    fine = np.linspace(0, 64, len(starts)).astype(np.int32)
    for which in ((cu, fine), (fine, cu)):
        with pytest.raises(ArgumentError, match=r"cu_seqlens_|max_seqlen_") as e:
            attention_varlen(q, q, q, *which, longest if which[0] is cu else 64,
                             longest if which[1] is cu else 64)  # fmt: skip
        assert e.value.code == "OC2571"
