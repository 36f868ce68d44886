# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 3: the operations that kernels are made of, one file per dialect.

``arith``, ``cf``, ``math``, ``scf``, ``vector``, ``func``, ``gpu`` and ``llvm`` conform to MLIR's
dialects of the same names; ``cute`` and ``ptx`` are ours. Importing this package declares all.
"""

from __future__ import annotations

from opencute.dialects import (
    arith,
    asm,
    builtin,
    cf,
    cute,
    func,
    gpu,
    hopper,
    interop,
    llvm,
    math,
    ptx,
    ptx_math,
    ptx_matrix,
    ptx_memory,
    ptx_warp,
    scf,
    smem,
    tiled,
    vector,
)

__all__ = [
    "arith",
    "asm",
    "builtin",
    "cf",
    "cute",
    "func",
    "gpu",
    "hopper",
    "interop",
    "llvm",
    "math",
    "ptx",
    "ptx_math",
    "ptx_matrix",
    "ptx_memory",
    "ptx_warp",
    "scf",
    "smem",
    "tiled",
    "vector",
]
