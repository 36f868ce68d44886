# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that Hopper brought: tensor maps and bulk copies."""

from __future__ import annotations

from opencute.dialects.hopper import bulk, tensor_maps, tma

__all__ = ["bulk", "tensor_maps", "tma"]
