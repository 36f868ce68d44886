# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What programs that use torch ask for about its tensors."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.lang.numbers import NumericMeta

__all__ = ["dtype", "get_leading_dim"]


def dtype(ty: NumericMeta) -> Any:
    """The torch dtype of a numeric class.

    Raises:
        TypeMismatchError: torch has no such type.
    """
    import torch

    names = {"i1": "bool", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "tf32": "float32"}
    found = getattr(torch, names.get(ty.dtype.name, ty.dtype.numpy_name), None)
    if not isinstance(found, torch.dtype):
        raise TypeMismatchError(f"torch has no type for {ty}", code="OC1260")
    return found


def get_leading_dim(tensor: Any) -> int | None:
    """The first mode whose stride is 1, None without one."""
    strides = tuple(tensor.stride())
    return strides.index(1) if 1 in strides else None
