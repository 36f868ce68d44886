# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils.blackwell_helpers`: what Hopper kernels use of it."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "make_smem_layout": "opencute.lib.hopper.smem_layouts",
        "make_smem_layout_atom": "opencute.lang.hopper.smem_layouts",
    },
)
