# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of this and of similar languages ran into: conversions, comparisons, what is kept.

Numbers in names are issues of NVIDIA/cutlass; others name their project.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts

pytestmark = pytest.mark.t1
SOURCES = Path(cutlass.__file__).parents[1]


@pytest.fixture(autouse=True)
def simulated() -> Any:
    with KNOBS.override(target="sim"):
        yield


# ---------------------------------------------------------------- 3382: vectors of two that vanish
NARROW = {
    cutlass.Float8E4M3FN: ml_dtypes.float8_e4m3fn, cutlass.Float8E5M2: ml_dtypes.float8_e5m2,
    cutlass.Float16: np.float16, cutlass.BFloat16: ml_dtypes.bfloat16,
}  # fmt: skip


@cute.kernel
def narrowed_kernel(x: cute.Tensor, out: cute.Tensor):
    r = cute.make_rmem_tensor(x.layout, cutlass.Float32)
    cute.autovec_copy(x, r)
    held = cute.make_rmem_tensor(x.layout, out.element_type)
    held.store(r.load().to(out.element_type))
    cute.autovec_copy(held, out)


@cute.jit
def narrowed(x: cute.Tensor, out: cute.Tensor):
    narrowed_kernel(x, out).launch(grid=1, block=1)


@pytest.mark.parametrize("cls", list(NARROW), ids=str)
def test_3382_conversions_of_vectors_of_every_length(cls: Any) -> None:
    for n in (1, 2, 3, 4, 5, 8, 16):
        x = np.linspace(-3, 3, n, dtype=np.float32) + np.float32(0.3)
        raw = np.zeros(n, NARROW[cls])
        out = from_dlpack(raw.view(f"u{raw.itemsize}"))
        out.element_type = cls
        narrowed(from_dlpack(x), out)
        np.testing.assert_array_equal(raw.astype(np.float64), x.astype(NARROW[cls]))
        if n == 2 and cls.width == 8:
            ptx = compiled_artefacts()[-1].device.ptx
            assert str(ptx).count("x2.f32") == 1 and "st.global" in str(ptx)


# ---------------------------------------------------------------- 2584: comparisons are vectors
def test_2584_comparisons_are_vectors_of_truth_values() -> None:
    def body(x: Any, y: Any, out: Any) -> None:
        a, b = x.load(), y.load()
        less, same = a < b, a == b
        for t in (less, same, less | same, ~less, a <= b):
            assert isinstance(t, cute.TensorSSA) and t.dtype is cutlass.Boolean
            assert t.shape == a.shape
        out.store(cute.where((less | same) & ~same, a, b))

    x, y = np.array([1, 5, 3, 4], np.int32), np.array([2, 2, 3, 9], np.int32)
    out = np.zeros_like(x)
    on_device(body, x, y, out)
    np.testing.assert_array_equal(out, np.where(x < y, x, y))


# ---------------------------------------------------------------- PR 2971: one exchange
class Counted:
    """An array that counts how often it is asked for its memory."""

    def __init__(self, array: Any) -> None:
        self.array, self.asked = array, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("options", [{}, {"enable_tvm_ffi": True}], ids=str)
def test_2971_memory_is_asked_for_once(options: dict[str, Any]) -> None:
    x = Counted(np.ones(4, np.float32))
    t = from_dlpack(x, **options)
    assert x.asked == 1 and t.shape == (4,)
    out = np.zeros(4, np.float16)
    narrowed(t, from_dlpack(out))
    assert x.asked == 1 and (out == 1).all()


# ---------------------------------------------------------------- FlyDSL 317: other static shapes
@cute.kernel
def total_kernel(x: cute.Tensor, out: cute.Tensor):
    total = cutlass.Int32(0)
    for i in cutlass.range_constexpr(cute.size(x)):
        total = total + x[i] * (i + 1)
    out[0] = total


@cute.jit
def total(x: cute.Tensor, out: cute.Tensor):
    total_kernel(x, out).launch(grid=1, block=1)


def test_flydsl_317_code_for_a_shape_is_not_used_for_others() -> None:
    out = np.zeros(1, np.int32)
    for shape, step in ((4, 1), (6, 1), ((2, 3), 1), (4, 2), (4, 1)):
        x = np.arange(24, dtype=np.int32)[::step][: int(np.prod(shape))].reshape(shape)
        total(from_dlpack(x), from_dlpack(out))
        flat = x.reshape(-1, order="F")
        assert out[0] == (flat * np.arange(1, flat.size + 1)).sum()
    compiled = cute.compile(total, from_dlpack(np.zeros(4, np.int32)), from_dlpack(out))
    with pytest.raises(OpenCuTeError):
        compiled(from_dlpack(np.zeros(6, np.int32)), from_dlpack(out))


# ---------------------------------------------------------------- flashinfer PR 4101: stable code
PROGRAM = """
import hashlib
import numpy as np
from opencute.base.knobs import KNOBS
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import GemmConfig, gemm
from opencute.kernels.norm import layer_norm

with KNOBS.override(target="sim:sm_80"):
    gemm(np.ones((16, 16), np.float16), np.ones((16, 16), np.float16),
         config=GemmConfig((64, 64, 32), (2, 2), 3))
    layer_norm(np.ones((2, 64), np.float32))
for made in compiled_artefacts():
    print(made.name, hashlib.sha256(made.device.ptx.encode()).hexdigest())
"""


def test_flashinfer_4101_code_depends_on_the_source_only() -> None:
    found = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
            timeout=300, env={**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONHASHSEED": seed},
        )  # fmt: skip
        found.append(done.stdout)
    assert found[0] == found[1] and found[0].count("\n") >= 2
