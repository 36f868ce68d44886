# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Launching kernels.

In: a `Function`, a `LaunchConfig` and packed parameters. Out: the kernel is queued on its stream::

    params = KernelParams(ctypes.c_void_p(x), ctypes.c_int32(n))
    launch(kernel, LaunchConfig(grid=(n // 256,), block=256), params)

Everything is checked before the driver sees it, so that a wrong launch names its mistake. `pack`
is the checked config as the driver's CUlaunchConfig; native code may keep it and write only the
stream.
"""

from __future__ import annotations

import ctypes
import operator
from dataclasses import dataclass
from typing import Any, SupportsIndex
from weakref import WeakSet

from opencute.arch.target import (
    MAX_BLOCK,
    MAX_CLUSTER,
    MAX_GRID,
    MAX_THREADS,
    PORTABLE_CLUSTER,
)
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError
from opencute.runtime import driver
from opencute.runtime.device import DeviceProperties, properties
from opencute.runtime.module import Function, check_smem
from opencute.runtime.stream import stream_handle

__all__ = [
    "STREAM_OFFSET",
    "Extents",
    "KernelParams",
    "LaunchConfig",
    "PackedConfig",
    "check_launch",
    "launch",
    "max_active_clusters",
]

Extents = SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex]


# CUlaunchAttributeID
_COOPERATIVE = 2
_CLUSTER_DIMENSION = 4
_CLUSTER_SCHEDULING = 5
_PROGRAMMATIC_SERIALIZATION = 6
_PROGRAMMATIC_EVENT = 7
_PRIORITY = 8
_MEM_SYNC_DOMAIN = 10
_PREFERRED_CLUSTER_DIMENSION = 11
_COMPLETION_EVENT = 12
_SMEM_CARVEOUT = 14

_CLUSTER_POLICIES = {"default": 0, "spread": 1, "load_balancing": 2}


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: the id, padding to 8 bytes, 64 bytes of value."""

    _fields_ = [
        ("id", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
        ("value", ctypes.c_uint32 * 16),
    ]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_uint32),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
    ]


STREAM_OFFSET: int = _Config.stream.offset
"""Where in a packed config the stream's handle is, for native code that rewrites it per call."""


def _extents(value: Extents, what: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """One to three positive extents, padded with 1."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    try:
        if not 1 <= len(parts) <= 3 or any(isinstance(p, bool) for p in parts):
            raise TypeError
        sizes = tuple(operator.index(p) for p in parts)
    except TypeError:
        raise ArgumentError(
            f"{what} is not a size",
            code="OC2100",
            expected="an integer, or one to three of them",
            found=repr(value)[:80],
        ) from None
    x, y, z = (*sizes, 1, 1)[:3]
    for axis, size, limit in zip("xyz", (x, y, z), limits, strict=True):
        if size <= 0:
            raise ArgumentError(
                f"{what} has extent {size} along {axis}",
                code="OC2211",
                expected="at least 1",
                found=repr(value)[:80],
                hint="skip the launch when there is nothing to do" if what == "grid" else None,
            )
        if size > limit:
            raise ArgumentError(
                f"{what} is too large along {axis}",
                code="OC2212",
                expected=f"at most {limit}",
                found=size,
            )
    return x, y, z


@dataclass(frozen=True)
class LaunchConfig:
    """How a kernel is launched.

    Args:
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        cluster: blocks per cluster; the kernel's own when omitted.
        fallback_cluster: when given, `cluster` is only preferred and this is guaranteed.
        smem: dynamic shared memory in bytes.
        stream: whatever `stream_handle` takes; None is the current stream at launch time.
        cooperative: all blocks resident at once, so that the grid may synchronise.
        use_pdl: may start before the previous kernel on the stream has ended (programmatic
            dependent launch).
        priority: of the kernel among others; lower numbers go first.
        cluster_scheduling: "spread" or "load_balancing" instead of the device's choice.
        smem_carveout: percentage of the L1 that becomes shared memory, or -1.
        mem_sync_domain: "default" or "remote".
        programmatic_event: event handle that the kernel's launch trigger fires, its flags, and
            whether it fires at block start instead.
        completion_event: event handle that fires when all blocks have started, and its flags.
    """

    grid: Extents
    block: Extents
    cluster: Extents | None = None
    fallback_cluster: Extents | None = None
    smem: int = 0
    stream: Any = None
    cooperative: bool = False
    use_pdl: bool = False
    priority: int | None = None
    cluster_scheduling: str | None = None
    smem_carveout: int | None = None
    mem_sync_domain: str | None = None
    programmatic_event: tuple[Any, int, bool] | None = None
    completion_event: tuple[Any, int] | None = None

    def pack(self) -> PackedConfig:
        """The config as the driver takes it.

        Raises:
            ArgumentError: an extent that is zero, negative, too large or no integer; more than 1024
                threads; clusters that do not divide the grid; an unknown option.
        """
        grid = _extents(self.grid, "grid", MAX_GRID)
        block = _extents(self.block, "block", MAX_BLOCK)
        threads = block[0] * block[1] * block[2]
        if threads > MAX_THREADS:
            raise ArgumentError(
                "block has too many threads",
                code="OC2212",
                expected=f"at most {MAX_THREADS}",
                found=f"{threads} ({' x '.join(map(str, block))})",
            )
        smem = operator.index(self.smem)
        if not 0 <= smem < 1 << 31:
            raise ArgumentError("smem is not an amount of shared memory", code="OC2129", found=smem)
        cluster, attributes = self._attributes(grid)
        return PackedConfig(grid, block, cluster, smem, attributes)

    def _attributes(
        self, grid: tuple[int, int, int]
    ) -> tuple[tuple[int, int, int] | None, list[_Attribute]]:
        """The guaranteed cluster, and the attributes."""
        out: list[_Attribute] = []
        cluster = _cluster(self.cluster, "cluster", grid)
        fallback = _cluster(self.fallback_cluster, "fallback_cluster", grid)
        if fallback is not None and cluster is not None:
            if any(c % f for c, f in zip(cluster, fallback, strict=True)):
                raise ArgumentError(
                    "cluster is not a multiple of fallback_cluster",
                    code="OC2213",
                    expected=f"a multiple of {fallback}",
                    found=cluster,
                )
            out.append(_attribute(_PREFERRED_CLUSTER_DIMENSION, *cluster))
        guaranteed = fallback or cluster
        if guaranteed is not None:
            out.append(_attribute(_CLUSTER_DIMENSION, *guaranteed))
        if self.cooperative:
            out.append(_attribute(_COOPERATIVE, 1))
        if self.use_pdl:
            out.append(_attribute(_PROGRAMMATIC_SERIALIZATION, 1))
        if self.priority is not None:
            out.append(_attribute(_PRIORITY, self.priority))
        if self.cluster_scheduling is not None:
            policy = _choice("cluster_scheduling", self.cluster_scheduling, _CLUSTER_POLICIES)
            out.append(_attribute(_CLUSTER_SCHEDULING, policy))
        if self.mem_sync_domain is not None:
            domain = _choice("mem_sync_domain", self.mem_sync_domain, {"default": 0, "remote": 1})
            out.append(_attribute(_MEM_SYNC_DOMAIN, domain))
        if self.smem_carveout is not None:
            if not -1 <= self.smem_carveout <= 100:
                raise ArgumentError(
                    "smem_carveout is a percentage, or -1", code="OC2214", found=self.smem_carveout
                )
            out.append(_attribute(_SMEM_CARVEOUT, self.smem_carveout))
        if self.programmatic_event is not None:
            event, flags, at_start = self.programmatic_event
            out.append(_event(_PROGRAMMATIC_EVENT, event, flags, int(at_start)))
        if self.completion_event is not None:
            event, flags = self.completion_event
            out.append(_event(_COMPLETION_EVENT, event, flags))
        return guaranteed, out


def _attribute(number: int, *words: int) -> _Attribute:
    value = (ctypes.c_uint32 * 16)(*(w & 0xFFFFFFFF for w in words))
    return _Attribute(number, 0, value)


def _event(number: int, event: Any, *words: int) -> _Attribute:
    handle = driver.handle(event)
    return _attribute(number, handle & 0xFFFFFFFF, handle >> 32, *words)


def _choice(what: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise ArgumentError(
            f"{what} has no such value", code="OC2214", expected=", ".join(choices), found=value
        )
    return choices[value]


def _cluster(
    value: Extents | None, what: str, grid: tuple[int, int, int]
) -> tuple[int, int, int] | None:
    if value is None:
        return None
    cluster = _extents(value, what, (MAX_CLUSTER, MAX_CLUSTER, MAX_CLUSTER))
    blocks = cluster[0] * cluster[1] * cluster[2]
    if blocks > MAX_CLUSTER:
        raise ArgumentError(
            f"{what} has too many blocks",
            code="OC2213",
            expected=f"at most {PORTABLE_CLUSTER}, on some devices {MAX_CLUSTER}",
            found=f"{blocks} ({' x '.join(map(str, cluster))})",
        )
    if any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise ArgumentError(
            f"{what} does not divide the grid",
            code="OC2213",
            expected=f"a grid that is a multiple of {cluster}",
            found=grid,
            hint="round the grid up to a multiple of the cluster",
        )
    return cluster


class PackedConfig:
    """A checked launch config as the driver's CUlaunchConfig; made by `LaunchConfig.pack`.

    Args:
        grid: blocks.
        block: threads.
        cluster: guaranteed blocks per cluster.
        smem: dynamic shared memory.
        attributes: CUlaunchAttribute records.
    """

    def __init__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int] | None,
        smem: int,
        attributes: list[Any],
    ) -> None:
        self.grid = grid
        self.block = block
        self.cluster = cluster
        self.smem = smem
        self._attributes = (_Attribute * len(attributes))(*attributes)
        self._config = _Config(
            (ctypes.c_uint32 * 3)(*grid),
            (ctypes.c_uint32 * 3)(*block),
            smem,
            None,
            ctypes.addressof(self._attributes) if attributes else None,
            len(attributes),
        )
        self.address: int = ctypes.addressof(self._config)
        self._checked: WeakSet[Function] = WeakSet()

    @property
    def stream(self) -> int:
        """The stream's handle; native code may write it at ``address + STREAM_OFFSET``."""
        return self._config.stream or 0

    @stream.setter
    def stream(self, handle: int) -> None:
        self._config.stream = handle or None

    def attributes(self) -> dict[int, bytes]:
        """The attributes by CUlaunchAttributeID, for tests and printing."""
        return {a.id: bytes(a.value) for a in self._attributes}

    def check(self, function: Function) -> None:
        """Check against the kernel and its device, and raise the kernel's shared memory limit.

        Raises:
            ArgumentError: more shared memory or threads than there can be, or clusters on a device
                that has none.
        """
        if function in self._checked:
            return
        attributes = function.attributes
        device = properties(function.device)
        check_launch(self, function.name, attributes.static_smem, attributes.max_threads, device)
        function.set_max_dynamic_smem(self.smem)
        if self.cluster is not None and _blocks(self.cluster) > PORTABLE_CLUSTER:
            function.allow_non_portable_clusters()
        self._checked.add(function)


def _blocks(cluster: tuple[int, int, int]) -> int:
    return cluster[0] * cluster[1] * cluster[2]


def check_launch(
    config: PackedConfig,
    kernel: str,
    static_smem: int,
    max_threads: int,
    device: DeviceProperties,
) -> None:
    """The part of `PackedConfig.check` that needs no driver.

    Raises:
        ArgumentError: the device or the kernel does not allow the launch.
    """
    check_smem(static_smem, config.smem, device, kernel)
    threads = _blocks(config.block)
    if threads > max_threads:
        raise ArgumentError(
            f"{kernel} cannot have that many threads per block",
            code="OC2215",
            expected=f"at most {max_threads}, because of its registers or its declared maximum",
            found=threads,
        )
    if config.cluster is not None and not device.clusters:
        raise ArgumentError(
            f"{device.name} ({device.sm}) has no clusters",
            code="OC2213",
            expected="sm_90 or newer, or no cluster",
            found=config.cluster,
        )


def max_active_clusters(config: LaunchConfig, function: Function) -> int:
    """How many clusters of a launch the device holds at a time.

    Raises:
        ArgumentError: as `LaunchConfig.pack` and `PackedConfig.check`.
    """
    packed = config.pack()
    packed.check(function)
    out = ctypes.c_int()
    with driver.use_device(function.device):
        driver.call(
            "cuOccupancyMaxActiveClusters", ctypes.byref(out), function.handle, packed.address
        )
    return out.value


class KernelParams:
    """Kernel arguments, packed as the array of pointers that the driver reads.

    Args:
        values: ctypes objects of the parameters' exact sizes, or bytes for structs.
    """

    def __init__(self, *values: Any) -> None:
        # The driver reads through the pointers at launch: the cells must stay where they are.
        self._cells = [
            ctypes.create_string_buffer(v, len(v)) if isinstance(v, bytes) else v for v in values
        ]
        self._array = (ctypes.c_void_p * max(len(values), 1))(
            *[ctypes.addressof(c) for c in self._cells]
        )
        self.address: int = ctypes.addressof(self._array)


def launch(
    function: Function, config: LaunchConfig | PackedConfig, params: KernelParams | int = 0
) -> None:
    """Queue a kernel.

    Args:
        function: the kernel.
        config: how; a `PackedConfig` is checked once per kernel and runs on the stream it holds.
        params: the arguments, or the address of an array of pointers to them.

    Raises:
        ArgumentError: the launch cannot work on this device.
        DeviceError: the driver refuses it.
    """
    address = params if isinstance(params, int) else params.address
    with driver.use_device(function.device):
        if isinstance(config, LaunchConfig):
            packed = config.pack()
            packed.stream = stream_handle(config.stream, function.device)
        else:
            packed = config
        packed.check(function)
        result = driver.function("cuLaunchKernelEx")(packed.address, function.handle, address, None)
    driver.check(result, f"launching {function.name}")
    COUNTERS.launches += 1
