# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Running compiled functions on a GPU, through a native host function."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError
from opencute.compiler.artefacts import Artefacts
from opencute.ir.types import FloatType
from opencute.lang.external import ExternalPointer, ExternalTensor
from opencute.native.jit import compile_host
from opencute.runtime import driver
from opencute.runtime.module import Module
from opencute.runtime.stream import current_stream

__all__ = ["CudaRunner"]


class CudaRunner:
    """Runs the host function as native code, which launches the kernels on the current device."""

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        host = artefacts.host
        self.launches = host.launches
        driver.ensure_context()
        symbols = {"cuLaunchKernelEx": driver.function_address("cuLaunchKernelEx")}
        self._native = compile_host(host.llvm_ir, symbols)
        self._call: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(
            self._native.address(host.name)
        )
        self._slots = ctypes.c_uint64 * host.slots
        self._loaded: dict[int, tuple[Module, Any]] = {}
        self._lock = threading.Lock()
        function = next(
            op for op in artefacts.module.regions[0].block.ops if op.symbol == artefacts.name
        )
        self._types = [a.type for a in function.regions[0].block.args]
        self._device(driver.ensure_context())

    def _device(self, ordinal: int) -> Any:
        """The array of CUfunctions on a device; the code is loaded at its first use there."""
        with self._lock:
            found = self._loaded.get(ordinal)
            if found is None:
                array = (ctypes.c_void_p * max(len(self.launches), 1))()
                module = None
                if self.launches:
                    module = Module(self.artefacts.cubin, ordinal)
                    for i, name in enumerate(self.launches):
                        array[i] = module.function(name).handle
                found = self._loaded[ordinal] = (module, array)  # type: ignore[assignment]
        return found[1]

    def __call__(self, values: list[Any]) -> None:
        slots = self._slots()
        device = None
        stream = None
        for i, (value, type) in enumerate(zip(values, self._types, strict=True)):
            if isinstance(value, ExternalTensor):
                kind, ordinal = value.array.device
                if kind == 1:
                    raise ArgumentError(
                        "a tensor in host memory is passed to a function that runs on the GPU",
                        code="OC2140", found=str(value),
                        hint="move it with .cuda(), or set OPENCUTE_TARGET=sim",
                    )  # fmt: skip
                if device is None:
                    device = ordinal
                elif device != ordinal:
                    raise ArgumentError(
                        "tensors are on different devices", code="OC2141",
                        expected=f"device {device}", found=f"device {ordinal}",
                    )  # fmt: skip
                slots[i + 2] = value.data_ptr
            elif isinstance(value, ExternalPointer):
                slots[i + 2] = value.address
            elif isinstance(type, FloatType):
                slots[i + 2] = _float_bits(value, type)
            else:
                slots[i + 2] = int(value) & 0xFFFFFFFFFFFFFFFF
        if device is None:
            device = driver.ensure_context()
        stream = current_stream(device)
        functions = self._device(device)
        slots[0] = stream
        slots[1] = ctypes.addressof(functions)
        COUNTERS.launches += len(self.launches)
        with driver.use_device(device):
            code = self._call(ctypes.addressof(slots))
        if code:
            driver.check(code, f"launching {self.artefacts.name}")


def _float_bits(value: float, type: FloatType) -> int:
    from opencute.numeric.dtypes import DTYPES
    from opencute.numeric.scalars import encode_scalar

    return int(encode_scalar(value, DTYPES[type.name]))
