# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A CUDA driver that launches nothing, for machines that have none.

In: nothing. Out: `opencute.runtime.driver` talks to the stand-in, compiled functions are "run" by
their native host code, and what they would have launched is recorded::

    with StubDriver() as stub:
        add(a, b, c)                       # tensors in host memory pass for device memory
    stub.launches[0].grid, stub.launches[0].parameters(2)

`StubDriver(record=False)` counts launches only, in native code, and tensor maps not at all, to
measure what the host side of a call costs.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.native.jit import HostModule, compile_host
from opencute.runtime import device, driver

__all__ = ["EncodedMap", "Launch", "StubDriver"]

# CUlaunchConfig: seven u32, padding, stream, attributes, count. CUlaunchAttribute: 72 bytes.
_STREAM_WORD, _ATTRIBUTES_WORD, _COUNT_INDEX, _ATTRIBUTE_BYTES = 4, 5, 12, 72
_ATTRIBUTES = {
    1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 0x7FFFFFFF, 6: 65535, 7: 65535, 8: 49152, 10: 32,
    12: 65536, 13: 1_980_000, 16: 132, 36: 3_200_000, 37: 6144, 38: 50 << 20, 39: 2048, 75: 9,
    76: 0, 81: 233472, 82: 65536, 95: 1, 97: 232448, 100: 1, 106: 32, 111: 1024, 120: 1,
}  # fmt: skip
_FUNCTION_ATTRIBUTES = {0: 1024, 4: 32, 5: 86, 6: 90}
# Compiled host functions keep the address of this one, so that it serves all stand-ins.
_LAUNCH = """
@count = global i64 0
@record = global ptr null
define i32 @launch(ptr %config, ptr %function, ptr %params, ptr %extra) {
  %n = atomicrmw add ptr @count, i64 1 monotonic
  %r = load ptr, ptr @record
  %none = icmp eq ptr %r, null
  br i1 %none, label %counted, label %recorded
recorded:
  %status = call i32 %r(ptr %config, ptr %function, ptr %params, ptr %extra)
  ret i32 %status
counted:
  ret i32 0
}
@encoder = global ptr null
define i32 @encode(ptr %out, i32 %type, i32 %rank, ptr %at, ptr %dims, ptr %strides, ptr %box,
                   ptr %steps, i32 %a, i32 %b, i32 %c, i32 %d) {
  %r = load ptr, ptr @encoder
  %none = icmp eq ptr %r, null
  br i1 %none, label %done, label %recorded
recorded:
  %status = call i32 %r(ptr %out, i32 %type, i32 %rank, ptr %at, ptr %dims, ptr %strides,
                        ptr %box, ptr %steps, i32 %a, i32 %b, i32 %c, i32 %d)
  ret i32 %status
done:
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 128, i1 false)
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
_NATIVE = {
    "cuLaunchKernelEx": ("launch", "record"),
    "cuTensorMapEncodeTiled": ("encode", "encoder"),
}
_MAX_PARAMETERS = 64
# Of a cubin: the section with a kernel's attributes, the form with a size, a parameter's record.
_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
_INFO, _SIZED, _PARAMETER = ".nv.info.", 4, 0x17


@dataclass(frozen=True)
class Launch:
    """One launch as the driver would have seen it.

    Args:
        kernel: its name.
        grid: blocks.
        block: threads.
        smem: bytes of dynamic shared memory.
        stream: handle.
        attributes: id, and the first three words of the value.
        values: the first words of the parameters' memory, by position.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    smem: int
    stream: int
    attributes: tuple[tuple[int, tuple[int, ...]], ...]
    values: tuple[int, ...]

    def parameters(self, *types: Any) -> tuple[Any, ...]:
        """The first parameters, read as ctypes types."""
        return tuple(
            t.from_buffer_copy(v.to_bytes(8, "little")).value
            for t, v in zip(types, self.values, strict=False)
        )


@dataclass(frozen=True)
class EncodedMap:
    """A tensor map that the driver was asked for, in the driver's numbers.

    Args:
        dtype: CUtensorMapDataType.
        address: of the tensor.
        dims: extents, innermost first.
        strides: in bytes, without the innermost.
        box: extents of the tile; of im2col, both corners, channels and pixels.
        steps: element strides.
        modes: interleave, swizzle, promotion into L2, fill.
    """

    dtype: int
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    modes: tuple[int, int, int, int]


def _numbers(type: Any, address: int, count: int) -> tuple[int, ...]:
    return tuple((type * count).from_address(address)) if count else ()


class StubDriver:
    """The stand-in; a context manager that puts it in place and takes it away again.

    Args:
        record: keep a `Launch` for each launch; else only count them, natively.
        devices: how many devices there seem to be.
        status: what launches answer: a CUresult.
        map_status: what a request for a tensor map answers.
    """

    def __init__(
        self, record: bool = True, devices: int = 1, status: int = 0, map_status: int = 0
    ) -> None:
        self.launches: list[Launch] = []
        self.images: list[bytes] = []  # how the code that was loaded begins
        self.maps: list[EncodedMap] = []
        self.status = status
        self.map_status = map_status
        self.current = 0
        self._devices = devices
        self._record = record
        self._before: list[Any] = []
        self._first = _counter().value

    @property
    def count(self) -> int:
        """How many kernels were launched."""
        return _counter().value - self._first

    # ---- in place
    def __enter__(self) -> StubDriver:
        state = (driver._functions, driver._primary, driver._initialized)  # pyright: ignore
        self._before = [copy.copy(s) for s in state]
        for s in state:
            s.clear()
        driver._functions.update(_functions())  # pyright: ignore
        driver._initialized.append(True)  # pyright: ignore
        device._properties.cache_clear()  # pyright: ignore
        _active.append(self)
        _set_record(self._record)
        return self

    def __exit__(self, *exc: object) -> None:
        state = (driver._functions, driver._primary, driver._initialized)  # pyright: ignore
        for s, before in zip(state, self._before, strict=True):
            s.clear()
            (s.update if isinstance(s, dict) else s.extend)(before)
        device._properties.cache_clear()  # pyright: ignore
        _active.remove(self)

    def answers(self) -> dict[str, Callable[..., int | None]]:
        """What the driver's functions do; others do nothing."""
        own: dict[str, Callable[..., int | None]] = {
            "cuDeviceGetCount": _writes(ctypes.c_int, lambda: self._devices),
            "cuDeviceGet": lambda out, n: _put(ctypes.c_int, out, n),
            "cuDeviceGetAttribute": lambda out, n, _: _put(
                ctypes.c_int, out, _ATTRIBUTES.get(n, 0)
            ),
            "cuDeviceGetName": self._name,
            "cuDeviceTotalMem": _writes(ctypes.c_size_t, lambda: 141 << 30),
            "cuDriverGetVersion": _writes(ctypes.c_int, lambda: 13000),
            "cuDevicePrimaryCtxRetain": lambda out, n: _put(ctypes.c_void_p, out, n + 1),
            "cuCtxGetCurrent": _writes(ctypes.c_void_p, lambda: self.current + 1),
            "cuCtxGetDevice": _writes(ctypes.c_int, lambda: self.current),
            "cuCtxSetCurrent": self._set_current, "cuCtxPushCurrent": self._set_current,
            "cuCtxPopCurrent": self._pop,
            "cuModuleLoadDataEx": self._load, "cuModuleGetFunction": self._function,
            "cuFuncGetAttribute": lambda out, n, _: _put(
                ctypes.c_int, out, _FUNCTION_ATTRIBUTES.get(n, 0)
            ),
            "cuGetErrorName": _writes_text(b"CUDA_ERROR_STUB"),
            "cuGetErrorString": _writes_text(b"what the stand-in was told to answer"),
            "cuLaunchKernelEx": self.launch,
            "cuTensorMapEncodeIm2col": self._encode_im2col,
            "cuTensorMapEncodeTiled": self._encode_tiled,
        }  # fmt: skip
        return own

    def _name(self, out: int, size: int, _: int) -> None:
        ctypes.memmove(out, b"stand-in\0", 9)

    def _set_current(self, context: int) -> None:
        self.current = context - 1

    def _pop(self, _: int) -> None:
        self.current = 0

    def _load(self, out: int, image: int, *_: object) -> None:
        handle = next(_handles)
        self.images.append(ctypes.string_at(image, 16))
        _modules[handle] = _parameters(image)
        _put(ctypes.c_void_p, out, handle)

    def _function(self, out: int, module: int, name: int) -> None:
        handle = next(_handles)
        text = ctypes.string_at(name).decode()
        _kernels[handle] = (text, _modules[module].get(text, 0))
        _put(ctypes.c_void_p, out, handle)

    def _encode_tiled(self, out: int, dtype: int, rank: int, *more: int) -> int:
        address, dims, strides, box, steps, *modes = more
        ctypes.memset(out, 0, 128)
        self.maps.append(EncodedMap(
            dtype, address, _numbers(ctypes.c_uint64, dims, rank),
            _numbers(ctypes.c_uint64, strides, rank - 1), _numbers(ctypes.c_uint32, box, rank),
            _numbers(ctypes.c_uint32, steps, rank), (modes[0], modes[1], modes[2], modes[3]),
        ))  # fmt: skip
        return self.map_status

    def _encode_im2col(self, out: int, dtype: int, rank: int, *more: int) -> int:
        address, dims, strides, lower, upper, channels, pixels, steps, *modes = more
        ctypes.memset(out, 0, 128)
        corners = [n for place in (lower, upper) for n in _numbers(ctypes.c_int32, place, rank - 2)]
        self.maps.append(EncodedMap(
            dtype, address, _numbers(ctypes.c_uint64, dims, rank),
            _numbers(ctypes.c_uint64, strides, rank - 1), (*corners, channels, pixels),
            _numbers(ctypes.c_uint32, steps, rank), (modes[0], modes[1], modes[2], modes[3]),
        ))  # fmt: skip
        return self.map_status

    def launch(self, config: int, function: int, params: int, extra: int | None) -> int:
        """Record what cuLaunchKernelEx got."""
        words = (ctypes.c_uint32 * 14).from_address(config)
        quads = (ctypes.c_uint64 * 7).from_address(config)
        attributes: list[tuple[int, tuple[int, ...]]] = []
        for i in range(words[_COUNT_INDEX]):
            at = quads[_ATTRIBUTES_WORD] + _ATTRIBUTE_BYTES * i
            entry = (ctypes.c_uint32 * 5).from_address(at)
            attributes.append((entry[0], tuple(entry[2:5])))
        name, count = _kernels[function]
        pointers = (ctypes.c_void_p * _MAX_PARAMETERS).from_address(params) if count else ()
        values = tuple(ctypes.c_uint64.from_address(p).value for p in pointers[:count])
        x, y, z, bx, by, bz = words[:6]
        self.launches.append(
            Launch(name, (x, y, z), (bx, by, bz), words[6], quads[_STREAM_WORD], tuple(attributes),
                   values)
        )  # fmt: skip
        return self.status


def _parameters(image: int) -> dict[str, int]:
    """How many parameters the kernels of a cubin have, by name; empty for PTX."""
    if ctypes.string_at(image, 4) != b"\x7fELF":
        return {}
    head = ctypes.string_at(image, 64)
    (table,) = struct.unpack_from("<Q", head, 40)
    size, count, names_index = struct.unpack_from("<HHH", head, 58)
    sections = [
        struct.unpack("<IIQQQQIIQQ", ctypes.string_at(image + table + i * size, 64))
        for i in range(count)
    ]
    names = image + sections[names_index][4]
    out: dict[str, int] = {}
    for name_at, _, _, _, offset, length, *_ in sections:
        name = ctypes.string_at(names + name_at).decode()
        if name.startswith(_INFO):
            out[name.removeprefix(_INFO)] = _count(ctypes.string_at(image + offset, length))
    return out


def _count(info: bytes) -> int:
    """The records of parameters among the attributes of a kernel."""
    at = found = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        found += (form, attribute) == (_SIZED, _PARAMETER)
        at += 4 + (size if form == _SIZED else 0)
    return found


def _put(type: Any, address: int, value: int) -> None:
    type.from_address(address).value = value


def _writes(type: Any, value: Callable[[], int]) -> Callable[..., None]:
    """A call that writes through its first argument."""
    return lambda out, *_: _put(type, out, value())


def _writes_text(text: bytes) -> Callable[..., None]:
    return lambda _, out: _put(ctypes.c_char_p, out, text)  # type: ignore[arg-type]


_active: list[StubDriver] = []
_handles = itertools.count(0x1000, 0x10)
_modules: dict[int, dict[str, int]] = {}
_kernels: dict[int, tuple[str, int]] = {}  # by handle: name, parameters


@functools.cache
def _native() -> HostModule:
    return compile_host(_LAUNCH)


def _counter() -> ctypes.c_int64:
    return ctypes.c_int64.from_address(_native().address("count"))


def _set_record(on: bool) -> None:
    for name, (_, recorder) in _NATIVE.items():
        place = ctypes.c_void_p.from_address(_native().address(recorder))
        place.value = ctypes.cast(_recorder(name), ctypes.c_void_p).value if on else None


@functools.cache
def _recorder(name: str) -> Any:
    types = driver._ARGUMENTS[name]  # pyright: ignore[reportPrivateUsage]
    return ctypes.CFUNCTYPE(ctypes.c_int, *types)(_forward(name))


@functools.cache
def _functions() -> dict[str, Any]:
    """The driver's functions for ctypes; they ask the stand-in that is in place."""
    made: dict[str, Any] = {}
    for name, types in driver._ARGUMENTS.items():  # pyright: ignore[reportPrivateUsage]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *types)
        native = _native().address(_NATIVE[name][0]) if name in _NATIVE else 0
        made[name] = prototype(native or _forward(name))
    return made


def _forward(name: str) -> Callable[..., int]:
    def call(*arguments: Any) -> int:
        if not _active:
            return _NOT_INITIALIZED
        own = _active[-1].answers().get(name)
        return (own(*arguments) or 0) if own is not None else 0

    return call
