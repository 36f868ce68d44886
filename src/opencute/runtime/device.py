# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine and what they allow.

In: a device's ordinal. Out: a `DeviceProperties` record::

    properties(0).name, properties(0).sm, properties(0).smem_per_block_optin
    # ("NVIDIA H200", "sm_90", 232448)
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

from opencute.base.errors import ArgumentError
from opencute.runtime import driver

__all__ = ["DeviceProperties", "count", "current", "properties", "synchronize"]

# CUdevice_attribute numbers of the fields below.
_ATTRIBUTES = {
    "max_threads_per_block": 1,
    "smem_per_block": 8,
    "warp_size": 10,
    "registers_per_block": 12,
    "clock_khz": 13,
    "sms": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "max_threads_per_sm": 39,
    "smem_per_sm": 81,
    "registers_per_sm": 82,
    "cooperative": 95,
    "host_memory": 100,
    "smem_per_block_optin": 97,
    "max_blocks_per_sm": 106,
    "smem_reserved_per_block": 111,
    "clusters": 120,
}
_MAX_BLOCK_DIM_X, _MAX_GRID_DIM_X = 2, 5
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


@dataclass(frozen=True)
class DeviceProperties:
    """What one GPU is and allows.

    Args:
        ordinal: its number in this process.
        name: marketing name.
        capability: compute capability, ``(9, 0)``.
        sms: streaming multiprocessors.
        warp_size: threads per warp.
        max_threads_per_block: threads per block.
        max_threads_per_sm: resident threads per SM.
        max_blocks_per_sm: resident blocks per SM.
        max_block: largest block extents.
        max_grid: largest grid extents.
        smem_per_block: shared memory per block without opting in.
        smem_per_block_optin: shared memory per block with `Function.set_max_dynamic_smem`.
        smem_per_sm: shared memory per SM.
        smem_reserved_per_block: shared memory that the driver takes from each block.
        registers_per_block: 32-bit registers per block.
        registers_per_sm: 32-bit registers per SM.
        l2_bytes: size of the L2 cache.
        memory_bytes: device memory.
        clock_khz: typical SM clock, 0 where the driver does not say.
        memory_clock_khz: peak memory clock, 0 where the driver does not say.
        memory_bus_bits: width of the memory bus.
        cooperative: whether cooperative launches work.
        clusters: whether cluster launches work.
        host_memory: whether kernels read and write all host memory, at full speed (Grace Hopper).
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    sms: int
    warp_size: int
    max_threads_per_block: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    smem_per_block: int
    smem_per_block_optin: int
    smem_per_sm: int
    smem_reserved_per_block: int
    registers_per_block: int
    registers_per_sm: int
    l2_bytes: int
    memory_bytes: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    cooperative: bool
    clusters: bool
    host_memory: bool

    @property
    def sm(self) -> str:
        """The architecture without suffix, e.g. ``"sm_90"``."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def memory_bandwidth(self) -> float:
        """Peak bytes per second of device memory, from its clock (two transfers each) and bus."""
        return 2e3 * self.memory_clock_khz * self.memory_bus_bits / 8


def count() -> int:
    """How many GPUs this process sees; 0 without a driver."""
    if not driver.available():
        return 0
    n = ctypes.c_int()
    driver.call("cuDeviceGetCount", ctypes.byref(n))
    return n.value


def current() -> int:
    """The ordinal of the current device; a context is made if there is none.

    Raises:
        DeviceError: the device cannot be used.
        MissingPieceError: there is no driver.
    """
    return driver.ensure_context()


def synchronize(ordinal: int | None = None) -> None:
    """Wait until a device, the current one when omitted, has done all its work.

    Raises:
        DeviceError: a kernel failed.
    """
    with driver.use_device(current() if ordinal is None else ordinal):
        driver.call("cuCtxSynchronize")


def properties(ordinal: int | None = None) -> DeviceProperties:
    """The properties of a device, of the current one when omitted.

    Raises:
        ArgumentError: no such device.
        DeviceError: the driver failed.
        MissingPieceError: there is no driver.
    """
    return _properties(current() if ordinal is None else ordinal)


@cache
def _properties(ordinal: int) -> DeviceProperties:
    n = ctypes.c_int()
    driver.call("cuDeviceGetCount", ctypes.byref(n))
    if not 0 <= ordinal < n.value:
        raise ArgumentError(
            f"there is no CUDA device {ordinal}",
            code="OC2219",
            expected=f"0 to {n.value - 1}" if n.value else "nothing: no device is visible",
            found=ordinal,
        )
    device = ctypes.c_int()
    driver.call("cuDeviceGet", ctypes.byref(device), ordinal)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        driver.call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def extents(first: int) -> tuple[int, int, int]:
        return attribute(first), attribute(first + 1), attribute(first + 2)

    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGetName", name, len(name), device)
    memory = ctypes.c_size_t()
    driver.call("cuDeviceTotalMem", ctypes.byref(memory), device)
    values = {field: attribute(number) for field, number in _ATTRIBUTES.items()}
    flags = {field: bool(values.pop(field)) for field in ("cooperative", "clusters", "host_memory")}
    return DeviceProperties(
        ordinal=ordinal,
        name=name.value.decode(errors="replace"),
        capability=(attribute(_CAPABILITY_MAJOR), attribute(_CAPABILITY_MINOR)),
        max_block=extents(_MAX_BLOCK_DIM_X),
        max_grid=extents(_MAX_GRID_DIM_X),
        memory_bytes=memory.value,
        **values,
        **flags,
    )
