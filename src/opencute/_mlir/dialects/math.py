# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.dialects.math`: the operations of the dialect as functions."""

from __future__ import annotations

from typing import Any

from opencute.lang.mlir.scalars import math_function

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    found = math_function(name)
    if found is None:
        raise AttributeError(f"module 'cutlass._mlir.dialects.math' has no attribute {name!r}")
    return found
