# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A CUDA driver that launches nothing, for machines that have none.

In: nothing. Out: `opencute.runtime.driver` talks to the stand-in, compiled functions are "run" by
their native host code, and what they would have launched is recorded::

    with StubDriver() as stub:
        add(a, b, c)                       # tensors in host memory pass for device memory
    stub.launches[0].grid, stub.launches[0].parameters(2)

`StubDriver(record=False)` counts launches only, in native code, to measure what the host side of a
call costs.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.native.jit import compile_host
from opencute.runtime import device, driver

__all__ = ["Launch", "StubDriver"]

# CUlaunchConfig: seven u32, padding, stream, attributes, count. CUlaunchAttribute: 72 bytes.
_STREAM_WORD, _ATTRIBUTES_WORD, _COUNT_INDEX, _ATTRIBUTE_BYTES = 4, 5, 12, 72
_ATTRIBUTES = {
    1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 0x7FFFFFFF, 6: 65535, 7: 65535, 8: 49152, 10: 32,
    12: 65536, 13: 1_980_000, 16: 132, 36: 3_200_000, 37: 6144, 38: 50 << 20, 39: 2048, 75: 9,
    76: 0, 81: 233472, 82: 65536, 95: 1, 97: 232448, 100: 1, 106: 32, 111: 1024, 120: 1,
}  # fmt: skip
_FUNCTION_ATTRIBUTES = {0: 1024, 4: 32, 5: 86, 6: 90}
_COUNTING = """
@count = global i64 0
define i32 @launch(ptr %config, ptr %function, ptr %params, ptr %extra) {
  %n = load i64, ptr @count
  %m = add i64 %n, 1
  store i64 %m, ptr @count
  ret i32 0
}
"""
_MAX_PARAMETERS = 64


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


class StubDriver:
    """The stand-in; a context manager that puts it in place and takes it away again.

    Args:
        record: keep a `Launch` for each launch; else only count them, natively.
        devices: how many devices there seem to be.
        status: what launches answer: a CUresult.
        parameters: how many parameters a kernel has, by name; 0 for others.
    """

    def __init__(
        self,
        record: bool = True,
        devices: int = 1,
        status: int = 0,
        parameters: dict[str, int] | None = None,
    ) -> None:
        self.launches: list[Launch] = []
        self.images: list[bytes] = []
        self.status = status
        self.current = 0
        self._devices = devices
        self._parameters = parameters or {}
        self._names: dict[int, str] = {}
        self._handles = itertools.count(0x1000, 0x10)
        self._counting = compile_host(_COUNTING) if not record else None
        self._functions = self._make()
        self._before: list[Any] = []

    @property
    def count(self) -> int:
        """How many kernels were launched."""
        if self._counting is None:
            return len(self.launches)
        return ctypes.c_int64.from_address(self._counting.address("count")).value

    # ---- in place
    def __enter__(self) -> StubDriver:
        state = (driver._functions, driver._primary, driver._initialized)  # pyright: ignore
        self._before = [type(s)(s) for s in state]
        for s in state:
            s.clear()
        driver._functions.update(self._functions)  # pyright: ignore
        driver._initialized.append(True)  # pyright: ignore
        device._properties.cache_clear()  # pyright: ignore
        return self

    def __exit__(self, *exc: object) -> None:
        state = (driver._functions, driver._primary, driver._initialized)  # pyright: ignore
        for s, before in zip(state, self._before, strict=True):
            s.clear()
            (s.update if isinstance(s, dict) else s.extend)(before)
        device._properties.cache_clear()  # pyright: ignore

    def _make(self) -> dict[str, Any]:
        own: dict[str, Callable[..., int | None]] = {
            "cuDeviceGetCount": _writes(ctypes.c_int, lambda: self._devices),
            "cuDeviceGet": lambda out, n: _put(ctypes.c_int, out, n),
            "cuDeviceGetAttribute": lambda out, n, _: _put(ctypes.c_int, out, _ATTRIBUTES.get(n, 0)),
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
            "cuLaunchKernelEx": self._launch,
        }  # fmt: skip
        made: dict[str, Any] = {}
        for name, types in driver._ARGUMENTS.items():  # pyright: ignore[reportPrivateUsage]
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *types)
            made[name] = prototype(_answer(own.get(name, lambda *_: None)))
        if self._counting is not None:
            launch = driver._ARGUMENTS["cuLaunchKernelEx"]  # pyright: ignore[reportPrivateUsage]
            address = self._counting.address("launch")
            made["cuLaunchKernelEx"] = ctypes.CFUNCTYPE(ctypes.c_int, *launch)(address)
        return made

    def _name(self, out: int, size: int, _: int) -> None:
        ctypes.memmove(out, b"stand-in\0", 9)

    def _set_current(self, context: int) -> None:
        self.current = context - 1

    def _pop(self, _: int) -> None:
        self.current = 0

    def _load(self, out: int, image: int, *_: object) -> None:
        handle = next(self._handles)
        self.images.append(ctypes.string_at(image, 4))
        _put(ctypes.c_void_p, out, handle)

    def _function(self, out: int, module: int, name: int) -> None:
        handle = next(self._handles)
        self._names[handle] = ctypes.string_at(name).decode()
        _put(ctypes.c_void_p, out, handle)

    def _launch(self, config: int, function: int, params: int, extra: int | None) -> int:
        words = (ctypes.c_uint32 * 14).from_address(config)
        quads = (ctypes.c_uint64 * 7).from_address(config)
        attributes: list[tuple[int, tuple[int, ...]]] = []
        for i in range(words[_COUNT_INDEX]):
            at = quads[_ATTRIBUTES_WORD] + _ATTRIBUTE_BYTES * i
            entry = (ctypes.c_uint32 * 5).from_address(at)
            attributes.append((entry[0], tuple(entry[2:5])))
        name = self._names[function]
        count = self._parameters.get(name, 0)
        pointers = (ctypes.c_void_p * _MAX_PARAMETERS).from_address(params) if count else ()
        values = tuple(ctypes.c_uint64.from_address(p).value for p in pointers[:count])
        x, y, z, bx, by, bz = words[:6]
        self.launches.append(
            Launch(name, (x, y, z), (bx, by, bz), words[6], quads[_STREAM_WORD], tuple(attributes),
                   values)
        )  # fmt: skip
        return self.status


def _put(type: Any, address: int, value: int) -> None:
    type.from_address(address).value = value


def _writes(type: Any, value: Callable[[], int]) -> Callable[..., None]:
    """A call that writes through its first argument."""
    return lambda out, *_: _put(type, out, value())


def _writes_text(text: bytes) -> Callable[..., None]:
    return lambda _, out: _put(ctypes.c_char_p, out, text)  # type: ignore[arg-type]


def _answer(call: Callable[..., int | None]) -> Callable[..., int]:
    return lambda *arguments: call(*arguments) or 0
