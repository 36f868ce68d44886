# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions without an instruction: the integer form gives what the simulator's rule gives."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from codegen.samples import kernel_module
from opencute.dialects import cute
from opencute.ir.core import Op, Value
from opencute.ir.types import BF16, F16, F32, F64, FloatType
from opencute.passes.expand import expand
from passes.simulated import apply, run

pytestmark = pytest.mark.t0

E4M3, E5M2, TF32 = FloatType("f8E4M3FN", 8), FloatType("f8E5M2", 8), FloatType("tf32", 32)
DTYPES: dict[FloatType, Any] = {
    E4M3: ml_dtypes.float8_e4m3fn, E5M2: ml_dtypes.float8_e5m2, F16: np.float16,
    BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64, TF32: np.float32,
}  # fmt: skip


def convert(src: FloatType, dst: FloatType, n: int, rounding: str = "rn") -> Op:
    def body(a: Value, c: Value) -> None:
        layout = cute.LayoutAttr(n, 1)
        x = cute.tile_load(a, layout)
        from opencute.ir.types import VectorType

        y = cute.convert(x, VectorType(n, dst), rounding, saturate=dst.width < 16)
        cute.tile_store(y, c, layout)

    types = [cute.PtrType(t, "gmem", 16) for t in (src, dst)]
    return kernel_module("convert", types, body, 1)


def inputs(src: FloatType) -> Any:
    if src.width == 8:
        return np.arange(256, dtype=np.uint8).view(DTYPES[src])
    rng = np.random.default_rng(3)
    exponents = rng.uniform(-22, 20, 4000)
    x = np.exp2(exponents) * rng.choice([-1, 1], 4000)
    grid = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    ties = (grid[:-1] + grid[1:]) / 2
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        448,
        464,
        465,
        57344,
        61440,
        2**-9,
        2**-10,
        2**-16,
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([x, grid, ties, special]).astype(DTYPES[src])


@pytest.mark.parametrize("src", [F16, BF16, F32, F64, E4M3, E5M2], ids=str)
@pytest.mark.parametrize("dst", [E4M3, E5M2, F16, F32, BF16], ids=str)
def test_software_conversions(src: FloatType, dst: FloatType) -> None:
    if src.width > 8 and dst.width > 8:
        return
    if src.width == dst.width:
        return
    x = inputs(src)
    args = [x, np.zeros(len(x), DTYPES[dst])]
    module = convert(src, dst, len(x))
    want = run(module, 1, 1, args)[1]
    lowered = apply(module.clone({}), expand, name="sm_80")
    assert not any(op.name == "cute.convert" for op in lowered.walk())
    got = run(lowered, 1, 1, args)[1]
    nan = np.isnan(want.astype(np.float32))
    assert (np.isnan(got.astype(np.float32)) == nan).all()
    assert want[~nan].tobytes() == got[~nan].tobytes()


def test_hardware_conversions_stay() -> None:
    for src, dst in ((F32, E4M3), (E4M3, F16)):
        module = apply(convert(src, dst, 4), expand, name="sm_90a")
        assert sum(op.name == "cute.convert" for op in module.walk()) == 1


def test_tf32() -> None:
    x = inputs(F16)
    args = [x, np.zeros(len(x), np.float32)]
    module = convert(F16, TF32, len(x), "rna")
    want = run(module, 1, 1, args)[1]
    got = run(apply(module, expand), 1, 1, args)[1]
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize(("dst", "rounding"), [(E4M3, "rz"), (F16, "rna"), (BF16, "rp")], ids=str)
def test_a_rounding_without_an_instruction_becomes_integer_arithmetic(
    dst: FloatType, rounding: str
) -> None:
    module = apply(convert(F32, dst, 4, rounding), expand)
    assert not any(op.name == "cute.convert" for op in module.walk())
