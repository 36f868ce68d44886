# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy of logits and class indices, and its derivative."""

from __future__ import annotations

from opencute.kernels.cross_entropy.interface import cross_entropy, cross_entropy_backward

__all__ = ["cross_entropy", "cross_entropy_backward"]
