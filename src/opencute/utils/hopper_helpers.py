# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils.hopper_helpers`: layouts and operations for Hopper kernels."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "LayoutEnum": "opencute.lib.layout_enum",
        "compute_tile_shape_or_override": "opencute.lib.hopper.operations",
        "get_smem_layout_atom": "opencute.lib.hopper.smem_layouts",
        "make_smem_layout_a": "opencute.lib.hopper.smem_layouts",
        "make_smem_layout_b": "opencute.lib.hopper.smem_layouts",
        "make_smem_layout_epi": "opencute.lib.hopper.smem_layouts",
        "make_trivial_tiled_mma": "opencute.lib.hopper.operations",
        "sm90_get_smem_store_op": "opencute.lib.hopper.operations",
    },
)
