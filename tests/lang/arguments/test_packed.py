# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements narrower than a byte are counted one by one, and tensors without memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack, make_fake_compact_tensor
from opencute.lang.arguments.packed import counted_in_elements
from opencute.runtime.dltypes import DLType
from opencute.runtime.external import ExternalArray

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def _simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "sim")


def packed(shape: tuple[int, ...], strides: tuple[int, ...]) -> ExternalArray:
    return ExternalArray(64, shape, strides, DLType(17, 4, 2), (1, 0))


@pytest.mark.parametrize(
    ("shape", "strides", "want"),
    [
        ((128, 128), (128, 1), ((128, 256), (256, 1))),
        ((128, 128), (1, 128), ((256, 128), (1, 256))),
        ((2, 8, 4), (32, 4, 1), ((2, 8, 8), (64, 8, 1))),
        ((8, 1), (1, 1), ((16, 1), (1, 2))),
        ((1, 8), (8, 1), ((1, 16), (16, 1))),
        ((1, 1), (1, 1), ((1, 2), (2, 1))),
        ((0, 4), (4, 1), ((0, 8), (8, 1))),
    ],
)
def test_two_in_a_byte_double_the_leading_mode(shape: Any, strides: Any, want: Any) -> None:
    out = counted_in_elements(packed(shape, strides))
    assert (out.shape, out.strides) == want and out.dtype == DLType(17, 4, 1)


@pytest.mark.parametrize(("shape", "strides"), [((4, 4), (8, 2)), ((4, 4), (1, 1))])
def test_the_packed_mode_must_be_known(shape: Any, strides: Any) -> None:
    with pytest.raises(ArgumentError, match="OC2107"):
        counted_in_elements(packed(shape, strides))


def test_ml_dtypes_elements_take_a_byte_each() -> None:
    for dtype, cls in ((ml_dtypes.int4, cutlass.Int4), (ml_dtypes.float4_e2m1fn,
                                                        cutlass.Float4E2M1FN)):  # fmt: skip
        t = from_dlpack(np.zeros((2, 4), dtype))
        assert (t.element_type, t.shape, t.stride) == (cls, (2, 4), (8, 2))
        assert t.span_bytes() == (0, 8)
    eight = from_dlpack(np.zeros((2, 4), ml_dtypes.float8_e4m3fn))
    assert eight.stride == (4, 1)


seen: list[str] = []


@cute.jit
def show(t: cute.Tensor):
    seen.append(f"{t} {cute.recast_tensor(t, cutlass.Uint8).shape}")


def test_torchs_packed_tensors() -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no float4")
    x = torch.zeros(16, 16, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    t = from_dlpack(x)
    assert (t.shape, t.stride, t.element_type) == ((16, 32), (32, 1), cutlass.Float4E2M1FN)
    assert from_dlpack(x.t()).stride == (1, 32)
    show(t)
    assert "o (16,32):(32,1)" in seen[-1] and "(16, 16)" in seen[-1]
    m, k = cute.sym_int(), cute.sym_int(divisibility=2)
    fake = make_fake_compact_tensor(cutlass.Float4E2M1FN, (m, k), stride_order=(1, 0))
    compiled = cute.compile(show, fake, options="--enable-tvm-ffi")
    assert "o (?,?{div=2}):(?{i64 div=2},1)" in seen[-1]
    compiled(x)
    with pytest.raises(ArgumentError, match="element type"):
        compiled(x.view(torch.uint8))


# ---- tensors without memory
@cute.jit
def total(t: cute.Tensor):
    out = cutlass.Float32(0)
    for i in range(t.shape[0]):
        out += t[i, 0]
    return out


def test_torchs_fake_tensors_are_compiled_for() -> None:
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3, 4)
        compiled = cute.compile(total, from_dlpack(fake))
        dynamic = cute.compile(total, from_dlpack(fake).mark_layout_dynamic())
    real = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    assert compiled(from_dlpack(real)) == compiled(real) == 12
    assert dynamic(real[:2]) == 4
    meta = from_dlpack(torch.zeros(3, 4, device="meta"))
    assert (meta.shape, meta.stride) == ((3, 4), (4, 1))
    for call in (lambda: total(meta), lambda: compiled(meta), lambda: compiled(fake)):
        with pytest.raises(ArgumentError, match="OC2144"):
            call()
