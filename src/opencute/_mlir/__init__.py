# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir`: the names of MLIR's bindings that kernels use, over our own IR."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "dialects": "opencute._mlir.dialects:",
        "ir": "opencute._mlir.ir:",
    },
)
