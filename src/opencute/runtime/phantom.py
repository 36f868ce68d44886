# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of frameworks that have a shape and no memory.

In: a torch tensor made under ``FakeTensorMode`` or on the "meta" device. Out: an `ExternalArray` at
address 0, to compile for; None for any other object.
"""

from __future__ import annotations

import sys
from typing import Any

from opencute.runtime.dltypes import from_torch_dtype
from opencute.runtime.external import CPU, CUDA, ExternalArray

__all__ = ["is_phantom", "without_memory"]


def without_memory(obj: Any) -> ExternalArray | None:
    """The description of a tensor that has no memory; None if it may have some."""
    if type(obj).__name__ != "FakeTensor" and not getattr(obj, "is_meta", False):
        return None
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(obj, torch.Tensor):
        return None
    kind = CUDA if obj.device.type == "cuda" else CPU
    device = (kind, obj.device.index or 0)
    shape, strides = (tuple(map(int, t)) for t in (obj.shape, obj.stride()))
    dtype = from_torch_dtype(obj.dtype)
    return ExternalArray(0, shape, strides, dtype, device, owner=obj, framework="torch")


def is_phantom(array: ExternalArray) -> bool:
    """Whether an array has elements and no memory for them."""
    return array.address == 0 and 0 not in array.shape
