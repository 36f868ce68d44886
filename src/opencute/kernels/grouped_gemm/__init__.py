# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Many matrix products at a time, of different sizes: those of experts, or of lists of matrices."""

from __future__ import annotations

from opencute.kernels.grouped_gemm.config import GroupedConfig
from opencute.kernels.grouped_gemm.interface import grouped_gemm, moe_gemm, moe_gemm_weights

__all__ = ["GroupedConfig", "grouped_gemm", "moe_gemm", "moe_gemm_weights"]
