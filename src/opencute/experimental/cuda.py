# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.experimental.cuda`: tensor maps as values."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_LIB = "opencute.lib.primitives.tensor_maps"

_TABLE = {
    name: _LIB
    for name in (
        "TensorMap", "TensorMapDataFormat", "TensorMapSwizzle", "create_tensor_map_tiled",
        "create_tensor_map_tiled_from_view",
    )
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE)
