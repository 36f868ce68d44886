# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils`: what kernels are built with."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "HardwareInfo": "opencute.lib.hardware_info",
        "LayoutEnum": "opencute.lib.layout_enum",
        "SmemAllocator": "opencute.lib.smem_allocator",
        "create_cute_tensor_for_fp8": "opencute.integrations.torch_narrow",
        "get_smem_capacity_in_bytes": "opencute.lib.smem_allocator",
        "hardware_info": "opencute.utils.hardware_info:",
        "is_fp8_dtype": "opencute.integrations.torch_narrow",
        "print_latex": "opencute.lib.latex",
        "print_latex_tv": "opencute.lib.latex",
        "tensor_helpers": "opencute.utils.tensor_helpers:",
    },
)
