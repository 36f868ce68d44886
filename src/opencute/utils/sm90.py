# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils.sm90`: another name of `cutlass.utils.hopper_helpers`."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        name: "opencute.utils.hopper_helpers"
        for name in (
            "compute_tile_shape_or_override", "get_smem_layout_atom", "make_smem_layout_a",
            "make_smem_layout_b", "make_smem_layout_epi", "make_trivial_tiled_mma",
            "sm90_get_smem_store_op",
        )
    },
)  # fmt: skip
