# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums over an axis."""

from __future__ import annotations

from opencute.kernels.scan.interface import cumsum

__all__ = ["cumsum"]
