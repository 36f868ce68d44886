# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.convert` on lanes and scalars, against exact values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.dialects import arith, cute
from opencute.ir.types import BF16, F16, F32, FloatType
from opencute.sim import Simulator
from sim.building import function_module, kernel_module, launch, ptr, thread

pytestmark = pytest.mark.t0
TF32 = FloatType("tf32", 32)
E4M3 = FloatType("f8E4M3FN", 8)


def converted(values: list[float], target: FloatType, rounding: str, saturate: bool) -> Any:
    x = np.array(values, np.float32)
    out = np.zeros_like(x)

    def body(a: Any, b: Any) -> None:
        v = cute.load(cute.ptr_add(a, thread(), 4))
        r = cute.convert(v, target, rounding, saturate=saturate)
        if target.width < 32:
            r = arith.cast("extf", r, F32)
        elif target != F32:
            r = arith.cast("bitcast", r, F32)
        cute.store(r, cute.ptr_add(b, thread(), 4))

    launch(kernel_module([ptr(F32)] * 2, body), len(values), 1, x, out)
    return out


@pytest.mark.parametrize(
    ("rounding", "want"),
    [("rn", [1.0, 1.015625, -1.0, 1.0078125]), ("rz", [1.0, 1.0078125, -1.0, 1.0]),
     ("rna", [1.0078125, 1.015625, -1.0078125, 1.0078125])],
)  # fmt: skip
def test_ties_of_bf16(rounding: str, want: list[float]) -> None:
    half = 2.0**-8
    values = [1 + half, 1 + 3 * half, -1 - half, 1 + half + 2.0**-20]
    assert converted(values, BF16, rounding, False).tolist() == want


def test_tf32_keeps_ten_bits() -> None:
    got = converted([1 + 2.0**-11, 1 + 2.0**-10, -3.3], TF32, "rna", False)
    assert got[:2].tolist() == [1 + 2.0**-10, 1 + 2.0**-10]
    assert (got.view(np.uint32) & 0x1FFF == 0).all()


def test_saturation() -> None:
    values = [1e6, -1e6, float("inf"), 448.0, 3.0]
    assert converted(values, E4M3, "rn", True).tolist() == [448, -448, 448, 448, 3]
    assert np.isnan(converted(values, E4M3, "rn", False)[:3]).all()
    assert converted([1e6], F16, "rn", True).tolist() == [65504]


def test_scalars_and_other_roundings() -> None:
    module = function_module([F32], [BF16], lambda v: [cute.convert(v, BF16, "rz")])
    assert float(Simulator().run_function(module, "f", [1.0077])) == 1.0
    module = function_module([F32], [BF16], lambda v: [cute.convert(v, BF16, "rp")])
    assert float(Simulator().run_function(module, "f", [1.0079])) == 1.015625
