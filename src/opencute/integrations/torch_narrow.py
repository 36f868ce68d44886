# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""torch tensors of bytes as tensors of 8-bit floats.

In: a torch tensor of `uint8` that is storage for an 8-bit float type. Out: a tensor of that type,
with a dynamic layout, filled with converted numbers if a source is given::

    a_ = create_cute_tensor_for_fp8(a_bytes, Float8E4M3FN, 1, source_f32_tensor=a_f32)
"""

# What torch gives has no types here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from opencute.lang.external import from_dlpack
from opencute.lang.numbers import Float8E4M3FN, Float8E5M2, NumericMeta

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]

_NAMES: dict[NumericMeta, str] = {Float8E4M3FN: "float8_e4m3fn", Float8E5M2: "float8_e5m2"}


def is_fp8_dtype(dtype: NumericMeta) -> bool:
    """Whether a numeric class is an 8-bit float for numbers (not for scales).

    Args:
        dtype: the numeric class.
    """
    return dtype in _NAMES


def create_cute_tensor_for_fp8(
    storage_tensor: Any, dtype: NumericMeta, leading_dim: int, source_f32_tensor: Any = None
) -> Any:
    """A tensor with a dynamic layout over a torch tensor, which may be bytes of an 8-bit float.

    Args:
        storage_tensor: the torch tensor; of `uint8` if `dtype` is an 8-bit float.
        dtype: numeric class of the elements.
        leading_dim: the mode whose stride is 1.
        source_f32_tensor: numbers that an 8-bit tensor is filled with.
    """
    import torch

    if not is_fp8_dtype(dtype):
        return from_dlpack(storage_tensor, assumed_align=16).mark_layout_dynamic(leading_dim)
    narrow = storage_tensor.view(getattr(torch, _NAMES[dtype]))
    if source_f32_tensor is not None:
        narrow.copy_(source_f32_tensor.to(narrow.dtype))
    return from_dlpack(narrow, assumed_align=16).mark_layout_dynamic(leading_dim)
