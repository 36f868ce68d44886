# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A call that costs no Python: the arguments are recognised by identity in native code.

A `FastCall` remembers one call: its arguments by address, the slots that they became, the native
host function. When it is called with the very same objects it asks the framework for the current
stream, writes that into the slots and calls the host function; anything else (other arguments,
keywords, a mark that changed, an error of the driver) goes to a Python function with the same
arguments. Remembered tensors are held weakly; when one goes, the call is forgotten.

Measured costs are in docs/performance.md.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import Any

from opencute.base.counters import LAUNCHES
from opencute.base.native_function import native_function
from opencute.lang.external import MARKS, ExternalTensor
from opencute.native.jit import HostModule, compile_host

__all__ = ["FastCall"]

# Words of the state that native code reads; the remembered arguments follow.
(
    _COUNT,
    _MARKS_AT,
    _MARKS,
    _HOST,
    _SLOTS,
    _LAUNCHES_AT,
    _LAUNCHES,
    _STREAM,
    _DEVICE,
    _SLOW,
    _ARGS,
) = range(11)
_NEVER = (1 << 63) - 1  # no call has this many arguments
_MAX_ARGS = 32

_IR = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)

define ptr @fast_call(ptr %self, ptr %args, i64 %nargs, ptr %kw) {{
entry:
  %st = call ptr @PyLong_AsVoidPtr(ptr %self)
  %known = load i64, ptr %st
  %same = icmp eq i64 %known, %nargs
  %plain = icmp eq ptr %kw, null
  %try = and i1 %same, %plain
  br i1 %try, label %marks, label %slow
marks:
  %mp.p = getelementptr i64, ptr %st, i64 {_MARKS_AT}
  %mp = load ptr, ptr %mp.p
  %now = load i64, ptr %mp
  %m.p = getelementptr i64, ptr %st, i64 {_MARKS}
  %m = load i64, ptr %m.p
  %unmarked = icmp eq i64 %now, %m
  br i1 %unmarked, label %loop, label %slow
loop:
  %i = phi i64 [ 0, %marks ], [ %i1, %next ]
  %more = icmp slt i64 %i, %nargs
  br i1 %more, label %check, label %hit
check:
  %a.p = getelementptr ptr, ptr %args, i64 %i
  %a = load ptr, ptr %a.p
  %at = add i64 %i, {_ARGS}
  %k.p = getelementptr ptr, ptr %st, i64 %at
  %k = load ptr, ptr %k.p
  %eq = icmp eq ptr %a, %k
  br i1 %eq, label %next, label %slow
next:
  %i1 = add i64 %i, 1
  br label %loop
hit:
  %sf.p = getelementptr ptr, ptr %st, i64 {_STREAM}
  %sf = load ptr, ptr %sf.p
  %dev.p = getelementptr ptr, ptr %st, i64 {_DEVICE}
  %dev = load ptr, ptr %dev.p
  %s = call ptr @PyObject_CallOneArg(ptr %sf, ptr %dev)
  %failed = icmp eq ptr %s, null
  br i1 %failed, label %error, label %go
error:
  ret ptr null
go:
  %h = call i64 @PyLong_AsUnsignedLongLong(ptr %s)
  call void @Py_DecRef(ptr %s)
  %sl.p = getelementptr ptr, ptr %st, i64 {_SLOTS}
  %sl = load ptr, ptr %sl.p
  store i64 %h, ptr %sl
  %host.p = getelementptr ptr, ptr %st, i64 {_HOST}
  %host = load ptr, ptr %host.p
  %r = call i32 %host(ptr %sl)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %done, label %slow
done:
  %lc.p = getelementptr ptr, ptr %st, i64 {_LAUNCHES_AT}
  %lc = load ptr, ptr %lc.p
  %ln.p = getelementptr i64, ptr %st, i64 {_LAUNCHES}
  %ln = load i64, ptr %ln.p
  %c = load i64, ptr %lc
  %c1 = add i64 %c, %ln
  store i64 %c1, ptr %lc
  %none = inttoptr i64 {none} to ptr
  call void @Py_IncRef(ptr %none)
  ret ptr %none
slow:
  %f.p = getelementptr ptr, ptr %st, i64 {_SLOW}
  %f = load ptr, ptr %f.p
  %v = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %nargs, ptr %kw)
  ret ptr %v
}}
"""
_API = (
    "PyLong_AsVoidPtr", "PyObject_CallOneArg", "PyLong_AsUnsignedLongLong", "Py_DecRef",
    "Py_IncRef", "PyObject_Vectorcall",
)  # fmt: skip


@functools.cache
def _code() -> HostModule:
    """The native code, compiled once in a process."""
    symbols = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in _API
    }
    words = {k: v for k, v in globals().items() if k.startswith("_") and isinstance(v, int)}
    return compile_host(_IR.format(none=id(None), **words), symbols)


class FastCall:
    """One remembered call in front of a Python function.

    Args:
        slow: called with the same arguments when the remembered call does not fit.

    Attributes:
        function: the builtin function to call.
    """

    def __init__(self, slow: Callable[..., Any]) -> None:
        self.slow = slow
        self.state = (ctypes.c_int64 * (_ARGS + _MAX_ARGS))()
        self.state[_COUNT] = _NEVER
        self.state[_SLOW] = id(slow)
        self.state[_MARKS_AT] = ctypes.addressof(MARKS)
        self.state[_LAUNCHES_AT] = ctypes.addressof(LAUNCHES)
        self.kept: tuple[Any, ...] = ()
        self.function = native_function(
            _code().address("fast_call"), "call", keywords=True,
            state=ctypes.addressof(self.state),
        )  # fmt: skip

    def remember(
        self,
        args: tuple[Any, ...],
        host: int,
        slots: Any,
        launches: int,
        stream: Callable[[int], int],
        device: int,
    ) -> None:
        """Serve the next calls with these very arguments natively.

        Args:
            args: the arguments; tensors are held weakly, others kept.
            host: address of the native host function.
            slots: what the arguments became; slot 0 is the stream.
            launches: kernels that one call launches.
            stream: the framework's function from a device to its current stream.
            device: the device.
        """
        self.forget()
        if len(args) > _MAX_ARGS:
            return
        refs = [weakref.ref(a, self.forget) if isinstance(a, ExternalTensor) else a for a in args]
        self.kept = (refs, slots, stream, device)
        state = self.state
        state[_MARKS] = MARKS.value
        state[_HOST], state[_SLOTS] = host, ctypes.addressof(slots)
        state[_LAUNCHES], state[_STREAM], state[_DEVICE] = launches, id(stream), id(device)
        for i, a in enumerate(args):
            state[_ARGS + i] = id(a)
        state[_COUNT] = len(args)

    def remember_prepared(self, args: tuple[Any, ...], call: Any) -> None:
        """Remember a `PreparedCall`, if nothing has to be done around its launch."""
        runner = call.runner
        # One remembered call is enough: programs that rotate arguments use the executor's own.
        if self.state[_COUNT] == _NEVER and not runner.prints and not runner.several_devices:
            count = len(runner.launches)
            self.remember(args, runner.address, call.slots, count, call.stream, call.device)
            self.kept = (*self.kept, call)

    def forget(self, _: object = None) -> None:
        """Send the next call to the Python function."""
        self.state[_COUNT] = _NEVER
        self.kept = ()
