# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch.smem`: shared memory of the block and of its cluster."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_TABLE = {
    "alloc_smem": "opencute.lang.block.smem",
    "get_dyn_smem": "opencute.lang.block.smem",
    "get_dyn_smem_size": "opencute.lang.block.smem",
    "map_dsmem_ptr": "opencute.lang.hopper.clusters",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE)
