# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.nvgpu.common`: operations that every architecture has."""

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
    },
)  # fmt: skip
