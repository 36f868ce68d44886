# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiles of register fragments, shared memory and matrices; part of the pass `tiles`.

liveness   which elements of which fragments a loop or branch has to hand on
regions    fragments as SSA values through loops and branches
swizzle    addresses of swizzled pointers
matrices   cp.async, ldmatrix and stmatrix
gemm       products of fragments as single instructions
check      what the target does not have
"""

from __future__ import annotations
