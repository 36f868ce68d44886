# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""OpenCuTe: GPU kernels in Python with CuTe's layouts, compiled or simulated.

``import cutlass`` is another spelling of this package; see the documentation.
"""

from __future__ import annotations

from opencute.base.lazy import lazy_names
from opencute.base.tracebacks import install as _trim_tracebacks

__version__ = "0.1.0"

_N = "opencute.lang.numbers"
_TABLE = {
    **{
        name: _N
        for name in (
            "BFloat16", "Boolean", "Float", "Float16", "Float32", "Float4E2M1FN", "Float6E2M3FN",
            "Float6E3M2FN", "Float64", "Float8E3M4", "Float8E4M3", "Float8E4M3B11FNUZ",
            "Float8E4M3FN", "Float8E4M3FNUZ", "Float8E5M2", "Float8E5M2FNUZ",
            "Float8E8M0FNU", "Int128", "Int16", "Int32", "Int4",
            "Int64", "Int8", "Integer", "Numeric", "TFloat32", "Uint128", "Uint16", "Uint32",
            "Uint4", "Uint64", "Uint8",
        )
    },
    "AddressSpace": "opencute.lang.pointers",
    "Array": "opencute.lang.arrays.arrays",
    "Constexpr": "opencute.lang.typing",
    "CopyAtom": "opencute.lang.tiled.atoms",
    "Float4E2M1FNx2": "opencute.lang.values.packed",
    "Float6E3M2FNx4": "opencute.lang.values.packed",
    "GridConstant": "opencute.lang.typing",
    "Pointer": "opencute.lang.pointers:RawPointer",
    "Swizzle": "opencute.layout",
    "Vector": "opencute.lang.arrays.vector",
    "as_numeric": _N,
    "const_expr": "opencute.lang.hints",
    "base_dsl": "opencute.base_dsl:",
    "cuda": "opencute.cuda:",
    "cute": "opencute.cute:",
    "cutlass_dsl": "opencute.cutlass_dsl:",
    "dsl_user_op": "opencute.lang.hints",
    "dtype": "opencute.lang.typing",
    "dynamic_expr": "opencute.lang.hints",
    "experimental": "opencute.experimental:",
    "extract_mlir_values": "opencute.frontend.structured",
    "full": "opencute.lang.fills",
    "for_generate": "opencute.lang.mlir.control",
    "max": "opencute.lang.mathfns",
    "min": "opencute.lang.mathfns",
    "new_from_mlir_values": "opencute.frontend.structured",
    "pipeline": "opencute.pipeline:",
    "range": "opencute.frontend.ranges:range_",
    "range_constexpr": "opencute.frontend.ranges",
    "range_dynamic": "opencute.frontend.ranges:range_",
    "register_jit_arg_adapter": "opencute.frontend.signature",
    "target_version": "opencute.compiler.toolkit",
    "testing": "opencute.cute.testing:",
    "torch": "opencute.torch:",
    "utils": "opencute.utils:",
    "vector": "opencute.lang.arrays.vector:",
    "yield_out": "opencute.lang.mlir.control",
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE)

_trim_tracebacks()
