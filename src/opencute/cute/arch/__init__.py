# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch`: thread and block indices, single instructions."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{name: "opencute.lang.asm.inline" for name in ("inline_asm", "inline_ptx")},
        **{
            name: "opencute.lang.arch"
            for name in (
                "FULL_MASK",
                "WARP_SIZE",
                "block_dim",
                "block_idx",
                "grid_dim",
                "lane_idx",
                "thread_idx",
                "warp_idx",
            )
        },
    },
)
