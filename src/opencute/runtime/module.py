# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code on a device.

In: a cubin, or PTX for the driver to assemble. Out: a `Module` and its `Function` objects::

    module = Module(cubin)
    kernel = module.function("relu")
    kernel.attributes.registers, kernel.attributes.local_bytes
    kernel.set_max_dynamic_smem(200 << 10)

The module is unloaded when it is closed; a function keeps its module alive. The code of one that
dies stays on the device, for CUDA graphs that have captured its kernels name no module that they
could keep: the oldest is unloaded when more than 1024 have died.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError
from opencute.runtime import driver
from opencute.runtime.device import DeviceProperties, properties

__all__ = ["Function", "FunctionAttributes", "Module", "check_smem"]

_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CUjit_option
_LOG_BYTES = 16 << 10

# CUfunction_attribute numbers of the fields below.
_ATTRIBUTES = {
    "max_threads": 0,
    "static_smem": 1,
    "const_bytes": 2,
    "local_bytes": 3,
    "registers": 4,
    "ptx_version": 5,
    "binary_version": 6,
}
_MAX_DYNAMIC_SMEM, _NON_PORTABLE_CLUSTER = 8, 14
_KEPT = 1024  # modules that have died; a small one takes some 10 KB of the device's memory
_dead: deque[tuple[int, int]] = deque()  # device, CUmodule


@dataclass(frozen=True)
class FunctionAttributes:
    """What the compiler gave a kernel.

    Args:
        max_threads: threads per block that its registers allow.
        static_smem: bytes of static shared memory.
        const_bytes: bytes of user constants.
        local_bytes: bytes of local memory per thread: spills and stack.
        registers: registers per thread.
        ptx_version: version of the virtual architecture, as the driver reports it.
        binary_version: architecture, 90 for sm_90.
    """

    max_threads: int
    static_smem: int
    const_bytes: int
    local_bytes: int
    registers: int
    ptx_version: int
    binary_version: int


def check_smem(static: int, dynamic: int, device: DeviceProperties, kernel: str = "kernel") -> None:
    """Raise when a block's shared memory cannot fit.

    Raises:
        ArgumentError: negative, or more than the device allows for one block.
    """
    limit = device.smem_per_block_optin
    if dynamic < 0:
        raise ArgumentError(
            f"{kernel} asks for a negative amount of shared memory", code="OC2129", found=dynamic
        )
    if static + dynamic > limit:
        raise ArgumentError(
            f"{kernel} asks for more shared memory than a block may have on {device.name}",
            code="OC2129",
            expected=f"at most {limit} bytes",
            found=f"{static + dynamic} bytes ({static} static, {dynamic} dynamic)",
            hint="fewer pipeline stages or a smaller tile",
        )


class Module:
    """Loaded machine code.

    Args:
        image: a cubin or fatbin as bytes, or PTX as text or bytes.
        device: ordinal; the current device when omitted.

    Raises:
        DeviceError: the driver refuses the code; what its assembler says is shown.
        MissingPieceError: there is no driver.
    """

    def __init__(self, image: bytes | str, device: int | None = None) -> None:
        self._handle = 0
        # Weak, because each function keeps its module.
        self._functions: WeakValueDictionary[str, Function] = WeakValueDictionary()
        self.device = driver.ensure_context() if device is None else device
        data = image.encode() if isinstance(image, str) else bytes(image)
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        out = ctypes.c_void_p()
        # c_char_p adds the zero byte that ends PTX.
        source = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
        with driver.use_device(self.device), driver.relaxed_capture():
            try:
                driver.call("cuModuleLoadDataEx", ctypes.byref(out), source, 2, options, values)
            except DeviceError as e:
                e.found = log.value.decode(errors="replace").strip() or None
                raise
        self._handle = out.value or 0

    @property
    def handle(self) -> int:
        """The CUmodule.

        Raises:
            ArgumentError: the module is closed.
        """
        if not self._handle:
            raise ArgumentError("the module has been unloaded", code="OC2132")
        return self._handle

    def function(self, name: str) -> Function:
        """A kernel by its name in the machine code.

        Raises:
            ArgumentError: there is no such kernel.
        """
        found = self._functions.get(name)
        if found is not None and self._handle:
            return found
        out = ctypes.c_void_p()
        module = self.handle
        with driver.use_device(self.device), driver.relaxed_capture():
            result = driver.function("cuModuleGetFunction")(
                ctypes.byref(out), module, name.encode()
            )
        if result == 500:  # CUDA_ERROR_NOT_FOUND
            raise ArgumentError(f"the module has no kernel {name!r}", code="OC2132", found=name)
        driver.check(result, f"loading the kernel {name}")
        made = Function(self, name, out.value or 0)
        self._functions[name] = made
        return made

    def global_variable(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a ``__device__`` or ``__constant__`` variable.

        Raises:
            DeviceError: there is no such variable.
        """
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        with driver.use_device(self.device):
            driver.call(
                "cuModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), self.handle,
                name.encode(),
            )  # fmt: skip
        return address.value or 0, size.value

    def close(self) -> None:
        """Unload the code; neither its functions nor graphs with them may be launched any more."""
        module, self._handle = getattr(self, "_handle", 0), 0
        if module:
            self._functions.clear()
            _unload(self.device, module)

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if sys is None or sys.is_finalizing():  # pyright: ignore[reportUnnecessaryComparison]
            return
        module, self._handle = getattr(self, "_handle", 0), 0
        if not module:
            return
        _dead.append((self.device, module))
        while len(_dead) > _KEPT:
            with contextlib.suppress(
                DeviceError, MissingPieceError
            ):  # the context is gone, and the code with it
                _unload(*_dead.popleft())


def _unload(device: int, module: int) -> None:
    with driver.use_device(device), driver.relaxed_capture():
        driver.call("cuModuleUnload", module)


class Function:
    """A kernel on a device; made by `Module.function`.

    Args:
        module: where it lives.
        name: its name there.
        handle: the CUfunction.
    """

    def __init__(self, module: Module, name: str, handle: int) -> None:
        self.module = module
        self.name = name
        self.handle = handle

    def __int__(self) -> int:
        return self.handle

    @property
    def device(self) -> int:
        """Ordinal of the device it is loaded on."""
        return self.module.device

    @cached_property
    def attributes(self) -> FunctionAttributes:
        """Registers, local memory and the rest."""
        with driver.use_device(self.device):
            return FunctionAttributes(
                **{field: self._attribute(number) for field, number in _ATTRIBUTES.items()}
            )

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        driver.call("cuFuncGetAttribute", ctypes.byref(value), number, self.handle)
        return value.value

    def set_max_dynamic_smem(self, size: int) -> None:
        """Allow launches with up to `size` bytes of dynamic shared memory; never lowers the limit.

        Raises:
            ArgumentError: more than a block may have on this device.
        """
        device = properties(self.device)
        check_smem(self.attributes.static_smem, size, device, self.name)
        if size == 0:
            return
        with driver.use_device(self.device):
            if size > self._attribute(_MAX_DYNAMIC_SMEM):
                driver.call("cuFuncSetAttribute", self.handle, _MAX_DYNAMIC_SMEM, size)

    def allow_non_portable_clusters(self) -> None:
        """Allow clusters of more than 8 blocks, where the device has them."""
        with driver.use_device(self.device):
            driver.call("cuFuncSetAttribute", self.handle, _NON_PORTABLE_CLUSTER, 1)

    def max_blocks_per_sm(self, threads: int, dynamic_smem: int = 0) -> int:
        """How many blocks of this kernel one SM holds at a time."""
        out = ctypes.c_int()
        with driver.use_device(self.device):
            driver.call(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                ctypes.byref(out), self.handle, threads, dynamic_smem,
            )  # fmt: skip
        return out.value
