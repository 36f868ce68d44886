# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.typing`: names for annotations."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{
            name: "opencute.lang.typing"
            for name in (
                "Constexpr", "Coord", "Int", "IntTuple", "Shape", "Stride", "Tile", "Tiler",
                "XTuple",
            )
        },
        **{
            name: "opencute.lang.numbers"
            for name in (
                "BFloat16", "Boolean", "Float16", "Float32", "Float64", "Int16", "Int32", "Int64",
                "Int8", "Integer", "Numeric", "TFloat32", "Uint16", "Uint32", "Uint64", "Uint8",
            )
        },
        "AddressSpace": "opencute.lang.pointers",
        "Layout": "opencute.layout",
        "Pointer": "opencute.lang.pointers",
        "Tensor": "opencute.lang.tensors",
    },
)  # fmt: skip
