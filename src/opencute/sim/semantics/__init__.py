# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The meaning of every operation, one file per dialect. Importing registers all rules."""

from __future__ import annotations

from opencute.sim.hopper import semantics as hopper
from opencute.sim.semantics import (
    arith,
    casts,
    cf,
    cute,
    extern,
    gpu,
    llvm,
    math,
    matrices,
    ptx,
    ptx_math,
    ptx_memory,
    ptx_warp,
    smem,
    sparse,
    tiled,
    vector,
)

__all__ = [
    "arith",
    "casts",
    "cf",
    "cute",
    "extern",
    "gpu",
    "hopper",
    "llvm",
    "math",
    "matrices",
    "ptx",
    "ptx_math",
    "ptx_memory",
    "ptx_warp",
    "smem",
    "sparse",
    "tiled",
    "vector",
]
