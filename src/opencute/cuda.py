# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.cuda`: context and streams."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "default_stream": "opencute.jit.streams",
        "initialize_cuda_context": "opencute.jit.streams",
        "stream_sync": "opencute.jit.streams",
    },
)
