# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors in registers against NumPy. The first mode of a vector is the fastest (order F)."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import CLASSES, NUMPY, on_device, on_host
from opencute import cute
from opencute.base.errors import LayoutError, TypeMismatchError

pytestmark = pytest.mark.t0

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def ramp(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def put(outs: Any, results: Any) -> None:
    for o, r in zip(outs, results, strict=True):
        o.store(r)


def run(body: Any, inputs: list[Any], outputs: list[Any]) -> None:
    """`body` on loaded vectors; its results are stored."""
    n = len(inputs)
    on_device(lambda *t: put(t[n:], body(*(x.load() for x in t[:n]))), *inputs, *outputs)


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
INTEGER = [operator.add, operator.mul, operator.floordiv, operator.mod, operator.and_,
           operator.or_, operator.xor, operator.lshift, operator.rshift]  # fmt: skip
COMPARE = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_float_operators(dtype: Any) -> None:
    a, b = ramp((3, 4), dtype), ramp((3, 4), dtype)[::-1].copy() - dtype(6.5)
    ops = [*ARITHMETIC, *COMPARE]
    want = [op(a, b) for op in ops] + [np.floor(a / b), a % b, -a, abs(b), a**3]
    outs = [np.zeros((3, 4), w.dtype) for w in want]
    run(
        lambda x, y: [*(op(x, y) for op in ops), x // y, x % y, -x, abs(y), x**3],
        [a, b], outs,
    )  # fmt: skip
    for o, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(o, w)


@pytest.mark.parametrize("cls", [c for c in CLASSES if not c.is_float], ids=lambda c: c.__name__)
def test_integer_operators(cls: Any) -> None:
    if cls is cutlass.Boolean:
        a, b = np.array([True, True, False]), np.array([True, False, False])
        ops = [operator.and_, operator.or_, operator.xor]
        want = [op(a, b) for op in ops] + [~a, a.astype(np.int32) + b]
        outs = [np.zeros(3, w.dtype) for w in want]
        run(lambda x, y: [*(op(x, y) for op in ops), ~x, x + y], [a, b], outs)
    else:
        low = -7 if cls.signed else 7
        a, b = np.array([low, 100, 3], NUMPY[cls]), np.array([2, 3, 1], NUMPY[cls])
        with np.errstate(all="ignore"):
            want = [op(a, b) for op in [*INTEGER, *COMPARE]] + [-a, ~a]
        outs = [np.zeros(3, w.dtype) for w in want]
        run(lambda x, y: [*(op(x, y) for op in [*INTEGER, *COMPARE]), -x, ~x], [a, b], outs)
    for o, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(o, w)


def test_scalars_on_either_side() -> None:
    a, i = ramp((4,)), ramp((4,), np.int32)
    fs = [
        lambda x: x + 1, lambda x: 2.5 * x, lambda x: 1 - x, lambda x: 1.0 / x,
        lambda x: 7.0 // x, lambda x: 7.0 % x, lambda x: 2.0**x,
    ]  # fmt: skip
    gs = [lambda x: 1 << x, lambda x: 64 >> x, lambda x: 6 & x, lambda x: 6 | x,
          lambda x: 6 ^ x]  # fmt: skip
    outs = [np.zeros(4, np.float32) for _ in fs] + [np.zeros(4, np.int32) for _ in gs]
    run(lambda x, y: [*(f(x) for f in fs), *(g(y) for g in gs)], [a, i], outs)
    for o, f in zip(outs, [*fs, *gs], strict=True):
        np.testing.assert_allclose(o, f(a if o.dtype == np.float32 else i), rtol=1e-6)


def test_shifts_keep_the_left_type() -> None:
    def body(x: Any, y: Any) -> Any:
        assert (x << y).dtype is cutlass.Int8 and (y >> x).dtype is cutlass.Int64
        assert (cutlass.Int16(1) << y).dtype is cutlass.Int16
        return (x << y,)

    out = np.zeros(2, np.int8)
    run(body, [np.array([1, 2], np.int8), np.array([3, 1], np.int64)], [out])
    assert out.tolist() == [8, 4]
    with pytest.raises(TypeMismatchError, match="OC1207"):
        run(lambda x: (x << 1,), [ramp((2,))], [ramp((2,))])


def test_a_literal_that_does_not_fit_is_not_cut() -> None:
    out, flags = np.zeros(2, np.int32), np.zeros(2, bool)
    run(lambda x: (x + 300, x < 300), [np.array([1, 100], np.int8)], [out, flags])
    assert out.tolist() == [301, 400] and flags.all()


@pytest.mark.parametrize("src", CLASSES, ids=lambda c: c.__name__)
def test_conversions(src: Any) -> None:
    a = np.array([0, 1, 2, 5] if not src.is_float else [0.0, 1.5, -2.75, 100.0], NUMPY[src])
    if src.signed and not src.is_float:
        a[3] = -3
    outs = [np.zeros(4, NUMPY[d]) for d in CLASSES]
    run(lambda x: [x.to(d) for d in CLASSES], [a], outs)
    for d, o in zip(CLASSES, outs, strict=True):
        assert o.tolist() == [src(v).to(d).value for v in a.tolist()], d


SHAPES = [((4,), (4,)), ((4, 1), (1, 3)), ((1, 3), (4, 3)), ((1,), (4, 3)), ((2, 1, 3), (1, 4, 1)),
          ((2, 1), (2, 3)), ((1, 1), (1, 1))]  # fmt: skip


@pytest.mark.parametrize(("s", "t"), SHAPES)
def test_broadcasting(s: tuple[int, ...], t: tuple[int, ...]) -> None:
    rank = max(len(s), len(t))  # missing modes are appended, unlike NumPy's
    a, b = ramp(s), 10 * ramp(t)
    na, nb = (x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in (a, b))
    out = np.zeros(np.broadcast_shapes(na.shape, nb.shape), np.float32)
    run(lambda x, y: (x + y,), [a, b], [out])
    np.testing.assert_array_equal(out, na + nb)


def test_broadcast_to_nested_modes_and_refusals() -> None:
    def body(t: Any) -> None:
        v = t.load()
        assert v.shape == (1, 3)
        w = v.broadcast_to(((2, 2), 3))
        assert w.shape == ((2, 2), 3)
        with pytest.raises(LayoutError, match="OC1353"):
            v.broadcast_to((2, 4))
        with pytest.raises(LayoutError, match="OC1353"):
            v + cute.full((2, 2), 0.0)
        with pytest.raises(LayoutError, match="OC1351"):
            v.reshape((2, 2))
        assert v.reshape((3,)).shape == (3,)

    on_device(body, ramp((1, 3)))


def test_where() -> None:
    a, b = ramp((2, 3)), -ramp((2, 3))
    outs = [np.zeros((2, 3), np.float32) for _ in range(5)]

    def body(x: Any, y: Any) -> Any:
        mask = x > 3
        one = x[0] > 0
        return (
            cute.where(mask, x, y), cute.where(mask, x, 0), cute.where(mask, 1.0, 2),
            cute.where(one, x, y), cute.where(mask, x, cute.full((1, 3), 7.0)),
        )  # fmt: skip

    run(body, [a, b], outs)
    m = a > 3
    want = [np.where(m, a, b), np.where(m, a, 0), np.where(m, 1, 2), a, np.where(m, a, 7)]
    for o, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(o, w)


def test_where_of_numbers_promotes() -> None:
    out = np.zeros(2, np.float32)

    def body(t: Any) -> None:
        tid = cute.arch.thread_idx()[0]
        x = cute.where(tid == 0, tid, 1.5)
        assert type(x) is cutlass.Float32
        t[tid] = x
        assert cute.where(cutlass.const_expr(True), 1, 2) == 1

    on_device(body, out, block=2)
    assert out.tolist() == [0.0, 1.5]


def test_fills() -> None:
    outs = [np.zeros((2, 2), d) for d in (np.float32, np.float16, np.float32, np.float32, np.int32)]

    def body(x: Any) -> Any:
        assert cute.full((2, 2), 3).dtype is cutlass.Int32
        assert cute.empty_like(x).shape == (2, 2)
        return (
            cute.full((2, 2), x[1]), cute.full_like(x, 3, cutlass.Float16), cute.zeros_like(x),
            cute.ones_like(x), cute.full((2, 2), 2.75, cutlass.Int32),
        )  # fmt: skip

    run(body, [ramp((2, 2))], outs)
    assert [o.ravel().tolist() for o in outs] == [[3] * 4, [3] * 4, [0] * 4, [1] * 4, [2] * 4]


def reduce_axes(a: Any, axes: Any, fn: Any, init: Any) -> Any:
    return fn.reduce(a, axis=axes, initial=init)


@pytest.mark.parametrize(
    ("op", "fn", "init"),
    [("ADD", np.add, 1), ("MUL", np.multiply, 1), ("MAX", np.maximum, 4), ("MIN", np.minimum, 4)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_reduce(op: str, fn: Any, init: int, dtype: Any) -> None:
    a = ramp((2, 3, 2), dtype)
    kind = getattr(cute.ReductionOp, op)
    profiles = {0: None, (None, 1, 1): (1, 2), (1, None, None): (0,), (None, 0, None): (1,)}
    want = [np.asarray(reduce_axes(a, axes, fn, init)) for axes in profiles.values()]
    outs = [np.zeros(w.shape or (1,), dtype) for w in want]
    run(lambda v: [v.reduce(kind, init, p) for p in profiles], [a], outs)
    for o, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(o.reshape(w.shape), w)


def test_reduce_bits_functions_nested_profiles() -> None:
    a = ramp((2, 3), np.int32)
    outs = [np.zeros(s, np.int32) for s in ((1,), (1,), (1,), (2,), (2, 3))]

    def body(v: Any) -> Any:
        k = cute.ReductionOp
        nested = v.reshape(((2, 3), 1))
        with pytest.raises(LayoutError, match="OC1352"):
            v.reduce(k.ADD, 0, (None, 1, 1))
        with pytest.raises(TypeMismatchError, match="OC1223"):
            v.reduce("sum", 0)
        with pytest.raises(TypeMismatchError, match="OC1223"):
            v.reduce(k.INC, 0)
        return (
            v.reduce(k.XOR, 0), v.reduce(k.AND, -1), v.reduce(lambda p, q: p * 2 + q, 0, 0),
            nested.reduce(k.ADD, 0, ((None, 1), 1)), v.reduce(k.ADD, 0, (None, None)),
        )  # fmt: skip

    run(body, [a], outs)
    linear = a.ravel(order="F").tolist()
    horner = 0
    for x in linear:
        horner = horner * 2 + x
    want = [[np.bitwise_xor.reduce(linear)], [np.bitwise_and.reduce(linear)], [horner],
            a.sum(1), a]  # fmt: skip
    for o, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(o, w)


def test_any_and_all() -> None:
    out = np.zeros(4, bool)

    def body(t: Any) -> None:
        v = cute.make_rmem_tensor(3, cutlass.Int32)
        v[0], v[1], v[2] = 0, 2, 0
        x = v.load()
        t[0], t[1] = cute.any_(x), cute.all_(x)
        t[2], t[3] = cute.any_(x > 5), cute.all_(x < 5)

    on_device(body, out)
    assert out.tolist() == [True, False, False, True]


@QUICK
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple),
    data=st.data(),
)
def test_indexing_is_numpys(shape: tuple[int, ...], data: Any) -> None:
    index = tuple(data.draw(st.one_of(st.none(), st.integers(0, n - 1))) for n in shape)
    a = ramp(shape)
    want = a[tuple(slice(None) if i is None else i for i in index)]
    out = np.zeros(want.shape or (1,), np.float32)
    run(lambda v: (v[index],), [a], [out])
    np.testing.assert_array_equal(out.reshape(want.shape), want)


def test_indexing_spellings_and_refusals() -> None:
    a = ramp((2, 3, 2))
    out, line = np.zeros((2, 3), np.float32), np.zeros((2, 2), np.float32)

    def body(v: Any) -> Any:
        assert len(v) == 3 and str(v) == "tensor_value<vector<12xf32> o (2,3,2)>"
        assert type(v[11]) is cutlass.Float32 and v[[0, 1, 1]] is not None
        with pytest.raises(LayoutError, match="OC1366"):
            v[12]
        with pytest.raises(LayoutError, match="OC1366"):
            v[-1]
        with pytest.raises(LayoutError, match="OC1354"):
            v[0:2, None, None]
        with pytest.raises(TypeMismatchError, match="OC1222"):
            v[cute.arch.thread_idx()[0]]
        with pytest.raises(TypeMismatchError, match="OC1230"):
            v["a"]
        with pytest.raises(TypeMismatchError, match="OC1221"):
            bool(v)
        planes = list(v)
        assert [str(p.shape) for p in planes] == ["(3, 2)"] * 2
        assert all(type(x) is cutlass.Float32 for x in v[0, 0, None])
        return v[..., 1], v[:, np.int64(2), :]

    run(body, [a], [out, line])
    np.testing.assert_array_equal(out, a[..., 1])
    np.testing.assert_array_equal(line, a[:, 2])


def test_bitcast() -> None:
    out = np.zeros(2, np.int32)
    run(lambda v: (v.bitcast(cutlass.Int32),), [np.array([1.0, -2.0], np.float32)], [out])
    assert out.tolist() == np.array([1.0, -2.0], np.float32).view(np.int32).tolist()


def test_bitcast_to_another_width() -> None:
    a = np.arange(8, dtype=np.uint8).reshape(2, 4).T.copy()  # the first mode is contiguous
    out = np.zeros((2, 2), np.uint16)

    def body(v: Any) -> Any:
        wide = v.bitcast(cutlass.Uint16)
        assert wide.shape == (2, 2) and v.bitcast(cutlass.Uint32).shape == (1, 2)
        assert v.bitcast(cutlass.Uint4).shape == (8, 2)
        back = wide.bitcast(cutlass.Float4E2M1FN).bitcast(cutlass.Uint16)
        with pytest.raises(LayoutError, match="OC1365"):
            v.bitcast(cutlass.Uint64)
        return (back,)

    run(body, [a], [out])
    np.testing.assert_array_equal(out.T, a.T.copy().view(np.uint16))


def test_vectors_also_exist_on_the_host() -> None:
    out = ramp((3,))
    on_host(lambda t: t.store(t.load() * 2 + 1), out)
    assert out.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("a", "b"), list(itertools.combinations([cutlass.Float16, cutlass.BFloat16, cutlass.Float32,
                                        cutlass.Int32, cutlass.Uint8, cutlass.Boolean], 2)),
    ids=lambda c: c.__name__,
)  # fmt: skip
def test_mixed_types_promote_as_numbers_do(a: Any, b: Any) -> None:
    x, y = np.array([1, 0, 1], NUMPY[a]), np.array([1, 1, 0], NUMPY[b])
    cls = type(a(1) + b(1))
    out = np.zeros(3, NUMPY[cls])

    def body(v: Any, w: Any) -> Any:
        assert (v + w).dtype is cls
        return (v + w,)

    run(body, [x, y], [out])
    assert out.astype(float).tolist() == [2, 1, 1]
