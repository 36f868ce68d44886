# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What programs that use torch ask for about its tensors."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import MissingPieceError, TypeMismatchError
from opencute.lang.numbers import NumericMeta

__all__ = ["dtype", "get_leading_dim", "installed_torch"]


def installed_torch() -> Any:
    """The module `torch`.

    Raises:
        MissingPieceError: it is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as e:
        if e.name != "torch":
            raise
        raise MissingPieceError(
            "cutlass.torch makes and describes torch tensors, and torch is not installed",
            code="OC5106", hint="python -m pip install torch; kernels take NumPy arrays without, "
            "as they are or through from_dlpack(array)",
        ) from None  # fmt: skip
    return torch


def dtype(ty: NumericMeta) -> Any:
    """The torch dtype of a numeric class.

    Args:
        ty: the numeric class.

    Raises:
        TypeMismatchError: torch has no such type.
    """
    torch = installed_torch()
    names = {"i1": "bool", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "tf32": "float32"}
    found = getattr(torch, names.get(ty.dtype.name, ty.dtype.numpy_name), None)
    if not isinstance(found, torch.dtype):
        raise TypeMismatchError(f"torch has no type for {ty}", code="OC1260")
    return found


def get_leading_dim(tensor: Any) -> int | None:
    """The first mode whose stride is 1, None without one.

    Args:
        tensor: a torch tensor, or anything with strides.
    """
    strides = tuple(tensor.stride())
    return strides.index(1) if 1 in strides else None
