# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code behind a call: the arguments of the last prepared call, else versions, else Python.

``fast_call(self, args, count, names)`` is a METH_FASTCALL | METH_KEYWORDS function whose ``self``
is the address of a `Call` record.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.arguments import DONE, RAISED, SLOWLY
from opencute.jit.entry.tensors import type_of
from opencute.jit.entry.words import State
from opencute.native.builder import Fn

__all__ = ["MOST_NAMES", "Call", "fast_call_function"]

MOST_NAMES = 32
"""Parameters of a function whose arguments may be given by name without Python."""


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
    NAMES = 64  # of parameters, as strings; 0 where arguments by name take Python
    NAME_COUNT = 72
    FUNCTION = 80  # whose defaults stand where no argument is given, or 0
    ARGS = 88


def fast_call_function() -> str:
    """The function as LLVM IR."""
    return _remembered().text() + _by_position().text() + _fast_call().text()


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


def _by_position() -> Fn:
    """The arguments of a call by position: those by name, and defaults of such before them. Gives
    how many there are, -1 where Python has to look."""
    f = Fn("by_position", "i64", "ptr st", "ptr args", "i64 count", "ptr names", "ptr out",
           local=True)  # fmt: skip
    no, known = f.label(), f.load("ptr", "%st", Call.NAMES)
    many = f.load("i64", "%st", Call.NAME_COUNT)
    f.unless(f.cmp("ne", known, "null", "ptr"), no)
    f.unless(f.cmp("sle", "%count", many), no)
    with f.each(many) as i:
        f.store("ptr", "null", f.word("%out", i))
    with f.each("%count") as i:
        f.store("ptr", f.load("ptr", f.word("%args", i)), f.word("%out", i))
    total = f.var("i64", "%count")
    with f.each(f.call("i64", "PyTuple_Size", "ptr %names")) as j:
        name = f.call("ptr", "PyTuple_GetItem", "ptr %names", f"i64 {j}")
        place, head, found = f.var("i64", "%count"), f.label(), f.label()
        f.goto(head)
        f.start(head)
        at = f.get(place)
        f.unless(f.cmp("slt", at, many), no)
        f.set(place, f.add(at, 1))
        f.branch(f.cmp("eq", f.load("ptr", f.word(known, at)), name, "ptr"), found, head)
        f.start(found)
        f.store("ptr", f.load("ptr", f.word("%args", f.add("%count", j))), f.word("%out", at))
        behind, now = f.add(at, 1), f.get(total)
        f.set(total, f.select(f.cmp("sgt", behind, now), behind, now))
    fn = f.load("ptr", "%st", Call.FUNCTION)
    with f.each(f.get(total)) as i:
        missing = f.cmp("eq", f.load("ptr", f.word("%out", i)), "null", "ptr")
        _default(f, (fn, many, i), missing, no)
    f.ret("i64", f.get(total))
    f.start(no)
    f.ret("i64", -1)
    return f


def _default(f: Fn, which: tuple[str, str, str], missing: str, no: str) -> None:
    """The default of a parameter of a function goes where its argument is missing."""
    fn, many, i = which
    with f.when(missing):
        f.unless(f.cmp("ne", fn, "null", "ptr"), no)
        defaults = f.call("ptr", "PyFunction_GetDefaults", f"ptr {fn}")
        f.unless(f.cmp("ne", defaults, "null", "ptr"), no)
        f.unless(f.cmp("eq", type_of(f, defaults), "@PyTuple_Type", "ptr"), no)
        size = f.call("i64", "PyTuple_Size", f"ptr {defaults}")
        at = f.add(f.op("sub", i, many), size)
        f.unless(f.cmp("sge", at, 0), no)
        value = f.call("ptr", "PyTuple_GetItem", f"ptr {defaults}", f"i64 {at}")
        f.store("ptr", value, f.word("%out", i))


def _fast_call() -> Fn:
    f = Fn("fast_call", "ptr", "ptr self", "ptr args", "i64 count", "ptr names")
    slow, failed, finish, look, done = (f.label() for _ in range(5))
    st = f.call("ptr", "PyLong_AsVoidPtr", "ptr %self")
    tracing = f.load("i64", f.load("ptr", st, Call.TRACING_AT))
    f.unless(f.cmp("eq", tracing, 0), slow)
    args, count = f.var("ptr", "%args"), f.var("i64", "%count")
    with f.when(f.cmp("ne", "%names", "null", "ptr")):
        room = f.alloca("ptr", MOST_NAMES)
        total = f.call("i64", "@by_position", f"ptr {st}", "ptr %args", "i64 %count",
                       "ptr %names", f"ptr {room}")  # fmt: skip
        f.unless(f.cmp("sge", total, 0), slow)
        f.set(args, room)
        f.set(count, total)
    given = (f"ptr {f.get(args)}", f"i64 {f.get(count)}")
    result = f.var("i32", SLOWLY)
    same = f.call("i1", "@remembered", f"ptr {st}", *given)
    with f.when(same):
        prepared = f.load("ptr", st, Call.PREPARED)
        f.set(result, f.call("i32", "@run_prepared", f"ptr {prepared}"))
        f.goto(finish)
    f.goto(look)
    f.start(look)
    versions = f.load("ptr", st, Call.VERSIONS)
    with f.each(f.load("i64", st, Call.VERSION_COUNT)) as i:
        place = f.word(versions, i)
        version = f.load("ptr", place)
        answer = f.call("i32", "@run_version", f"ptr {version}", *given)
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
