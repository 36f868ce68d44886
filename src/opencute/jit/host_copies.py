# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors on a GPU as the simulator's arguments: copies in host memory for one call.

In: the tensors of a call. Out: where each of them is in host memory::

    copies = HostCopies([t for t in tensors if not t.array.is_cpu])
    copies.address(t)      # of t's first element
    copies.copy_back()     # what a kernel wrote

Tensors that share memory share a copy, so that what one writes the other reads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from opencute.lang.external import ExternalTensor
from opencute.runtime import driver

__all__ = ["HostCopies"]


class HostCopies:
    """Copies of what tensors on GPUs span, made when called; it waits for the GPU's work.

    Args:
        tensors: on any devices.

    Raises:
        DeviceError: the GPU's earlier work ended with an error.
    """

    def __init__(self, tensors: Sequence[ExternalTensor]) -> None:
        self._spans: list[tuple[int, int, int, Any]] = []  # device, start, end, copy
        spans: list[list[int]] = []
        for t in sorted(tensors, key=lambda t: (t.array.device[1], _span(t))):
            device, (start, end) = t.array.device[1], _span(t)
            if spans and spans[-1][0] == device and start < spans[-1][2]:
                spans[-1][2] = max(spans[-1][2], end)
            else:
                spans.append([device, start, end])
        self._writable = [_span(t) for t in tensors if not t.array.read_only]
        for device, start, end in spans:
            copy = (ctypes.c_byte * (end - start))()
            if end > start:
                with driver.use_device(device):
                    driver.call("cuCtxSynchronize")
                    driver.call("cuMemcpyDtoH", ctypes.addressof(copy), start, end - start)
            self._spans.append((device, start, end, copy))

    def address(self, tensor: ExternalTensor) -> int:
        """Where the tensor's first element is in host memory."""
        span = _span(tensor)
        for device, start, end, copy in self._spans:
            if device == tensor.array.device[1] and start <= span[0] and span[1] <= end:
                return ctypes.addressof(copy) + tensor.data_ptr - start
        raise LookupError(tensor)  # it was not among the tensors

    def copy_back(self) -> None:
        """Copy the memory of all that may be written back to the GPU."""
        for device, start, end, copy in self._spans:
            if end > start and any(start <= a and b <= end for a, b in self._writable):
                with driver.use_device(device):
                    driver.call("cuMemcpyHtoD", start, ctypes.addressof(copy), end - start)


def _span(tensor: ExternalTensor) -> tuple[int, int]:
    """First byte, and the one after the last."""
    start, size = tensor.span_bytes()
    return tensor.data_ptr + start, tensor.data_ptr + start + size
