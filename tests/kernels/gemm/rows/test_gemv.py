# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products with a vector, in the checking simulator and on a GPU; their code."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import GemvConfig, gemm, reference
from opencute.kernels.gemm.rows.gemv import GemvPlan, gemv, gemv_heuristic, gemv_search_space

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2


def numbers(shape: tuple[int, ...], dtype: Any = np.float16, seed: int = 0) -> Any:
    """Small integers, so that sums are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(*(x.astype(np.float64) for x in (got, want.astype(got.dtype))))


@t0
@pytest.mark.parametrize(
    ("dtype", "m", "n", "k", "config"),
    [
        (np.float16, 1, 37, 520, None),
        (np.float32, 1, 9, 71, None),
        (np.float16, 21, 1, 264, GemvConfig(64, 128, 2)),
        (ml_dtypes.bfloat16, 1, 5, 1000, GemvConfig(128, 128, 1)),
    ],
)
def test_products(checked: None, dtype: Any, m: int, n: int, k: int, config: Any) -> None:
    a, b = numbers((m, k), dtype), numbers((n, k), dtype).T
    same(gemm(a, b, config=config), reference.gemm(a, b))


@t0
@pytest.mark.parametrize(("m", "n"), [(1, 20), (20, 1)])
def test_everything_that_is_added(checked: None, m: int, n: int) -> None:
    a, b, bias = numbers((m, 72)), numbers((n, 72)).T, numbers((n,), seed=3)
    c, r = numbers((m, n), seed=1), numbers((m, n), seed=2)
    given: dict[str, Any] = {"alpha": 0.5, "beta": 2.0, "bias": bias, "residual": r}
    got = gemm(a, b, c, activation="relu", config=GemvConfig(), **given)
    same(got, reference.gemm(a, b, c, activation=lambda x: np.maximum(x, 0), **given))


@t0
def test_batches_and_what_is_no_such_product(checked: None) -> None:
    a, b = numbers((3, 1, 72)), numbers((72, 16))
    same(gemm(a, np.asfortranarray(b), config=GemvConfig()), reference.gemm(a, b))
    for left, right in ((a, b), (numbers((2, 72)), b)):
        with pytest.raises(ArgumentError, match="no product of rows with a vector"):
            gemm(left, right, config=GemvConfig())
    with pytest.raises(ArgumentError, match="cannot share rows"):
        GemvConfig(48).check()


@t0
def test_choices() -> None:
    assert gemv_heuristic(8192, 8192, 8, 1) == GemvConfig(32, 256, 8)
    assert gemv_heuristic(128, 16384, 8, 1) == GemvConfig(256, 256, 8)
    assert all(c.check() for c in gemv_search_space())


@t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_no_spills(arch: str) -> None:
    matrix, vector, out = (np.zeros(s, np.float16) for s in ((1, 64, 512), (1, 512), (1, 64)))
    plan = GemvPlan(GemvConfig(), 8, False, False, None)
    tensors = [from_dlpack(t).mark_layout_dynamic(t.ndim - 1) for t in (matrix, vector, out)]
    with KNOBS.override(target=f"sim:{arch}"):
        cute.compile(gemv, *tensors[:2], None, None, None, tensors[2], 1.0, 1.0, plan)
    code = compiled_artefacts()[-1].device
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= 128 and code.ptx.count("ld.global.v4.b32") == 18


@t2
@pytest.mark.parametrize("config", [None, GemvConfig(128, 512, 4)], ids=str)
def test_on_a_gpu(config: GemvConfig | None) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for m, n, k in ((1, 8192, 4096), (1, 1000, 1001), (4097, 1, 2050)):
            a, b = numbers((m, k), np.float32), numbers((n, k), np.float32)
            x, y = (torch.from_numpy(t).cuda().to(dtype) for t in (a, b))
            want = (x.double() @ y.double().T).to(dtype)
            assert torch.equal(gemm(x, y.T, config=config), want)
