# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention: softmax of scaled scores times values, without the scores in memory."""

from __future__ import annotations

from opencute.kernels.attention.config import (
    AttentionConfig,
    BackwardConfig,
    WarpgroupBackwardConfig,
    WarpgroupConfig,
)
from opencute.kernels.attention.interface import (
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
)

__all__ = [
    "AttentionConfig", "BackwardConfig", "WarpgroupBackwardConfig", "WarpgroupConfig", "attention",
    "attention_backward", "attention_varlen", "attention_varlen_backward",
]  # fmt: skip
