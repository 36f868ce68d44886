# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups on the hardware: the same kernel as in the simulator, against NumPy.

Inputs are small integers, so that results are exact in every type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper import test_chain, test_settings
from lang.hopper.products import MN, RMEM, SMEM, K, kinds_of, operands, run
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import warpgroup
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t2

F16, BF16, F32 = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
E4M3, E5M2 = cutlass.Float8E4M3FN, cutlass.Float8E5M2
S8, U8, S32 = cutlass.Int8, cutlass.Uint8, cutlass.Int32
WIDTHS = ("SW128", "SW64", "SW32", "INTER")


@pytest.fixture(autouse=True)
def _on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENCUTE_TARGET", "cuda")
    with KNOBS.override(target="cuda"):
        yield


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("majors", [(K, K), (K, MN), (MN, K), (MN, MN)])
def test_majors_and_swizzles(majors: Any, width: str):
    for dtype in (F16, BF16):
        op = warpgroup.MmaF16BF16Op(dtype, F32, (64, 64), SMEM, *majors)
        run(op, kinds_of(*majors, width), 128, 128, 64)
    if majors[0] is K:
        op = warpgroup.MmaF16BF16Op(F16, F32, (64, 64), RMEM, *majors)
        run(op, kinds_of(*majors, width), 64, 64, 64)


@pytest.mark.parametrize("source", [SMEM, RMEM])
def test_types(source: Any):
    ops = [
        warpgroup.MmaF16BF16Op(F16, F16, (64, 96), source),
        warpgroup.MmaTF32Op((64, 96), source),
    ]
    ops += [
        warpgroup.MmaF8Op(a, b, acc, (64, 96), source)
        for a in (E4M3, E5M2) for b in (E4M3, E5M2) for acc in (F32, F16)
    ]  # fmt: skip
    ops += [warpgroup.MmaI8Op(a, b, S32, (64, 96), source) for a in (S8, U8) for b in (S8, U8)]
    for op in ops:
        for width in WIDTHS:
            k = max(
                2 * op.shape[2], 8 * int(width[2:] if width[0] == "S" else 16) // op.a_dtype.width
            )
            run(op, kinds_of(K, K, width), 64, 96, k)


def test_every_n():
    for n in range(8, 257, 8):
        run(warpgroup.MmaF16BF16Op(F16, F32, (64, n)), kinds_of(K, K, "SW32"), 64, n, 16)


def test_two_warpgroups():
    op = warpgroup.MmaF16BF16Op(F16, F32, (64, 64))
    run(op, kinds_of(K, K, "SW128"), 256, 64, 64, (2, 1, 1))
    run(op, kinds_of(K, K, "SW128"), 64, 128, 64, (1, 2, 1))


def test_tf32_is_cut_not_rounded():
    from lang.hopper.products import host

    op = warpgroup.MmaTF32Op((64, 8))
    a, b, _ = operands(op, 64, 8, 32)
    a = abs(a) + np.float32(2.0**-11)
    c = np.zeros((64, 8), np.float32)
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c), op, (1, 1, 1), kinds_of(K, K, "SW128"))
    cut = (a.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    np.testing.assert_array_equal(c, cut @ b.T)


def test_a_chain():
    q, k, v, o = test_chain.inputs()
    test_chain.host(*map(from_dlpack, (q, k, v, o)))
    np.testing.assert_array_equal(o, test_chain.wanted(q, k, v))


# Products of a loop that nothing waits for: some versions of ptxas let each wait, and say so.
@pytest.mark.filterwarnings("ignore:.*C7515:opencute.base.log.PerformanceWarning")
def test_settings_at_run_time():
    assert test_settings.products(test_settings.loop_that_begins_anew, 3) == 3
    assert test_settings.products(test_settings.by_a_condition, 5) == 1
    assert test_settings.products(test_settings.in_a_branch, 3) == 101
