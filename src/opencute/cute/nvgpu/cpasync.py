# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.nvgpu.cpasync`: asynchronous copies."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_HOPPER = "opencute.lang.hopper."

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{name: "opencute.lang.tiled.operations" for name in ("CopyG2SOp", "LoadCacheMode")},
        **{
            name: _HOPPER + "bulk"
            for name in (
                "CopyBulkG2SMulticastOp", "CopyBulkG2SOp", "CopyBulkS2GOp", "CopyBulkS2SOp",
                "CopyReduceBulkS2GOp", "CopyReduceBulkS2SOp",
            )
        },
        "make_im2col_tma_atom": _HOPPER + "im2col",
        **{
            name: _HOPPER + "tensor_maps"
            for name in (
                "copy_tensormap", "cp_fence_tma_desc_release", "fence_tma_desc_acquire",
                "fence_tma_desc_release", "update_tma_descriptor",
            )
        },
        **{
            name: _HOPPER + "tma_ops"
            for name in (
                "CopyBulkTensorIm2ColG2SMulticastOp", "CopyBulkTensorIm2ColG2SOp",
                "CopyBulkTensorIm2ColS2GOp", "CopyBulkTensorTileG2SMulticastOp",
                "CopyBulkTensorTileG2SOp", "CopyBulkTensorTileS2GOp",
                "CopyReduceBulkTensorIm2ColS2GOp", "CopyReduceBulkTensorTileS2GOp", "CtaGroup",
            )
        },
        **{
            name: _HOPPER + "tma_atoms"
            for name in (
                "TmaInfo", "create_tma_multicast_mask", "make_tiled_tma_atom",
                "prefetch_descriptor", "tma_partition",
            )
        },
    },
)  # fmt: skip
