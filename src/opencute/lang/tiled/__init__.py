# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms, tiled copies, tiled MMAs, and the operations that use them.

operations  hardware instructions as users name them: CopyG2SOp, warp.MmaF16BF16Op, ...
tv          thread-value layouts: who owns what of a tile, on layouts alone
atoms       CopyAtom and MmaAtom: an instruction for elements of some type
copying     TiledCopy and ThrCopy
multiplying TiledMma and ThrMma
calls       copy, gemm, prefetch and their kin
"""

from __future__ import annotations
