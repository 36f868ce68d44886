# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices whose rows begin anywhere: copies for TMA, and a product that reads them as they are."""

from __future__ import annotations

__all__: list[str] = []
