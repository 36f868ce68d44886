# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Running compiled functions: in the simulator, or on a GPU through a native host function."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Protocol

from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.targets import RunTarget
from opencute.dialects.cute import storage_bits
from opencute.ir.core import Op
from opencute.ir.types import FloatType
from opencute.lang.external import ExternalPointer, ExternalTensor
from opencute.native.jit import compile_host
from opencute.runtime import driver
from opencute.runtime.module import Module
from opencute.runtime.stream import current_stream
from opencute.sim import Buffer, Simulator

__all__ = ["CudaRunner", "Runner", "SimRunner", "make_runner"]


class Runner(Protocol):
    """A compiled host function: call it with the run-time values of its parameters."""

    artefacts: Artefacts

    def __call__(self, values: list[Any]) -> None: ...


def make_runner(artefacts: Artefacts, where: RunTarget) -> Runner:
    """What runs a compiled function on a target."""
    return SimRunner(artefacts) if where.kind == "sim" else CudaRunner(artefacts)


def _launches(module: Op) -> int:
    return sum(op.name == "gpu.launch_func" for op in module.walk())


class SimRunner:
    """Runs the traced module in the simulator."""

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        self.launches = _launches(artefacts.module)
        self.simulator = Simulator(artefacts.target.name, KNOBS.sim_seed)
        function = next(
            op for op in artefacts.module.regions[0].block.ops if op.symbol == artefacts.name
        )
        self.types = [a.type for a in function.regions[0].block.args]

    def __call__(self, values: list[Any]) -> None:
        args = [self._argument(v, i) for i, v in enumerate(values)]
        COUNTERS.launches += self.launches
        self.simulator.run_host(self.artefacts.module, self.artefacts.name, args)

    def _argument(self, value: Any, index: int) -> Any:
        if isinstance(value, ExternalTensor):
            return _buffer(value, f"argument {index}")
        if isinstance(value, ExternalPointer):
            return value.address
        return value


def _buffer(t: ExternalTensor, name: str) -> Any:
    """The memory that a tensor's elements span, as a pointer to its first element."""
    type = storage_bits(t.element_type.mlir_type)
    low = high = 0
    for extent, stride in zip(t.shape, t.stride, strict=True):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    empty = 0 in t.shape
    size = 0 if empty else ((high - low + 1) * type + 7) // 8
    start = low * type // 8
    buffer = Buffer.from_address(
        t.data_ptr + start, size, f"{t.element_type}{list(t.shape)}", owner=t.array,
        read_only=t.array.read_only,
    )  # fmt: skip
    return buffer.pointer(-start)


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
