# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What persistent kernels ask about the device: `cutlass.utils.HardwareInfo`.

In: a device's number. Out: counts; in the simulator those of a usual part of its architecture::

    blocks = HardwareInfo().get_max_active_clusters(2) * 2
"""

from __future__ import annotations

import ctypes
import functools
import operator
from typing import Any

from opencute.arch.target import MAX_CLUSTER, target
from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.runtime import device, driver
from opencute.runtime.launch import LaunchConfig, max_active_clusters
from opencute.runtime.module import Module

__all__ = ["HardwareInfo"]

# By compute capability times ten: multiprocessors and MiB of L2 of a usual part.
_PARTS = {
    80: (108, 40), 86: (84, 6), 87: (16, 4), 88: (16, 4), 89: (128, 72), 90: (132, 50),
    100: (148, 126), 103: (148, 126), 110: (20, 32), 120: (170, 96), 121: (48, 24),
}  # fmt: skip
# The driver assembles it; what counts is that a block has a multiprocessor for itself.
_EMPTY = """.version 7.8
.target sm_90
.address_size 64
.visible .entry opencute_empty() { ret; }
"""


class HardwareInfo:
    """Counts of a device.

    Args:
        device_id: its number; those of other devices than the current one can be asked for too.

    Raises:
        ArgumentError: OC2235, there is no such device.
    """

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = operator.index(device_id)
        self.target = run_target()
        most = device.count() if self.target.kind == "cuda" else 1
        if not 0 <= self.device_id < most:
            raise ArgumentError(
                "there is no such device", code="OC2235", expected=f"0 to {most - 1}",
                found=self.device_id,
            )  # fmt: skip

    @property
    def _part(self) -> tuple[int, int]:
        if self.target.kind == "cuda":
            found = device.properties(self.device_id)
            return found.sms, found.l2_bytes
        count, mebibytes = _PARTS[target(self.target.arch).number]
        return count, mebibytes << 20

    def get_device_multiprocessor_count(self) -> int:
        """Multiprocessors (SMs)."""
        return self._part[0]

    def get_l2_cache_size_in_bytes(self) -> int:
        """Size of the L2 cache."""
        return self._part[1]

    def get_max_active_clusters(self, cluster_size: int, stream: Any = None) -> int:
        """How many clusters run at a time when each block has a multiprocessor for itself.

        Args:
            cluster_size: blocks per cluster.
            stream: accepted; the answer does not depend on it.

        Raises:
            ArgumentError: OC2236, the device has no such clusters.
        """
        size = operator.index(cluster_size)
        record = target(self.target.arch)
        most = MAX_CLUSTER if record.has_clusters else 1
        if not 1 <= size <= most:
            raise ArgumentError(
                f"there are no clusters of {size} blocks on {record.name}", code="OC2236",
                expected=f"1 to {most}", found=size,
            )  # fmt: skip
        count = self._part[0]
        if size == 1 or self.target.kind != "cuda":
            return count // size
        return _occupancy(self.device_id, size)


@functools.lru_cache(maxsize=64)
def _occupancy(ordinal: int, size: int) -> int:
    """What the driver says: clusters do not cross the borders of processor groups."""
    kernel = Module(_EMPTY, ordinal).function("opencute_empty")
    kernel.set_max_dynamic_smem(device.properties(ordinal).smem_per_block_optin)
    room = ctypes.c_size_t()
    with driver.use_device(ordinal):
        driver.call(
            "cuOccupancyAvailableDynamicSMemPerBlock", ctypes.byref(room), kernel.handle, 1, 1
        )
    config = LaunchConfig(grid=size, block=128, cluster=size, smem=room.value)
    return max_active_clusters(config, kernel)
