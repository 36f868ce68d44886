# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiers, skips and shared fixtures."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator

# Before NumPy and torch are loaded: several test processes whose products each want all cores wait
# for each other, many times as long as one core needs.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# What somebody has tuned here before must not choose other kernels. Processes that this one starts
# share the folder.
if "OPENCUTE_CACHE_DIR" not in os.environ:
    os.environ["OPENCUTE_CACHE_DIR"] = tempfile.mkdtemp(prefix="opencute-tests-")
    atexit.register(shutil.rmtree, os.environ["OPENCUTE_CACHE_DIR"], ignore_errors=True)

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
        marks = {mark.name for mark in item.iter_markers()}
        if "t2" in marks and gpus < 1:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU"))
        if "t3" in marks and gpus < 2:
            item.add_marker(pytest.mark.skip(reason="needs two CUDA GPUs"))
        if "upstream" in marks and upstream is None:
            item.add_marker(pytest.mark.skip(reason="needs OPENCUTE_UPSTREAM"))


_ENOUGH = 4  # collections of the second generation, of some 7000 objects each


def _forget_the_past(generation: int = 1) -> None:
    """What is there now stays: the garbage collector need not look at it again and again."""
    gc.collect(generation)
    gc.freeze()


def pytest_collection_finish() -> None:
    """Modules stay."""
    _forget_the_past(2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """So do traces and compiled kernels, millions of objects at the end."""
    if gc.get_count()[2] >= _ENOUGH:
        _forget_the_past()


def pytest_sessionfinish() -> None:
    """pytest collects garbage five times at its end."""
    _forget_the_past()


_STAGES = (".ptx", ".cubin", ".sass", ".mlir", ".ll")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Stages of kernels go where a test says, and not to where pytest was started."""
    before = {name for name in os.listdir() if name.endswith(_STAGES)}
    yield
    left = {name for name in os.listdir() if name.endswith(_STAGES)} - before
    assert not left, "written into the current folder: use tmp_path"


@pytest.fixture
def young_heap() -> None:
    """`gc.collect()` looks only at what the test makes, which may be called often then."""
    _forget_the_past(2)
