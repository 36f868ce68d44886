# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.dialects.vector`: vectors of one dimension."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bitcast": "opencute.lang.mlir.vector",
        "broadcast": "opencute.lang.mlir.vector",
        "extract": "opencute.lang.mlir.vector",
        "from_elements": "opencute.lang.mlir.vector",
        "insert": "opencute.lang.mlir.vector",
    },
)
