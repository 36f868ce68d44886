# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped products with visitors, sums over groups, and 8-bit floats, in the checking simulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm.activations import relu, silu
from opencute.kernels.gemm.visitors import (
    Visitor,
    add,
    add_columns,
    chain,
    column,
    keep,
    load,
    peak,
    row,
    scalar,
    scale,
    scale_columns,
    scale_rows,
)
from opencute.kernels.grouped_gemm import (
    GroupedConfig,
    grouped_gemm,
    moe_gemm,
    moe_gemm_weights,
    reference,
)

pytestmark = pytest.mark.t1

SMALL2 = GroupedConfig((256, 32), most=2, depth=2)
SMALL = GroupedConfig((128, 32), most=2, depth=2)
ENDS = np.array([0, 70, 70, 135], np.int32)
ROWS, K, N = 140, 64, 40


@pytest.fixture(autouse=True)
def on_hopper() -> Iterator[None]:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


def whole(*shape: int, seed: int = 0, dtype: Any = np.float16) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def sums() -> tuple[Any, Any, Any]:
    """A, B, and their products in f32, before anything is done to them."""
    a, b = whole(ROWS, K), whole(len(ENDS), K, N, seed=1)
    wide = reference.moe_gemm(a.astype(np.float32), b.astype(np.float32), ENDS)
    return a, b, wide


def of_group(values: Any) -> Any:
    """For each row the one of its group, the last one's behind all of them."""
    return values[np.minimum(np.searchsorted(ENDS, np.arange(ROWS), "right"), len(ENDS) - 1)]


def same(d: Any, want: Any) -> None:
    end = ENDS[-1]
    np.testing.assert_allclose(d[:end].astype(np.float32), want[:end], rtol=2e-3, atol=0.02)


def test_bias_and_activation() -> None:
    a, b, wide = sums()
    b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)  # along k, as that of the next test
    bias = whole(len(ENDS), N, seed=2, dtype=np.float32)
    d = moe_gemm(a, b, ENDS, alpha=0.5, bias=bias, activation="relu", config=SMALL)
    same(d, np.maximum(0.5 * wide + of_group(bias), 0))


def test_nothing_to_add_up_still_has_an_epilogue() -> None:
    a, b, ends = whole(5, 0), whole(2, 0, 8), np.array([2, 5], np.int32)
    bias = whole(2, 8, seed=2, dtype=np.float32)
    d = moe_gemm(a, b, ends, alpha=0.5, bias=bias, activation="relu", config=SMALL)
    np.testing.assert_array_equal(d, np.maximum(bias[[0, 0, 1, 1, 1]], 0))
    assert d.any()


def test_gates_and_scales_of_rows() -> None:
    a, b, wide = sums()
    weights = whole(ROWS, seed=3, dtype=np.float32) / 8
    d = moe_gemm(a, b, ENDS, epilogue=chain(scale_rows(weights), gated=silu), config=SMALL)
    wide *= weights[:, None]
    gate, other = wide[:, ::2], wide[:, 1::2]
    same(d, gate / (1 + np.exp(-gate)) * other)


def test_matrices_of_an_epilogue() -> None:
    a, b, wide = sums()
    residual = whole(ROWS, N, seed=4)
    before, cell = np.full((ROWS, N), 9, np.float32), np.zeros(1, np.float32)
    epilogue = chain(keep(before), add(residual), peak(cell))
    out = np.full((ROWS, N), 9, np.float16)
    moe_gemm(a, b, ENDS, epilogue=epilogue, out=out, config=SMALL2)
    same(before, wide)
    same(out, wide + residual)
    assert (before[ENDS[-1] :] == 9).all()
    assert (out[ENDS[-1] :] == 9).all()
    assert cell[0] == np.abs((wide + residual)[: ENDS[-1]]).max()


def test_a_residual_in_the_places_of_results() -> None:
    a, b, _ = sums()
    residual = whole(ROWS, N, seed=4)
    with pytest.raises(ArgumentError, match="rows of other groups"):
        moe_gemm(a, b, ENDS, epilogue=chain(add(residual)), out=residual, config=SMALL)


def test_ends_of_results_that_threads_store() -> None:
    # Columns of no whole vector, beside others that are not the result's.
    a, b = whole(100, K), whole(3, K, 37, seed=1)
    ends = np.array([1, 66, 95], np.int32)
    room = np.full((100, 48), 7, np.float16)
    moe_gemm(a, b, ends, out=room[:, :37], config=SMALL)
    np.testing.assert_array_equal(room[:95, :37], reference.moe_gemm(a, b, ends)[:95])
    assert (room[95:] == 7).all()
    assert (room[:, 37:] == 7).all()


def test_a_function_of_tiles() -> None:
    a, b, wide = sums()
    bias, weights = whole(N, seed=2), whole(ROWS, seed=3, dtype=np.float32)
    residual = whole(ROWS, N, seed=4)

    def finish(x: Any, tile: Any) -> Any:
        x = x * tile.row("weights") + tile.column("bias")
        return x * tile.scalar("half") + tile.load("residual")

    epilogue = Visitor(finish, weights=row(weights), bias=column(bias), half=scalar(0.5),
                       residual=load(residual))  # fmt: skip
    d = moe_gemm(a, b, ENDS, epilogue=epilogue, config=SMALL)
    same(d, (wide * weights[:, None] + bias) * 0.5 + residual)


@pytest.mark.parametrize(("dtype", "twice"), [("float8_e4m3fn", True), ("float8_e5m2", False)])
def test_floats_of_8_bits(dtype: str, twice: bool) -> None:
    kind = getattr(ml_dtypes, dtype)
    a, b = whole(ROWS, 160, dtype=kind), whole(len(ENDS), N, 160, seed=1, dtype=kind)
    b = b.swapaxes(1, 2)
    left, right = (0.5 ** np.arange(n) for n in (4, 3))
    of_rows = np.resize(left, ROWS).astype(np.float32)
    of_columns = np.resize(right, (len(ENDS), N)).astype(np.float32)
    d = moe_gemm(
        a, b, ENDS, epilogue=chain(scale_rows(of_rows), scale_columns(of_columns)),
        config=GroupedConfig((128, 32), most=2, depth=2, twice=twice),
    )  # fmt: skip
    assert d.dtype == ml_dtypes.bfloat16
    wide = reference.moe_gemm(a.astype(np.float32), b.astype(np.float32), ENDS)
    want = (wide * of_rows[:, None] * of_group(of_columns)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(d[: ENDS[-1]], want[: ENDS[-1]])


def test_sums_over_groups() -> None:
    k = 136
    a, b = whole(ROWS, k), whole(ROWS, N, seed=1)
    want = reference.moe_gemm_weights(a, b, ENDS)
    d = moe_gemm_weights(a, b, ENDS, config=SMALL)
    np.testing.assert_array_equal(d, want)
    assert not d[0].any()
    out = whole(len(ENDS), k, N, seed=5, dtype=np.float32)
    more = out + 2 * reference.moe_gemm_weights(*(x.astype(np.float32) for x in (a, b)), ENDS)
    moe_gemm_weights(a, b, ENDS, alpha=2.0, accumulate=True, out=out, config=SMALL)
    np.testing.assert_array_equal(out, more)


def test_sums_of_other_orders_types_and_nothing() -> None:
    bf16 = ml_dtypes.bfloat16
    a, b = np.asfortranarray(whole(50, 33, dtype=bf16)), whole(50, 80, seed=1, dtype=bf16)[:, ::2]
    ends = np.array([0, 0, 13, 50], np.int32)
    d = moe_gemm_weights(a, b, ends, config=SMALL)
    want = reference.moe_gemm_weights(a, b, ends)
    np.testing.assert_array_equal(d, want)
    d = moe_gemm_weights(whole(0, 16), whole(0, 24), np.array([0, 0], np.int32), config=SMALL)
    assert d.shape == (2, 16, 24)
    assert not d.any()


def test_groups_that_are_not_numbers_stay_with_themselves() -> None:
    a, b = whole(ROWS, 136), whole(ROWS, N, seed=1)
    a[70], b[70] = np.inf, np.nan
    d = moe_gemm_weights(a, b, ENDS, config=SMALL)
    assert np.isnan(d[3]).all()
    assert np.isfinite(d[:3]).all()


def lists() -> tuple[list[Any], list[Any]]:
    shapes = [(70, 40, 64), (5, 8, 0), (0, 8, 8)]
    return ([whole(m, k, seed=i) for i, (m, _, k) in enumerate(shapes)],
            [whole(k, n, seed=i + 9) for i, (_, n, k) in enumerate(shapes)])  # fmt: skip


def test_epilogues_of_lists() -> None:
    a, b = lists()
    wide = reference.grouped_gemm(*([x.astype(np.float32) for x in t] for t in (a, b)))
    bias = [whole(w.shape[1], seed=5) for w in wide]
    rows = [whole(2 * len(w), seed=6, dtype=np.float32)[::2] for w in wide]
    results = grouped_gemm(a, b, alpha=0.5, bias=bias, activation="relu", config=SMALL)
    for d, w, v in zip(results, wide, bias, strict=True):
        np.testing.assert_array_equal(d, np.maximum(0.5 * w + v, 0))
    epilogue = chain(scale(0.125), scale_rows(rows), gated=silu)
    gates = grouped_gemm(a, b, epilogue=epilogue, config=SMALL)
    for d, w, s in zip(gates, wide, rows, strict=True):
        x, y = (w[:, i::2] * s[:, None] / 8 for i in range(2))
        want = x / (1 + np.exp(-x)) * y
        np.testing.assert_allclose(d.astype(np.float32), want, rtol=2e-3, atol=0.02)


def test_epilogues_of_lists_elsewhere() -> None:
    a, b = lists()
    bias = [whole(y.shape[1], seed=5) for y in b]
    with KNOBS.override(target="sim:sm_80", sim_check=False):
        results = grouped_gemm(a, b, bias=bias, activation="relu")
        (function,) = grouped_gemm(a[:1], b[:1], epilogue=relu)
        with pytest.raises(ArgumentError, match="OC2539"):
            grouped_gemm(a, b, epilogue=chain(add_columns(bias)))
    wide = reference.grouped_gemm(a, b)
    for d, w, v in zip(results, wide, bias, strict=True):
        np.testing.assert_array_equal(d, np.maximum(w + v, 0))
    np.testing.assert_array_equal(function, np.maximum(wide[0], 0))


def test_what_is_refused() -> None:
    a, b, _ = sums()
    bias, out = whole(len(ENDS), N), np.zeros((ROWS, N), np.float16)

    def refused(code: str, **more: Any) -> None:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=code):
            moe_gemm(a, b, ENDS, **more)

    refused("OC2540", bias=bias[:2])
    refused("OC2540", bias=bias, epilogue=relu)
    refused("OC2530", epilogue=chain(scale_rows(2.0)))
    refused("OC2540", epilogue=chain(scale_rows(bias)))
    refused("OC2540", epilogue=chain(keep(out[:, :8])))
    refused("OC2540", epilogue=chain(peak(np.zeros(1, np.float16))))
    refused("OC2542", epilogue=chain(keep(out)), out=out)
    refused("OC2531", epilogue=3)
    refused("OC2512", activation="swish")
    refused("OC2582", epilogue=chain(gated=silu), out=out)
    with pytest.raises(ArgumentError, match="pairs of columns"):
        moe_gemm(a, b[:, :, 1:], ENDS, epilogue=chain(gated=silu))
    kind = ml_dtypes.float8_e4m3fn
    with pytest.raises(ArgumentError, match="along what is contiguous"):
        moe_gemm(a.astype(kind), b.astype(kind), ENDS)
    with pytest.raises(ArgumentError, match="OC2538"):
        moe_gemm(a, b, ENDS, config=GroupedConfig((128, 256), twice=True))
    for code, call in (
        ("OC2580", lambda: moe_gemm_weights(a, a[1:], ENDS)),
        ("OC2581", lambda: moe_gemm_weights(a, a, ENDS.astype(np.int64))),
        ("OC2581", lambda: moe_gemm_weights(a.astype(kind), a.astype(kind), ENDS)),
        ("OC2582", lambda: moe_gemm_weights(a, a, ENDS, accumulate=True)),
        ("OC2582", lambda: moe_gemm_weights(a, a, ENDS, out=out)),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=code):
            call()
    left, right = lists()
    for epilogue in (chain(add_columns(bias)), chain(add(out)), chain(add_columns([bias[0]] * 3)),
                     chain(scale_rows([x[:, 0].astype(t) for x, t in zip(left, "fee", strict=True)
                                       if x.shape[1]]))):  # fmt: skip
        with pytest.raises(ArgumentError, match="OC2540"):
            grouped_gemm(left, right, epilogue=epilogue)
    with pytest.raises(ArgumentError, match="pairs of columns"):
        grouped_gemm([a], [b[0][:, 1:]], epilogue=chain(gated=silu))
