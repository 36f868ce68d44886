# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver API through ctypes, loaded on first use.

In: the name of a driver function and its arguments. Out: nothing, or a `DeviceError` that names the
result, says what it means and what to do::

    if available():
        ensure_context()
        n = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(n))

Handles are plain integers; `handle` takes them from cuda-bindings objects too. A context is made
current automatically: the one that is current already (torch's, say), else the primary context of
torch's current device, else that of device 0.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError

__all__ = [
    "available",
    "call",
    "check",
    "driver_version",
    "ensure_context",
    "function",
    "function_address",
    "handle",
    "pointer_device",
    "relaxed_capture",
    "use_device",
]

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

# The names under which the library exports the current form of a function.
_VERSIONED = {
    name: f"{name}_v2"
    for name in (
        "cuCtxPopCurrent",
        "cuCtxPushCurrent",
        "cuDevicePrimaryCtxRelease",
        "cuDeviceTotalMem",
        "cuEventDestroy",
        "cuMemAlloc",
        "cuMemFree",
        "cuMemGetInfo",
        "cuMemcpyDtoH",
        "cuMemcpyHtoD",
        "cuMemcpyHtoDAsync",
        "cuMemsetD8",
        "cuModuleGetGlobal",
        "cuStreamBeginCapture",
        "cuStreamDestroy",
    )
} | {"cuGraphInstantiate": "cuGraphInstantiateWithFlags"}

_P, _I, _U, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_U8 = ctypes.c_ubyte
_ULL = ctypes.c_ulonglong
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "cuCtxGetCurrent": (_P,),
    "cuCtxGetDevice": (_P,),
    "cuCtxPopCurrent": (_P,),
    "cuCtxPushCurrent": (_P,),
    "cuCtxSetCurrent": (_P,),
    "cuCtxSynchronize": (),
    "cuDeviceGet": (_P, _I),
    "cuDeviceGetAttribute": (_P, _I, _I),
    "cuDeviceGetCount": (_P,),
    "cuDeviceGetName": (_P, _I, _I),
    "cuDevicePrimaryCtxRetain": (_P, _I),
    "cuDeviceTotalMem": (_P, _I),
    "cuDriverGetVersion": (_P,),
    "cuEventCreate": (_P, _U),
    "cuEventDestroy": (_P,),
    "cuEventElapsedTime": (_P, _P, _P),
    "cuEventQuery": (_P,),
    "cuEventRecord": (_P, _P),
    "cuEventSynchronize": (_P,),
    "cuFuncGetAttribute": (_P, _I, _P),
    "cuFuncSetAttribute": (_P, _I, _I),
    "cuGetErrorName": (_I, _P),
    "cuGetErrorString": (_I, _P),
    "cuGraphDestroy": (_P,),
    "cuGraphExecDestroy": (_P,),
    "cuGraphInstantiate": (_P, _P, _ULL),
    "cuGraphLaunch": (_P, _P),
    "cuInit": (_U,),
    "cuLaunchKernelEx": (_P, _P, _P, _P),
    "cuMemAlloc": (_P, _Z),
    "cuMemFree": (_P,),
    "cuMemGetInfo": (_P, _P),
    "cuMemcpyDtoH": (_P, _P, _Z),
    "cuMemcpyHtoD": (_P, _P, _Z),
    "cuMemcpyHtoDAsync": (_P, _P, _Z, _P),
    "cuMemsetD8": (_P, _U8, _Z),
    "cuMemsetD8Async": (_P, _U8, _Z, _P),
    "cuModuleGetFunction": (_P, _P, _P),
    "cuModuleGetGlobal": (_P, _P, _P, _P),
    "cuModuleLoadDataEx": (_P, _P, _U, _P, _P),
    "cuModuleUnload": (_P,),
    "cuOccupancyAvailableDynamicSMemPerBlock": (_P, _P, _I, _I),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_P, _P, _I, _Z),
    "cuOccupancyMaxActiveClusters": (_P, _P, _P),
    "cuPointerGetAttribute": (_P, _I, _P),
    "cuStreamBeginCapture": (_P, _I),
    "cuStreamCreate": (_P, _U),
    "cuStreamDestroy": (_P,),
    "cuStreamEndCapture": (_P, _P),
    "cuStreamGetId": (_P, _P),
    "cuStreamIsCapturing": (_P, _P),
    "cuStreamQuery": (_P,),
    "cuStreamSynchronize": (_P,),
    "cuStreamWaitEvent": (_P, _P, _U),
    "cuTensorMapEncodeIm2col": (_P, _U, _U, _P, _P, _P, _P, _P, _U, _U, _P, _U, _U, _U, _U),
    "cuTensorMapEncodeTiled": (_P, _U, _U, _P, _P, _P, _P, _P, _U, _U, _U, _U),
    "cuThreadExchangeStreamCaptureMode": (_P,),
}

_HINTS = {
    1: "an argument is outside what this device or function allows",
    2: "free device memory, or use smaller tensors",
    3: "CUDA does not survive fork(): start worker processes with the 'spawn' method",
    100: "no CUDA device is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES",
    201: "the device's context was destroyed by someone else in this process",
    209: "the code was compiled for another architecture than this device's",
    218: "the driver cannot assemble this PTX; assemble it with ptxas for a better message",
    221: "the driver's PTX compiler is missing; install nvidia-cuda-nvcc so that ptxas is used",
    222: "the driver is older than this PTX version: update it, or install nvidia-cuda-nvcc",
    700: "the kernel touched memory that is not its own; `opencute check` finds the line. "
    "The context is lost: restart the process",
    701: "too many registers or too much shared memory for this many threads per block",
    715: "the context is lost: restart the process",
    716: "a vector access at an address that its width does not divide; `opencute check` finds it",
    719: "the kernel faulted; `opencute check` may find the line. Restart the process",
    720: "a cooperative launch needs all blocks resident at once: use a smaller grid",
    802: "the driver is still starting, or nvidia-fabricmanager is not running",
    803: "the driver's library and kernel module differ: reboot",
    900: "this operation cannot be captured into a CUDA graph",
    901: "an earlier operation broke the capture of the CUDA graph",
    906: "the legacy default stream cannot be used during capture; use the capturing stream",
    912: "no such cluster fits this device; sizes above 8 blocks are not portable",
}

_POINTER_DEVICE_ORDINAL = 9
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

_lock = threading.RLock()
_functions: dict[str, Any] = {}
_library: list[Any] = []
_initialized: list[bool] = []
_primary: dict[int, int] = {}


def _load() -> Any:
    if not _library:
        try:
            _library.append(ctypes.CDLL(_LIBRARY))
        except OSError as e:
            raise MissingPieceError(
                f"the CUDA driver cannot be loaded: {e}",
                code="OC5020",
                hint="install the NVIDIA driver, or run in the simulator: OPENCUTE_TARGET=sim",
            ) from None
    return _library[0]


def function(name: str) -> Any:
    """A driver function for ctypes, by the name that the headers use; it returns the CUresult.

    Raises:
        MissingPieceError: no driver, or one that is too old to have the function.
    """
    found = _functions.get(name)
    if found is not None:
        return found
    try:
        # A private prototype: other users of the library in this process keep theirs.
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *_ARGUMENTS[name])
        found = prototype((_VERSIONED.get(name, name), _load()))
    except AttributeError:
        raise MissingPieceError(
            f"the CUDA driver has no {name}", code="OC5021", hint="update the NVIDIA driver"
        ) from None
    _functions[name] = found
    return found


def function_address(name: str) -> int:
    """The address of a driver function, for native code that calls it.

    Raises:
        MissingPieceError: no driver, or one that is too old to have the function.
    """
    return ctypes.cast(function(name), ctypes.c_void_p).value or 0


def _text(getter: str, result: int) -> str:
    out = ctypes.c_char_p()
    if function(getter)(result, ctypes.byref(out)) or out.value is None:
        return "an error that this driver does not know"
    return out.value.decode()


def check(result: int, what: str, hint: str | None = None) -> None:
    """Raise for any CUresult but success.

    Args:
        result: what the driver returned.
        what: what was being done, e.g. the function's name.
        hint: replaces the general hint for this result.

    Raises:
        DeviceError: its code is ``OC4`` and the CUresult's three digits, e.g. ``OC4700``.
    """
    if result == 0:
        return
    name = _text("cuGetErrorName", result)
    raise DeviceError(
        f"{what} failed: {name} ({result}), {_text('cuGetErrorString', result)}",
        code=f"OC4{result:03d}",
        hint=hint or _HINTS.get(result),
    )


def _initialize() -> None:
    if not _initialized:
        with _lock:
            check(function("cuInit")(0), "cuInit")
            _initialized.append(True)


def call(name: str, *arguments: Any) -> None:
    """Call a driver function and raise unless it succeeds.

    Raises:
        DeviceError: the driver returned an error.
        MissingPieceError: there is no driver.
    """
    if not _initialized:
        _initialize()
    result = function(name)(*arguments)
    if result:
        check(result, name)


def available() -> bool:
    """Whether there is a driver and at least one device. Never raises."""
    try:
        n = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(n))
        return n.value > 0
    except (DeviceError, MissingPieceError):
        return False


def driver_version() -> tuple[int, int]:
    """The CUDA version of the driver, e.g. ``(13, 0)``."""
    n = ctypes.c_int()
    check(function("cuDriverGetVersion")(ctypes.byref(n)), "cuDriverGetVersion")
    return n.value // 1000, n.value % 1000 // 10


def handle(obj: Any) -> int:
    """A driver handle as an integer, from an int or from a cuda-bindings object; None is 0.

    Raises:
        ArgumentError: not a handle.
    """
    if obj is None:
        return 0
    try:
        return int(obj)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{type(obj).__name__} is not a CUDA handle",
            code="OC2217",
            expected="an int or an object of cuda.bindings.driver",
            found=repr(obj)[:80],
        ) from None


def _primary_context(device: int) -> int:
    with _lock:
        if device not in _primary:
            context = ctypes.c_void_p()
            call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            _primary[device] = context.value or 0
        return _primary[device]


def _preferred_device() -> int:
    """The device that the user chose in torch, else 0."""
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)  # torch may be half imported
    if cuda is not None and cuda.is_initialized():
        return int(cuda.current_device())
    return 0


def ensure_context() -> int:
    """Make sure that this thread has a context; returns its device's ordinal.

    A context that is current stays so. Else the primary context of torch's current device, or of
    device 0, becomes current, as with the CUDA runtime.

    Raises:
        DeviceError: the device cannot be used.
        MissingPieceError: there is no driver.
    """
    current = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(current))
    if not current.value:
        device = _preferred_device()
        call("cuCtxSetCurrent", _primary_context(device))
        return device
    ordinal = ctypes.c_int()
    call("cuCtxGetDevice", ctypes.byref(ordinal))
    return ordinal.value


@contextmanager
def use_device(device: int) -> Generator[int, None, None]:
    """Make a device current for a block; nothing happens when it is current already.

    Raises:
        DeviceError: no such device.
    """
    if ensure_context() == device:
        yield device
        return
    call("cuCtxPushCurrent", _primary_context(device))
    try:
        yield device
    finally:
        call("cuCtxPopCurrent", ctypes.byref(ctypes.c_void_p()))


@contextmanager
def relaxed_capture() -> Generator[None, None, None]:
    """A block that may load code and get or free memory while a CUDA graph is captured.

    Capture refuses such calls, of this thread or of all, in case that the captured work waits for
    them. What a library needs for itself, the captured work does not wait for.
    """
    mode = ctypes.c_int(_RELAXED)
    call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


def pointer_device(address: int) -> int:
    """The ordinal of the device that an address belongs to; 0 where there is no driver.

    Raises:
        DeviceError: the driver does not know the address.
    """
    if not available():
        return 0
    ensure_context()
    ordinal = ctypes.c_int()
    call("cuPointerGetAttribute", ctypes.byref(ordinal), _POINTER_DEVICE_ORDINAL, address)
    return ordinal.value
