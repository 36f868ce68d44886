# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of few rows with matrices whose rows begin anywhere: numbers, code, a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import FewConfig, gemm, reference
from opencute.kernels.gemm.rows.few import (
    FewPlan,
    few_heuristic,
    few_product,
    few_room,
    few_search_space,
)

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2
SMALL = FewConfig(1, 4, 1)
SMEM = 232448


def numbers(shape: tuple[int, ...], dtype: Any = np.float16, seed: int = 0, skip: int = 0) -> Any:
    """Small integers, so that sums are exact in any order; they begin after some others."""
    count = int(np.prod(shape))
    flat = np.random.default_rng([seed, *shape]).integers(-3, 4, count + skip).astype(dtype)
    return flat[skip:].reshape(shape)


def tensor(x: Any) -> Any:
    return from_dlpack(x).mark_layout_dynamic(leading_dim=2)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


@t0
@pytest.mark.parametrize(
    ("dtype", "m", "n", "k", "config", "skip"),
    [
        (np.float16, 3, 9, 71, SMALL, (0, 0)),
        (np.float16, 20, 11, 5, SMALL, (1, 3)),  # less than a vector
        (ml_dtypes.bfloat16, 37, 5, 203, FewConfig(2, 4, 1), (1, 0)),  # the transposed product
        (np.float16, 2, 8, 64, SMALL, (3, 0)),  # all of its rows begin alike
        (np.float16, 3, 70, 71, FewConfig(16, 4, 1), (0, 0)),  # more sums than elements
    ],
)
def test_products(
    checked: None, dtype: Any, m: int, n: int, k: int, config: Any, skip: tuple[int, int]
) -> None:
    a, b = numbers((m, k), dtype, skip=skip[0]), numbers((n, k), dtype, skip=skip[1]).T
    same(gemm(a, b, config=config), reference.gemm(a, b))


@t0
def test_more_than_a_buffer(checked: None) -> None:
    x, w = numbers((1, 5, 301), skip=7), numbers((1, 9, 301), skip=2)
    out = np.zeros((1, 5, 9), np.float16)
    plan = FewPlan(FewConfig(1, 4, 2), 1, cutlass.Float16, False, 1, None, 16)
    few_product(tensor(x), tensor(w), None, None, None, tensor(out), 1.0, 1.0, plan)
    same(out[0], reference.gemm(x[0], w[0].T))


@t0
@pytest.mark.parametrize(("m", "n"), [(2, 20), (20, 2)])
def test_everything_that_is_added(checked: None, m: int, n: int) -> None:
    a, b, bias = numbers((m, 71)), numbers((n, 71)).T, numbers((n,), seed=3)
    c, r = numbers((m, n), seed=1), numbers((m, n), seed=2)
    given: dict[str, Any] = {"alpha": 0.5, "beta": 2.0, "bias": bias, "residual": r}
    want = reference.gemm(a, b, c, activation=lambda x: np.maximum(x, 0), **given)
    same(gemm(a, b, c, activation="relu", config=SMALL, **given), want)
    out = np.zeros((n, m), np.float16).T  # column-major
    given["residual"], c = np.asfortranarray(r), np.asfortranarray(c)
    same(gemm(a, b, c, activation="relu", config=SMALL, out=out, **given), want)


@t0
def test_what_is_beside_a_row_is_not_multiplied(checked: None) -> None:
    a, b = np.full((3, 24), np.inf, np.float16), np.full((9, 24), np.inf, np.float16)
    a[:, 9:20], b[:, 3:14] = numbers((3, 11)), numbers((9, 11))
    a, b = a[:, 9:20], b[:, 3:14].T
    same(gemm(a, b, config=SMALL), reference.gemm(a, b))


@t0
def test_batches_and_what_is_no_such_product(checked: None) -> None:
    a, b = numbers((3, 2, 71)), numbers((9, 71)).T
    same(gemm(a, b, config=SMALL), reference.gemm(a, b))
    with pytest.raises(ArgumentError, match="OC2536"):
        gemm(numbers((65, 8)), numbers((66, 8)).T, config=SMALL)
    with pytest.raises(ArgumentError, match="OC2536"):
        FewConfig(4, 5).check()
    with pytest.raises(ArgumentError, match="OC2511"):
        FewPlan(FewConfig(1, 16, 8), 4, cutlass.Float16, False, 1, None).check(SMEM)


@t0
@pytest.mark.parametrize("few", [1, 16, 17, 33, 49, 64])
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90a", "sm_120a"])
def test_choices_fit(few: int, arch: str) -> None:
    smem, tiles = target(arch).max_smem, -(-few // 16)
    for rows in (33, 4095):
        config = few_heuristic(few, rows, 1, smem)
        for k in (71, 4095):
            room = few_room(k, few, smem)
            FewPlan(config, tiles, cutlass.Float16, False, 1, None, room).check(smem)
    for config in few_search_space(few) if smem == SMEM else ():
        FewPlan(config, tiles, cutlass.Float16, False, 1, None).check(smem)


@t0
def test_choices_fit_where_there_is_less_shared_memory() -> None:
    a, b = numbers((33, 203)), numbers((9, 203)).T
    with KNOBS.override(target="sim:sm_120a"):
        same(gemm(a, b), reference.gemm(a, b))


@t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_no_spills(arch: str) -> None:
    x, w, out = (tensor(np.zeros((1, 64, 71), np.float16)) for _ in range(3))
    smem = target(arch).max_smem
    config, room = few_heuristic(64, 4096, 1, smem), few_room(4096, 64, smem)
    plan = FewPlan(config, 4, cutlass.Float16, False, 1, None, room)
    with KNOBS.override(target=f"sim:{arch}"):
        cute.compile(few_product, x, w, None, None, None, out, 1.0, 1.0, plan)
    (report,) = compiled_artefacts()[-1].device.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@t2
@pytest.mark.parametrize(("m", "n", "k"), [(16, 4095, 4095), (1, 1031, 777), (50, 999, 2047)])
def test_on_a_gpu(m: int, n: int, k: int) -> None:
    torch = pytest.importorskip("torch")
    a, b = numbers((m, k)), numbers((n, k))
    x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda().T
    want = (x.double() @ y.double()).float()
    for config in (None, *few_search_space(m)):
        out = torch.empty((m, n), dtype=torch.float32, device="cuda")
        gemm(x, y, out=out, config=config)
        assert torch.equal(out, want)
