# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Element types and their names in NumPy, ml_dtypes and torch."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.dltypes import (
    TYPES,
    DLType,
    from_numpy_dtype,
    from_torch_dtype,
    to_numpy_dtype,
)

pytestmark = pytest.mark.t0

NUMPY_NAMES = [n for n in TYPES if n != "complex32" or hasattr(ml_dtypes, n)]


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_numpy_round_trip(name):
    dtype = to_numpy_dtype(TYPES[name])
    assert dtype.name == name
    assert from_numpy_dtype(dtype) == TYPES[name]
    assert TYPES[name].name == name
    assert TYPES[name].itemsize == dtype.itemsize


def test_codes_are_those_that_numpy_and_torch_export():
    """The producers' own capsules are the oracle for the codes they know."""
    from opencute.runtime.capsule import take

    for name in ("bool", "int8", "uint64", "float16", "float64", "complex64"):
        array = np.zeros(1, name)
        assert take(array.__dlpack__(max_version=(1, 0))).dtype == TYPES[name]
    torch = pytest.importorskip("torch")
    for name in TYPES:
        if name[-1] in "24" and "int" in name and name not in ("int64", "uint64"):
            continue
        dtype = getattr(torch, name, None)
        if dtype is None:
            continue
        assert take(torch.zeros(1, dtype=torch.uint8).repeat(16).view(dtype).__dlpack__(
            max_version=(1, 0))).dtype == TYPES[name]  # fmt: skip


def test_torch_types():
    torch = pytest.importorskip("torch")
    assert from_torch_dtype(torch.bfloat16) == DLType(4, 16)
    assert from_torch_dtype(torch.float8_e4m3fn).name == "float8_e4m3fn"
    if hasattr(torch, "float4_e2m1fn_x2"):
        packed = from_torch_dtype(torch.float4_e2m1fn_x2)
        assert (packed, packed.name, packed.itemsize) == ((17, 4, 2), "float4_e2m1fn_x2", 1)
    for name in ("quint8", "uint4", "bits8"):
        with pytest.raises(ArgumentError, match="no element type") as caught:
            from_torch_dtype(getattr(torch, name))
        assert caught.value.code == "OC2011"
        assert "view(torch.uint8)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [
        (">f4", "newbyteorder"),
        ([("a", "f4"), ("b", "i4")], "one field"),
        ("O", "Python objects"),
        ("M8[s]", "int64"),
        ("m8[s]", "int64"),
        ("U4", None),
        ("V8", None),
        ("g", None),
    ],
)
def test_types_without_a_number_are_refused(dtype, hint):
    with pytest.raises(ArgumentError) as caught:
        from_numpy_dtype(np.dtype(dtype))
    assert caught.value.code == "OC2011"
    assert hint is None or hint in (caught.value.hint or "")


def test_unknown_codes_have_a_name_but_no_numpy_type():
    assert DLType(2, 128).name == "code2_128"
    assert TYPES["float32"]._replace(lanes=4).name == "float32_x4"
    for dtype in (DLType(2, 128), DLType(2, 32, 4)):
        with pytest.raises(ArgumentError):
            to_numpy_dtype(dtype)
    assert to_numpy_dtype(TYPES["int4"]) == ml_dtypes.int4
