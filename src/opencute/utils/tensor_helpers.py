# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils.tensor_helpers`: tensors of types that frameworks cannot hand over."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "create_cute_tensor_for_fp8": "opencute.integrations.torch_narrow",
        "is_fp8_dtype": "opencute.integrations.torch_narrow",
    },
)
