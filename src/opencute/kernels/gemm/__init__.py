# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products: plain fma for f32, tensor cores for f16, bf16, tf32 and int8."""

from __future__ import annotations

from opencute.kernels.gemm.config import GemmConfig
from opencute.kernels.gemm.interface import gemm

__all__ = ["GemmConfig", "gemm"]
