# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A small stand-in for `cuda.bindings` on machines that have neither it nor a GPU.

In: nothing. Out: modules `cuda.bindings.driver` and `cuda.bindings.runtime` in `sys.modules`, with
the handle classes and the few calls that kernel files make around a launch. Work is done when a
call returns, so every synchronisation succeeds at once::

    install()
    from cuda.bindings.driver import CUstream
    int(CUstream(0))     # 0
"""

from __future__ import annotations

import ctypes
import enum
import importlib
import importlib.machinery
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["install", "is_stub", "uninstall"]

_MARK = "__opencute_stub__"
_installed: list[str] = []
_handles = itertools.count(0x5000, 0x10)
_SM_COUNT = 132


class CUresult(enum.IntEnum):
    """Results of driver calls."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_SUPPORTED = 801


class cudaError_t(enum.IntEnum):
    """Results of runtime calls."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2
    cudaErrorNoDevice = 100
    cudaErrorInvalidDevice = 101
    cudaErrorCooperativeLaunchTooLarge = 720
    cudaErrorNotSupported = 801


class CUstream_flags(enum.IntEnum):
    """Flags of stream creation."""

    CU_STREAM_DEFAULT = 0
    CU_STREAM_NON_BLOCKING = 1


class CUdevice_attribute(enum.IntEnum):
    """The device attributes that kernel files ask for."""

    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


_ATTRIBUTES = {1: 1024, 10: 32, 16: _SM_COUNT, 75: 9, 76: 0, 97: 232_448}


class cudaMemcpyKind(enum.IntEnum):
    """Directions of a copy; all memory is host memory here."""

    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


class _Handle:
    """An opaque handle: an integer with the accessors of the real classes."""

    def __init__(self, value: Any = 0) -> None:
        self._value = int(value)

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def getPtr(self) -> int:
        """Address of the handle's own storage."""
        self._cell = ctypes.c_void_p(self._value)
        return ctypes.addressof(self._cell)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and int(self) == int(other)  # type: ignore[call-overload]

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._value))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._value:#x}>"


def _handle_class(name: str) -> type[_Handle]:
    return type(name, (_Handle,), {"__module__": "cuda.bindings.driver"})


CUstream = _handle_class("CUstream")
CUevent = _handle_class("CUevent")
CUcontext = _handle_class("CUcontext")
CUdevice = _handle_class("CUdevice")
CUdeviceptr = _handle_class("CUdeviceptr")
_OTHER_HANDLES = ("CUmodule", "CUfunction", "CUlibrary", "CUkernel", "CUgraph", "CUgraphExec")

_records: dict[int, float] = {}
_allocations: dict[int, Any] = {}


def _succeeds(result: enum.IntEnum, *values: Callable[[], object] | object) -> Callable[..., Any]:
    """A call that ignores its arguments and answers `(result, *values)`."""

    def call(*_: object, **__: object) -> tuple[object, ...]:
        return (result, *(v() if callable(v) else v for v in values))

    return call


def _record(ok: enum.IntEnum) -> Callable[..., Any]:
    def record(event: Any, *_: object) -> tuple[object, ...]:
        _records[int(event)] = time.perf_counter()
        return (ok,)

    return record


def _elapsed(ok: enum.IntEnum, bad: enum.IntEnum) -> Callable[..., Any]:
    def elapsed(start: Any, end: Any) -> tuple[object, ...]:
        if int(start) not in _records or int(end) not in _records:
            return (bad, None)
        return (ok, (_records[int(end)] - _records[int(start)]) * 1e3)

    return elapsed


def _alloc(ok: enum.IntEnum, wrap: Callable[[int], object]) -> Callable[..., Any]:
    def alloc(size: int, *_: object) -> tuple[object, ...]:
        buffer = ctypes.create_string_buffer(int(size) + 256)
        address = (ctypes.addressof(buffer) + 255) // 256 * 256
        _allocations[address] = buffer
        return (ok, wrap(address))

    return alloc


def _free(ok: enum.IntEnum, bad: enum.IntEnum) -> Callable[..., Any]:
    def free(pointer: Any, *_: object) -> tuple[object, ...]:
        return (ok if _allocations.pop(int(pointer), None) is not None else bad,)

    return free


def _memset(ok: enum.IntEnum) -> Callable[..., Any]:
    def memset(pointer: Any, value: int, count: int, *_: object) -> tuple[object, ...]:
        ctypes.memset(int(pointer), int(value), int(count))
        return (ok,)

    return memset


def _memcpy(ok: enum.IntEnum) -> Callable[..., Any]:
    def memcpy(dst: Any, src: Any, count: int, *_: object) -> tuple[object, ...]:
        ctypes.memmove(int(dst), int(src), int(count))
        return (ok,)

    return memcpy


def _attribute(ok: enum.IntEnum, bad: enum.IntEnum) -> Callable[..., Any]:
    def attribute(which: Any, *_: object) -> tuple[object, ...]:
        value = _ATTRIBUTES.get(int(which))
        return (bad, 0) if value is None else (ok, value)

    return attribute


def _error_name(ok: enum.IntEnum, errors: type[enum.IntEnum]) -> Callable[..., Any]:
    def error_name(error: Any) -> tuple[object, ...]:
        return (ok, errors(int(error)).name.encode())

    return error_name


def _driver_members() -> dict[str, object]:
    ok, bad = CUresult.CUDA_SUCCESS, CUresult.CUDA_ERROR_INVALID_VALUE
    members: dict[str, object] = {
        "CUresult": CUresult, "CUstream": CUstream, "CUevent": CUevent, "CUcontext": CUcontext,
        "CUdevice": CUdevice, "CUdeviceptr": CUdeviceptr, "CUstream_flags": CUstream_flags,
        "CUdevice_attribute": CUdevice_attribute, "CUDA_VERSION": 13000,
        "cuInit": _succeeds(ok), "cuDriverGetVersion": _succeeds(ok, 13000),
        "cuDeviceGetCount": _succeeds(ok, 1), "cuDeviceGet": _succeeds(ok, lambda: CUdevice(0)),
        "cuDeviceGetName": _succeeds(ok, b"OpenCuTe simulator (sm_90a)"),
        "cuDeviceGetAttribute": _attribute(ok, bad),
        "cuCtxGetCurrent": _succeeds(ok, lambda: CUcontext(1)),
        "cuCtxGetDevice": _succeeds(ok, lambda: CUdevice(0)),
        "cuCtxSetCurrent": _succeeds(ok), "cuCtxSynchronize": _succeeds(ok),
        "cuDevicePrimaryCtxRetain": _succeeds(ok, lambda: CUcontext(1)),
        "cuDevicePrimaryCtxRelease": _succeeds(ok),
        "cuStreamCreate": _succeeds(ok, lambda: CUstream(next(_handles))),
        "cuStreamSynchronize": _succeeds(ok), "cuStreamDestroy": _succeeds(ok),
        "cuStreamQuery": _succeeds(ok), "cuStreamWaitEvent": _succeeds(ok),
        "cuEventCreate": _succeeds(ok, lambda: CUevent(next(_handles))),
        "cuEventRecord": _record(ok), "cuEventSynchronize": _succeeds(ok),
        "cuEventQuery": _succeeds(ok), "cuEventDestroy": _succeeds(ok),
        "cuEventElapsedTime": _elapsed(ok, CUresult.CUDA_ERROR_INVALID_HANDLE),
        "cuMemAlloc": _alloc(ok, CUdeviceptr), "cuMemFree": _free(ok, bad),
        "cuMemsetD8": _memset(ok), "cuMemsetD8Async": _memset(ok),
        "cuMemcpyDtoD": _memcpy(ok), "cuMemcpyDtoDAsync": _memcpy(ok),
        "cuGetErrorName": _error_name(ok, CUresult),
        "cuGetErrorString": _error_name(ok, CUresult),
    }  # fmt: skip
    members.update({name: _handle_class(name) for name in _OTHER_HANDLES})
    return members


def _runtime_members() -> dict[str, object]:
    ok, bad = cudaError_t.cudaSuccess, cudaError_t.cudaErrorInvalidValue
    return {
        "cudaError_t": cudaError_t, "cudaStream_t": CUstream, "cudaEvent_t": CUevent,
        "cudaMemcpyKind": cudaMemcpyKind,
        "cudaGetDeviceCount": _succeeds(ok, 1), "cudaGetDevice": _succeeds(ok, 0),
        "cudaSetDevice": _succeeds(ok), "cudaDeviceSynchronize": _succeeds(ok),
        "cudaGetLastError": _succeeds(ok), "cudaRuntimeGetVersion": _succeeds(ok, 13000),
        "cudaDriverGetVersion": _succeeds(ok, 13000),
        "cudaDeviceGetAttribute": _attribute(ok, bad),
        "cudaStreamCreate": _succeeds(ok, lambda: CUstream(next(_handles))),
        "cudaStreamCreateWithFlags": _succeeds(ok, lambda: CUstream(next(_handles))),
        "cudaStreamSynchronize": _succeeds(ok), "cudaStreamDestroy": _succeeds(ok),
        "cudaEventCreate": _succeeds(ok, lambda: CUevent(next(_handles))),
        "cudaEventRecord": _record(ok), "cudaEventSynchronize": _succeeds(ok),
        "cudaEventElapsedTime": _elapsed(ok, bad), "cudaEventDestroy": _succeeds(ok),
        "cudaMalloc": _alloc(ok, int), "cudaFree": _free(ok, bad),
        "cudaMemset": _memset(ok), "cudaMemsetAsync": _memset(ok),
        "cudaMemcpy": _memcpy(ok), "cudaMemcpyAsync": _memcpy(ok),
        "cudaGetErrorName": _error_name(ok, cudaError_t),
        "cudaGetErrorString": _error_name(ok, cudaError_t),
    }  # fmt: skip


def _available() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings") is not None
    except (ImportError, ValueError):
        return False


def _add(name: str, members: dict[str, object], *, package: bool) -> ModuleType:
    module = ModuleType(name, "Stand-in of OpenCuTe for a machine with no CUDA bindings.")
    spec = importlib.machinery.ModuleSpec(name, None, is_package=package)
    module.__spec__ = spec
    if package:
        module.__path__ = []
    vars(module).update(members)
    setattr(module, _MARK, True)
    sys.modules[name] = module
    _installed.append(name)
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


def install() -> bool:
    """Put the stand-in modules in place unless the real bindings can be imported.

    Returns:
        Whether the stand-in is (now) in place.
    """
    if _installed:
        return True
    if _available():
        return False
    try:
        importlib.import_module("cuda")  # a namespace package of other CUDA wheels may exist
    except ImportError:
        _add("cuda", {}, package=True)
    _add("cuda.bindings", {"__version__": "13.0.0"}, package=True)
    _add("cuda.bindings.driver", _driver_members(), package=False)
    _add("cuda.bindings.runtime", _runtime_members(), package=False)
    return True


def uninstall() -> None:
    """Take the stand-in modules away again."""
    for name in reversed(_installed):
        sys.modules.pop(name, None)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules and hasattr(sys.modules[parent], child):
            delattr(sys.modules[parent], child)
    _installed.clear()


def is_stub(module: object) -> bool:
    """Whether `module` is one of the stand-ins."""
    return bool(getattr(module, _MARK, False))
