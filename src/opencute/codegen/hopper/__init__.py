# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operations that came with sm_90 are printed as LLVM IR, as inline assembly.

wgmma   matrix products of warpgroups
"""

from __future__ import annotations
