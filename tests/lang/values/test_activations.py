# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of `cute.math` made of others: types, NaN and infinities, both forms of gelu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.cute import math as m

pytestmark = pytest.mark.t1

X = np.float32([np.nan, -np.inf, np.inf, -200.0, -1.0, -0.0, 0.0, 3.5])


def applied(fn: Any, x: Any = X) -> Any:
    """A function of each element: of the vector, and of the numbers one by one."""
    whole, single = np.zeros_like(x), np.zeros_like(x)

    def body(a: Any, o: Any, s: Any) -> None:
        o.store(fn(a.load()))
        for k in range(len(x)):
            s[k] = fn(a[k])

    on_device(body, x, whole, single)
    assert np.array_equal(whole, single, equal_nan=True)
    return whole


def test_nan_and_infinities() -> None:
    nan = math.nan
    assert np.array_equal(applied(m.relu), [nan, 0, np.inf, 0, 0, 0, 0, 3.5], equal_nan=True)
    for fast in (False, True):
        silu = applied(lambda v, fast=fast: m.silu(v, fastmath=fast))
        assert np.isnan(silu[0]) and silu[2] == np.inf and abs(silu[3]) < 1e-37
        sigmoid = applied(lambda v, fast=fast: m.sigmoid(v, fastmath=fast))
        assert np.isnan(sigmoid[0]) and sigmoid[1:4].tolist() == [0.0, 1.0, sigmoid[3]]
        assert sigmoid[3] < 1e-37 and sigmoid[5] == 0.5
    for kind in ("none", "tanh"):
        gelu = applied(lambda v, kind=kind: m.gelu(v, approximate=kind))
        assert np.isnan(gelu[0]) and gelu[2] == np.inf and gelu[3] == 0.0 == gelu[5]


def test_both_forms_of_gelu() -> None:
    x = np.linspace(-5, 5, 64, dtype=np.float32)
    want = np.array([v * math.erfc(-v / math.sqrt(2)) / 2 for v in x.astype(np.float64)])
    exact, tanh = applied(m.gelu, x), applied(lambda v: m.gelu(v, "tanh", fastmath=True), x)
    assert np.abs(exact - want).max() < 1e-6
    assert 1e-5 < np.abs(tanh - want).max() < 5e-4
    with pytest.raises(TypeMismatchError, match="did you mean tanh") as e:
        m.gelu(1.0, approximate="tan")
    assert e.value.code == "OC1604"


def test_as_torch_computes_them() -> None:
    torch = pytest.importorskip("torch")
    from torch.nn import functional as F

    x = np.linspace(-6, 6, 32, dtype=np.float32)
    t = torch.from_numpy(x)
    for ours, theirs in (
        (m.relu, F.relu), (m.silu, F.silu), (m.gelu, F.gelu), (m.sigmoid, torch.sigmoid),
        (lambda v: m.gelu(v, "tanh"), lambda v: F.gelu(v, approximate="tanh")),
        (m.rint, torch.round), (m.fabs, torch.abs), (m.abs, torch.abs),
        (lambda v: m.sincos(v)[0], torch.sin), (lambda v: m.sincos(v)[1], torch.cos),
    ):  # fmt: skip
        assert np.allclose(applied(ours, x), theirs(t).numpy(), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "cls", [cutlass.Float64, cutlass.Float32, cutlass.Float16, cutlass.BFloat16,
            cutlass.Float8E4M3FN, cutlass.Int32]
)  # fmt: skip
def test_types(cls: Any) -> None:
    def body(x: Any, o: Any) -> None:
        v = x.load().to(cls)
        kept = cls if cls.dtype.is_float else cutlass.Float32
        for fn in (m.gelu, m.silu, m.sigmoid, m.rint, m.fabs):
            assert fn(v).dtype is kept and type(fn(v[0])) is kept, (fn, fn(v).dtype)
        for same in (m.abs, m.relu):
            assert same(v).dtype is cls and type(same(v[0])) is cls, same
        o[0] = m.abs(v[0]).to(cutlass.Float32)

    x, out = np.float32([-2.0, 1.0]), np.zeros(1, np.float32)
    on_device(body, x, out)
    assert out[0] == 2.0


def test_numbers_that_are_known() -> None:
    assert float(m.relu(cutlass.Float32(-1.0))) == 0.0 and math.isnan(float(m.relu(math.nan)))
    assert float(m.silu(0.0)) == 0.0 and float(m.gelu(0.0)) == 0.0
    assert m.abs(-3).value == 3 and float(m.rint(2.5)) == 2.0
    s, c = m.sincos(cutlass.Float64(1.0))
    assert (float(s), float(c)) == (math.sin(1.0), math.cos(1.0))


def test_machine_code() -> None:
    """Fast silu is two approximations, relu a comparison and a choice."""

    @cute.kernel
    def kernel(t: cute.Tensor):
        t[0] = m.silu(t[0], fastmath=True)
        t[1] = m.relu(t[1])

    @cute.jit
    def host(t: cute.Tensor):
        kernel(t).launch(grid=1, block=1)

    ptx = cute.compile(host, np.zeros(8, np.float32), options="--gpu-arch sm_80").__ptx__
    assert ptx.count("ex2.approx") == 1 and ptx.count("rcp.approx") == 1 and "div" not in ptx
