# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.dialects`: a module for each dialect."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "arith": "opencute._mlir.dialects.arith:",
        "llvm": "opencute._mlir.dialects.llvm:",
        "math": "opencute._mlir.dialects.math:",
        "nvvm": "opencute._mlir.dialects.nvvm:",
        "vector": "opencute._mlir.dialects.vector:",
    },
)
