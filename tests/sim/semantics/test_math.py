# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions against mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects import cute
from opencute.dialects import math as mathd
from opencute.ir.types import BF16, F16, F32, F64, FloatType
from opencute.sim import Simulator
from opencute.sim.values import dtype_of
from sim.building import function_module, kernel_module, launch, ptr, thread

pytestmark = pytest.mark.t0
TYPES = (F16, BF16, F32, F64)

ORACLE: dict[str, Any] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "expm1": mpmath.expm1,
    "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log10": mpmath.log10,
    "log1p": mpmath.log1p, "sqrt": mpmath.sqrt, "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "asin": mpmath.asin,
    "acos": mpmath.acos, "atan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "erf": mpmath.erf, "erfc": mpmath.erfc,
}  # fmt: skip
RANGES = {
    "log": (1e-3, 1e3), "log2": (1e-3, 1e3), "log10": (1e-3, 1e3), "log1p": (-0.9, 100),
    "sqrt": (0, 1e4), "rsqrt": (1e-3, 1e4), "asin": (-1, 1), "acos": (-1, 1), "exp": (-8, 8),
    "expm1": (-8, 8), "exp2": (-12, 12), "sinh": (-8, 8), "cosh": (-8, 8), "erfc": (-3, 3),
}  # fmt: skip


def run(type: FloatType, op: Any, *columns: Any) -> Any:
    arrays = [np.asarray(c, dtype_of(type)) for c in columns]
    out = np.zeros(len(arrays[0]), dtype_of(type))

    def body(*pointers: Any) -> None:
        args = [cute.load(cute.ptr_add(p, thread(), 1)) for p in pointers[:-1]]
        cute.store(op(*args), cute.ptr_add(pointers[-1], thread(), 1))

    launch(kernel_module([ptr(type)] * (len(columns) + 1), body), len(out), 1, *arrays, out)
    return out


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", ORACLE)
def test_within_one_rounding_of_the_truth(name: str, type: FloatType) -> None:
    low, high = RANGES.get(name, (-20, 20))
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, 60).astype(dtype_of(type))
    got = run(type, lambda v: mathd.unary(name, v), x)
    limit = 2.5 if type == F64 else 0.5001
    with mpmath.workprec(120):
        for v, g in zip(x, got, strict=True):
            want = ORACLE[name](mpmath.mpf(float(v)))
            if mpmath.isnan(want) or mpmath.isinf(want):
                continue
            ulp = ulps(abs(mpmath.mpf(float(g)) - want), want, type)
            assert ulp <= limit, (float(v), float(g), ulp)


@pytest.mark.parametrize("name", ORACLE)
def test_fast_math_and_uniform_values_mean_the_same(name: str) -> None:
    x = np.array([0.25, 0.5, 0.75], np.float32)
    exact = run(F32, lambda v: mathd.unary(name, v), x)
    fast = run(F32, lambda v: mathd.unary(name, v, fast=True), x)
    np.testing.assert_array_equal(exact, fast)
    module = function_module([F32], [F32], lambda v: [mathd.unary(name, v)])
    one = Simulator().run_function(module, "f", [0.5])
    assert type(one) is np.float32 and one == exact[1]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_rounding_functions(type: FloatType) -> None:
    x = [0.5, -0.5, 1.5, 2.5, -2.5, 0.25, -0.75, 3.0, 0.0, -0.0, math.inf]
    x.append(float(np.nextafter(dtype_of(type).type(0.5), dtype_of(type).type(0))))
    names = {
        "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "roundeven": round,
        "round": lambda v: math.copysign(math.floor(abs(v) + 0.5), v) if abs(v) != x[-1] else 0.0,
    }  # fmt: skip
    for name, fn in names.items():
        got = run(type, lambda v, name=name: mathd.unary(name, v), x)
        for v, g in zip(x, got, strict=True):
            want = v if math.isinf(v) else math.copysign(abs(fn(v)), v)
            assert float(g) == want and math.copysign(1, float(g)) == math.copysign(1, v), name


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4)), min_size=1))
def test_functions_of_two(pairs: list[tuple[float, float]]) -> None:
    a, b = zip(*pairs, strict=True)
    got = run(F64, lambda x, y: mathd.binary("atan2", x, y), a, b)
    np.testing.assert_allclose(got, np.arctan2(a, b), rtol=1e-15)
    base = np.abs(a) + 0.1
    got = run(F32, lambda x, y: mathd.binary("powf", x, y), base, b)
    want = np.power(base.astype(np.float32).astype(float), np.float32(b).astype(float))
    np.testing.assert_array_equal(got, want.astype(np.float32))


def test_edges() -> None:
    got = run(F32, lambda v: mathd.unary("log", v), [0.0, -1.0, math.inf])
    assert got[0] == -math.inf and np.isnan(got[1]) and got[2] == math.inf
    got = run(F32, lambda v: mathd.unary("rsqrt", v), [0.0, -0.0, -1.0, math.inf])
    assert got[0] == math.inf and got[1] == -math.inf and np.isnan(got[2]) and got[3] == 0
    got = run(F16, lambda v: mathd.unary("exp", v), [100.0, -100.0, math.nan])
    assert got[0] == math.inf and got[1] == 0 and np.isnan(got[2])


PRECISION = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}


def ulps(away: Any, reference: Any, type: FloatType) -> float:
    """A distance in units in the last place of the reference."""
    precision, low = PRECISION[type.name]
    exponent = max(math.frexp(float(reference))[1] - 1, low) if reference else low
    return float(away / mpmath.mpf(2) ** (exponent - precision + 1))
