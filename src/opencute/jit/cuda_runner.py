# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Running compiled functions on a GPU, through a native host function."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import math
import sys
import threading
from collections.abc import Callable
from typing import Any

from opencute.arch.target import MAX_CLUSTER, PORTABLE_CLUSTER
from opencute.base.counters import LAUNCHES
from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError
from opencute.codegen.hopper.tensor_maps import BAD_TENSOR_MAP, map_fault
from opencute.codegen.host import TOO_MUCH_SMEM
from opencute.codegen.toolchain import PIECES
from opencute.compiler.artefacts import Artefacts
from opencute.dialects.cute import PtrType
from opencute.dialects.gpu import LaunchFuncOp
from opencute.ir.attributes import IntAttr
from opencute.ir.core import BlockArgument, Op, Value
from opencute.ir.types import FloatType
from opencute.jit.entry.code import load
from opencute.jit.entry.versions import Described, NativeVersion, Stream
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer
from opencute.native.jit import compile_host
from opencute.runtime import driver
from opencute.runtime.device import count as device_count
from opencute.runtime.device import properties
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.module import Module
from opencute.runtime.stream import current_stream, raw_stream_reader

__all__ = ["CudaRunner", "PreparedCall", "StagedArray", "dynamic_smem", "has_wide_clusters"]

_CPU = 1  # DLPack's device kind
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


class CudaRunner:
    """Runs the host function as native code, which launches the kernels on the current device."""

    reusable = True

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        driver.ensure_context()
        self._image: bytes | str = b""
        if any(op.name == "gpu.launch_func" for op in artefacts.module.walk()):
            self._image = self._assemble()
        else:
            self._compile_host()
        host = artefacts.host
        self.launches = host.launches
        self.address = self._native.address(host.name)
        self.results = host.results
        self.call: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.address)
        self.several_devices = device_count() > 1
        self.coherent = properties().host_memory
        self._slots = ctypes.c_uint64 * host.slots
        self._loaded: dict[int, tuple[Module, Any]] = {}
        self._lock = threading.Lock()
        self.failed = functools.partial(_failed, artefacts)
        function = next(
            op for op in artefacts.module.regions[0].block.ops if op.symbol == artefacts.name
        )
        self._types = [a.type for a in function.regions[0].block.args]
        self._host_memory = _host_memory(function)
        self.prints = _prints(artefacts.module, artefacts.options.assertions)
        if self.prints:
            _sync_at_exit()
        self._device(driver.ensure_context())

    def _assemble(self) -> bytes | str:
        """Machine code, or PTX where there is no ptxas: the driver then assembles it."""
        try:
            return self.artefacts.make_device(self._compile_host).cubin
        except MissingPieceError as e:
            if e.code != PIECES["ptxas"].code:
                raise
        _tell_of_driver()
        self._compile_host()
        return self.artefacts.ptx

    def _compile_host(self) -> None:
        module = self.artefacts.module
        self._native = compile_host(self.artefacts.host.llvm_ir, _symbols(module))

    def _device(self, ordinal: int) -> Any:
        """The array of CUfunctions on a device; the code is loaded at its first use there."""
        with self._lock:
            found = self._loaded.get(ordinal)
            if found is None:
                array = (ctypes.c_void_p * max(len(self.launches), 1))()
                module = None
                if self.launches:
                    with driver.relaxed_capture():
                        module = self._load(ordinal, array)
                found = self._loaded[ordinal] = (module, array)  # type: ignore[assignment]
        return found[1]

    def _load(self, ordinal: int, functions: Any) -> Module:
        """The code on a device; an array gets its CUfunctions."""
        module = Module(self._image, ordinal)
        most = properties(ordinal).smem_per_block_optin
        for i, name in enumerate(self.launches):
            function = module.function(name)
            function.set_max_dynamic_smem(dynamic_smem(self.artefacts.module, name, most))
            if has_wide_clusters(self.artefacts.module, name):
                function.allow_non_portable_clusters()
            functions[i] = function.handle
        return module

    def __call__(self, values: list[Any]) -> list[Any]:
        return self.prepare(values)()

    def prepare(self, values: list[Any]) -> PreparedCall:
        """A call with these arguments; running it reads the current stream and launches.

        Args:
            values: the run-time values of the host function's parameters.

        Raises:
            ArgumentError: a tensor in host memory, or tensors on different devices.
        """
        slots = self._slots()
        device = None
        staged: list[StagedArray] = []
        for i, (value, type) in enumerate(zip(values, self._types, strict=True)):
            if isinstance(value, ExternalTensor):
                slots[i + 2] = value.data_ptr
                if i in self._host_memory:
                    _check_host_memory(value)
                elif self.launches and self.coherent and value.array.is_cpu:
                    pass
                elif self.launches and value.array.is_cpu and value.array.framework != "torch":
                    staged.append(StagedArray(value, slots, i + 2))
                elif self.launches:
                    device = self._on_device(value, device)
            elif isinstance(value, ExternalPointer):
                slots[i + 2] = value.address
            elif isinstance(type, FloatType):
                slots[i + 2] = _float_bits(value, type)
            else:
                slots[i + 2] = int(value) & 0xFFFFFFFFFFFFFFFF
        if device is None:
            device = driver.ensure_context()
        functions = self._device(device)
        slots[1] = ctypes.addressof(functions)
        return PreparedCall(self, slots, device, tuple(staged))

    def _on_device(self, value: ExternalTensor, device: int | None) -> int:
        kind, ordinal = value.array.device
        if kind == _CPU:
            raise ArgumentError(
                "a tensor in host memory is passed to a function that launches on the GPU",
                code="OC2140", found=str(value),
                hint="move it with .cuda(), or set OPENCUTE_TARGET=sim",
            )  # fmt: skip
        if device is not None and device != ordinal:
            raise ArgumentError(
                "tensors are on different devices", code="OC2141",
                expected=f"device {device}", found=f"device {ordinal}",
            )  # fmt: skip
        return ordinal


class StagedArray:
    """A NumPy array as a kernel's argument on a GPU: a copy on the device for one call."""

    def __init__(self, tensor: ExternalTensor, slots: Any, slot: int) -> None:
        self.tensor = tensor
        self.start, self.size = tensor.span_bytes()
        self.buffer: DeviceBuffer | None = None
        self.slots, self.slot = slots, slot

    def copy_in(self) -> None:
        """Copy the array to the device and pass that address on."""
        self.buffer = DeviceBuffer(max(self.size, 1))
        address = self.tensor.data_ptr + self.start
        if self.size:
            driver.call("cuMemcpyHtoD", self.buffer.address, address, self.size)
        self.slots[self.slot] = self.buffer.address - self.start

    def copy_out(self) -> None:
        """Copy what the kernel wrote back into the array."""
        assert self.buffer is not None
        if self.size and not self.tensor.array.read_only:
            address = self.tensor.data_ptr + self.start
            driver.call("cuMemcpyDtoH", address, self.buffer.address, self.size)
        self.buffer.close()
        self.buffer = None


@functools.cache
def _tell_of_copies() -> None:
    sys.stderr.write(
        "OpenCuTe: NumPy arrays are copied to the GPU and back at each call; "
        "tensors of a framework on the GPU are not.\n"
    )


@functools.cache
def _tell_of_driver() -> None:
    sys.stderr.write(
        "OpenCuTe: no ptxas was found, so the driver assembles kernels; that takes longer and is "
        f"kept by the driver only. {PIECES['ptxas'].hint}.\n"
    )


class PreparedCall:
    """The native host function with the slots of one call."""

    __slots__ = ("address", "device", "runner", "slots", "staged", "stream")

    def __init__(
        self, runner: CudaRunner, slots: Any, device: int, staged: tuple[StagedArray, ...]
    ) -> None:
        self.runner = runner
        self.staged = staged
        self.slots = slots
        self.address = ctypes.addressof(slots)
        self.device = device
        self.stream = raw_stream_reader()

    @property
    def reusable(self) -> bool:
        """Whether the call may be kept: arrays that are copied belong to one call."""
        return not self.staged

    def native(
        self, arguments: Described | None = None, checks: tuple[int, ...] = (), keep: Any = None
    ) -> NativeVersion | None:
        """This call for native code, None if something has to be done around its launch.

        Args:
            arguments: which of the slots later calls fill; None: the call stays as it is.
            checks: guards in words.
            keep: what these words point to.
        """
        runner = self.runner
        if self.staged or runner.prints or runner.results:
            return None
        several = driver.function_address("cuCtxGetDevice") if runner.several_devices else 0
        return NativeVersion(
            arguments, self.slots, runner.address, len(runner.launches),
            _stream_source(self.stream), self.device, runner.failed, several, checks,
            (runner, keep),
        )  # fmt: skip

    def __call__(self) -> list[Any]:
        if not self.staged:
            self._run()
            return self._results()
        _tell_of_copies()
        with driver.use_device(self.device):
            for array in self.staged:
                array.copy_in()
            # From pageable memory copies may end later, and other streams do not wait for them.
            driver.call("cuStreamSynchronize", 0)
            self._run()
            driver.call("cuCtxSynchronize")  # kernels may have run on any stream
            for array in self.staged:
                array.copy_out()
        return self._results()

    def _results(self) -> list[Any]:
        """What the host function returned: integers as bits, floats as numbers."""
        types = self.runner.results
        if not types:
            return []
        return [_number(bits, t) for bits, t in zip(self.slots[-len(types) :], types, strict=True)]

    def _run(self) -> None:
        runner = self.runner
        self.slots[0] = self.stream(self.device)
        LAUNCHES.value += len(runner.launches)
        if runner.prints:
            sys.stdout.flush()  # C's output goes through another buffer
        if runner.several_devices:
            with driver.use_device(self.device):
                code = runner.call(self.address)
        else:
            code = runner.call(self.address)
        if code == _NO_CONTEXT:  # a thread that has not used the device yet
            driver.ensure_context()
            code = runner.call(self.address)
        if code:
            runner.failed(code)


def _failed(artefacts: Artefacts, code: int) -> None:
    """Raise for what a host function returned."""
    if code & TOO_MUCH_SMEM:
        raise ArgumentError(
            f"{artefacts.name} launches a kernel with more shared memory than a block may have on "
            f"{artefacts.target}", code="OC2129",
            expected=f"at most {artefacts.target.max_smem} bytes",
            found=f"{code & (TOO_MUCH_SMEM - 1)} bytes",
        )  # fmt: skip
    if code & BAD_TENSOR_MAP:
        text, loc, hint = map_fault(code, artefacts.host.maps)
        raise ArgumentError(
            f"{artefacts.name} cannot make a tensor map: {text}", code="OC2931", loc=loc, hint=hint,
        )  # fmt: skip
    driver.check(code, f"launching {artefacts.name}")


def _stream_source(reader: Callable[[int], int]) -> Stream:
    """Where native code gets the stream that `reader` gives: torch, if it says it natively."""
    exchange = load().stream
    if reader is not current_stream and exchange:
        return Stream(exchange=exchange)
    return Stream(reader=reader)


def dynamic_smem(module: Op, kernel: str, most: int) -> int:
    """The most dynamic shared memory that launches of a kernel ask for; all of it if they decide
    that at run time."""
    found = 0
    for op in module.walk():
        if isinstance(op, LaunchFuncOp) and op.kernel.path[-1] == kernel and op.smem is not None:
            size = op.smem.op.attributes.get("value") if op.smem.op is not None else None
            found = max(found, size.value if isinstance(size, IntAttr) else most)
    return found


def has_wide_clusters(module: Op, kernel: str) -> bool:
    """Whether a launch of a kernel asks for clusters of more blocks than every device with clusters
    has, or decides that at run time."""
    for op in module.walk():
        if isinstance(op, LaunchFuncOp) and op.kernel.path[-1] == kernel:
            sides = [s for s in (op.cluster_x, op.cluster_y, op.cluster_z) if s is not None]
            known = [s.op.attributes.get("value") if s.op is not None else None for s in sides]
            blocks = [k.value if isinstance(k, IntAttr) else MAX_CLUSTER for k in known]
            if math.prod(blocks) > PORTABLE_CLUSTER:
                return True
    return False


def _host_memory(function: Op) -> set[int]:
    """Which arguments of a host function its own code, not a kernel, reads or writes through."""
    found: set[int] = set()
    for op in function.walk():
        if op.name.split(".")[-1] in ("load", "store", "tile_load", "tile_store", "copy"):
            for value in op.operands:
                root: Value = value
                while root.op is not None and root.op.name in ("cute.ptr_add", "cute.recast"):
                    root = root.op.operands[0]
                if isinstance(root, BlockArgument) and isinstance(root.type, PtrType):
                    found.add(root.index)
    return found


def _check_host_memory(value: ExternalTensor) -> None:
    if not value.array.is_cpu:
        raise ArgumentError(
            "host code reads or writes a tensor that is on the GPU", code="OC2142",
            found=str(value),
            hint="do it in a kernel, or pass a tensor in host memory",
        )  # fmt: skip


def _prints(module: Op, assertions: bool = True) -> bool:
    """Whether code tells something at run time; assertions do where they are kept."""
    told = ("cute.print", "cf.assert") if assertions else ("cute.print",)
    return any(op.name in told for op in module.walk())


def _symbols(module: Op) -> dict[str, int]:
    """What the host function calls: the driver, and C's printf where it prints."""
    out = {"cuLaunchKernelEx": driver.function_address("cuLaunchKernelEx")}
    if any(op.name == "cute.tma_descriptor" for op in module.walk()):
        for name in ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col"):
            out[name] = driver.function_address(name)
    if _prints(module):
        libc = ctypes.CDLL(None)
        for name in ("printf", "puts", "putchar", "fflush"):
            out[name] = ctypes.cast(getattr(libc, name), ctypes.c_void_p).value or 0
    return out


@functools.cache
def _sync_at_exit() -> None:
    """The driver shows what kernels printed when the device is waited for; do so before exit."""

    def flush() -> None:
        with contextlib.suppress(DeviceError):
            driver.call("cuCtxSynchronize")

    atexit.register(flush)


def _number(bits: int, type: Any) -> int | float:
    if not isinstance(type, FloatType):
        return bits
    from opencute.numeric.dtypes import DTYPES
    from opencute.numeric.scalars import decode_scalar

    dtype = DTYPES[type.name]
    return decode_scalar(bits & (1 << dtype.width) - 1, dtype)


def _float_bits(value: float, type: FloatType) -> int:
    from opencute.numeric.dtypes import DTYPES
    from opencute.numeric.scalars import encode_scalar

    return int(encode_scalar(value, DTYPES[type.name]))
