# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of e4m3 and e5m2 with warpgroups: results, faults where values are turned, code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingPieceError,
    OpenCuTeError,
)
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import read_sass
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.jit.runners import simulated
from opencute.kernels.attention import (
    AttentionConfig,
    WarpgroupConfig,
    attention,
    attention_backward,
    attention_varlen,
)
from opencute.kernels.attention.config import (
    WARPGROUP_HEADS,
    warpgroup_heuristic,
    warpgroup_search_space,
)
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.reference import varlen
from opencute.kernels.attention.scales import factors_of
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90_persistent import attention_persistent

Report = Callable[[str, str], OpenCuTeError | None]
CONFIG = WarpgroupConfig(2, 32, 2)
FAULTS = [
    # what is wrong, the text, what stands there instead, the report
    ("no wait for room", "ready.acquire_and_advance()", "ready.acquire_and_advance(True)",
     "OC3403"),
    ("no fence", '            cute.arch.fence_proxy("async.shared", space="cta")\n', "", "OC3406"),
    ("not released", "            source.release()\n", "", "OC3501"),
]  # fmt: skip


KINDS = {"4": ml_dtypes.float8_e4m3fn, "5": ml_dtypes.float8_e5m2}
CLASSES = {"4": cutlass.Float8E4M3FN, "5": cutlass.Float8E5M2}


def operands(*shapes: tuple[int, ...], kinds: str = "444") -> tuple[Any, ...]:
    """Arrays of e4m3 ("4") and e5m2 ("5")."""
    rng = np.random.default_rng(0)
    return tuple(
        rng.standard_normal(s, np.float32).astype(KINDS[c])
        for s, c in zip(shapes, kinds, strict=True)
    )


def wide(*arrays: Any) -> tuple[Any, ...]:
    return tuple(x.astype(np.float32) for x in arrays)


@pytest.mark.t0
@pytest.mark.parametrize("slack", [0.0, 1.0, 2.0, 4.0])
def test_the_largest_weight_is_exact(slack: float) -> None:
    """Where one key counts, its value is the result: rounding of weights has no direction."""
    q, k, v = operands((1, 40, 1, 64), (1, 40, 1, 64), (1, 40, 1, 64))
    config = WarpgroupConfig(2, 32, 2, slack=slack)
    with KNOBS.override(target="sim:sm_90a"):
        got = attention(q, k, v, causal=True, config=config)
        alone = attention(q[:, :1], k[:, :1], v[:, :1], config=config)
    np.testing.assert_array_equal(*wide(alone[0, 0], v[0, 0]))
    np.testing.assert_array_equal(*wide(got[0, 0], v[0, 0]))


@pytest.mark.t0
def test_simulated(checked: None) -> None:
    d = 96
    q, k, v = operands((1, 70, 2, d), (1, 90, 1, d), (1, 90, 1, d))
    out, logs = attention(
        q, k, v, causal=True, q_scale=0.5, k_scale=2.0, v_scale=0.5, return_lse=True, config=CONFIG
    )
    want, want_logs = reference(*wide(q, k, v), d**-0.5, causal=True)
    assert out.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(out.astype(np.float64), want / 2, rtol=5e-2, atol=2e-2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
@pytest.mark.parametrize("kinds", ["555", "455", "545", "554"])
def test_types_may_differ(checked: None, kinds: str) -> None:
    """Logarithms are as near as e4m3's: products are exact. Weights are rounded to e4m3, by 2**-4
    of each at most, whatever values are."""
    q, k, v = operands((1, 40, 2, 64), (1, 50, 1, 64), (1, 50, 1, 64), kinds=kinds)
    out, logs = attention(
        q, k, v, q_scale=0.5, k_scale=np.full(1, 2, np.float32), v_scale=0.5, return_lse=True,
        config=CONFIG,
    )  # fmt: skip
    want, want_logs = reference(*wide(q, k, v), scale=0.125)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)
    most, _ = reference(*wide(q, k, abs(v)), scale=0.125)  # were all signs of values alike
    assert out.dtype == ml_dtypes.bfloat16
    assert (
        abs(out.astype(np.float64) - want / 2) <= 2**-4 * most / 2 + 2**-8 * abs(want) / 2
    ).all()


@pytest.mark.t0
def test_tensors_of_torch(checked: None) -> None:
    torch = pytest.importorskip("torch")
    arrays = operands((1, 20, 1, 64), (1, 40, 1, 64), (1, 40, 1, 64), kinds="545")
    want = attention(*arrays, config=CONFIG)
    kinds = {"4": torch.float8_e4m3fn, "5": torch.float8_e5m2}
    tensors = [
        torch.from_numpy(x.view(np.uint8)).view(kinds[c])
        for x, c in zip(arrays, "545", strict=True)
    ]
    found = attention(*tensors, config=CONFIG)
    assert found.dtype == torch.bfloat16
    assert np.array_equal(found.float().numpy(), want.astype(np.float32))


@pytest.mark.t0
@pytest.mark.parametrize(
    ("d", "config"),
    [
        (64, WarpgroupConfig(3, 64, 2, queries=2, slack=2.0, turned=3)),
        (128, WarpgroupConfig(2, 96, 2, slack=4.0, turned=2)),
    ],
)
def test_levels_that_stay(checked: None, d: int, config: WarpgroupConfig) -> None:
    """Scores exceed those before them by less, and by more, than what levels let pass."""
    q, k, v = operands((1, 200, 1, d), (1, 300, 1, d), (1, 300, 1, d))
    rise = np.linspace(3.0, 0.5, 300, dtype=np.float32)[None, :, None, None]  # last keys come first
    k = (k.astype(np.float32) * rise).astype(k.dtype)
    out, logs = attention(q, k, v, return_lse=True, config=config)
    want, want_logs = reference(*wide(q, k, v), d**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=6e-2, atol=6e-2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
@pytest.mark.parametrize(("d", "n"), [(64, 64), (96, 32), (128, 128), (192, 64), (256, 32)])
def test_turning_has_no_bank_conflicts(d: int, n: int) -> None:
    q, k, v = operands(*[(1, 128, 1, d)] * 3)
    with KNOBS.override(target="sim:sm_90a", sim_profile=True):
        before = dict(simulated().passes), sum(simulated().conflicts.values())
        out = attention(q, k, v, config=WarpgroupConfig(2, n, 2))
        report = simulated()
    want, _ = reference(*wide(q, k, v), d**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=6e-2, atol=4e-2)
    # A pass moves 128 bytes.
    assert report.passes["read"] - before[0].get("read", 0) >= d * 128 // 128
    assert sum(report.conflicts.values()) == before[1]


def scaled(arrays: Any, scales: Any) -> list[Any]:
    """Arrays (B, S, H, D) times factors (B, H)."""
    return [x * s[:, None, :, None] for x, s in zip(wide(*arrays), scales, strict=True)]


@pytest.mark.t0
def test_factors_of_heads(checked: None) -> None:
    # One block works on the tiles of all heads, one after the other.
    arrays = operands((2, 20, 2, 64), (2, 40, 1, 64), (2, 40, 1, 64))
    out = np.zeros(arrays[0].shape, np.float16)
    logs = np.zeros((2, 2, 20), np.float32)
    factors = [np.array(x, np.float32) for x in ([[[0.5, 1]], [[2, 0.25]]], [[1.0], [0.5]],
                                                 [[1.0], [2.0]])]  # fmt: skip
    plan = WarpgroupPlan(
        cutlass.Float8E4M3FN, 64, 2, 32, 2, None, None, 2, blocks=1, out=cutlass.Float16
    )
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (*arrays, out)]
    attention_persistent(*tensors, logs, None, None, 20, 0.125 * np.log2(np.e), plan, 0.5, *factors)
    q, k, v = scaled(arrays, (factors[0][:, 0], *factors[1:]))
    want, want_logs = reference(q, k, v, 0.125)
    np.testing.assert_allclose(out.astype(np.float64), want / 2, rtol=5e-2, atol=2e-2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
def test_factors_as_arrays() -> None:
    q = np.zeros((2, 8, 6, 64), np.float16)
    one = lambda *scales: factors_of(scales, q, 2, 3)  # noqa: E731
    f32 = lambda *shape: 1 + np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)  # noqa: E731
    assert one(2, None, np.float32(0.5)) == ((2.0, 1.0, 0.5), (None, None, None))
    numbers, (of_q, of_k, of_v) = one(f32(6), f32(2, 1), f32(1))
    assert numbers == (1.0, 1.0, 1.0)
    assert of_q.tolist() == [[[1, 2], [3, 4], [5, 6]]] * 2  # a head, and two of queries to each
    assert of_k.tolist() == [[1] * 3, [2] * 3] and of_v.tolist() == [[1] * 3] * 2
    assert one(f32(2, 3), 1, 1)[1][0].tolist() == [[[1] * 2, [2] * 2, [3] * 2],
                                                  [[4] * 2, [5] * 2, [6] * 2]]  # fmt: skip
    for bad, code in (
        ((f32(4), None, None), "OC2528"), ((None, f32(6), None), "OC2528"),
        ((None, f32(3, 1), None), "OC2528"), ((None, None, f32(1, 1, 1)), "OC2528"),
        ((None, f32(3).astype(np.float64), None), "OC2528"),
        ((None, f32(3) - 1, None), "OC2522"), (("1", None, None), "OC2531"),
    ):  # fmt: skip
        with pytest.raises((ArgumentError, ArgumentTypeError)) as e:
            one(*bad)
        assert e.value.code == code


@pytest.mark.t0
def test_sequences_end_to_end(checked: None) -> None:
    """Values of neighbours do not matter, even if they are no numbers."""
    q, k, v = operands((70, 1, 64), (90, 1, 64), (90, 1, 64))
    starts = (np.array([0, 30, 30, 70], np.int32), np.array([0, 40, 45, 85], np.int32))
    factors = np.array([[0.5], [1.0], [0.25]], np.float32)  # of sequences
    k[85:], v[85:] = np.nan, np.nan
    out = np.zeros(q.shape, np.float16)
    attention_varlen(q, k, v, *starts, 40, 40, out=out, v_scale=factors, config=CONFIG)
    q, k, v = wide(q, k, v)
    v[:40], v[45:] = v[:40] / 2, v[45:] / 4
    want = np.concatenate([x[0][0] for x in varlen(reference, (q,), (k, v), *starts, 0.125)])
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=4e-2, atol=2e-2)


@pytest.mark.t0
@pytest.mark.parametrize(
    ("text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    narrow_report_of: Report, text: str, other: str, code: str
) -> None:
    report = narrow_report_of(text, other)
    assert report is not None and report.code == code


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v = operands(*[(1, 16, 1, 64)] * 3)
    half = q.astype(np.float16)
    odd = np.ascontiguousarray(q[..., :40])
    logs = np.zeros((1, 1, 16), np.float32)
    for bad, code in (
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 48, 2)), "OC2546"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 32, 2, slack=8.0)), "OC2546"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 32, 2, turned=1)), "OC2546"),
        (lambda: attention(*[half] * 3, config=WarpgroupConfig(2, 32, 2, turned=2)), "OC2546"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 32, 2, turned=999)), "OC2521"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 32, 2, False)), "OC2548"),
        (lambda: attention(q, k, v, config=AttentionConfig(32, 32, 2)), "OC2548"),
        (lambda: attention(*[odd] * 3), "OC2548"),  # not that its rows are none of 16 bytes
        (lambda: attention(q, k, half), "OC2525"),
        (lambda: attention(half, half, half.astype(ml_dtypes.bfloat16)), "OC2525"),
        (lambda: attention(half, half, half, v_scale=2.0), "OC2525"),
        (lambda: attention(q, k, v, v_scale=0.0), "OC2522"),
        (lambda: attention(q, k, v, out=np.zeros_like(q)), "OC2523"),
        (lambda: attention_backward(q, q, k, v, q, logs), "OC2525"),
        (lambda: attention_backward(half, q, k, v, q, logs), "OC2523"),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError) as e:
        attention(q, k, v)
    assert e.value.code == "OC2548"
    for head_dim in WARPGROUP_HEADS:
        for masked in (False, True):
            assert warpgroup_heuristic(head_dim, masked, True).check(head_dim, 227 * 1024, 8)
        assert 4 <= len(list(warpgroup_search_space(head_dim, 227 * 1024, 8))) <= 12


def compiled(
    d: int, after: int | None, of_heads: bool, ragged: bool, kinds: str = "444"
) -> tuple[Any, WarpgroupPlan]:
    factors = [np.ones((1,) * n, np.float32) if of_heads else None for n in (3, 2, 2)]
    config = warpgroup_heuristic(d, after is not None, True)
    plan = WarpgroupPlan(
        CLASSES[kinds[0]], d, config.groups, config.n, config.stages, None, after, 1,
        config.queries, 132, config.slack, cutlass.BFloat16, config.turned,
        *(CLASSES[c] for c in kinds[1:]),
    )  # fmt: skip
    types = (*(KINDS[c] for c in kinds), ml_dtypes.bfloat16)
    heads = (
        from_dlpack(np.zeros((1, 8, 1, d), t)).mark_layout_dynamic(leading_dim=3) for t in types
    )
    logs = np.zeros((1, 1, 8), np.float32)
    starts = (np.zeros(3, np.int32),) * 2 if ragged else (None, None)
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            attention_persistent, *heads, logs, *starts, 8, 1.0, plan, 1.0, *factors
        )
    return made.artefacts, plan


@pytest.mark.t1
@pytest.mark.parametrize(
    ("d", "after", "of_heads", "ragged"),
    [
        (64, None, False, False), (64, 0, True, False), (128, None, True, False),
        (128, 0, True, False), (128, 0, True, True), (256, 0, False, True),
    ],
)  # fmt: skip
def test_nothing_is_spilled(d: int, after: int | None, of_heads: bool, ragged: bool) -> None:
    made, _ = compiled(d, after, of_heads, ragged)
    assert made.device.report.diagnostics == ()
    (report,) = made.device.report.functions
    assert report.spill_loads == report.spill_stores == report.stack == 0


@pytest.mark.t1
@pytest.mark.parametrize("kinds", ["555", "454"])
def test_products_of_types_that_differ(kinds: str) -> None:
    made, plan = compiled(128, None, True, False, kinds)
    assert made.device.report.diagnostics == ()
    (report,) = made.device.report.functions
    assert report.spill_loads == report.spill_stores == report.stack == 0
    names = {"4": "e4m3", "5": "e5m2"}
    for n, (a, b) in ((plan.n, kinds[:2]), (128, "4" + kinds[2])):
        assert f".m64n{n}k32.f32.{names[a]}.{names[b]}" in made.ptx


@pytest.mark.t1
def test_machine_code() -> None:
    """Weights become words with one instruction for two of them; turning is four words at a
    time."""
    made, plan = compiled(128, None, False, False)
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    text = list(read_sass(made.cubin).instructions)
    first = next(i for i, x in enumerate(text) if "USETMAXREG.TRY_ALLOC" in x)
    names = [x.split()[x.startswith("@")].split(".")[0] for x in text[:first] if x.strip()]
    turned = plan.head_dim // 32  # of 16 keys: each has 4 words for 4 matrices
    assert [names.count(n) for n in ("LDSM", "STSM", "LDS", "STS")] == [turned, turned, 0, 0]
    assert names.count("PRMT") == 4 * turned
    words, many = [i for i, x in enumerate(text) if "F2FP.SATFINITE.E4M3" in x], plan.n // 4
    assert len(words) == 3 * many  # of the first tile, of the others, and of the next queries
    assert not any("PRMT" in x for x in text[words[many] : words[2 * many - 1]])


@pytest.mark.t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("d", "kinds"), [(64, "444"), (128, "444"), (256, "444"), (128, "545")])
def test_on_a_gpu(d: int, kinds: str, causal: bool) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    of = {"4": torch.float8_e4m3fn, "5": torch.float8_e5m2}
    q, k, v = (
        torch.randn(2, s, h, d, device="cuda").to(of[c])
        for s, h, c in zip((1000, 1100, 1100), (8, 2, 2), kinds, strict=True)
    )
    factors = [torch.rand(2, h, device="cuda") + 0.5 for h in (8, 2)]
    out, lse = attention(
        q, k, v, causal=causal, q_scale=factors[0], k_scale=factors[1], v_scale=0.5,
        return_lse=True,
    )  # fmt: skip
    arrays = scaled(
        [x.cpu().float().numpy() for x in (q, k, v)],
        [*(f.cpu().numpy() for f in factors), np.ones((2, 2), np.float32)],
    )
    want, logs = reference(*arrays, d**-0.5, causal=causal)
    np.testing.assert_allclose(out.cpu().float().numpy(), want / 2, rtol=6e-2, atol=3e-2)
    # Products of f8 keep some 14 bits of their sums on Hopper.
    np.testing.assert_allclose(lse.cpu().numpy(), logs, rtol=1e-3, atol=1e-3)
