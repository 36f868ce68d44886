# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with a latent cache: keys and values of all heads are one vector."""

from __future__ import annotations

from opencute.kernels.mla.config import MlaConfig
from opencute.kernels.mla.interface import mla_decode

__all__ = ["MlaConfig", "mla_decode"]
