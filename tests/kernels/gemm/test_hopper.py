# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's products in the checking simulator against NumPy: types, majors, extents, clusters."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import GemmConfig, HopperConfig, gemm, interface, reference, visitors

pytestmark = pytest.mark.t1

BF16, E4, E5 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
TURNS = HopperConfig((64, 32), pingpong=True)


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim", sim_check=True):
        yield


def numbers(shape: tuple[int, ...], dtype: Any, columns: bool = False, seed: int = 0) -> Any:
    """Small integers, so that sums are exact in any order; columns or rows contiguous."""
    x = np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if columns else x


def same(got: Any, want: Any) -> None:
    got = np.asarray(got)
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


# Types, which of A and B have contiguous columns, configuration, extents.
CASES: list[tuple[Any, Any, tuple[bool, bool], HopperConfig, tuple[int, int, int]]] = [
    (np.float16, np.float16, (False, True), HopperConfig((128, 64), (2, 1)), (264, 136, 136)),
    (np.float16, np.float16, (True, False), TURNS, (72, 40, 184)),
    (BF16, BF16, (False, False), HopperConfig((128, 32), (1, 2)), (136, 104, 72)),
    (BF16, BF16, (True, True), HopperConfig((64, 64), (2, 1), pingpong=True), (136, 72, 72)),
    (np.float32, np.float32, (False, True), TURNS, (72, 36, 68)),
    (np.int8, np.int8, (False, True), HopperConfig((128, 32)), (136, 36, 272)),
    (np.uint8, np.uint8, (False, True), TURNS, (72, 36, 144)),
    (np.uint8, np.int8, (False, True), HopperConfig((64, 32), pingpong=True), (72, 36, 144)),
    (E4, E5, (False, True), HopperConfig((64, 32), pingpong=True, twice=True), (72, 36, 272)),
    (E5, E4, (False, True), HopperConfig((128, 32), (2, 1)), (136, 40, 144)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_types_and_majors(case: int) -> None:
    left, right, columns, config, (m, n, k) = CASES[case]
    a, b = numbers((m, k), left, columns[0]), numbers((k, n), right, columns[1])
    same(gemm(a, b, tf32=left is np.float32, config=config), reference.gemm(a, b))


def test_batches_one_operand_of_which_serves_all() -> None:
    a, b = numbers((2, 72, 64), np.float16), numbers((64, 40), np.float16)
    out = np.zeros((2, 40, 72), np.float32).swapaxes(1, 2)  # columns are contiguous
    gemm(a, b, out=out, config=TURNS)
    same(out, reference.gemm(a, b))


@pytest.mark.parametrize("columns", [False, True])
def test_everything_that_is_added(columns: bool) -> None:
    a, b = numbers((72, 40), np.float16), numbers((40, 104), np.float16)
    c, r = numbers((72, 104), np.float16, seed=1), numbers((72, 104), np.float16, True, seed=2)
    bias, out = numbers((104,), np.float16, seed=3), numbers((72, 104), np.float16, columns)
    given: dict[str, Any] = {"alpha": 0.5, "beta": 2.0, "bias": bias, "residual": r}
    config = HopperConfig((128, 64))
    gemm(a, b, c, activation="relu", out=out, config=config, **given)
    same(out, reference.gemm(a, b, c, activation=lambda x: np.maximum(x, 0), **given))


def test_sums_in_two_levels_keep_more_bits() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape).astype(E4) for shape in ((64, 512), (512, 32)))
    want = reference.gemm(a, b)
    got = gemm(a, b, config=HopperConfig((64, 32), pingpong=True, twice=True))
    np.testing.assert_allclose(got, want, rtol=2e-3)


def test_hopper_is_chosen_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[str] = []
    monkeypatch.setattr(interface, "on_hopper", lambda *_, **__: chosen.append("sm90"))
    monkeypatch.setattr(interface, "tensor_core_gemm", lambda *_: chosen.append("sm80"))
    a, b = numbers((64, 64), np.float16), numbers((64, 64), np.float16)
    gemm(a, b)
    gemm(a, b, config=GemmConfig((64, 64, 32), (2, 2), 3))
    gemm(a[:, 1:], b[1:])  # rows start between vectors
    odd = numbers((64, 63), np.float16)
    gemm(odd, b[1:])
    with KNOBS.override(target="sim:sm_80"):
        gemm(a, b)
    assert chosen == ["sm90", "sm80", "sm80", "sm80", "sm80"]


def test_odd_k_is_done_by_the_other_kernel() -> None:
    a, b = numbers((65, 33), np.float16), numbers((33, 63), np.float16)
    same(gemm(a, b), reference.gemm(a, b))


def test_what_hopper_cannot_do_is_an_error_where_it_is_asked_for() -> None:
    a, b = numbers((64, 63), np.float16), numbers((63, 64), np.float16)
    with pytest.raises(ArgumentError, match="strides of a are no multiples of 16 bytes"):
        gemm(a, b, config=TURNS)
    a, b = numbers((64, 64), E4), numbers((64, 64), E4)
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError, match="none"):
        gemm(a, b)
    with pytest.raises(ArgumentError, match="no such tiles"):
        gemm(a, b, config=HopperConfig((96, 64)))
    r = numbers((64, 64), np.float32)
    many = visitors.chain(*[visitors.add(r)] * 4, visitors.keep(r))
    with pytest.raises(ArgumentError, match="do not fit in shared memory"):
        gemm(a, b, epilogue=many, config=HopperConfig((128, 256)))
