# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""torch's streams as handles of cuda-bindings, which is what `launch(stream=...)` is given."""

from __future__ import annotations

import importlib
from typing import Any

from opencute.integrations.torch_helpers import installed_torch

__all__ = ["current_stream", "default_stream"]


def current_stream() -> Any:
    """torch's current stream as a CUstream."""
    return _handle(_torch().current_stream())


def default_stream() -> Any:
    """torch's default stream as a CUstream."""
    return _handle(_torch().default_stream())


def _torch() -> Any:
    torch = installed_torch()
    return torch.cuda


def _handle(stream: Any) -> Any:
    driver: Any = importlib.import_module("cuda.bindings.driver")
    return driver.CUstream(stream.cuda_stream)
