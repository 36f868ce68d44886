# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils`: what kernels are built with."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "LayoutEnum": "opencute.lib.layout_enum",
        "SmemAllocator": "opencute.lib.smem_allocator",
        "get_smem_capacity_in_bytes": "opencute.lib.smem_allocator",
        "print_latex": "opencute.lib.latex",
        "print_latex_tv": "opencute.lib.latex",
    },
)
