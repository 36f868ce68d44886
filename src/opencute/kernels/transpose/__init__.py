# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Transposition of the last two axes, as a copy."""

from __future__ import annotations

from opencute.kernels.transpose.interface import transpose

__all__ = ["transpose"]
