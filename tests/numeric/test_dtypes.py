# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The records, against NumPy's and ml_dtypes' own knowledge, and the lookups."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import TypeMismatchError
from opencute.numeric import dtypes
from opencute.numeric.dtypes import (
    DTYPES,
    DType,
    dtype,
    from_dlpack_code,
    from_numpy_dtype,
    from_python_type,
    from_torch_name,
)

pytestmark = pytest.mark.t0

FLOATS = [t for t in DTYPES.values() if t.is_float]
ORACLE_FLOATS = [t for t in FLOATS if t.name != "tf32"]  # neither library knows tf32
INTS = [t for t in DTYPES.values() if t.is_integer]


@pytest.mark.parametrize("t", ORACLE_FLOATS, ids=str)
def test_float_limits_match_finfo(t: DType) -> None:
    info: Any = ml_dtypes.finfo(t.numpy_dtype)
    assert t.max == float(info.max)
    assert t.min == float(info.min)
    assert t.eps == float(info.eps)
    assert t.smallest_normal == float(info.smallest_normal)
    assert t.mantissa_bits == info.nmant
    assert t.exponent_bits == info.nexp
    if t.has_zero:
        assert t.smallest_subnormal == float(info.smallest_subnormal)


@pytest.mark.parametrize("t", [t for t in ORACLE_FLOATS if t.width <= 16], ids=str)
def test_flags_match_the_patterns_that_exist(t: DType) -> None:
    codes = np.arange(1 << t.width, dtype=t.bits_dtype).view(t.numpy_dtype)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = codes.astype(np.float64)
    assert t.has_nan == bool(np.isnan(values).any())
    assert t.has_inf == bool(np.isinf(values).any())
    assert t.signed == bool((values < 0).any())
    assert t.has_zero == bool((values == 0).any())
    assert t.unsigned_zero == (t.signed and not bool((np.signbit(values) & (values == 0)).any()))
    finite = values[np.isfinite(values)]
    assert t.max == finite.max() and t.min == finite.min()
    assert t.smallest_subnormal == finite[finite > 0].min()
    assert float(values[t.max_code]) == t.max
    if t.nan_bits is not None:
        assert np.isnan(values[t.nan_bits])


def test_tf32_is_f32_with_ten_fraction_bits() -> None:
    tf32, f32 = DTYPES["tf32"], DTYPES["f32"]
    assert (tf32.width, tf32.bias, tf32.exponent_bits) == (32, f32.bias, f32.exponent_bits)
    assert tf32.eps == 2.0**-10
    bits = np.array(tf32.max_code << tf32.pad_bits, np.uint32)
    assert float(bits.view(np.float32)) == tf32.max


@pytest.mark.parametrize("t", INTS, ids=str)
def test_integer_limits(t: DType) -> None:
    assert (t.max - t.min).bit_length() == t.width
    assert t.signed == (t.min < 0) == (t.kind == "int")
    if t.width < 128:
        info: Any = ml_dtypes.iinfo(t.numpy_dtype)
        assert (t.min, t.max) == (int(info.min), int(info.max))


def test_sizes() -> None:
    sizes = {n: (r.width, r.memory_bits, r.bytes, r.container_bits) for n, r in DTYPES.items()}
    assert sizes["i1"] == (1, 8, 1, 8)
    assert sizes["i4"] == (4, 4, 1, 8)
    assert sizes["f6e3m2fn"] == (6, 6, 1, 8)
    assert sizes["tf32"] == (32, 32, 4, 32)
    assert sizes["bf16"] == (16, 16, 2, 16)
    assert sizes["i128"] == (128, 128, 16, 128)
    for t in DTYPES.values():
        if t.width < 128:
            assert t.numpy_dtype.itemsize == t.bits_dtype.itemsize == t.container_bits // 8
        assert t.is_subbyte == (t.width < 8 and t.name != "i1")


def test_kinds() -> None:
    for t in DTYPES.values():
        assert t.is_float + t.is_integer + t.is_bool == 1
    assert DTYPES["i1"].min == 0 and DTYPES["i1"].max == 1


@pytest.mark.parametrize("what", ["eps", "smallest_normal", "smallest_subnormal"])
def test_only_floats_have_precision(what: str) -> None:
    with pytest.raises(TypeMismatchError, match=f"Int32 has no {what}"):
        getattr(DTYPES["i32"], what)


def test_records_are_frozen_singletons() -> None:
    for t in DTYPES.values():
        assert copy.deepcopy(t) is t
        assert pickle.loads(pickle.dumps(t)) is t
        with pytest.raises(FrozenInstanceError):
            t.width = 3  # type: ignore[misc]
    assert len({t.display for t in DTYPES.values()}) == len(DTYPES)
    assert repr(DTYPES["f16"]) == "DType(f16)" and str(DTYPES["f16"]) == "f16"


@pytest.mark.parametrize(
    "change",
    [
        {"width": 15},
        {"exponent_bits": 6},
        {"has_nan": False},
        {"finite": True},
        {"kind": "int"},
    ],
)
def test_a_record_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        replace(DTYPES["f16"], **change)


def test_lookup_by_name() -> None:
    for name, t in DTYPES.items():
        assert dtype(name) is dtype(t.display) is dtype(t) is t
    with pytest.raises(TypeMismatchError) as e:
        dtype("float")
    assert e.value.code == "OC1606"


def test_lookup_by_numpy_dtype() -> None:
    for t in DTYPES.values():
        if t.width < 128 and t.name != "tf32":
            assert from_numpy_dtype(t.numpy_dtype) is t
    assert from_numpy_dtype(np.float16) is DTYPES["f16"]
    assert from_numpy_dtype("int32") is DTYPES["i32"]
    assert from_numpy_dtype(ml_dtypes.bfloat16) is DTYPES["bf16"]
    assert from_numpy_dtype(bool) is DTYPES["i1"]


@pytest.mark.parametrize("bad", [np.complex64, "U4", object, ">f4", "no such dtype", np.datetime64])
def test_unknown_numpy_dtypes(bad: Any) -> None:
    with pytest.raises(TypeMismatchError, match="NumPy dtype"):
        from_numpy_dtype(bad)


def test_lookup_by_dlpack_code() -> None:
    for t in DTYPES.values():
        if t.dlpack is not None:
            assert from_dlpack_code(*t.dlpack) is t
            assert from_dlpack_code(*t.dlpack, 1) is t
    arrays = [np.zeros(1, n) for n in "bhiqBHIQefd?"]
    for a in arrays:
        assert from_numpy_dtype(a.dtype).memory_bits == a.itemsize * 8
    assert from_dlpack_code(17, 4, 2) is DTYPES["f4e2m1fn"]
    assert from_dlpack_code(0, 4, 2) is DTYPES["i4"]


@pytest.mark.parametrize("bad", [(5, 64, 1), (2, 32, 4), (3, 64, 1), (2, 128, 1), (17, 4, 4)])
def test_unknown_dlpack_codes(bad: tuple[int, int, int]) -> None:
    with pytest.raises(TypeMismatchError, match="DLPack"):
        from_dlpack_code(*bad)


def test_lookup_by_torch_name() -> None:
    want = {
        "torch.float64": "f64", "double": "f64", "torch.float32": "f32", "float": "f32",
        "torch.float16": "f16", "half": "f16", "torch.bfloat16": "bf16", "torch.bool": "i1",
        "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0fnu",
        "float4_e2m1fn_x2": "f4e2m1fn", "int4": "i4", "uint4": "u4", "int8": "i8", "uint8": "u8",
        "short": "i16", "int16": "i16", "int": "i32", "uint32": "u32", "long": "i64",
        "uint64": "u64",
    }  # fmt: skip
    for name, t in want.items():
        assert from_torch_name(name) is DTYPES[t], name
    with pytest.raises(TypeMismatchError, match="torch dtype"):
        from_torch_name("torch.complex64")


def test_every_torch_name_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    for name, t in dtypes._BY_TORCH.items():  # pyright: ignore[reportPrivateUsage]
        found = getattr(torch, name)
        assert from_torch_name(str(found)) is t


def test_lookup_by_python_type() -> None:
    assert [from_python_type(t).name for t in (bool, int, float)] == ["i1", "i32", "f32"]
    with pytest.raises(TypeMismatchError, match="Python type"):
        from_python_type(complex)


def test_mlir_spellings() -> None:
    assert {n for n, t in DTYPES.items() if t.mlir.lower() != n} == {
        f"u{w}" for w in (4, 8, 16, 32, 64, 128)
    }
    assert DTYPES["u32"].mlir == DTYPES["i32"].mlir == "i32"
    assert DTYPES["f8e4m3fn"].mlir == "f8E4M3FN"


def test_importing_the_records_does_not_import_numpy() -> None:
    code = (
        "import sys; import opencute.numeric.promotion; "
        "sys.exit(any(m.split('.')[0] in ('numpy', 'ml_dtypes') for m in sys.modules))"
    )
    path = ":".join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path})
