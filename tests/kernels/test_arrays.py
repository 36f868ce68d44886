# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the operators' interfaces need of arrays of NumPy and torch."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from opencute import kernels
from opencute.kernels.arrays import element_name, stepping, strides

pytestmark = pytest.mark.t0


def test_types_of_elements_have_one_name() -> None:
    torch = pytest.importorskip("torch")
    for name, dtype in (("float32", np.float32), ("bfloat16", ml_dtypes.bfloat16)):
        assert element_name(np.zeros(1, dtype)) == name
        assert element_name(torch.zeros(1, dtype=getattr(torch, name))) == name
    assert element_name(torch.zeros(1, dtype=torch.float8_e4m3fn)) == "float8_e4m3fn"


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_axes_of_one_element_get_a_stride(kind: str) -> None:
    x = np.arange(24, dtype=np.float16).reshape(3, 8)
    array = x[None, :, None]
    if kind == "torch":
        torch = pytest.importorskip("torch")
        array = torch.from_numpy(x).as_strided((1, 3, 1, 8), (0, 8, 0, 1))
    out = stepping(array)
    assert strides(array) == (0, 8, 0, 1) and strides(out) == (24, 8, 8, 1)
    np.testing.assert_array_equal(np.asarray(out)[0, :, 0], x)
    assert stepping(out) is out


def test_nobody_takes_names_of_types_apart() -> None:
    folder = Path(kernels.__file__).parent
    found = [f for f in folder.rglob("*.py") if "dtype).rpartition" in f.read_text()]
    assert found == [folder / "arrays.py"]
