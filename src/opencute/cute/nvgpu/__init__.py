# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.nvgpu`: hardware operations."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{
            name: "opencute.lang.tiled.operations"
            for name in (
                "CacheEvictionPriority", "CopyG2ROp", "CopyR2GOp", "CopyUniversalOp",
                "L2PrefetchSize", "LoadCacheMode", "MemoryOrder", "MemoryScope", "MmaUniversalOp",
            )
        },
        "OperandMajorMode": "opencute.lang.block.majors",
        **{
            name: "opencute.lang.hopper.tma_operands"
            for name in ("make_tiled_tma_atom_A", "make_tiled_tma_atom_B")
        },
        "common": "opencute.cute.nvgpu.common:",
        "cpasync": "opencute.cute.nvgpu.cpasync:",
        "warp": "opencute.cute.nvgpu.warp:",
        "warpgroup": "opencute.cute.nvgpu.warpgroup:",
    },
)  # fmt: skip
