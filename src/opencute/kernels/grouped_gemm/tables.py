# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tables that a kernel reads, in a device's memory; new results, and where they are.

In: an array of the host. Out: its copy where the kernel runs::

    on_device(table, where(like))

A stream's table is written by that stream, before the kernels that read it, from pinned memory
which torch keeps until the copy is done; nobody waits. A call that a CUDA graph captures must not
copy what the host has then, nor depend on when another stream has copied it: it gets memory of its
own, which is written before the call goes on and is never freed.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple

import numpy as np

from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.compiler.targets import run_target
from opencute.kernels.gemm.sm90_interface import address
from opencute.kernels.grouped_gemm.words import read, taken_apart
from opencute.runtime import driver
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.stream import Stream, is_capturing, raw_stream_reader

__all__ = ["Where", "made", "on_device", "places", "seen_as", "where"]


class Where(NamedTuple):
    """Who reads a table.

    Args:
        device: its ordinal, -1 for the simulator.
        stream: a number that no other stream of the process ever has.
        captured: whether a CUDA graph will.
    """

    device: int
    stream: int
    captured: bool


_NOWHERE = Where(-1, 0, False)
_CAPTURED: dict[tuple[bytes, int], Any] = {}
"""Tables that CUDA graphs read, for as long as the process lives."""


def where(like: Any) -> Where:
    """Who reads a table for an array.

    Raises:
        ArgumentError: the array is in the host's memory, and kernels run on a GPU.
    """
    if run_target().kind == "sim":
        return _NOWHERE
    if not like.is_cuda:
        raise ArgumentError(
            "matrices in host memory are passed to a function that launches on the GPU",
            code="OC2586", expected="matrices on a GPU", found=str(like.device),
            hint="move them with .cuda(), or set OPENCUTE_TARGET=sim",
        )  # fmt: skip
    torch: Any = sys.modules["torch"]
    device = like.get_device()
    stream = raw_stream_reader()(device)
    here = torch.cuda.current_device() == device
    if torch.cuda.is_current_stream_capturing() if here else is_capturing(stream):
        return Where(device, 0, True)
    return Where(device, _number(stream), False)


def _number(stream: int) -> int:
    """A stream's number. Handles come again when streams are destroyed."""
    out = ctypes.c_ulonglong()
    try:
        driver.call("cuStreamGetId", stream, ctypes.byref(out))
    except MissingPieceError:  # drivers before CUDA 12
        return stream
    return out.value


def on_device(table: Any, who: Where) -> Any:
    """A copy of a table for those who read it; itself in the simulator."""
    if who.device < 0:
        return table
    if who.captured:
        key = (table.tobytes(), who.device)
        kept = _CAPTURED.get(key)
        if kept is None:
            kept = _CAPTURED[key] = _written_now(table, who.device)
        return kept
    torch: Any = sys.modules["torch"]
    place = torch.device("cuda", who.device)
    return torch.from_numpy(table).pin_memory().to(place, non_blocking=True)


class _Memory:
    """Memory as torch takes it."""

    def __init__(self, buffer: DeviceBuffer, table: Any) -> None:
        self.buffer = buffer
        self.__cuda_array_interface__ = {
            "version": 3, "shape": table.shape, "typestr": "<i8", "data": (buffer.address, False),
            "strides": None,
        }  # fmt: skip


def _written_now(table: Any, device: int) -> Any:
    """A copy that is there when this returns, whatever is captured meanwhile."""
    torch: Any = sys.modules["torch"]
    buffer = DeviceBuffer(table.nbytes, device)
    with driver.use_device(device), driver.relaxed_capture(), Stream(device=device) as stream:
        at = table.ctypes.data
        driver.call("cuMemcpyHtoDAsync", buffer.address, at, table.nbytes, stream.handle)
        stream.synchronize()
    return torch.as_tensor(_Memory(buffer, table), device=torch.device("cuda", device))


def made(like: Any, results: list[tuple[Any, Any]]) -> list[Any]:
    """New arrays of given extents and strides, of the type of another one."""
    if not hasattr(like, "new_empty"):
        return [np.empty((h, step), like.dtype)[:, :w] for (h, w), (step, _) in results]
    torch: Any = sys.modules["torch"]
    dtype, device = like.dtype, like.device
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    fast = getattr(guards, "_empty_strided_cuda", None)
    # torch's compiled code has this for new memory: a third of the time, of the current device.
    if fast is not None and device.type == "cuda" and torch.cuda.current_device() == device.index:
        return [fast(shape, step, dtype) for shape, step in results]
    return [torch.empty_strided(s, t, dtype=dtype, device=device) for s, t in results]


def places(arrays: list[Any]) -> Any:
    """Where arrays begin."""
    words = read((arrays,))
    if words is None:
        return np.array([address(t) for t in arrays], np.int64)
    return taken_apart(words)[0]


def seen_as(array: Any, name: str) -> Any:
    """A flat array of int64 as one of another type."""
    if hasattr(array, "data_ptr"):
        return array.view(getattr(sys.modules["torch"], name))
    import ml_dtypes

    return array.view(np.dtype(getattr(ml_dtypes, name, name)))
