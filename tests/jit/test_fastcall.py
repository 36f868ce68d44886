# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Remembered calls with a stand-in for the host function: what is served, and what is not."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from opencute.base.counters import COUNTERS
from opencute.cute.runtime import from_dlpack
from opencute.jit.entry.versions import NativeVersion, Stream
from opencute.jit.fastcall import FastCall
from opencute.native.jit import HostModule, compile_host

pytestmark = pytest.mark.t1

# Slots: stream, then the address of (calls, stream seen, result).
HOST = """
define i32 @host(ptr %slots) {
  %stream = load i64, ptr %slots
  %at = getelementptr i64, ptr %slots, i64 1
  %log = load ptr, ptr %at
  %n = load i64, ptr %log
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %log
  %q = getelementptr i64, ptr %log, i64 1
  store i64 %stream, ptr %q
  %e = getelementptr i64, ptr %log, i64 2
  %code = load i32, ptr %e
  ret i32 %code
}
"""


class Call:
    """A remembered call; `log` is (calls, stream seen, result)."""

    def __init__(self, host: HostModule, args: tuple[Any, ...]) -> None:
        self.slow: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.log = (ctypes.c_int64 * 3)()
        self.host = host.address("host")
        self.stream = 7
        self.fast = FastCall(self.on_slow)
        for a in args:
            if hasattr(a, "prepared"):
                a.prepared = True
        self.fast.remember(args, self.version(self.on_stream))

    def version(self, reader: Any) -> NativeVersion:
        slots = (ctypes.c_uint64 * 2)(0, ctypes.addressof(self.log))
        return NativeVersion(None, slots, self.host, 2, Stream(reader=reader), 0, self.on_failure)

    def on_failure(self, code: int) -> None:
        raise RuntimeError(f"the driver says {code}")

    def on_slow(self, *args: Any, **kwargs: Any) -> str:
        self.slow.append((args, kwargs))
        return "slow"

    def on_stream(self, device: int) -> int:
        return self.stream + device


@pytest.fixture(scope="module")
def host() -> HostModule:
    return compile_host(HOST)


def tensor() -> Any:
    return from_dlpack(np.zeros((2, 4), np.float32)).mark_layout_dynamic()


def test_the_same_arguments_are_served_natively(host: HostModule) -> None:
    t, n = tensor(), 12345
    call = Call(host, (t, n))
    before = COUNTERS.launches
    for _ in range(5):
        assert call.fast.function(t, n) is None
    assert list(call.log) == [5, 7, 0] and not call.slow
    assert COUNTERS.launches - before == 10
    call.stream = 99  # read at each call
    call.fast.function(t, n)
    assert call.log[1] == 99


def test_everything_else_goes_the_slow_way(host: HostModule) -> None:
    t, u, n = tensor(), tensor(), 12345
    call = Call(host, (t, n))
    assert call.fast.function(u, n) == "slow"
    assert call.fast.function(t) == "slow"
    assert call.fast.function() == "slow"
    assert call.fast.function(t, n, n) == "slow"
    assert call.fast.function(t, n=n) == "slow"
    assert [len(a) + len(k) for a, k in call.slow] == [2, 1, 0, 3, 2]
    assert call.slow[-1] == ((t,), {"n": n})
    assert call.log[0] == 0


def test_changed_marks_are_noticed(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    t.mark_layout_dynamic(leading_dim=1)
    assert call.fast.function(t) == "slow"


def test_a_new_tensor_at_an_old_address_is_not_taken_for_the_old_one(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    address = id(t)
    del t
    gc.collect()
    others = [tensor() for _ in range(200)]
    for other in others:
        assert call.fast.function(other) == "slow", (address, id(other))
    assert call.log[0] == 0


def test_a_thread_without_a_context_goes_the_slow_way(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    call.log[2] = 201
    assert call.fast.function(t) == "slow"


def test_an_error_of_the_host_function_is_raised_and_nothing_runs_twice(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    call.log[2] = 700
    with pytest.raises(RuntimeError, match="the driver says 700"):
        call.fast.function(t)
    assert call.log[0] == 1 and not call.slow


def test_an_exception_of_the_stream_reader_comes_out(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))

    def broken(device: int) -> int:
        raise RuntimeError("no stream")

    call.fast.remember((t,), call.version(broken))
    with pytest.raises(RuntimeError, match="no stream"):
        call.fast.function(t)


def test_no_reference_is_lost_or_kept(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    call.stream = 10**15  # not a cached small integer
    counts = sys.getrefcount(t), sys.getrefcount(None), sys.getrefcount(call.on_stream)
    for _ in range(1000):
        call.fast.function(t)
    after = sys.getrefcount(t), sys.getrefcount(None), sys.getrefcount(call.on_stream)
    assert after[0] == counts[0] and abs(after[1] - counts[1]) < 500
    assert after[2] == counts[2]


def test_too_many_arguments_are_never_remembered(host: HostModule) -> None:
    args = tuple(range(40))
    call = Call(host, args)
    assert call.fast.function(*args) == "slow"


def test_the_function_keeps_what_it_needs(host: HostModule) -> None:
    t = tensor()
    call = Call(host, (t,))
    function, log = call.fast.function, call.log
    del call
    gc.collect()
    function(t)
    assert log[0] == 1


def test_other_threads_run_while_kernels_are_launched(host: HostModule) -> None:
    """The driver may wait for a callback that needs Python; the lock is free meanwhile."""
    ran: list[int] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    def launch(slots: int) -> int:
        thread = threading.Thread(target=lambda: ran.append(1))
        thread.start()
        thread.join(10)
        return 0

    t = tensor()
    call = Call(host, (t,))
    call.host = ctypes.cast(launch, ctypes.c_void_p).value or 0
    call.fast.remember((t,), call.version(None))
    call.fast.function(t)
    assert ran == [1]
