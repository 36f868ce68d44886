# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Contexts, devices, modules, streams and memory on a GPU."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from opencute.base.errors import ArgumentError, DeviceError
from opencute.runtime import device, driver
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.module import Module
from opencute.runtime.stream import Event, Stream, current_stream, is_capturing, stream_handle
from runtime.gpu_code import FAULT, FILL, SHARED

pytestmark = pytest.mark.t2


def in_child(code: str) -> str:
    """Run code in a fresh interpreter, where no context exists yet; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_first_thing_a_process_does_may_be_a_load():
    """No context, no torch: the primary context is retained by itself."""
    here = Path(__file__).parents[1]
    code = f"""
import sys; sys.path.insert(0, {str(here)!r})
from runtime.gpu_code import FILL
from opencute.runtime.module import Module
print(Module(FILL).function("fill").attributes.local_bytes)
"""
    assert in_child(code) == "0"


@pytest.mark.parametrize("first", ["torch", "ours"])
def test_torch_shares_the_context(first):
    pytest.importorskip("torch")
    code = f"""
import ctypes, torch
from opencute.runtime import driver
from opencute.runtime.memory import DeviceBuffer
import numpy as np
if {first!r} == "torch":
    t = torch.arange(4, device="cuda")
else:
    driver.ensure_context()
    t = torch.arange(4, device="cuda")
context = ctypes.c_void_p()
driver.call("cuCtxGetCurrent", ctypes.byref(context))
assert context.value == driver._primary_context(0)
out = np.empty(4, np.int64)
driver.call("cuMemcpyDtoH", out.ctypes.data, t.data_ptr(), 32)
print(out.tolist(), driver.pointer_device(t.data_ptr()))
"""
    assert in_child(code) == "[0, 1, 2, 3] 0"


def test_a_new_thread_gets_a_context():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((driver.ensure_context(), Stream())))
    thread.start()
    thread.join()
    assert seen[0][0] == 0


def test_device_properties_agree_with_torch():
    ours = device.properties()
    assert driver.available()
    assert device.count() >= 1
    assert ours.warp_size == 32
    assert ours.smem_per_block == 48 << 10
    assert ours.max_grid == (2**31 - 1, 65535, 65535)
    assert driver.driver_version() >= (12, 0)
    torch = pytest.importorskip("torch")
    theirs = torch.cuda.get_device_properties(ours.ordinal)
    assert ours.name == theirs.name
    assert ours.capability == (theirs.major, theirs.minor)
    assert ours.sms == theirs.multi_processor_count
    assert ours.memory_bytes == theirs.total_memory
    assert ours.l2_bytes == theirs.L2_cache_size
    assert ours.smem_per_block_optin == theirs.shared_memory_per_block_optin


def test_properties_of_a_missing_device():
    with pytest.raises(ArgumentError, match="no CUDA device 99"):
        device.properties(99)


def test_functions_and_variables():
    with Module(FILL) as module:
        fill = module.function("fill")
        assert module.function("fill") is fill
        facts = fill.attributes
        assert 0 < facts.registers <= 32
        assert (facts.local_bytes, facts.static_smem, facts.max_threads) == (0, 0, 1024)
        major, minor = device.properties().capability
        assert facts.binary_version == 10 * major + minor
        assert fill.max_blocks_per_sm(1024) >= 1
        address, size = module.global_variable("counter")
        assert address
        assert size == 4
        with pytest.raises(ArgumentError, match="no kernel 'flil'"):
            module.function("flil")
    with pytest.raises(ArgumentError, match="unloaded"):
        module.function("fill")


def test_bad_code_shows_what_the_assembler_says():
    with pytest.raises(DeviceError) as caught:
        Module(FILL.replace("st.global.u32", "st.glubal.u32"))
    assert caught.value.code == "OC4218"
    assert "glubal" in str(caught.value.found)
    with pytest.raises(DeviceError):
        Module(b"nonsense")


def test_dynamic_shared_memory_limits():
    shared = Module(SHARED).function("shared")
    limit = device.properties().smem_per_block_optin
    shared.set_max_dynamic_smem(limit)
    shared.set_max_dynamic_smem(1024)
    assert shared._attribute(8) == limit
    with pytest.raises(ArgumentError, match="more shared memory") as caught:
        shared.set_max_dynamic_smem(512 << 20)
    assert caught.value.code == "OC2129"


def test_buffers():
    array = np.arange(1000, dtype=np.int32)
    with DeviceBuffer.of(array) as buffer:
        assert np.array_equal(buffer.numpy(np.int32), array)
        assert driver.pointer_device(buffer.address) == buffer.device
        buffer.fill(0xFF)
        assert (buffer.numpy(np.int32, (10, 10)) == -1).all()
        with pytest.raises(ArgumentError):
            buffer.write(np.zeros(2000, np.int32))
        with pytest.raises(ArgumentError):
            buffer.numpy(np.int32, (1001,))
    with pytest.raises(ArgumentError):
        DeviceBuffer(0)
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        DeviceBuffer(1 << 50)


def test_streams_and_events():
    stream, start, end = Stream(), Event(), Event()
    buffer = DeviceBuffer(64 << 20)
    start.record(stream)
    buffer.fill(1, stream.handle)
    end.record(stream)
    stream.synchronize()
    assert stream.query()
    assert end.query()
    assert 0 < end.elapsed_ms(start) < 100
    other = Stream()
    other.wait(end)
    other.synchronize()
    assert stream_handle(stream) == int(stream) == stream.handle
    assert not is_capturing(stream)
    stream.close()
    with pytest.raises(ArgumentError, match="destroyed"):
        stream.synchronize()


def test_streams_of_others():
    bindings = pytest.importorskip("cuda.bindings.driver")
    torch = pytest.importorskip("torch")
    torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()
    assert stream_handle(side) == side.cuda_stream
    assert stream_handle(bindings.CUstream(side.cuda_stream)) == side.cuda_stream
    assert driver.handle(bindings.CUstream(side.cuda_stream)) == side.cuda_stream
    with torch.cuda.stream(torch.cuda.default_stream()):
        assert current_stream() == torch.cuda.current_stream().cuda_stream == 0
    with torch.cuda.stream(side):
        assert stream_handle(None) == side.cuda_stream
        assert stream_handle(None, device=0) == side.cuda_stream
    graph = torch.cuda.CUDAGraph()
    keep = torch.zeros(4, device="cuda")
    with torch.cuda.graph(graph):
        captured = stream_handle(None)
        assert captured == torch.cuda.current_stream().cuda_stream != 0
        assert is_capturing()
        keep.add_(1)
    assert not is_capturing()


def test_a_fault_is_reported_with_a_hint():
    """In a child: the fault destroys the context."""
    here = Path(__file__).parents[1]
    code = f"""
import sys; sys.path.insert(0, {str(here)!r})
from runtime.gpu_code import FAULT
from opencute.base.errors import DeviceError
from opencute.runtime import device
from opencute.runtime.launch import LaunchConfig, launch
from opencute.runtime.module import Module
launch(Module(FAULT).function("fault"), LaunchConfig(1, 1))
try:
    device.synchronize()
except DeviceError as e:
    print(e.code, "ILLEGAL_ADDRESS" in str(e), "opencute check" in e.hint)
"""
    assert FAULT
    assert in_child(code) == "OC4700 True True"


def test_threads_share_one_driver():
    results = []

    def work():
        buffer = DeviceBuffer.of(np.arange(100))
        results.append(int(buffer.numpy(np.int64).sum()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4950] * 8


def test_function_addresses_are_for_native_code():
    n = ctypes.c_int()
    get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(
        driver.function_address("cuDeviceGetCount")
    )
    assert get(ctypes.addressof(n)) == 0
    assert n.value == device.count()
