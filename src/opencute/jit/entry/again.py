# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code that launches what was launched before, with other addresses.

``again(self, args, count)`` is a METH_FASTCALL function whose ``self`` is the address of an `Again`
record and whose arguments are ints. Slots of the version are copied; each patch writes one of the
ints, and an offset, into one of them. It returns None, or 0 where guards do not hold or Python has
to launch.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.arguments import DONE, RAISED
from opencute.jit.entry.words import State, Version
from opencute.native.builder import Fn

__all__ = ["Again", "again_function"]

_PATCH = 24  # bytes: a slot, which argument, what is added to it


class Again(enum.IntEnum):
    """Words of a record, as byte offsets."""

    VERSION = 0
    PATCHES = 8
    PATCH_COUNT = 16


def again_function() -> str:
    """The function as LLVM IR."""
    f = Fn("again", "ptr", "ptr self", "ptr args", "i64 count")
    python, wrong, failed = f.label(), f.label(), f.label()
    st = f.call("ptr", "PyLong_AsVoidPtr", "ptr %self")
    v = f.load("ptr", st, Again.VERSION)
    checks, many = f.load("ptr", v, Version.CHECKS), f.load("i64", v, Version.CHECK_COUNT)
    holds = f.call("i32", "@holds", f"ptr {checks}", f"i64 {many}")
    f.unless(f.cmp("ne", holds, 0, "i32"), python)
    size = f.load("i64", v, Version.SLOT_COUNT)
    slots = f.let(f"alloca i64, i64 {size}, align 8")
    prepared = f.load("ptr", v, Version.SLOTS)
    with f.each(size) as i:
        f.store("i64", f.load("i64", f.word(prepared, i)), f.word(slots, i))
    patches = f.load("ptr", st, Again.PATCHES)
    with f.each(f.load("i64", st, Again.PATCH_COUNT)) as i:
        patch = f.at(patches, f.op("mul", i, _PATCH))
        slot, which, more = (f.load("i64", patch, at) for at in (0, 8, 16))
        f.unless(f.cmp("slt", which, "%count"), python)
        obj = f.load("ptr", f.word("%args", which))
        number = f.call("i64", "PyLong_AsUnsignedLongLong", f"ptr {obj}")
        f.unless(f.cmp("ne", number, -1), wrong)
        f.store("i64", f.add(number, more), f.word(slots, slot))
    result = f.call("i32", "@launch", f"ptr {v}", f"ptr {slots}")
    with f.when(f.cmp("eq", result, DONE, "i32")):
        none = f.load("ptr", "@state", State.NONE)
        f.call("void", "Py_IncRef", f"ptr {none}")
        f.ret("ptr", none)
    f.branch(f.cmp("eq", result, RAISED, "i32"), failed, python)
    f.start(failed)
    f.ret("ptr", "null")
    f.start(wrong)
    f.call("void", "PyErr_Clear")
    f.goto(python)
    f.start(python)
    f.ret("ptr", f.call("ptr", "PyLong_FromLongLong", "i64 0"))
    return f.text()
