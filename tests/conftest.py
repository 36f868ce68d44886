# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiers, skips and shared fixtures."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# Before NumPy and torch are loaded: several test processes whose products each want all cores wait
# for each other, many times as long as one core needs.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pytest  # noqa: E402

from opencute.base.knobs import KNOBS  # noqa: E402


def _gpu_count() -> int:
    try:
        import ctypes

        cuda = ctypes.CDLL("libcuda.so.1")
        n = ctypes.c_int()
        if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(n)):
            return 0
        return n.value
    except OSError:
        return 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpus = _gpu_count()
    upstream = KNOBS.upstream
    for item in items:
        if gpus and hasattr(getattr(item, "module", None), "StubDriver"):
            item.add_marker(pytest.mark.skip(reason="stands in for a driver where there is none"))
        if item.get_closest_marker("t2") and gpus < 1:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU"))
        if item.get_closest_marker("t3") and gpus < 2:
            item.add_marker(pytest.mark.skip(reason="needs two CUDA GPUs"))
        if item.get_closest_marker("upstream") and upstream is None:
            item.add_marker(pytest.mark.skip(reason="needs OPENCUTE_UPSTREAM"))


_file: Path | None = None


def _forget_the_past() -> None:
    """The garbage collector need not look again and again at what is there now."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Modules stay."""
    _forget_the_past()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """So does what the tests of other files left: traces and compiled kernels, hundreds of
    megabytes that each collection would go through."""
    global _file
    if item.path != _file:
        _file = item.path
        _forget_the_past()


def pytest_sessionfinish() -> None:
    """pytest collects garbage five times at its end."""
    _forget_the_past()


@pytest.fixture
def young_heap() -> None:
    """`gc.collect()` looks only at what the test makes, which may be called often then."""
    _forget_the_past()
