# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Literals that do not fit, powers, coordinates, NumPy scalars, formats without arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device, on_host
from opencute import (
    Boolean,
    Float8E4M3FN,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint32,
    cute,
)
from opencute.base.errors import ArgumentError, LanguageError, LayoutError, TypeMismatchError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


# ---------------------------------------------------------------- literals
COMPARED = [
    (np.int8, [-128, 0, 127], [256, 128, -129, 127, 2**70]),
    (np.uint8, [0, 255], [-1, 255, 256]),
    (np.uint32, [0, 2**32 - 1], [-1, 2**32, 2**32 - 1]),
    (np.uint64, [0, 2**64 - 1], [-1, 2**64]),
    (np.int32, [-(2**31), 2**31 - 1], [2**31, 2**40, -(2**40)]),
]


@pytest.mark.parametrize(("dtype", "values", "literals"), COMPARED)
def test_comparisons_with_literals_that_do_not_fit(
    dtype: Any, values: list[int], literals: list[int]
) -> None:
    def body(out: Any, m: Any) -> None:
        for i in range(len(values)):
            for j, n in enumerate(literals):
                x = m[i]
                tests = (x == n, x != n, x < n, x <= n, x > n, x >= n, n < x, n >= x)
                for k, t in enumerate(tests):
                    out[(k, j, i)] = t
        for j, n in enumerate(literals):
            v = m.load() < n
            for i in range(len(values)):
                out[(8, j, i)] = v[i]

    out = np.zeros((9, len(literals), len(values)), np.bool_)
    on_device(body, out, np.array(values, dtype))
    for i, x in enumerate(values):
        for j, n in enumerate(literals):
            want = [x == n, x != n, x < n, x <= n, x > n, x >= n, n < x, n >= x, x < n]
            assert out[:, j, i].tolist() == want, (x, n)


def test_concrete_comparisons_with_literals_that_do_not_fit() -> None:
    assert not (Int8(0) == 256).value
    assert (Uint32(1) > -1).value
    assert (Uint8(0) > -1).value
    assert (Int32(5) < 2**70).value


@pytest.mark.parametrize("n", [2**100, 256, -129])
def test_stored_literals_must_fit(n: int) -> None:
    for body in (lambda o: o.__setitem__(0, n), lambda o: o.fill(n), lambda o: o.store(n)):
        with pytest.raises(TypeMismatchError, match="OC1243"):
            on_device(body, np.zeros(2, np.int8))
    out = np.zeros(2, np.int8)
    on_device(lambda o: (o.__setitem__(0, -1), o.__setitem__(1, 255)), out)
    assert out.tolist() == [-1, -1]


def test_literals_beyond_64_bits_are_refused() -> None:
    with pytest.raises(TypeMismatchError, match="OC1242"):
        Int32(1) + 2**70
    assert (Uint8(200) + -1).value == 199
    assert type(Int8(5) + 300) is Int32
    with pytest.raises(ArgumentError, match="OC2116"):
        on_host(_launch_far, np.zeros(1, np.int32))


@cute.kernel
def _nothing(o: cute.Tensor):
    pass


def _launch_far(o: Any) -> None:
    _nothing(o).launch(grid=2**32, block=1)


@cute.jit
def _joined(out: cute.Tensor, m: cute.Tensor):
    x = 1
    y = np.float32(1)
    if m[0] < 0:
        x = 2**40
        y = np.float32(2.5)
    out[0] = x
    out[1] = y
    total = np.int64(1)
    for i in range(2**40 - 1 + 0 * m[0], 2**40):
        out[2] = i
        total = total + np.int64(2**33)
    out[3] = total


def test_joins_and_ranges_of_literals_that_need_64_bits() -> None:
    out = np.zeros(4, np.float64)
    on_device(_joined, out, np.array([-1], np.int32))
    assert out.tolist() == [2.0**40, 2.5, 2.0**40 - 1, 2.0**33 + 1]


# ---------------------------------------------------------------- powers
def test_integer_powers_are_exact() -> None:
    def body(out: Any, m: Any) -> None:
        out[0], out[1], out[2] = m[0] ** 17, m[0] ** 0, m[0] ** 33
        out[3] = (m.load() ** 20)[0]
        out[4] = (m.load() ** 0)[0]
        out[5] = m[0] ** Int32(17)

    out = np.zeros(6, np.int64)
    on_device(body, out, np.array([3], np.int64))
    assert out.tolist() == [3**17, 1, 3**33, 3**20, 1, 3**17]
    assert (Int32(3) ** 17).value == 3**17
    assert (2 ** Int32(20)).value == 2**20
    assert (Int8(3) ** 40).value == Int8(3**40 % 256).value
    assert (Int32(2) ** -1).value == 0.5


def test_powers_with_run_time_integers_are_refused() -> None:
    for body in (lambda m: m[0] ** m[0], lambda m: 2 ** m[0], lambda m: m.load() ** m.load()):
        with pytest.raises(TypeMismatchError, match="OC1244"):
            on_device(body, np.ones(2, np.int32))
    with pytest.raises(TypeMismatchError, match="OC1603"):
        pow(Int32(3), 2, 5)


# ---------------------------------------------------------------- concrete and compiled numbers
def test_concrete_floats_agree_with_compiled_ones() -> None:
    zero = np.array([-0.0, 0.0, 6.0, -6.0, math.nan], np.float32)

    def answers(x: list[Any]) -> list[Any]:
        return [x[0] % 3, x[1] % -3, x[2] % -3, x[3] % 3, cutlass.min(x[4], 1.0),
                cutlass.max(1.0, x[4]), cutlass.min(x[1], x[0]), cutlass.max(x[0], x[1]),
                x[3] ** 0.5, x[1] ** -1]  # fmt: skip

    def body(out: Any, m: Any) -> None:
        for i, v in enumerate(answers([m[i] for i in range(5)])):
            out[i] = v

    out = np.zeros(10, np.float32)
    on_device(body, out, zero)
    eager = np.array([v.value for v in answers([Float32(float(v)) for v in zero])], np.float32)
    assert np.array_equal(out, eager, equal_nan=True)
    assert np.array_equal(np.signbit(out[:8]), np.signbit(eager[:8]))


# ---------------------------------------------------------------- NumPy scalars
def test_numpy_scalars_have_the_type_of_their_dtype() -> None:
    assert type(Int32(1) + np.float32(2)) is Float32
    assert type(np.float32(2) * Float16(1)) is Float32
    assert type(np.int64(2) + Int32(1)) is Int64
    assert type(Int8(1) + np.int16(2)) is Int16
    assert type(Float16(1) + np.float64(2)) is Float16  # a Python float
    assert (np.float32(1) < Float32(2)).value
    assert type(Boolean(True) & np.bool_(True)) is Boolean

    def body(out: Any, m: Any) -> None:
        assert type(np.int64(2) + m[0]) is Int64
        assert (m.load() + np.float64(2)).dtype is Float32
        assert (np.int64(2) * m.load()).dtype is Int64
        out[0], out[1] = np.int64(2**40), np.bool_(True)

    out = np.zeros(2, np.int64)
    on_device(body, out, np.ones(2, np.int32))
    assert out.tolist() == [2**40, 1]


# ---------------------------------------------------------------- bad arguments
@pytest.mark.parametrize("crd", [1.5, "x", (1.5,), {}])
def test_coordinates_are_integers(crd: Any) -> None:
    for body in (lambda o: o[crd], lambda o: o.__setitem__(crd, 1)):
        with pytest.raises(TypeMismatchError, match="OC1230"):
            on_device(body, np.zeros(4, np.int32))
    with pytest.raises(TypeMismatchError, match="OC1230"):
        on_device(lambda o: o[o], np.zeros(4, np.int32))


def test_register_tensors_check_their_arguments() -> None:
    def make(shape: Any, dtype: Any) -> Any:
        seen: list[Any] = []
        on_device(lambda o: seen.append(cute.make_rmem_tensor(shape, dtype).dtype), np.zeros(1))
        return seen[0]

    assert [make(4, t) for t in (float, np.float32, np.int64, bool, Float64)] == [
        Float32, Float32, Int64, Boolean, Float64,
    ]  # fmt: skip
    for dtype in ("f32", None):
        with pytest.raises(TypeMismatchError, match="OC1203"):
            make(4, dtype)
    for shape in ((-4,), (0,)):
        with pytest.raises(LayoutError):
            make(shape, Int32)


def test_marks_check_their_arguments() -> None:
    m = np.zeros((4, 4), np.float32)
    for bad in (
        lambda: from_dlpack(m, assumed_align="16"),
        lambda: from_dlpack(m, assumed_align=2.0),
        lambda: from_dlpack(m).mark_layout_dynamic("a"),
        lambda: from_dlpack(m).mark_compact_shape_dynamic("a"),
        lambda: from_dlpack(m).mark_compact_shape_dynamic(0, stride_order=5),
    ):
        with pytest.raises(ArgumentError, match="OC2115"):
            bad()
    with pytest.raises(LayoutError, match="OC1301"):
        cute.coalesce(5)


def test_values_used_after_their_trace() -> None:
    kept: list[Any] = []
    on_device(lambda o: kept.extend((o, o[0])), np.zeros(1, np.int32))
    for use in (lambda: kept[0][0], lambda: kept[1] + 1, lambda: kept[1] == 0):
        with pytest.raises(LanguageError, match="OC1138"):
            use()


# ---------------------------------------------------------------- formats without arithmetic
NARROW = [cutlass.Float8E4M3FN, cutlass.Float8E5M2, cutlass.Float4E2M1FN, cutlass.TFloat32]


@pytest.mark.parametrize("cls", NARROW)
def test_narrow_floats_compute_in_f32(cls: Any) -> None:
    values = [0.5, -1.5, 3.0, 2.0]

    def answers(x: Any, y: Any) -> list[Any]:
        return [x + y, x * y, x - y, x / y, -x, abs(x), cutlass.max(x, y), cutlass.min(x, y),
                x < y, x == x, x**2]  # fmt: skip

    def body(out: Any, m: Any) -> None:
        for i in range(3):
            x, y = m[i].to(cls), m[i + 1].to(cls)
            for k, v in enumerate(answers(x, y)):
                out[(i, k)] = v.to(Float32)
        v = m.load().to(cls)
        out[(3, 0)] = (v + v)[1].to(Float32)
        out[(3, 1)] = (-v)[1].to(Float32)
        out[(3, 2)] = (v < 1).to(Float32)[0]

    out = np.zeros((4, 11), np.float32)
    on_device(body, out, np.array(values, np.float32))
    for i in range(3):
        want = [float(v.value) for v in answers(cls(values[i]), cls(values[i + 1]))]
        assert out[i].tolist() == want
    assert out[3, :3].tolist() == [-3.0, 1.5, 1.0]


def test_no_arithmetic_on_narrow_floats_reaches_machine_code() -> None:
    from opencute.jit.calls import compiled_artefacts

    def body(out: Any, m: Any) -> None:
        x = m[0].to(Float8E4M3FN)
        out[0] = (-(x + x)).to(Float32)
        out[1] = cutlass.max(x, x * x).to(Float32)
        out[2] = (x < 1).to(Float32)
        out[3] = cute.math.sqrt(x).to(Float32)

    out = np.zeros(4, np.float32)
    on_device(body, out, np.ones(1, np.float32))
    assert out.tolist() == [-2.0, 1.0, 0.0, 1.0] and not math.isnan(out[3])
    text = compiled_artefacts()[-1].cute
    for line in text.splitlines():
        assert not ("f8E4M3FN" in line and ("arith." in line or "math." in line)
                    and "constant" not in line), line  # fmt: skip
