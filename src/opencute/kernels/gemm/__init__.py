# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products: plain fma for f32, tensor cores for f16, bf16, tf32, int8 and 8-bit floats."""

from __future__ import annotations

from opencute.kernels.gemm.config import GemmConfig
from opencute.kernels.gemm.interface import gemm
from opencute.kernels.gemm.rows.few import FewConfig
from opencute.kernels.gemm.rows.gemv import GemvConfig
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.gemm.visitors import Visitor

__all__ = ["FewConfig", "GemmConfig", "GemvConfig", "HopperConfig", "Visitor", "gemm"]
