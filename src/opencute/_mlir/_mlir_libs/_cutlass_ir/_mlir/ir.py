# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.ir` by its longer name."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "BF16Type": "opencute.lang.mlir.ir",
        "BoolAttr": "opencute.lang.mlir.ir",
        "F16Type": "opencute.lang.mlir.ir",
        "F32Type": "opencute.lang.mlir.ir",
        "F64Type": "opencute.lang.mlir.ir",
        "IndexType": "opencute.lang.mlir.ir",
        "InsertionPoint": "opencute.lang.mlir.ir",
        "IntegerAttr": "opencute.lang.mlir.ir",
        "IntegerType": "opencute.lang.mlir.ir",
        "Location": "opencute.lang.mlir.ir",
        "NoneType": "opencute.lang.mlir.ir",
        "StringAttr": "opencute.lang.mlir.ir",
        "Type": "opencute.lang.mlir.ir",
        "TypeAttr": "opencute.lang.mlir.ir",
        "Value": "opencute.lang.mlir.ir",
        "VectorType": "opencute.lang.mlir.ir",
    },
)
