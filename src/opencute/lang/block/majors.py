# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which mode of a matrix operand is contiguous."""

from __future__ import annotations

import enum

__all__ = ["OperandMajorMode"]


class OperandMajorMode(enum.Enum):
    """The contiguous mode of an operand in shared memory: K, or M (of A) and N (of B)."""

    K = "k"
    MN = "mn"
