# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LayerNorm and RMSNorm over the last axis."""

from __future__ import annotations

from opencute.kernels.norm.interface import layer_norm, rms_norm

__all__ = ["layer_norm", "rms_norm"]
