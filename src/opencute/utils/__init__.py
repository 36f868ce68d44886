# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils`: what kernels are built with."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "HardwareInfo": "opencute.lib.hardware_info",
        "GroupSearchResult": "opencute.lib.schedulers.grouped",
        "GroupSearchState": "opencute.lib.schedulers.grouped",
        "GroupedGemmTileSchedulerHelper": "opencute.lib.schedulers.grouped",
        "LayoutEnum": "opencute.lib.layout_enum",
        "PersistentTileSchedulerParams": "opencute.lib.schedulers.raster",
        "SmemAllocator": "opencute.lib.smem_allocator",
        "StaticPersistentGroupTileScheduler": "opencute.lib.schedulers.grouped",
        "StaticPersistentRuntimeTileScheduler": "opencute.lib.schedulers.runtime",
        "StaticPersistentTileScheduler": "opencute.lib.schedulers.static",
        "TensorMapManager": "opencute.lib.hopper.tensor_maps",
        "TensorMapUpdateMode": "opencute.lib.hopper.tensor_maps",
        "WorkTileInfo": "opencute.lib.schedulers.work",
        "blackwell_helpers": "opencute.utils.blackwell_helpers:",
        "create_cute_tensor_for_fp8": "opencute.integrations.torch_narrow",
        "create_initial_search_state": "opencute.lib.schedulers.grouped",
        "get_smem_capacity_in_bytes": "opencute.lib.smem_allocator",
        "hardware_info": "opencute.utils.hardware_info:",
        "hopper_helpers": "opencute.utils.hopper_helpers:",
        "is_fp8_dtype": "opencute.integrations.torch_narrow",
        "print_latex": "opencute.lib.latex",
        "print_latex_tv": "opencute.lib.latex",
        "sm90": "opencute.utils.sm90:",
        "sm90_make_smem_layout_a": "opencute.lib.hopper.smem_layouts:make_smem_layout_a",
        "sm90_make_smem_layout_b": "opencute.lib.hopper.smem_layouts:make_smem_layout_b",
        "sm90_make_smem_layout_epi": "opencute.lib.hopper.smem_layouts:make_smem_layout_epi",
        "tensor_helpers": "opencute.utils.tensor_helpers:",
    },
)
