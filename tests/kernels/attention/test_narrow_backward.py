# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of attention of e4m3 and e5m2: copies in 16 bits, factors, results, code."""

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
from opencute.kernels.attention import (
    BackwardConfig,
    WarpgroupBackwardConfig,
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
    sm80_backward,
    sm90_backward,
)
from opencute.kernels.attention.config import backward_heuristic, warpgroup_backward_heuristic
from opencute.kernels.attention.reference import attention as forward_reference
from opencute.kernels.attention.reference import attention_backward as reference
from opencute.kernels.attention.reference import varlen
from opencute.kernels.attention.sm80_backward import BackwardPlan
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan
from opencute.kernels.widen import WidenPlan, widen, widened

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
F16, BF16 = np.float16, ml_dtypes.bfloat16
KINDS = {"4": E4M3, "5": E5M2}
SMALL = WarpgroupBackwardConfig(2, 1)
CASES = [
    # types, heads, of keys, elements, window, type of dO, whether each head has factors, how
    ("445", 2, 2, 64, (None, None), F16, False, SMALL),
    ("555", 4, 2, 64, (None, 0), BF16, True, SMALL),
    ("545", 2, 1, 96, (20, 10), F16, True, WarpgroupBackwardConfig(2, 1, atomics=True)),
    ("454", 2, 1, 192, (None, None), F16, True, WarpgroupBackwardConfig(1, 1)),
    ("544", 4, 2, 32, (None, 0), F16, True, BackwardConfig(32, 32, 2, 2)),
    ("445", 2, 2, 40, (20, 10), BF16, False, BackwardConfig(32, 64, 4, 1)),
    ("555", 2, 1, 144, (None, None), F16, True, BackwardConfig(32, 32, 4, 1)),
]  # fmt: skip


def operands(kinds: str, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(s, np.float32).astype(KINDS[c])
        for s, c in zip(shapes, kinds, strict=True)
    ]


def with_factors(arrays: Any, factors: Any) -> list[Any]:
    """Arrays (..., H, D) times factors that are numbers or (B, H), in f64."""
    return [
        x.astype(np.float64) * (f[:, None, :, None] if np.ndim(f) else f)
        for x, f in zip(arrays, factors, strict=True)
    ]


def near(found: Any, wanted: Any, dtype: Any) -> None:
    """Each weight and slope is rounded once, by half a unit in the last place of 11 or 8 bits, and
    the result once more; sums of them by no more of the largest one."""
    step = 2.0**-10 if dtype is F16 else 2.0**-7
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(np.float64), want, atol=step * abs(want).max())


@pytest.mark.t0
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} {c[3]}")
def test_results(case: Any) -> None:
    kinds, heads, shared, d, window, dtype, varies, config = case
    rng = np.random.default_rng(1)
    shapes = ((2, 70, heads, d), (2, 90, shared, d), (2, 90, shared, d))
    q, k, v = operands(kinds, *shapes)
    g = rng.standard_normal(shapes[0]).astype(dtype)
    factors: list[Any] = [0.5, 2.0, 0.25]
    if varies:
        factors = [(rng.random((2, s[2])) + 0.5).astype(np.float32) for s in shapes]
    exact = with_factors((q, k, v), factors)
    out, lse = forward_reference(*exact, scale=d**-0.5, window=window)
    arch = "sm_90a" if isinstance(config, WarpgroupBackwardConfig) else "sm_80"
    with KNOBS.override(target=f"sim:{arch}", sim_check=True):
        found = attention_backward(
            g, q, k, v, out.astype(dtype), lse.astype(np.float32), window=window,
            deterministic=varies, config=config,
            **dict(zip(("q_scale", "k_scale", "v_scale"), factors, strict=True)),
        )  # fmt: skip
    near(found, reference(g, *exact, scale=d**-0.5, window=window), dtype)


@pytest.mark.t0
def test_results_of_the_forward_pass_fit(checked: None) -> None:
    """Its logarithms are of the same scores: with 8.0 for `q_scale` weights are far from even, and
    would be wrong by what scores are. What is expected is of its result, whose weights are of
    e4m3."""
    q, k, v = operands("454", *[(1, 40, 1, 64)] * 3)
    g = np.random.default_rng(1).standard_normal(q.shape).astype(BF16)
    factors: dict[str, Any] = {"q_scale": np.full(1, 8, np.float32), "k_scale": 0.5, "v_scale": 2.0}
    out, lse = attention(q, k, v, causal=True, return_lse=True, **factors)
    found = attention_backward(g, q, k, v, out, lse, causal=True, config=SMALL, **factors)
    exact = with_factors((q, k, v), (8.0, 0.5, 2.0))
    _, logs = forward_reference(*exact, scale=0.125, causal=True)
    np.testing.assert_allclose(lse, logs, rtol=1e-5, atol=1e-5)
    a, b, c, o, d = (x[0, :, 0].astype(np.float64) for x in (*exact, out, g))
    weights = np.tril(np.exp(a @ b.T * 0.125 - logs[0, 0][:, None]))
    slopes = weights * (d @ c.T - (o * d).sum(-1, keepdims=True)) * 0.125
    wanted = (slopes @ b, slopes.T @ a, weights.T @ d)
    near([x[0, :, 0] for x in found], wanted, BF16)


@pytest.mark.t0
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_sequences_end_to_end(arch: str) -> None:
    """Rows of no sequence have no gradients, even if they are no numbers."""
    q, k, v = operands("545", (80, 2, 64), (90, 1, 64), (90, 1, 64))
    starts = (np.array([0, 30, 30, 70], np.int32), np.array([0, 40, 45, 85], np.int32))
    g = np.random.default_rng(1).standard_normal(q.shape).astype(F16)
    factors = [
        (np.random.default_rng(2).random((3, h)) + 0.5).astype(np.float32) for h in (2, 1, 1)
    ]
    exact = [x.astype(np.float64) for x in (q, k, v)]
    for i in range(3):
        for x, f, s in zip(exact, factors, (starts[0], *[starts[1]] * 2), strict=True):
            x[s[i] : s[i + 1]] *= f[i][:, None]
    out, lse = np.zeros(q.shape, F16), np.full((2, 80), -np.inf, np.float32)
    for i, (o, logs) in enumerate(
        varlen(forward_reference, (exact[0],), (*exact[1:],), *starts, 0.125)
    ):
        out[starts[0][i] : starts[0][i + 1]] = o[0]
        lse[:, starts[0][i] : starts[0][i + 1]] = logs[0]
    q[70:], k[85:], v[85:] = np.nan, np.nan, np.nan
    named = dict(zip(("q_scale", "k_scale", "v_scale"), factors, strict=True))
    config = SMALL if arch == "sm_90a" else BackwardConfig(32, 64, 4, 1)
    with KNOBS.override(target=f"sim:{arch}", sim_check=True):
        found = attention_varlen_backward(
            g, q, k, v, out, lse, *starts, 40, 40, config=config, **named
        )
    parts = [
        reference(g[None, a], exact[0][None, a], exact[1][None, b], exact[2][None, b], 0.125)
        for a, b in ((slice(*starts[0][i : i + 2]), slice(*starts[1][i : i + 2])) for i in range(3))
    ]
    wanted = [np.zeros(x.shape) for x in exact]
    for i, part in enumerate(parts):
        for w, p, s in zip(wanted, part, (starts[0], *[starts[1]] * 2), strict=True):
            w[s[i] : s[i + 1]] = p[0]
    near(found, wanted, F16)


@pytest.mark.t0
@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("kind", [E4M3, E5M2])
def test_copies_are_exact(checked: None, kind: Any, dtype: Any) -> None:
    """Every number of eight bits, of arrays that begin and go on anywhere."""
    every = np.arange(256, dtype=np.uint8).view(kind)
    room = np.concatenate([every, every, every])
    for arrays in (
        (every.reshape(1, 4, 2, 32), every.reshape(1, 8, 1, 32)[:, ::2]),
        (room[3 : 3 + 512].reshape(2, 4, 2, 32), every.reshape(1, 2, 4, 32).transpose(0, 2, 1, 3)),
        (np.broadcast_to(every.reshape(1, 8, 1, 32), (3, 8, 2, 32)),),
        (room[:600].reshape(1, 5, 1, 120), room[1:721].reshape(1, 6, 1, 120)),
        (room[: 29 * 17].reshape(1, 29, 1, 17).copy(),),
        (room[: 32 * 20].reshape(1, 1, 32, 20).transpose(0, 2, 1, 3),),
        (room[: 32 * 20].reshape(1, 1, 32, 20)[..., ::2],),
    ):
        for got, source in zip(widened(np.dtype(dtype), *arrays), arrays, strict=True):
            assert got.dtype == dtype and got.flags.c_contiguous
            np.testing.assert_array_equal(got.astype(np.float32), source.astype(np.float32))


@pytest.mark.t0
def test_torch_has_no_gradients_of_eight_bits() -> None:
    torch = pytest.importorskip("torch")
    q = torch.zeros(1, 16, 1, 64).to(torch.float8_e4m3fn)
    wide = torch.zeros(1, 16, 1, 64, dtype=torch.float16)
    for wants, rest in ((q, q), (q.clone(), wide)):
        with pytest.raises(ArgumentError, match="attention_backward gives gradients") as e:
            attention(wants.requires_grad_(), rest, rest)
        assert e.value.code == "OC2525"
    starts = torch.tensor([0, 16], dtype=torch.int32)
    with pytest.raises(ArgumentError, match="attention_varlen_backward gives gradients"):
        attention_varlen(q[0], q[0], q[0], starts, starts, 16, 16)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v = operands("454", *[(1, 16, 2, 64)] * 3)
    half, lse = np.zeros(q.shape, F16), np.zeros((1, 2, 16), np.float32)
    for bad, code in (
        (lambda: attention_backward(q, q, k, v, half, lse), "OC2525"),
        (lambda: attention_backward(half[:, :8], q, k, v, half, lse), "OC2523"),
        (lambda: attention_backward(half, q, k, v, half.astype(BF16), lse), "OC2523"),
        (lambda: attention_backward(half, q, k, half, half, lse), "OC2525"),
        (lambda: attention_backward(half, half, half, half, half, lse, q_scale=2.0), "OC2525"),
        (lambda: attention_backward(half, q, k, v, half, lse, v_scale=-1.0), "OC2522"),
        (lambda: attention_backward(half, q, k, v, half, lse, k_scale=lse[0, 0]), "OC2528"),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code


def test_factors_fit_in_shared_memory() -> None:
    for d in range(8, 257, 8):
        for arch in ("sm_80", "sm_86"):
            smem = target(arch).max_smem
            assert backward_heuristic(d, smem).check(d, smem)
    config = BackwardConfig(64, 128, 8, 2)
    plan = BackwardPlan(cutlass.Float16, 128, 64, 128, 8, 2, None, None, 1, scaled=True)
    stats = 4 * 2 * plan.known * config.stages
    operand = 2 * (128 + 8)
    assert config.smem_bytes(128) == operand * (2 * 128 + 3 * 64) + 2 * 128 * (64 + 8) + stats


def heads(count: int, group: int, d: int) -> tuple[Any, ...]:
    x = np.zeros((1, 8, group, d), BF16)
    return tuple(from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(count))


def factors_of(group: int) -> tuple[Any, ...]:
    arrays = (np.ones((1, 1, group), np.float32), *[np.ones((1, 1), np.float32)] * 2)
    return (1.0, 1.0, 1.0, *(from_dlpack(x).mark_layout_dynamic() for x in arrays))


def nothing_spilled(made: Artefacts) -> None:
    for name, report in made.kernel_info.items():
        assert report.spill_loads == report.spill_stores == report.stack == 0, (name, report)
    assert ".local" not in made.ptx


@pytest.mark.t1
@pytest.mark.parametrize(
    ("d", "before", "after", "group"),
    [(64, None, 0, 4), (96, None, None, 1), (128, None, None, 1), (128, 200, 100, 4),
     (256, None, 0, 4)],
)  # fmt: skip
def test_warpgroups_spill_nothing(d: int, before: Any, after: Any, group: int) -> None:
    config = warpgroup_backward_heuristic(d)
    plan = WarpgroupBackwardPlan(
        cutlass.BFloat16, d, config.queries(d), config.stages, config.grads, config.early, before,
        after, group, atomics=config.atomics, scaled=True,
    )  # fmt: skip
    f32 = [np.zeros(s, np.float32) for s in ((group, 8), (group, 2, plan.known), (group, 8192))]
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            sm90_backward.attention_backward, *heads(8, group, d), *(x[None] for x in f32), None,
            None, None, 0, 0, 1.0, plan, *factors_of(group),
        ).artefacts  # fmt: skip
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    nothing_spilled(made)


@cache
def traced(d: int, config: BackwardConfig) -> Artefacts:
    plan = BackwardPlan(
        cutlass.BFloat16, d, config.m, config.n, config.warps, config.stages, None, 0, 4,
        scaled=True,
    )  # fmt: skip
    sizes = ((4, 8), (4, 2, plan.known), (4, config.m * plan.depth))
    f32 = [np.zeros((1, *s), np.float32) for s in sizes]
    with KNOBS.override(target="sim"):
        return cute.compile[cute.GPUArch("sm_80")](
            sm80_backward.attention_backward, *heads(8, 4, d), *f32, None, None, None, 0, 0, 1.0,
            plan, *factors_of(4),
        ).artefacts  # fmt: skip


@pytest.mark.t1
@pytest.mark.parametrize(
    ("d", "arch"),
    [(64, "sm_80"), (128, "sm_80"), (128, "sm_90a"), (128, "sm_120a"), (256, "sm_86"),
     (256, "sm_80")],
)  # fmt: skip
def test_warps_spill_nothing(d: int, arch: str) -> None:
    base = traced(d, backward_heuristic(d, target(arch).max_smem))
    nothing_spilled(Artefacts(base.name, base.module, arch, base.options))


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("kind", "flat"), [(E4M3, True), (E5M2, True), (E4M3, False)])
def test_copies_move_whole_vectors(kind: Any, flat: bool, arch: str) -> None:
    shape = (1, 8, 1, 128)
    arrays = [from_dlpack(np.zeros(shape, t)).mark_layout_dynamic(leading_dim=3) for t in
              (kind, BF16)]  # fmt: skip
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch(arch)](
            widen, (arrays[0],), (arrays[1],), WidenPlan(128, 8, flat)
        ).artefacts
    nothing_spilled(made)
    lines = made.ptx.splitlines()
    reads, writes = ([x for x in lines if f"{way}.global" in x] for way in ("ld", "st"))
    assert len(reads) == len(writes) == 8
    # Neighbouring threads write 16 bytes each.
    assert all(".v2.b32" in x or ".b64" in x for x in reads)
    assert all(".v4.b32" in x for x in writes)
    (report,) = made.device.report.functions
    assert report.registers <= 64  # 1024 threads of a multiprocessor have 64 KB under way


@pytest.mark.t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("d", "kinds"), [(64, "444"), (128, "444"), (128, "545"), (256, "555"), (80, "444")]
)
def test_on_a_gpu(d: int, kinds: str, causal: bool) -> None:
    """Beside torch in f64, of the result and the logarithms that were given. Weights, slopes and
    gradients are rounded to bf16, by 2**-8 of each at most."""
    torch = pytest.importorskip("torch")
    of = {"4": torch.float8_e4m3fn, "5": torch.float8_e5m2}
    q, k, v = (
        torch.randn(2, 1000, h, d, device="cuda").to(of[c])
        for h, c in zip((8, 2, 2), kinds, strict=True)
    )
    factors = [torch.rand(2, h, device="cuda") + 0.5 for h in (8, 2, 2)]
    named = dict(zip(("q_scale", "k_scale", "v_scale"), factors, strict=True))
    exact = [x.double() * f[:, None, :, None] for x, f in zip((q, k, v), factors, strict=True)]
    a, b, c = (
        x.transpose(1, 2) for x in (exact[0], *(x.repeat_interleave(4, 2) for x in exact[1:]))
    )
    scores = a @ b.mT * d**-0.5
    if causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
    lse = scores.logsumexp(-1).float()
    out = (scores.softmax(-1) @ c).transpose(1, 2).bfloat16().contiguous()
    if d != 80:  # there is no forward pass of eight bits
        out, lse = attention(q, k, v, causal=causal, return_lse=True, **named)
    grad = torch.randn_like(out)
    g, o = (x.double().transpose(1, 2) for x in (grad, out))
    weights = (scores - lse.double()[..., None]).exp()
    slopes = weights * (g @ c.mT - (o * g).sum(-1, keepdim=True))
    found = attention_backward(grad, q, k, v, out, lse, causal=causal, **named)
    for got, left, right, by, shared in (
        (found[0], slopes, b, d**-0.5, 1), (found[1], slopes.mT, a, d**-0.5, 4),
        (found[2], weights.mT, g, 1.0, 4),
    ):  # fmt: skip
        want, most = (
            (x.unflatten(1, (-1, shared)).sum(2) * by).transpose(1, 2)
            for x in (left @ right, left.abs() @ right.abs())
        )
        assert got.dtype == torch.bfloat16
        bound = 2**-8 * (most + want.abs()) + 2e-6 * most.max()
        assert ((got.double() - want).abs() <= bound).all()
