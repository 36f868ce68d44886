# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator is the definition, and the GPU agrees: bit for bit where an operation is exact,
within the bound that the table states where it is not.

The same kernels run in both places, on inputs with boundary values. NaNs are compared as NaNs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

import opencute
from opencute import cute
from opencute.arch.mathfns import MATH_FNS, MathFn
from opencute.base.knobs import KNOBS
from opencute.cute import math as cute_math
from opencute.cute.runtime import from_dlpack
from opencute.runtime import driver

pytestmark = pytest.mark.t2

FLOATS: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
}  # fmt: skip
INTS: dict[str, Any] = {
    "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
}  # fmt: skip
LENGTH = 4096


@cute.kernel
def apply_kernel(op: cute.typing.Constexpr, mIn: Any, mOut: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    tiles = [cute.zipped_divide(t, (4,))[None, i] for t in mIn]
    out = cute.zipped_divide(mOut, (4,))[None, i]
    out.store(op(*[t.load() for t in tiles]).to(mOut.element_type))


@cute.jit
def apply(op: cute.typing.Constexpr, mIn: Any, mOut: cute.Tensor) -> None:
    apply_kernel(op, mIn, mOut).launch(grid=LENGTH // 512, block=128)


def run(where: str, op: Callable[..., Any], inputs: list[Any], dtype: Any) -> Any:
    out = np.zeros(LENGTH, dtype)
    with KNOBS.override(target=where):
        wrapped = [from_dlpack(x, assumed_align=16) for x in inputs]
        cute.compile(apply, op, wrapped, from_dlpack(out, assumed_align=16))(
            wrapped, from_dlpack(out, assumed_align=16)
        )
    return out


def both(op: Callable[..., Any], inputs: list[Any], dtype: Any) -> tuple[Any, Any]:
    return run("sim", op, inputs, dtype), run("cuda", op, inputs, dtype)


def same(a: Any, b: Any) -> Any:
    """Where two arrays agree bit for bit, or are both NaN."""
    raw = a.view(np.uint8).reshape(len(a), -1) == b.view(np.uint8).reshape(len(b), -1)
    out = raw.all(axis=1)
    if a.dtype.kind not in "iub":
        with np.errstate(invalid="ignore"):
            out |= np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return out


def show(bad: Any, inputs: list[Any], a: Any, b: Any) -> str:
    lines = [f"{bad.sum()} of {len(bad)} differ"]
    for i in np.flatnonzero(bad)[:8]:
        lines.append(f"  {[x[i] for x in inputs]} -> simulator {a[i]!r}, GPU {b[i]!r}")
    return "\n".join(lines)


def floats(name: str, seed: int, scale: float = 4.0) -> Any:
    rng = np.random.default_rng(seed)
    dtype = FLOATS[name]
    bits = {8: np.uint64, 4: np.uint32, 2: np.uint16}[np.dtype(dtype).itemsize]
    wild = rng.integers(0, 1 << (8 * np.dtype(dtype).itemsize), LENGTH // 2, np.uint64)
    tame = (rng.standard_normal(LENGTH // 2) * scale).astype(dtype)
    out = np.concatenate([wild.astype(bits).view(dtype), tame])
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 65504.0, 1e-7, 6e-8, 3e38]
    with np.errstate(over="ignore"):
        out[: len(edges)] = np.array(edges).astype(dtype)
    rng.shuffle(out)
    return out


def integers(name: str, seed: int, *, nonzero: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    info = np.iinfo(INTS[name])
    out = rng.integers(info.min, info.max, LENGTH, INTS[name], endpoint=True)
    out[: LENGTH // 4] = rng.integers(max(info.min, -9), 9, LENGTH // 4)
    out[:4] = [info.min, info.max, 0, 1]
    if nonzero:
        out[out == 0] = 3
    rng.shuffle(out)
    return out


EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b: cute_math.fma(a, b, a),
    "contracted": lambda a, b: a * b + a,
    "min": lambda a, b: cute_math.min(a, b),
    "max": lambda a, b: cute_math.max(a, b),
    "less": lambda a, b: cute.where(a < b, a, b),
    "equal": lambda a, b: cute.where(a == b, a, 1.0),
    "neg": lambda a, b: -a,
    "abs": lambda a, b: cute_math.absf(a),
    "sqrt": lambda a, b: cute_math.sqrt(a),
    "floor": lambda a, b: cute_math.floor(a),
    "ceil": lambda a, b: cute_math.ceil(a),
    "trunc": lambda a, b: cute_math.trunc(a),
    "round": lambda a, b: cute_math.round(a),
    "copysign": lambda a, b: cute_math.copysign(a, b),
    "relu": lambda a, b: cute.where(a > 0, a, 0),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_exact_float_operations_are_equal(name: str, dtype: str) -> None:
    inputs = [floats(dtype, 1), floats(dtype, 2)]
    sim, gpu = both(EXACT[name], inputs, FLOATS[dtype])
    bad = ~same(sim, gpu)
    assert not bad.any(), show(bad, inputs, sim, gpu)


INTEGER: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << (b & 7),
    "shr": lambda a, b: a >> (b & 7),
    "min": lambda a, b: cute_math.min(a, b),
    "max": lambda a, b: cute_math.max(a, b),
    "less": lambda a, b: cute.where(a < b, a, b),
}


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", INTEGER)
def test_integer_operations_are_equal(name: str, dtype: str) -> None:
    inputs = [integers(dtype, 3), integers(dtype, 4, nonzero=True)]
    sim, gpu = both(INTEGER[name], inputs, INTS[dtype])
    bad = ~same(sim, gpu)
    assert not bad.any(), show(bad, inputs, sim, gpu)


@pytest.mark.parametrize("dst", [*FLOATS, *INTS])
@pytest.mark.parametrize("src", [*FLOATS, *INTS])
def test_conversions_are_equal(src: str, dst: str) -> None:
    x = floats(src, 5, 50.0) if src in FLOATS else integers(src, 6)
    sim, gpu = both(lambda a: a, [x], {**FLOATS, **INTS}[dst])
    bad = ~same(sim, gpu)
    assert not bad.any(), show(bad, [x], sim, gpu)


NOT_UNARY = {"math.powf", "math.atan2", "math.copysign", "math.fma"}
WHOLE = {"math.trunc", "math.floor", "math.ceil", "math.round", "math.roundeven"}  # see EXACT
UNARY = sorted({fn.op for fn in MATH_FNS.values()} - NOT_UNARY - WHOLE)
DOMAIN = {
    "math.log": (1e-6, 1e6), "math.log2": (1e-6, 1e6), "math.log10": (1e-6, 1e6),
    "math.log1p": (-0.9, 1e3), "math.sqrt": (0, 1e6), "math.rsqrt": (1e-6, 1e6),
    "math.asin": (-1, 1), "math.acos": (-1, 1), "math.exp": (-20, 20), "math.exp2": (-20, 20),
    "math.expm1": (-10, 10), "math.sinh": (-8, 8), "math.cosh": (-8, 8), "math.tan": (-1.4, 1.4),
    "math.acosh": (1.01, 1e3), "math.atanh": (-0.99, 0.99),
}  # fmt: skip
F16_LIMIT = {"math.exp": 9.0, "math.exp2": 14.0, "math.expm1": 9.0}


def cases() -> list[MathFn]:
    names = dir(cute_math)
    found = [f for f in MATH_FNS.values() if f.op in UNARY and f.type in FLOATS]
    return [f for f in found if f.op.removeprefix("math.") in names]


def ulp(values: Any, dtype: Any) -> Any:
    """The distance of neighbouring numbers of a type at the given values."""
    info = ml_dtypes.finfo(dtype)
    _, exponent = np.frexp(np.abs(values).astype(np.float64))
    tiny = float(info.smallest_subnormal)
    return np.maximum(np.ldexp(float(info.eps), exponent - 1), tiny)


@pytest.mark.parametrize("fn", cases(), ids=lambda f: f"{f.op}-{f.type}{'-fast' * f.fast}")
def test_functions_are_within_their_bounds(fn: MathFn) -> None:
    name = fn.op.removeprefix("math.")
    op = getattr(cute_math, name)
    low, high = DOMAIN.get(fn.op, (-8, 8))
    if fn.type == "f16":  # stay within its range
        high = min(high, F16_LIMIT.get(fn.op, 6e4))
        low = max(low, 1e-3) if low > 0 else max(low, -high)
    dtype = FLOATS[fn.type]
    x = np.random.default_rng(7).uniform(low, high, LENGTH).astype(dtype)
    apply_op = (lambda a: op(a, fastmath=True)) if fn.fast else (lambda a: op(a))
    sim, gpu = both(apply_op, [x], dtype)
    oracle = {"absf": "fabs", "rsqrt": None, "trunc": None}.get(name, name)
    mpmath.mp.prec = 120
    exact = {
        "fabs": abs, "exp2": lambda v: mpmath.mpf(2) ** v, "log2": lambda v: mpmath.log(v, 2),
        None: (lambda v: 1 / mpmath.sqrt(v)) if name == "rsqrt" else mpmath.mpf,
        "cbrt": lambda v: mpmath.sign(v) * mpmath.cbrt(abs(v)),
    }.get(oracle, getattr(mpmath, str(oracle), None))  # fmt: skip
    assert exact is not None, name
    wide = [exact(mpmath.mpf(float(v))) for v in x]
    want = np.array([float(w) for w in wide])
    unit = ulp(want, dtype)
    for where, got in (("simulator", sim), ("GPU", gpu)):
        if fn.type == "f64":
            error = np.array([float(abs(mpmath.mpf(float(g)) - w)) for g, w in zip(got, wide)])  # noqa: B905
        else:
            error = np.abs(got.astype(np.float64) - want)
        worst = float((error / unit).max())
        bound = fn.ulp + 0.5001
        if fn.fast and name in ("sin", "cos", "tan", "log", "log2", "log10", "tanh"):
            # Their bounds are absolute errors near 0: PTX ISA, sin, cos, lg2, tanh (approx).
            allowed = np.maximum(2.0**-10, 4 * unit)
            assert (error <= allowed).all(), (where, float((error / allowed).max()))
        else:
            at = int((error / unit).argmax())
            assert worst <= bound, (where, worst, bound, x[at], got[at], want[at])


def test_there_is_a_gpu() -> None:
    assert driver.available() and opencute.__version__
