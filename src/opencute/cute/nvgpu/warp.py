# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.nvgpu.warp`: what a warp does together: matrix loads, stores and products."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{
            name: "opencute.lang.tiled.operations"
            for name in (
                "LdMatrix16x16x8bOp", "LdMatrix8x16x8bOp", "LdMatrix8x8x16bOp", "MmaF16BF16Op",
                "MmaF64Op", "MmaFP8Op", "MmaI4Op", "MmaI8Op", "MmaTF32Op", "StMatrix16x8x8bOp",
                "StMatrix8x8x16bOp",
            )
        },
        "MmaSparseOp": "opencute.lang.tiled.sparse",
    },
)  # fmt: skip
