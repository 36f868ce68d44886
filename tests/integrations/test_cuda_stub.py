# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the CUDA bindings."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from opencute.integrations import cuda_stub

pytestmark = pytest.mark.t0


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    monkeypatch.setattr(cuda_stub, "_available", lambda: False)
    before = {k: v for k, v in sys.modules.items() if k.split(".")[0] == "cuda"}
    for name in before:
        monkeypatch.delitem(sys.modules, name)
    assert cuda_stub.install()
    yield (
        importlib.import_module("cuda.bindings.driver"),
        importlib.import_module("cuda.bindings.runtime"),
    )
    cuda_stub.uninstall()
    assert not [k for k in sys.modules if k.startswith("cuda.bindings")]


def test_the_real_bindings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_stub, "_available", lambda: True)
    assert not cuda_stub.install()
    assert not cuda_stub.is_stub(sys.modules.get("cuda.bindings.driver"))


def test_streams_are_integers_with_an_address(modules: tuple[Any, Any]) -> None:
    driver, runtime = modules
    stream = driver.CUstream(0x1234)
    assert int(stream) == 0x1234
    assert ctypes.c_void_p.from_address(stream.getPtr()).value == 0x1234
    assert stream == driver.CUstream(0x1234)
    assert stream != driver.CUevent(0x1234)
    assert len({stream, driver.CUstream(0x1234)}) == 1
    assert driver.CUstream(stream) == stream
    assert runtime.cudaStream_t is driver.CUstream
    assert cuda_stub.is_stub(driver)
    assert repr(stream) == "<CUstream 0x1234>"


def test_ways_to_import(modules: tuple[Any, Any]) -> None:
    namespace: dict[str, Any] = {}
    exec(
        "import cuda.bindings.driver as a\nfrom cuda.bindings import driver as b, runtime\n"
        "from cuda.bindings.driver import CUstream\nimport cuda.bindings.runtime",
        namespace,
    )
    assert namespace["a"] is namespace["b"] is modules[0]


def test_driver_calls(modules: tuple[Any, Any]) -> None:
    driver, _ = modules
    ok = driver.CUresult.CUDA_SUCCESS
    assert driver.cuInit(0) == (ok,)
    assert driver.cuDeviceGetCount() == (ok, 1)
    major = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    assert driver.cuDeviceGetAttribute(major, 0) == (ok, 9)
    result, stream = driver.cuStreamCreate(0)
    assert result == ok
    assert driver.cuStreamSynchronize(stream) == (ok,)
    assert driver.cuGetErrorName(ok) == (ok, b"CUDA_SUCCESS")
    _, start = driver.cuEventCreate(0)
    _, end = driver.cuEventCreate(0)
    assert driver.cuEventElapsedTime(start, end)[0] != ok
    driver.cuEventRecord(start, stream)
    driver.cuEventRecord(end, stream)
    assert driver.cuEventElapsedTime(start, end)[1] >= 0


def test_memory_is_real(modules: tuple[Any, Any]) -> None:
    _, runtime = modules
    ok = runtime.cudaError_t.cudaSuccess
    result, address = runtime.cudaMalloc(64)
    assert result == ok
    assert address % 256 == 0
    assert runtime.cudaMemset(address, 7, 64) == (ok,)
    _, other = runtime.cudaMalloc(64)
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice
    assert runtime.cudaMemcpy(other, address, 64, kind) == (ok,)
    assert ctypes.string_at(other, 64) == b"\7" * 64
    assert runtime.cudaFree(address) == (ok,)
    assert runtime.cudaFree(address) != (ok,)
