# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that came with sm_90.

wgmma   matrix products of warpgroups
"""

from __future__ import annotations

from opencute.dialects.hopper import wgmma

__all__ = ["wgmma"]
