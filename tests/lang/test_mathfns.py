# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.math`: values on numbers and vectors, on the host and outside of compiled code, and the
instructions that it becomes. How accurate it is: tests/tools/test_math_accuracy.py."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from compiled import elementwise, on_device
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.codegen.host import ARGUMENT_SLOT, compile_host_text
from opencute.cute.runtime import from_dlpack
from opencute.lang.numbers import NUMERIC_CLASSES
from opencute.native.jit import compile_host
from opencute.passes.pipelines import run_host_passes
from opencute.tools.math_accuracy import FUNCTIONS

m: Any = cute.math
X = np.array([-2.5, -1.0, -0.0, 0.5, 1.5, 3.0, np.inf, np.nan], np.float32)
SPECIAL = {
    m.isnan: np.isnan, m.isinf: np.isinf, m.isfinite: np.isfinite,
}  # fmt: skip


@pytest.mark.t0
@pytest.mark.parametrize("fn", SPECIAL, ids=lambda f: f.__name__)
def test_predicates(fn: Any) -> None:
    scalars, vectors = np.zeros(8, np.bool_), np.zeros(8, np.bool_)
    elementwise(lambda x: [fn(x)], [X], [scalars])
    on_device(lambda x, o: o.store(fn(x.load())), X, vectors)
    want = SPECIAL[fn](X).tolist()
    assert scalars.tolist() == vectors.tolist() == want
    assert [bool(fn(cutlass.Float32(float(v)))) for v in X] == want


@pytest.mark.t0
@pytest.mark.parametrize("cls", [cutlass.Float8E5M2, cutlass.Float8E4M3FN, cutlass.Float4E2M1FN,
                                 cutlass.Float16])  # fmt: skip
def test_predicates_of_narrow_floats(cls: Any) -> None:
    out = np.zeros(8, np.bool_)
    on_device(lambda x, o: o.store(m.isfinite(x.load().to(cls))), X, out)
    inf = cls is cutlass.Float16  # the others saturate
    nan = cls is not cutlass.Float4E2M1FN
    assert out.tolist() == [True] * 6 + [not inf, not nan]


@pytest.mark.t0
def test_remainders_have_the_sign_of_one_operand() -> None:
    a, b = np.float32([5.5, -5.5, 5.5, -5.5]), np.float32([2, 2, -2, -2])
    fmod, mod = np.zeros(4, np.float32), np.zeros(4, np.float32)
    elementwise(lambda x, y: [m.fmod(x, y), x % y], [a, b], [fmod, mod])
    assert (fmod == np.fmod(a, b)).all() and (mod == np.mod(a, b)).all()
    assert float(m.fmod(cutlass.Float32(-5.5), 2.0)) == -1.5


@pytest.mark.t0
def test_whole_powers() -> None:
    x = np.float32([1.5, -2.0, 0.5, 3.0])
    n = np.int32([3, -2, 5, 20])
    out, known, ints = (np.zeros(4, t) for t in (np.float32, np.float32, np.int32))
    elementwise(lambda a, k: [m.powi(a, k), m.powi(a, 3), m.powi(k, 2)], [x, n],
                [out, known, ints])  # fmt: skip
    assert np.allclose(out, x.astype(np.float64) ** n, rtol=1e-6)
    assert (known == x**3).all() and (ints == n**2).all()
    with pytest.raises(OpenCuTeError, match="OC1245"):
        m.powi(cutlass.Float32(2.0), 0.5)


@pytest.mark.t0
def test_reciprocals_and_sigmoid_of_every_float_type() -> None:
    x = np.float32([0.5, 2.0, -4.0, 8.0])
    for cls in (cutlass.Float16, cutlass.BFloat16, cutlass.Float32, cutlass.Float64,
                cutlass.Float8E4M3FN):  # fmt: skip
        out, sig = np.zeros(4, np.float32), np.zeros(4, np.float32)

        def body(a: Any, o: Any, s: Any, cls: Any = cls) -> None:
            v = a.load().to(cls)
            r = m.rcp(v, approx=True, ftz=True)
            assert r.dtype is cls and m.sigmoid(v).dtype is cls
            o.store(r.to(cutlass.Float32))
            s.store(m.sigmoid(v, fastmath=True).to(cutlass.Float32))

        on_device(body, x, out, sig)
        assert (out == 1 / x).all()
        assert np.allclose(sig, 1 / (1 + np.exp(-x)), rtol=0.07, atol=1e-2)


@pytest.mark.t0
def test_numbers_outside_of_compiled_code() -> None:
    assert float(m.sqrt(cutlass.Float32(2.0))) == np.sqrt(np.float32(2.0))
    assert type(m.exp(cutlass.Float16(1.0))) is cutlass.Float16
    assert type(m.exp2(3)) is cutlass.Float32 and float(m.exp2(3)) == 8.0
    assert float(m.atan2(1.0, cutlass.Float64(0.0))) == np.arctan2(1.0, 0.0)
    assert float(m.rcp(cutlass.Float32(0.0))) == np.inf


@cute.jit
def _all_on_host(x: cute.Tensor, out: cute.Tensor, names: cutlass.Constexpr):
    v = x.load()
    for k in cutlass.range_constexpr(len(names)):
        fn = getattr(m, names[k])
        two = names[k] in ("atan2", "copysign", "fmod", "pow")
        out[(k, None)].store((fn(v, v) if two else fn(v)).to(out.element_type))


def natively(fn: Any, x: Any, want: Any, got: Any, *static: Any) -> None:
    """Run a host function in the simulator and as native code of this CPU, without a GPU."""
    with KNOBS.override(target="sim:sm_90a"):
        args = (from_dlpack(x), from_dlpack(want))
        executor = cute.compile(fn, *args, *static)
        executor(*args)
    module = executor.artefacts.module.clone({})
    run_host_passes(module, executor.artefacts.target)
    code = compile_host_text(module)
    host = compile_host(code.llvm_ir, {})
    slots = (ctypes.c_uint64 * code.slots)()
    for i, a in enumerate((x, got)):
        slots[ARGUMENT_SLOT + i] = a.ctypes.data
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(host.address(code.name))
    assert call(slots) == 0


@pytest.mark.t1
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "bf16"])
def test_host_functions_are_native_code_too(dtype: str) -> None:
    """The one IR of a host function: in the simulator, and compiled for this CPU."""
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bf16" else dtype)
    x = np.array([1.0, 0.25, 0.5, 0.75]).astype(kind)
    names = tuple(FUNCTIONS)
    want, got = (np.zeros((len(names), 4), kind) for _ in range(2))
    natively(_all_on_host, x, want, got, names)
    a, b = got.astype(np.float64), want.astype(np.float64)
    unit = {"f2": 2e-3, "f4": 4e-7, "f8": 2e-15, "bf16": 2e-2}[dtype]
    bad = [n for n, g, w in zip(names, a, b, strict=True)
           if not np.allclose(g, w, rtol=unit, atol=unit, equal_nan=True)]  # fmt: skip
    assert not bad


@cute.jit
def _arithmetic_on_host(x: cute.Tensor, out: cute.Tensor):
    v = x.load()
    w = v * 3 + 1
    rows = [v + w, v - w, v * w, v / w, v % w, v // w, cute.math.max(v, w), -v, abs(v)]
    wide = [r.to(cutlass.Float64) for r in rows]
    wide += [v.to(c).to(cutlass.Float64) for c in NUMERIC_CLASSES.values() if c.width <= 64]
    wide += [v.to(cutlass.Int32).to(c).to(cutlass.Float64) for c in NUMERIC_CLASSES.values()
             if c.is_float]  # fmt: skip
    for k in cutlass.range_constexpr(len(wide)):
        out[(k, None)].store(wide[k])


@pytest.mark.t1
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "bf16", "e4m3"])
def test_host_arithmetic_and_conversions_are_exact(dtype: str) -> None:
    kinds = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}
    x = np.array([1.5, -2.25, 100.0, 0.375]).astype(kinds.get(dtype, dtype))
    want, got = np.zeros((80, 4)), np.zeros((80, 4))
    natively(_arithmetic_on_host, x, want, got)
    assert want.any(axis=1).sum() > 40
    np.testing.assert_array_equal(got, want)


@cute.kernel
def _table_kernel(
    x: cute.Tensor, out: cute.Tensor, name: cutlass.Constexpr, fast: cutlass.Constexpr
):
    v = x.load()
    fn = getattr(m, name)
    two = name in ("atan2", "copysign", "fmod", "pow")
    args = (v, v) if two else (v,)
    out.store(fn(*args, fastmath=True) if fast else fn(*args))


@cute.jit
def _table(x: cute.Tensor, out: cute.Tensor, name: cutlass.Constexpr, fast: cutlass.Constexpr):
    _table_kernel(x, out, name, fast).launch(grid=1, block=1)


def ptx(name: str, dtype: Any, fast: bool, target: str = "sm_80") -> str:
    x = np.ones(4, dtype)
    with KNOBS.override(target=f"sim:{target}"):
        return cute.compile(_table, from_dlpack(x), from_dlpack(x.copy()), name, fast).artefacts.ptx


FAST = {
    "exp": "ex2.approx", "exp2": "ex2.approx", "log": "lg2.approx", "log2": "lg2.approx",
    "log10": "lg2.approx", "sin": "sin.approx", "cos": "cos.approx", "tanh": "tanh.approx",
    "rsqrt": "rsqrt.approx", "sqrt": "sqrt.approx", "rcp": "rcp.approx", "pow": "ex2.approx",
}  # fmt: skip


@pytest.mark.t1
@pytest.mark.parametrize("name", FAST)
def test_fast_variants_are_approximate_instructions(name: str) -> None:
    assert ptx(name, np.float32, True).count(FAST[name]) == 4
    exact = ptx(name, np.float32, False)
    assert FAST[name] not in exact or name in ("rsqrt", "exp", "exp2")  # libdevice's own


@pytest.mark.t1
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_every_function_becomes_machine_code(dtype: Any) -> None:
    for name in FUNCTIONS:
        assert "visible .entry" in ptx(name, dtype, False)


@pytest.mark.t0
def test_functions_that_kernels_take_from_cute_itself() -> None:
    for name in ("exp", "exp2", "erf", "rsqrt", "tanh", "sqrt", "log2"):
        assert getattr(cute, name) is getattr(m, name)
