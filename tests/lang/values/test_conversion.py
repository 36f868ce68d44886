# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`.to()` with rounding and saturation: issue 2711 of the field, "rounding modes?".

Each conversion is done three times: on Python numbers, on numbers of a kernel, on vectors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import elementwise, on_device
from opencute import cute
from opencute.base.errors import OpenCuTeError, TypeMismatchError
from opencute.lang.numbers import NUMERIC_CLASSES
from opencute.numeric.convert import convert
from opencute.numeric.dtypes import DTYPES

pytestmark = pytest.mark.t0

MODES: dict[str, Any] = {"rn": "rne", "rz": "rtz", "rna": "rna", "rm": "rd", "rp": "ru"}
FLOATS = ["f16", "bf16", "f8e4m3fn", "f8e5m2", "tf32"]
rng = np.random.default_rng(4)
F32 = np.concatenate([
    rng.standard_normal(120) * 10.0 ** rng.integers(-6, 6, 120),
    [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 448.0, 465.0, 70000.0, -70000.0, np.inf, -np.inf],
]).astype(np.float32)  # fmt: skip


def three_ways(x: Any, dtype: Any, out: Any, **how: Any) -> list[Any]:
    """Results of the conversion of an array."""
    scalars, vectors = np.zeros_like(out), np.zeros_like(out)
    elementwise(lambda a: [a.to(dtype, **how)], [x], [scalars])
    on_device(lambda a, o: o.store(a.load().to(dtype, **how)), x, vectors)
    cls = NUMERIC_CLASSES[{"float32": "f32", "float64": "f64"}.get(x.dtype.name) or
                          x.dtype.name.replace("uint", "u").replace("int", "i")]  # fmt: skip
    numbers = np.zeros_like(out)
    numbers[:] = [cls(v.item()).to(dtype, **how).value for v in x]
    return [scalars, vectors, numbers]


@pytest.mark.parametrize("saturate", [None, False, True])
@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str, rounding: str, saturate: bool | None) -> None:
    dst = DTYPES[name]
    want = convert(F32, DTYPES["f32"], dst, MODES[rounding], saturate)
    cls = NUMERIC_CLASSES[name]
    for got in three_ways(F32, cls, np.zeros(len(F32), dst.numpy_dtype), rounding=rounding,
                          saturate=saturate):  # fmt: skip
        assert np.array_equal(got.astype(np.float64), want.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("dst", [np.int32, np.uint32, np.int8, np.int64], ids=str)
def test_floats_to_integers(dst: Any, rounding: str) -> None:
    fn: Any = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil,
               "rna": lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v)}[rounding]  # fmt: skip
    x = F32[np.isfinite(F32)]
    info = np.iinfo(dst)
    want = np.clip(fn(x.astype(np.float64)), info.min, info.max).astype(dst)
    cls = NUMERIC_CLASSES[np.dtype(dst).name.replace("uint", "u").replace("int", "i")]
    for got in three_ways(x, cls, np.zeros(len(x), dst), rounding=rounding):
        assert (got == want).all()


INT_PAIRS = [(s, d) for s in ("int8", "uint8", "int32", "uint32", "int64", "uint64")
             for d in ("int8", "uint8", "int32", "uint32", "int64", "uint64")
             if s != d]  # fmt: skip


@pytest.mark.parametrize(("src", "dst"), INT_PAIRS)
def test_integers_saturate(src: str, dst: str) -> None:
    info, to = np.iinfo(src), np.iinfo(dst)
    x = np.array([0, 1, 127, 100, info.min, info.max, info.max - 1, info.min + 1], src)
    cls = NUMERIC_CLASSES[dst.replace("uint", "u").replace("int", "i")]
    want = [min(max(int(v), to.min), to.max) for v in x]
    for got in three_ways(x, cls, np.zeros(len(x), dst), saturate=True):
        assert got.tolist() == want
    for got in three_ways(x, cls, np.zeros(len(x), dst), saturate=False):
        assert (got == x.astype(dst)).all()


@pytest.mark.parametrize("rounding", [None, *MODES])
@pytest.mark.parametrize("dst", ["f32", "f16", "f8e4m3fn", "tf32"])
@pytest.mark.parametrize("src", ["int16", "int32", "uint32", "int64", "uint64"])
def test_integers_to_floats_round_once(src: str, dst: str, rounding: str | None) -> None:
    """33554435 to f8 by way of f32 would round twice."""
    info = np.iinfo(src)
    picks = [0, 1, 17, 19, 273, 2**24 + 1, 33554435, 2**31 - 65, 2**53 + 1, 2**60 + 5, 2**63 - 1,
             -(2**60) + 5, -17, -19, -(2**40) - 1, info.max, info.min]  # fmt: skip
    x = np.array([v for v in picks if info.min <= v <= info.max], src)
    to = DTYPES[dst]
    mode = MODES[rounding] if rounding else None
    kind = DTYPES[src.replace("uint", "u").replace("int", "i")]
    want = convert(x, kind, to, mode)
    for got in three_ways(x, NUMERIC_CLASSES[dst], np.zeros(len(x), to.numpy_dtype),
                          rounding=rounding):  # fmt: skip
        assert np.array_equal(got.astype(np.float64), want.astype(np.float64))


def test_stochastic_rounding_has_the_right_mean() -> None:
    x = np.full(512, 1.0 + 3 / 32, np.float32)  # 3/4 of the way to the next f8e4m3fn
    bits = rng.integers(0, 2**32, 512, np.uint64).astype(np.uint32)
    out, vec = np.zeros(512, np.float32), np.zeros(512, np.float32)
    f8 = cutlass.Float8E4M3FN

    def one(a: Any, r: Any) -> Any:
        return [a.to(f8, rounding="rs", rbits=r).to(cutlass.Float32)]

    elementwise(one, [x, bits], [out])
    on_device(
        lambda a, r, o: o.store(a.load().to(f8, rounding="rs", rbits=r.load()).to(float)),
        x, bits, vec,
    )  # fmt: skip
    eager = [cutlass.Float32(a.item()).to(f8, rounding="rs", rbits=int(r)).value
             for a, r in zip(x, bits, strict=True)]  # fmt: skip
    assert (out == vec).all() and out.tolist() == eager
    assert set(out.tolist()) == {1.0, 1.125}
    assert abs((out == 1.125).mean() - 0.75) < 0.06


def test_wrong_options() -> None:
    x = cutlass.Float32(1.0)
    for how in ({"rounding": "nearest"}, {"rounding": "rs"}, {"rbits": 3}):
        with pytest.raises(TypeMismatchError, match="OC1246"):
            x.to(cutlass.Float16, **how)
    with pytest.raises(TypeMismatchError, match="OC1246"):
        x.to(cutlass.Int32, rounding="rs", rbits=3)
    with pytest.raises(OpenCuTeError, match="OC1246"):
        on_device(lambda a: a.store(a.load().to(cutlass.Float16, rounding="up").to(float)),
                  np.ones(4, np.float32))  # fmt: skip


def test_every_class_says_what_it_is() -> None:
    for cls in NUMERIC_CLASSES.values():
        assert issubclass(cls, cutlass.Numeric)
        assert issubclass(cls, cutlass.Float) == cls.is_float
        assert issubclass(cls, cutlass.Integer) == (cls.is_integer and cls is not cutlass.Boolean)
        assert cls.bytes == (cls.width + 7) // 8 and cls.is_same_kind(cls)
        assert cls.zero == 0 and cls.one == 1
    assert math.isnan(cutlass.Float32.nan) and math.isinf(cutlass.Float16.inf)
    assert not cutlass.Float8E4M3FN.is_same_kind(cutlass.Int8)
    assert (cutlass.Float8E5M2.exponent_width, cutlass.Float8E5M2.mantissa_width) == (5, 2)
    assert cute.testing is not None


def test_packed_pairs() -> None:
    pair = cutlass.Float4E2M1FNx2((1.5, -6.0))
    assert pair.value == 0xF3
    assert (float(pair.lo), float(pair.hi)) == (1.5, -6.0)
    assert cutlass.Float4E2M1FNx2.width == 8 and cutlass.Float4E2M1FNx2.lanes == 2
    with pytest.raises(TypeMismatchError, match="OC1205"):
        cutlass.Float4E2M1FNx2(1.5)
    out = np.zeros(2, np.float32)
    byte = np.array([0xF3], np.uint8)

    def body(b: Any, o: Any) -> None:
        o.store(cutlass.Float4E2M1FNx2(b[0].ir_value()).unpack().to(cutlass.Float32))

    on_device(body, byte, out)
    assert out.tolist() == [1.5, -6.0]
