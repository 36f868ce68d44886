# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.base_dsl.typing`: numeric classes."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "BFloat16": "opencute.lang.numbers",
        "Boolean": "opencute.lang.numbers",
        "Constexpr": "opencute.lang.typing",
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
        "TFloat32": "opencute.lang.numbers",
        "Uint128": "opencute.lang.numbers",
        "Uint16": "opencute.lang.numbers",
        "Uint32": "opencute.lang.numbers",
        "Uint4": "opencute.lang.numbers",
        "Uint64": "opencute.lang.numbers",
        "Uint8": "opencute.lang.numbers",
        "as_numeric": "opencute.lang.numbers",
    },
)
