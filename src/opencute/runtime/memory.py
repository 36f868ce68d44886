# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Device memory without a framework.

In: a size, or a NumPy array. Out: a `DeviceBuffer`, freed when it is closed or dies::

    buffer = DeviceBuffer.of(np.arange(4.0))
    buffer.address, buffer.numpy(np.float64)
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError
from opencute.runtime import driver

__all__ = ["DeviceBuffer"]


class DeviceBuffer:
    """Bytes on a device.

    Args:
        size: bytes, at least 1.
        device: ordinal; the current device when omitted.

    Raises:
        ArgumentError: the size is not positive.
        DeviceError: not enough memory.
    """

    def __init__(self, size: int, device: int | None = None) -> None:
        self.address = 0
        if size <= 0:
            raise ArgumentError("a device buffer has at least one byte", code="OC2223", found=size)
        self.size = size
        self.device = driver.ensure_context() if device is None else device
        out = ctypes.c_void_p()
        with driver.use_device(self.device), driver.relaxed_capture():
            driver.call("cuMemAlloc", ctypes.byref(out), size)
        self.address = out.value or 0

    @classmethod
    def of(cls, array: NDArray[Any], device: int | None = None) -> DeviceBuffer:
        """A buffer with the bytes of a NumPy array in row-major order."""
        array = np.ascontiguousarray(array)
        buffer = cls(max(array.nbytes, 1), device)
        buffer.write(array)
        return buffer

    def write(self, array: NDArray[Any]) -> None:
        """Copy a NumPy array to the start of the buffer; returns when it is there.

        Raises:
            ArgumentError: the array is larger than the buffer.
        """
        array = np.ascontiguousarray(array)
        if array.nbytes > self.size:
            raise ArgumentError(
                "the array does not fit the buffer",
                code="OC2223",
                expected=f"at most {self.size} bytes",
                found=array.nbytes,
            )
        if array.nbytes:
            with driver.use_device(self.device):
                driver.call("cuMemcpyHtoD", self.address, array.ctypes.data, array.nbytes)

    def numpy(self, dtype: DTypeLike, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        """A copy of the buffer as an array, after all work of the legacy default stream.

        Raises:
            ArgumentError: the shape needs more bytes than there are.
        """
        array: NDArray[Any] = np.empty(
            (self.size // np.dtype(dtype).itemsize,) if shape is None else shape, dtype
        )
        if array.nbytes > self.size:
            raise ArgumentError(
                "the shape is larger than the buffer",
                code="OC2223",
                expected=f"at most {self.size} bytes",
                found=array.nbytes,
            )
        if array.nbytes:
            with driver.use_device(self.device):
                driver.call("cuMemcpyDtoH", array.ctypes.data, self.address, array.nbytes)
        return array

    def fill(self, byte: int, stream: int = 0) -> None:
        """Set every byte, on a stream."""
        with driver.use_device(self.device):
            driver.call("cuMemsetD8Async", self.address, byte, self.size, stream)

    def close(self) -> None:
        """Free the memory."""
        address, self.address = self.address, 0
        if address:
            with driver.use_device(self.device), driver.relaxed_capture():
                driver.call("cuMemFree", address)

    def __enter__(self) -> DeviceBuffer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if sys is None or sys.is_finalizing():  # pyright: ignore[reportUnnecessaryComparison]
            return
        with contextlib.suppress(
            DeviceError, MissingPieceError
        ):  # the context is gone, and the memory with it
            self.close()
