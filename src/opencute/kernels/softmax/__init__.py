# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax over the last axis, and its derivative."""

from __future__ import annotations

from opencute.kernels.softmax.interface import softmax, softmax_backward

__all__ = ["softmax", "softmax_backward"]
