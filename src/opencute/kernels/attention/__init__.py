# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention: softmax of scaled scores times values, without the scores in memory."""

from __future__ import annotations

from opencute.kernels.attention.config import AttentionConfig
from opencute.kernels.attention.interface import attention

__all__ = ["AttentionConfig", "attention"]
