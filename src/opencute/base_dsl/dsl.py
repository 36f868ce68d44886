# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.base_dsl.dsl`: objects to SSA values and back."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "BaseDSL": "opencute.compiler.dsl",
        "debug_print_mlir_values": "opencute.frontend.structured",
        "extract_mlir_values": "opencute.frontend.structured",
        "new_from_mlir_values": "opencute.frontend.structured",
        "set_dynamic_debug": "opencute.frontend.structured",
    },
)
