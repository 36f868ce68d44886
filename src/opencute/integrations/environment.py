# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where kernels of this process run, and how the process is prepared for the simulator.

In: the knob `OPENCUTE_TARGET` and the CUDA driver. Out: `uses_simulator()` and `prepare()`::

    if uses_simulator():
        prepare()        # torch, when imported, gets a simulated CUDA device
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

from opencute.base.knobs import KNOBS
from opencute.integrations import cuda_stub
from opencute.integrations.import_hook import after_import

__all__ = ["driver_version", "gpu_count", "prepare", "uses_simulator"]


@lru_cache(maxsize=1)
def _driver() -> ctypes.CDLL | None:
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def driver_version() -> tuple[int, int] | None:
    """The CUDA version that the installed driver supports, or None when there is no driver."""
    driver = _driver()
    value = ctypes.c_int()
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(value)):
        return None
    return value.value // 1000, value.value % 1000 // 10


@lru_cache(maxsize=1)
def gpu_count() -> int:
    """How many CUDA devices the driver offers; 0 without a driver or without a usable device."""
    driver = _driver()
    count = ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def uses_simulator() -> bool:
    """Whether kernels run in the simulator: asked for by the target knob, or no GPU is present."""
    target = KNOBS.target
    if target:
        return target.split(":", maxsplit=1)[0] == "sim"
    return gpu_count() == 0


def prepare() -> None:
    """Make files that say ``device="cuda"`` run with no GPU, in this process.

    Torch is not imported here; when somebody imports it, the simulated device is installed at once.
    """
    cuda_stub.install()

    def install_torch(_: object) -> None:
        from opencute.integrations import torch_sim

        torch_sim.install()

    after_import("torch", install_torch)
