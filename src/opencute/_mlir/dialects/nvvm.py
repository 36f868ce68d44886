# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass._mlir.dialects.nvvm`: single instructions by MLIR's names."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "CpAsyncBulkTensorGlobalToSharedClusterOp": "opencute.lang.mlir.nvvm",
        "TMALoadMode": "opencute.lang.mlir.nvvm",
        "barrier0": "opencute.lang.mlir.nvvm",
        "elect_sync": "opencute.lang.mlir.nvvm",
        "mbarrier_try_wait_parity_timelimit": "opencute.lang.mlir.nvvm",
        "nanosleep": "opencute.lang.mlir.nvvm",
    },
)
