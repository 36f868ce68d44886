# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code behind a call: the arguments of the last prepared call, else versions, else Python.

``fast_call(self, args, count, names)`` is a METH_FASTCALL | METH_KEYWORDS function whose ``self``
is the address of a `Call` record.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.arguments import DONE, RAISED, SLOWLY
from opencute.jit.entry.words import State
from opencute.native.builder import Fn

__all__ = ["Call", "fast_call_function"]


class Call(enum.IntEnum):
    """Words of a callable's record, as byte offsets; the remembered arguments follow."""

    COUNT = 0  # of the remembered arguments
    MARKS_AT = 8
    MARKS = 16
    PREPARED = 24  # the remembered call as a `Version` whose arguments need no look
    SLOW = 32  # a Python function with the same arguments
    VERSIONS = 40
    VERSION_COUNT = 48
    TRACING_AT = 56  # how many traces run; a function that is traced is not called natively
    ARGS = 64


def fast_call_function() -> str:
    """The function as LLVM IR."""
    return _remembered().text() + _fast_call().text()


def _remembered() -> Fn:
    """Whether the arguments are the very ones of the prepared call."""
    f = Fn("remembered", "i1", "ptr st", "ptr args", "i64 count", local=True)
    no = f.label()
    f.unless(f.cmp("eq", f.load("i64", "%st", Call.COUNT), "%count"), no)
    now = f.load("i64", f.load("ptr", "%st", Call.MARKS_AT))
    f.unless(f.cmp("eq", now, f.load("i64", "%st", Call.MARKS)), no)
    known = f.at("%st", Call.ARGS)
    with f.each("%count") as i:
        a, k = f.load("ptr", f.word("%args", i)), f.load("ptr", f.word(known, i))
        f.unless(f.cmp("eq", a, k, "ptr"), no)
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _fast_call() -> Fn:
    f = Fn("fast_call", "ptr", "ptr self", "ptr args", "i64 count", "ptr names")
    slow, failed, finish, look, done = (f.label() for _ in range(5))
    st = f.call("ptr", "PyLong_AsVoidPtr", "ptr %self")
    f.unless(f.cmp("eq", "%names", "null", "ptr"), slow)
    result = f.var("i32", SLOWLY)
    same = f.call("i1", "@remembered", f"ptr {st}", "ptr %args", "i64 %count")
    with f.when(same):
        prepared = f.load("ptr", st, Call.PREPARED)
        f.set(result, f.call("i32", "@run_prepared", f"ptr {prepared}"))
        f.goto(finish)
    f.goto(look)
    f.start(look)
    tracing = f.load("i64", f.load("ptr", st, Call.TRACING_AT))
    f.unless(f.cmp("eq", tracing, 0), slow)
    versions = f.load("ptr", st, Call.VERSIONS)
    with f.each(f.load("i64", st, Call.VERSION_COUNT)) as i:
        place = f.word(versions, i)
        version = f.load("ptr", place)
        answer = f.call("i32", "@run_version", f"ptr {version}", "ptr %args", "i64 %count")
        with f.when(f.cmp("ule", answer, DONE, "i32")):
            with f.when(f.cmp("sgt", i, 0)):  # towards the front, for the next time
                before = f.word(versions, f.op("sub", i, 1))
                other = f.load("ptr", before)
                with f.when(f.cmp("eq", f.load("ptr", place), version, "ptr")):
                    f.store("ptr", other, place)
                    f.store("ptr", version, before)
            f.goto(done)
        f.set(result, answer)
        with f.when(f.cmp("uge", answer, RAISED, "i32")):
            f.goto(finish)
    f.goto(slow)
    f.start(finish)
    f.unless(f.cmp("ne", f.get(result), DONE, "i32"), done)
    f.branch(f.cmp("eq", f.get(result), RAISED, "i32"), failed, slow)
    f.start(failed)
    f.ret("ptr", "null")
    f.start(done)
    none = f.load("ptr", "@state", State.NONE)
    f.call("void", "Py_IncRef", f"ptr {none}")
    f.ret("ptr", none)
    f.start(slow)
    python = f.load("ptr", st, Call.SLOW)
    f.ret("ptr", f.call("ptr", "PyObject_Vectorcall", f"ptr {python}", "ptr %args", "i64 %count",
                        "ptr %names"))  # fmt: skip
    return f
