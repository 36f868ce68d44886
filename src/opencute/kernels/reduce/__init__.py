# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Sum, mean, greatest and least, and where they are, over an axis or over everything."""

from __future__ import annotations

from opencute.kernels.reduce.interface import argmax, argmin, max, mean, min, sum

__all__ = ["argmax", "argmin", "max", "mean", "min", "sum"]
