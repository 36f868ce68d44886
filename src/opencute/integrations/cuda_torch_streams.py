# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""torch's streams as handles of cuda-bindings, which is what `launch(stream=...)` is given."""

from __future__ import annotations

from typing import Any

__all__ = ["current_stream", "default_stream"]


def current_stream() -> Any:
    """torch's current stream as a CUstream."""
    import cuda.bindings.driver as cuda
    import torch

    return cuda.CUstream(torch.cuda.current_stream().cuda_stream)


def default_stream() -> Any:
    """torch's default stream as a CUstream."""
    import cuda.bindings.driver as cuda
    import torch

    return cuda.CUstream(torch.cuda.default_stream().cuda_stream)
