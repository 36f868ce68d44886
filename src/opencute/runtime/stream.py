# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Streams and events, ours and everybody else's.

In: whatever people pass as a stream: None, an integer, ``cuda.bindings`` ``CUstream``,
``torch.cuda.Stream``, our `Stream`, an object with ``__cuda_stream__``. Out: the handle::

    stream_handle(None)                   # the framework's current stream, read now
    stream_handle(torch.cuda.Stream())    # its handle

Nothing here synchronises or allocates unless its name says so: all of it may run while a CUDA graph
is captured.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable
from typing import Any, cast

from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError
from opencute.runtime import driver

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "is_capturing",
    "raw_stream_reader",
    "stream_handle",
]

_NON_BLOCKING = 1
_DISABLE_TIMING = 2


def current_stream(device: int | None = None) -> int:
    """The stream on which the framework would launch now.

    Args:
        device: ordinal; torch's current device when omitted.

    Returns:
        torch's current stream if torch is in use on the GPU, else 0, the legacy default stream.
    """
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)  # torch may be half imported
    if cuda is None or not cuda.is_initialized():
        return 0
    return int(cuda.current_stream(device).cuda_stream)


def raw_stream_reader() -> Callable[[int], int]:
    """A function from a device's ordinal to its current stream, as fast as the framework offers it.

    Ask for it again when a framework may have been imported since.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return current_stream
    # torch's own launchers use this entry; it is 20 times faster than torch.cuda.current_stream.
    fast = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    cuda = getattr(torch, "cuda", None)
    return (
        fast if fast is not None and cuda is not None and cuda.is_initialized() else current_stream
    )


def stream_handle(stream: Any, device: int | None = None) -> int:
    """The handle of a stream in any of its spellings.

    Args:
        stream: None for the current stream, a handle, or an object that has one.
        device: ordinal of the device whose current stream None means.

    Raises:
        ArgumentError: not a stream.
    """
    if stream is None:
        return current_stream(device)
    if isinstance(stream, Stream):
        return stream.handle
    own = getattr(stream, "cuda_stream", None)  # torch, cupy-like wrappers
    if own is not None:
        return int(own)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # (version, handle), as a method or, in older producers, as a property
        pair = cast("tuple[int, int]", protocol() if callable(protocol) else protocol)
        return int(pair[1])
    if isinstance(stream, (bool, str, float)):
        handle = -1
    else:
        try:
            handle = int(stream)
        except (TypeError, ValueError):
            handle = -1
    if handle < 0:
        raise ArgumentError(
            f"{type(stream).__name__} is not a CUDA stream",
            code="OC2150",
            expected="None, an integer handle, a CUstream, a torch.cuda.Stream",
            found=repr(stream)[:80],
        )
    return handle


def is_capturing(stream: Any = None) -> bool:
    """Whether work on a stream goes into a CUDA graph instead of running."""
    if not driver.available():
        return False
    driver.ensure_context()
    status = ctypes.c_int()
    driver.call("cuStreamIsCapturing", stream_handle(stream), ctypes.byref(status))
    return status.value == 1


class Stream:
    """A stream of our own, destroyed when it is closed or dies.

    Args:
        non_blocking: do not wait for the legacy default stream, nor it for this one.
        device: ordinal; the current device when omitted.

    Raises:
        DeviceError: the driver failed.
        MissingPieceError: there is no driver.
    """

    def __init__(self, non_blocking: bool = True, device: int | None = None) -> None:
        self._handle = 0
        self.device = driver.ensure_context() if device is None else device
        out = ctypes.c_void_p()
        with driver.use_device(self.device):
            driver.call("cuStreamCreate", ctypes.byref(out), _NON_BLOCKING if non_blocking else 0)
        self._handle = out.value or 0

    @property
    def handle(self) -> int:
        """The CUstream.

        Raises:
            ArgumentError: the stream is closed.
        """
        if not self._handle:
            raise ArgumentError("the stream has been destroyed", code="OC2151")
        return self._handle

    def __int__(self) -> int:
        return self.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def synchronize(self) -> None:
        """Wait for all work on the stream.

        Raises:
            DeviceError: a kernel failed, or the stream is being captured.
        """
        with driver.use_device(self.device):
            driver.call("cuStreamSynchronize", self.handle)

    def query(self) -> bool:
        """Whether all work on the stream is done."""
        return _done("cuStreamQuery", self.handle)

    def wait(self, event: Event) -> None:
        """Make later work on this stream wait for an event."""
        with driver.use_device(self.device):
            driver.call("cuStreamWaitEvent", self.handle, event.handle, 0)

    def close(self) -> None:
        """Destroy the stream; its work is finished first, by the driver."""
        handle, self._handle = self._handle, 0
        if handle:
            with driver.use_device(self.device):
                driver.call("cuStreamDestroy", handle)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        _close_quietly(self)


class Event:
    """A point in a stream's work.

    Args:
        timing: whether `elapsed_ms` is wanted.
        device: ordinal; the current device when omitted.
    """

    def __init__(self, timing: bool = True, device: int | None = None) -> None:
        self._handle = 0
        self.device = driver.ensure_context() if device is None else device
        out = ctypes.c_void_p()
        with driver.use_device(self.device):
            driver.call("cuEventCreate", ctypes.byref(out), 0 if timing else _DISABLE_TIMING)
        self._handle = out.value or 0

    @property
    def handle(self) -> int:
        """The CUevent.

        Raises:
            ArgumentError: the event is closed.
        """
        if not self._handle:
            raise ArgumentError("the event has been destroyed", code="OC2151")
        return self._handle

    def __int__(self) -> int:
        return self.handle

    def record(self, stream: Any = None) -> Event:
        """Mark the present end of a stream's work; returns self."""
        with driver.use_device(self.device):
            driver.call("cuEventRecord", self.handle, stream_handle(stream, self.device))
        return self

    def synchronize(self) -> None:
        """Wait until the marked work is done."""
        driver.call("cuEventSynchronize", self.handle)

    def query(self) -> bool:
        """Whether the marked work is done."""
        return _done("cuEventQuery", self.handle)

    def elapsed_ms(self, start: Event) -> float:
        """Milliseconds from `start` to this event; both must be done."""
        out = ctypes.c_float()
        driver.call("cuEventElapsedTime", ctypes.byref(out), start.handle, self.handle)
        return out.value

    def close(self) -> None:
        """Destroy the event."""
        handle, self._handle = self._handle, 0
        if handle:
            with driver.use_device(self.device):
                driver.call("cuEventDestroy", handle)

    def __del__(self) -> None:
        _close_quietly(self)


def _done(query: str, handle: int) -> bool:
    result = driver.function(query)(handle)
    if result == 600:  # CUDA_ERROR_NOT_READY
        return False
    driver.check(result, query)
    return True


def _close_quietly(obj: Stream | Event) -> None:
    """Close from a destructor, where nobody could catch."""
    if sys is None or sys.is_finalizing():  # pyright: ignore[reportUnnecessaryComparison]
        return
    with contextlib.suppress(
        DeviceError, MissingPieceError
    ):  # the context is gone, and the handle with it
        obj.close()
