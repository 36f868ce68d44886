# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.base_dsl.runtime.cuda`: errors of CUDA calls."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "DSLCudaRuntimeError": "opencute.base.errors:DeviceError",
        "checkCudaErrors": "opencute.runtime.cuda_errors:check_cuda_errors",
    },
)
