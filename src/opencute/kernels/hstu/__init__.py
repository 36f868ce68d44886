# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of sequential recommenders: SiLU of scores instead of their softmax, times values."""

from __future__ import annotations

from opencute.kernels.hstu.interface import hstu_attention

__all__ = ["hstu_attention"]
