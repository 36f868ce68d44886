# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`TensorSSA` against NumPy: random types, shapes and broadcasts, fixed seeds.

NumPy's promotion differs; the oracle converts both operands to the type that the language says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import CLASSES, NUMPY, on_device
from opencute import cute
from opencute.lang.numbers import NUMERIC_CLASSES, numeric_class
from opencute.numeric.convert import convert
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.promotion import promote

pytestmark = pytest.mark.t0

QUICK = settings(max_examples=40, deadline=None, derandomize=True)
NUMBERS = tuple(c for c in CLASSES if c is not cutlass.Boolean)
INTS = tuple(c for c in NUMBERS if c.is_integer)
FLOATS = tuple(c for c in NUMBERS if c.is_float)
EXTENTS = st.integers(1, 4)


@st.composite
def pairs_of_shapes(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast, of one rank (missing modes are appended here, not prepended)."""
    full = draw(st.lists(EXTENTS, min_size=1, max_size=3))
    a, b = (tuple(draw(st.sampled_from([n, 1])) for n in full) for _ in range(2))
    a = tuple(n if m == 1 else k for n, k, m in zip(full, a, b, strict=True))
    return a, b


def array(cls: Any, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if cls.is_float:
        return (rng.integers(-64, 64, shape) / 8).astype(NUMPY[cls])
    low = max(int(cls.min), -100)
    return rng.integers(low, 100, shape).astype(NUMPY[cls])


def compute(body: Any, inputs: list[Any], out: Any) -> Any:
    on_device(lambda *t: t[-1].store(body(*(x.load() for x in t[:-1]))), *inputs, out)
    return out


ARITHMETIC = {
    "add": (lambda a, b: a + b), "sub": (lambda a, b: a - b), "mul": (lambda a, b: a * b),
}  # fmt: skip
COMPARE = {
    "lt": (lambda a, b: a < b), "le": (lambda a, b: a <= b), "gt": (lambda a, b: a > b),
    "ge": (lambda a, b: a >= b), "eq": (lambda a, b: a == b), "ne": (lambda a, b: a != b),
}  # fmt: skip


@QUICK
@given(shapes=pairs_of_shapes(), a=st.sampled_from(NUMBERS), b=st.sampled_from(NUMBERS),
       name=st.sampled_from(sorted(ARITHMETIC)), seed=st.integers(0, 1000))  # fmt: skip
def test_arithmetic(shapes: Any, a: Any, b: Any, name: str, seed: int) -> None:
    op = ARITHMETIC[name]
    x, y = array(a, shapes[0], seed), array(b, shapes[1], seed + 1)
    cls = numeric_class(promote(a.dtype, b.dtype))
    wide = NUMPY[cls]
    with np.errstate(all="ignore"):
        want = op(x.astype(wide), y.astype(wide))
    got = compute(op, [x, y], np.zeros(want.shape, wide))
    np.testing.assert_array_equal(got, want)


@QUICK
@given(shapes=pairs_of_shapes(), a=st.sampled_from(NUMBERS), b=st.sampled_from(NUMBERS),
       name=st.sampled_from(sorted(COMPARE)), seed=st.integers(0, 1000))  # fmt: skip
def test_comparisons_stay_in_the_algebra(shapes: Any, a: Any, b: Any, name: str, seed: int) -> None:
    """Issue 2584 of the field: the result of a comparison had no operators."""
    op = COMPARE[name]
    x, y = array(a, shapes[0], seed), array(b, shapes[1], seed + 1)
    wide = NUMPY[numeric_class(promote(a.dtype, b.dtype))]
    flags = op(x.astype(wide), y.astype(wide))
    want = (~flags | flags ^ True).astype(np.int32) + flags

    def body(v: Any, w: Any) -> Any:
        f = op(v, w)
        assert f.dtype is cutlass.Boolean
        return (~f | f ^ True).to(cutlass.Int32) + f

    got = compute(body, [x, y], np.zeros(flags.shape, np.int32))
    np.testing.assert_array_equal(got, want)


@QUICK
@given(shapes=pairs_of_shapes(), cls=st.sampled_from(INTS), seed=st.integers(0, 1000),
       name=st.sampled_from(["floordiv", "mod", "and", "or", "xor"]))  # fmt: skip
def test_whole_numbers(shapes: Any, cls: Any, name: str, seed: int) -> None:
    ops: dict[str, Any] = {
        "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "and": lambda a, b: a & b,
        "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    }  # fmt: skip
    x, y = array(cls, shapes[0], seed), array(cls, shapes[1], seed + 1)
    y[y == 0] = 3
    want = ops[name](x, y)
    np.testing.assert_array_equal(compute(ops[name], [x, y], np.zeros_like(want)), want)


@QUICK
@given(shapes=pairs_of_shapes(), a=st.sampled_from(NUMBERS), b=st.sampled_from(NUMBERS),
       seed=st.integers(0, 1000))  # fmt: skip
def test_where(shapes: Any, a: Any, b: Any, seed: int) -> None:
    x, y = array(a, shapes[0], seed), array(b, shapes[1], seed + 1)
    wide = NUMPY[numeric_class(promote(a.dtype, b.dtype))]
    want = np.where(x > 3, x.astype(wide), y.astype(wide))
    got = compute(lambda v, w: cute.where(v > 3, v, w), [x, y], np.zeros(want.shape, wide))
    np.testing.assert_array_equal(got, want)


REDUCTIONS: dict[Any, Any] = {
    cute.ReductionOp.ADD: np.add,
    cute.ReductionOp.MAX: np.maximum,
    cute.ReductionOp.MIN: np.minimum,
}  # fmt: skip


@QUICK
@given(shape=st.lists(EXTENTS, min_size=1, max_size=3).map(tuple), cls=st.sampled_from(NUMBERS),
       op=st.sampled_from(list(REDUCTIONS)), data=st.data(), seed=st.integers(0, 1000))  # fmt: skip
def test_reductions_over_profiles(shape: Any, cls: Any, op: Any, data: Any, seed: int) -> None:
    keep = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    x = array(cls, shape, seed)
    gone = tuple(i for i, k in enumerate(keep) if not k)
    want = x.astype(np.float64)
    start = 0.0 if op is cute.ReductionOp.ADD else float(x.flat[0])
    want = REDUCTIONS[op].reduce(want, axis=gone) if gone else want
    want = REDUCTIONS[op](want, start)
    profile = tuple(None if k else 1 for k in keep)
    out = np.zeros(want.shape or (1,), NUMPY[cls])
    first = x.flat[0].item()

    def body(t: Any, o: Any) -> None:
        init = 0 if op is cute.ReductionOp.ADD else first
        r = t.load().reduce(op, init, reduction_profile=profile)
        if isinstance(r, cute.TensorSSA):
            o.store(r)
        else:
            o[0] = r

    on_device(body, x, out)
    want = want.astype(NUMPY[cls]) if cls.is_float else want.astype(np.int64).astype(NUMPY[cls])
    np.testing.assert_array_equal(out.reshape(want.shape), want)


ALL = [c for c in NUMERIC_CLASSES.values() if c.width <= 64 and c is not cutlass.Boolean]
PACKED = [c for c in ALL if c.is_float and c.width <= 16]
F32, F64 = DTYPES["f32"], DTYPES["f64"]


@pytest.mark.parametrize("n", range(1, 17))
def test_conversions_of_every_pair_and_length(n: int) -> None:
    """Issue 3382 of the field: a conversion of a vector of two elements vanished."""
    classes = ALL if n in (2, 5) else PACKED
    x = np.resize(np.float32([1.5, -2.25, 0.0625, 3.0, 5.5, 100.25, -0.375, 7e4]), n)
    out = np.zeros((len(classes), len(classes), n))

    def body(t: Any, o: Any) -> None:
        for i, src in enumerate(classes):
            v = t.load().to(src)
            for j, dst in enumerate(classes):
                o[i, j, None].store(v.to(dst).to(cutlass.Float64))

    on_device(body, x, out)
    for i, src in enumerate(classes):
        first = convert(x, F32, src.dtype)
        for j, dst in enumerate(classes):
            want = convert(convert(first, src.dtype, dst.dtype), dst.dtype, F64)
            if not np.array_equal(out[i, j], want, equal_nan=True):
                negative_to_int = src.is_float and dst.is_integer and np.isnan(
                    convert(first, src.dtype, F64)).any()  # fmt: skip
                assert negative_to_int, (src, dst, out[i, j], want)
