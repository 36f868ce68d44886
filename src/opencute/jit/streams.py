# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Context and streams as host code asks for them; the simulator has one stream, in order."""

from __future__ import annotations

from typing import Any

from opencute.compiler.targets import run_target
from opencute.runtime import driver
from opencute.runtime.stream import stream_handle

__all__ = ["default_stream", "initialize_cuda_context", "stream_sync"]


def initialize_cuda_context(device_id: int = 0) -> None:
    """Make the primary context of a device current; compiled calls do so by themselves.

    Args:
        device_id: the device's number.
    """
    if run_target().kind == "cuda":
        driver.ensure_context()


def default_stream() -> int:
    """The handle of the legacy default stream."""
    return 0


def stream_sync(stream: Any) -> None:
    """Wait for all work on a stream."""
    if run_target().kind == "cuda":
        driver.ensure_context()
        driver.call("cuStreamSynchronize", stream_handle(stream))
