# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The driver binding where there may be no driver, and against a scripted one."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from opencute.base.errors import ArgumentError, DeviceError, MissingPieceError
from opencute.runtime import device, driver

pytestmark = pytest.mark.t0


def store(pointer, value, kind=ctypes.c_void_p):
    """Write through an output argument of the binding."""
    ctypes.cast(pointer, ctypes.POINTER(kind))[0] = value


class Script:
    """A driver made of Python functions; records the calls."""

    def __init__(self, **results):
        self.results = results
        self.calls = []
        self.current = 0
        self.stack = []

    def function(self, name):
        def call(*arguments):
            self.calls.append((name, *(a for a in arguments if isinstance(a, int))))
            result = self.results.get(name, 0)
            return result(*arguments) if callable(result) else result or self.act(name, arguments)

        return call

    def act(self, name, arguments):
        match name:
            case "cuCtxGetCurrent":
                store(arguments[0], self.current)
            case "cuCtxGetDevice":
                store(arguments[0], self.current - 100, ctypes.c_int)
            case "cuCtxSetCurrent":
                self.current = arguments[0]
            case "cuDevicePrimaryCtxRetain":
                store(arguments[0], 100 + arguments[1])
            case "cuCtxPushCurrent":
                self.stack.append(self.current)
                self.current = arguments[0]
            case "cuCtxPopCurrent":
                self.current = self.stack.pop()
            case "cuGetErrorName":
                store(arguments[1], b"CUDA_ERROR_SCRIPTED", ctypes.c_char_p)
            case "cuGetErrorString":
                store(arguments[1], b"as scripted", ctypes.c_char_p)
        return 0


@pytest.fixture
def scripted(monkeypatch):
    def make(**results):
        script = Script(**results)
        monkeypatch.setattr(driver, "function", script.function)
        monkeypatch.setattr(driver, "_initialized", [])
        monkeypatch.setattr(driver, "_primary", {})
        return script

    return make


def test_importing_loads_no_driver():
    code = (
        "import sys, opencute.runtime.launch, opencute.runtime.timing, opencute.runtime.module;"
        "from opencute.runtime import driver; assert not driver._library;"
        "assert not {'torch', 'cuda', 'llvmlite'} & set(sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


def test_a_missing_driver_is_a_missing_piece(monkeypatch):
    monkeypatch.setattr(driver, "_LIBRARY", "libcuda-that-does-not-exist.so.1")
    monkeypatch.setattr(driver, "_library", [])
    monkeypatch.setattr(driver, "_functions", {})
    monkeypatch.setattr(driver, "_initialized", [])
    assert driver.available() is False
    assert device.count() == 0
    assert driver.pointer_device(0x1000) == 0
    for use in (driver.ensure_context, device.properties, driver.driver_version):
        with pytest.raises(MissingPieceError) as caught:
            use()
        assert caught.value.code == "OC5020"
        assert "OPENCUTE_TARGET=sim" in (caught.value.hint or "")


def test_a_driver_without_devices_is_not_available(scripted):
    scripted(cuInit=100)
    assert driver.available() is False
    scripted(cuDeviceGetCount=0)
    assert driver.available() is False


@pytest.mark.parametrize("result", [1, 35, 201, 700, 999])
def test_errors_name_the_result_and_have_a_stable_code(scripted, result):
    scripted()
    with pytest.raises(DeviceError) as caught:
        driver.check(result, "cuSomething")
    text = str(caught.value)
    assert caught.value.code == f"OC4{result:03d}"
    assert f"cuSomething failed: CUDA_ERROR_SCRIPTED ({result}), as scripted" in text
    assert (caught.value.hint is not None) == (result in driver._HINTS)
    with pytest.raises(DeviceError, match="do this") as caught:
        driver.check(result, "cuSomething", hint="do this")
    driver.check(0, "cuSomething")


def test_a_result_that_the_driver_does_not_know(scripted):
    scripted(cuGetErrorName=1, cuGetErrorString=1)
    with pytest.raises(DeviceError, match="does not know"):
        driver.check(998, "cuSomething")


def test_call_initialises_once_and_raises(scripted):
    script = scripted(cuMemFree=1)
    driver.call("cuCtxSynchronize")
    driver.call("cuCtxSynchronize")
    assert [c[0] for c in script.calls] == ["cuInit", "cuCtxSynchronize", "cuCtxSynchronize"]
    with pytest.raises(DeviceError, match="cuMemFree failed"):
        driver.call("cuMemFree", 0)


def test_a_thread_without_a_context_gets_the_primary_one(scripted):
    """NVIDIA/cutlass 2507: a launch before anything else has made a context."""
    script = scripted()
    assert driver.ensure_context() == 0
    assert script.current == 100
    assert driver.ensure_context() == 0
    assert [c for c in script.calls if c[0] == "cuDevicePrimaryCtxRetain"] == [
        ("cuDevicePrimaryCtxRetain", 0)
    ]


def test_a_context_that_is_current_stays(scripted):
    script = scripted()
    script.current = 103
    assert driver.ensure_context() == 3
    assert not any(c[0] in ("cuDevicePrimaryCtxRetain", "cuCtxSetCurrent") for c in script.calls)


def test_torchs_current_device_is_preferred(scripted, monkeypatch):
    class Cuda:
        @staticmethod
        def is_initialized():
            return True

        @staticmethod
        def current_device():
            return 2

    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"cuda": Cuda}))
    script = scripted()
    assert driver.ensure_context() == 2
    assert script.current == 102


def test_use_device_switches_and_comes_back(scripted):
    script = scripted()
    with driver.use_device(0):
        assert script.current == 100
    with pytest.raises(KeyError), driver.use_device(1) as ordinal:
        assert (ordinal, script.current) == (1, 101)
        raise KeyError
    assert script.current == 100
    assert script.stack == []


def test_handles():
    class Handle:
        def __int__(self):
            return 77

    assert [driver.handle(x) for x in (None, 5, Handle())] == [0, 5, 77]
    with pytest.raises(ArgumentError) as caught:
        driver.handle(object())
    assert caught.value.code == "OC2217"


def test_a_device_that_is_not_there(scripted):
    def one(pointer):
        store(pointer, 1, ctypes.c_int)
        return 0

    scripted(cuDeviceGetCount=one)
    device._properties.cache_clear()
    with pytest.raises(ArgumentError, match="no CUDA device 7") as caught:
        device.properties(7)
    assert caught.value.code == "OC2219"
