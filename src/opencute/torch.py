# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.torch`: helpers for programs that use torch."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{
            name: "opencute.integrations.torch_tensors"
            for name in (
                "GaussianInitConfig",
                "RandomInitConfig",
                "ScalarInitConfig",
                "TensorInitType",
                "as_tensor",
                "convert_cute_tensor",
                "create_and_permute_torch_tensor",
                "cute_tensor_like",
                "matrix",
            )
        },
        "current_stream": "opencute.integrations.cuda_torch_streams",
        "default_stream": "opencute.integrations.cuda_torch_streams",
        "dtype": "opencute.integrations.torch_helpers",
        "from_dlpack": "opencute.lang.external",
        "get_leading_dim": "opencute.integrations.torch_helpers",
    },
)
