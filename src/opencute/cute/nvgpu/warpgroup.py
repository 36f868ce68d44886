# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.nvgpu.warpgroup`: matrix products of four warps, on operands in shared memory (sm_90a)."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Field": "opencute.lang.hopper.fields",
        "MmaSparseOp": "opencute.lang.hopper.sparse",
        "OperandMajorMode": "opencute.lang.block.majors",
        **{
            name: "opencute.lang.hopper.operations"
            for name in ("MmaF16BF16Op", "MmaF8Op", "MmaI8Op", "MmaTF32Op", "OperandSource")
        },
        **{
            name: "opencute.lang.hopper.smem_layouts"
            for name in ("SmemLayoutAtomKind", "make_smem_layout_atom")
        },
        **{name: "opencute.lang.hopper.wgmma" for name in ("commit_group", "fence", "wait_group")},
    },
)
