# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LayerNorm and RMSNorm over the last axis, and their derivatives."""

from __future__ import annotations

from opencute.kernels.norm.interface import (
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)

__all__ = ["layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward"]
