# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.dialects.llvm`: inline assembly, structs and pointers."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "AsmDialect": "opencute.lang.mlir.llvm",
        "PointerType": "opencute.lang.mlir.llvm",
        "StructType": "opencute.lang.mlir.llvm",
        "addrspacecast": "opencute.lang.mlir.llvm",
        "bitcast": "opencute.lang.mlir.llvm",
        "extractvalue": "opencute.lang.mlir.llvm",
        "inline_asm": "opencute.lang.mlir.llvm",
        "inttoptr": "opencute.lang.mlir.llvm",
        "ptrtoint": "opencute.lang.mlir.llvm",
    },
)
