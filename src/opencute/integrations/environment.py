# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where kernels of this process run, and how the process is prepared for the simulator.

In: the knob `OPENCUTE_TARGET` and the CUDA driver. Out: `uses_simulator()` and `prepare()`::

    if uses_simulator():
        prepare()        # torch, when imported, gets a simulated CUDA device
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import opencute.base
from opencute.base.knobs import KNOBS, Knobs
from opencute.integrations import cuda_stub
from opencute.integrations.import_hook import after_import, no_longer_after_import

__all__ = [
    "Gpu", "driver_version", "gpu_count", "gpus", "own_cutlass_first", "prepare", "put_back",
    "source_root", "uses_simulator",
]  # fmt: skip


_MAJOR, _MINOR = 75, 76  # attributes: compute capability


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


@dataclass(frozen=True)
class Gpu:
    """A CUDA device: its name and compute capability."""

    name: str
    capability: tuple[int, int]


def gpus() -> list[Gpu]:
    """The CUDA devices of this machine."""
    driver = _driver()
    found: list[Gpu] = []
    for ordinal in range(gpu_count() if driver is not None else 0):
        assert driver is not None
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
        found.append(Gpu(name.value.decode(errors="replace"), (major.value, minor.value)))
    return found


def source_root() -> Path:
    """The folder from which this copy of OpenCuTe is imported; our `cutlass` lies there too."""
    return Path(opencute.base.__file__).resolve().parents[2]


def own_cutlass_first() -> None:
    """Make `import cutlass` mean OpenCuTe in this process and in those that it starts."""
    os.environ[Knobs.alias.env] = "1"
    root = source_root()
    own = root / "cutlass" / "__init__.py"
    if not own.is_file() or "cutlass" in sys.modules:
        return
    spec = importlib.util.find_spec("cutlass")
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != own:
        sys.path.insert(0, str(root))


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
    if not cuda_stub.is_stub(sys.modules.get("cuda.bindings.driver")) and cuda_stub.install():
        _undo.append(cuda_stub.uninstall)

    def install_torch(_: object) -> None:
        from opencute.integrations import torch_sim
        from opencute.jit.runners import use_memory_marks

        if not torch_sim.installed():
            torch_sim.install()
            _undo.append(torch_sim.uninstall)
        use_memory_marks(torch_sim)
        _undo.append(lambda: use_memory_marks(None))

    _undo.append(lambda: no_longer_after_import("torch", install_torch))
    after_import("torch", install_torch)


_undo: list[Callable[[], None]] = []  # what `prepare` has done


@contextmanager
def put_back() -> Generator[None, None, None]:
    """Undo after a block what `prepare` and `own_cutlass_first` did in it."""
    before, alias = len(_undo), os.environ.get(Knobs.alias.env)
    try:
        yield
    finally:
        while len(_undo) > before:
            _undo.pop()()
        if alias is None:
            os.environ.pop(Knobs.alias.env, None)
        else:
            os.environ[Knobs.alias.env] = alias
