# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of a few queries with a cache of keys and values, contiguous or in pages."""

from __future__ import annotations

from opencute.kernels.decode.config import DecodeConfig
from opencute.kernels.decode.interface import decode_attention

__all__ = ["DecodeConfig", "decode_attention"]
