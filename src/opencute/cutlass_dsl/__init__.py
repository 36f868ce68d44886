# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.cutlass_dsl`: types, user operations and control flow that is written out."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Arch": "opencute.compiler.dsl",
        "BFloat16": "opencute.lang.numbers",
        "BaseDSL": "opencute.compiler.dsl",
        "Boolean": "opencute.lang.numbers",
        "Constexpr": "opencute.lang.typing",
        "CuTeDSL": "opencute.compiler.dsl:BaseDSL",
        "DSLCudaRuntimeError": "opencute.base.errors:DeviceError",
        "DSLRuntimeError": "opencute.base.errors:OpenCuTeError",
        "Float16": "opencute.lang.numbers",
        "Float32": "opencute.lang.numbers",
        "Float4E2M1FN": "opencute.lang.numbers",
        "Float64": "opencute.lang.numbers",
        "Float8E4M3FN": "opencute.lang.numbers",
        "Float8E5M2": "opencute.lang.numbers",
        "Float8E8M0FNU": "opencute.lang.numbers",
        "Int128": "opencute.lang.numbers",
        "Int16": "opencute.lang.numbers",
        "Int32": "opencute.lang.numbers",
        "Int4": "opencute.lang.numbers",
        "Int64": "opencute.lang.numbers",
        "Int8": "opencute.lang.numbers",
        "Integer": "opencute.lang.numbers",
        "Numeric": "opencute.lang.numbers",
        "T": "opencute.lang.mlir.typing",
        "TFloat32": "opencute.lang.numbers",
        "Uint128": "opencute.lang.numbers",
        "Uint16": "opencute.lang.numbers",
        "Uint32": "opencute.lang.numbers",
        "Uint4": "opencute.lang.numbers",
        "Uint64": "opencute.lang.numbers",
        "Uint8": "opencute.lang.numbers",
        "and_": "opencute.lang.mlir.control",
        "as_numeric": "opencute.lang.numbers",
        "const_expr": "opencute.lang.hints",
        "dsl_user_op": "opencute.lang.hints",
        "dynamic_expr": "opencute.lang.hints",
        "extract_mlir_values": "opencute.frontend.structured",
        "if_generate": "opencute.lang.mlir.control",
        "max": "opencute.lang.mathfns",
        "min": "opencute.lang.mathfns",
        "new_from_mlir_values": "opencute.frontend.structured",
        "not_": "opencute.lang.mlir.control",
        "or_": "opencute.lang.mlir.control",
        "range_constexpr": "opencute.frontend.ranges",
        "while_generate": "opencute.lang.mlir.control",
        "yield_out": "opencute.lang.mlir.control",
    },
)
