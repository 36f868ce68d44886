# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code that reads lists of torch tensors: a tenth of a microsecond for each.

``read_matrices(first, second, ...)`` (METH_FASTCALL) takes lists or tuples of vectors and matrices.
It returns the addresses of all of them as 8-byte words, and behind those six words for each
(`Fact`), as one bytes object; or None where something is in a list that Python has to look at: no
plain tensor, one that autograd watches, one whose memory is to be negated.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.tensors import (
    COMPLEX,
    DEVICE,
    DL_SIZE,
    DTYPE,
    NDIM,
    ODD,
    SHAPE,
    STRIDES,
    address_of,
    is_true,
    method,
    spaced,
    type_of,
)
from opencute.jit.entry.words import State
from opencute.native.builder import Fn

__all__ = ["Fact", "list_functions"]


class Fact(enum.IntEnum):
    """What the words of a tensor say. Of a vector, COLUMNS is -1."""

    DEVICE = 0  # as DLPack has it: kind, ordinal
    DTYPE = 1  # as DLPack has it: code, bits, lanes; in the upper half how the address is aligned
    ROWS = 2
    COLUMNS = 3
    ROW_STEP = 4
    COLUMN_STEP = 5


def list_functions() -> str:
    """The functions of this file as LLVM IR."""
    return "\n".join(f.text() for f in (_matrix(), _read()))


def _matrix() -> Fn:
    """Read one tensor; false: Python looks at it."""
    f = Fn(
        "read_matrix", "i1", "ptr obj", "i64 watch", "ptr place", "ptr facts", local=True
    )  # fmt: skip
    no, clear, plain, watched = (f.label() for _ in range(4))
    cls = type_of(f, "%obj")
    known = [
        f.cmp("eq", cls, f.load("ptr", "@state", word), "ptr")
        for word in (State.TORCH_TENSOR, State.TORCH_PARAMETER)
    ]
    f.unless(f.op("or", known[0], known[1], "i1"), no)
    f.branch(f.cmp("ne", "%watch", 0), watched, plain)
    f.start(watched)
    name = f.load("ptr", "@state", State.REQUIRES_GRAD)
    wants = is_true(f, f.call("ptr", "PyObject_GetAttr", "ptr %obj", f"ptr {name}"), clear)
    f.branch(wants, no, plain)
    f.start(plain)
    dl = f.alloca("i8", DL_SIZE)
    export = f.load("ptr", "@state", State.TORCH_EXPORT)
    f.unless(f.cmp("eq", f.call("i32", export, "ptr %obj", f"ptr {dl}"), 0, "i32"), clear)
    dtype = f.let(f"zext i32 {f.load('i32', dl, DTYPE)} to i64")
    f.unless(f.cmp("ne", f.op("and", dtype, 0xFF), COMPLEX), no)
    rank = f.let(f"sext i32 {f.load('i32', dl, NDIM)} to i64")
    f.unless(f.cmp("ult", f.op("sub", rank, 1), 2), no)
    address, shape, strides = (
        address_of(f, dl),
        f.load("ptr", dl, SHAPE),
        f.load("ptr", dl, STRIDES),
    )
    low = f.op("and", address, ODD)
    with f.when(f.op("or", f.cmp("ne", low, 0), spaced(f, rank, shape, strides), "i1")):
        f.unless(f.op("xor", is_true(f, method(f, "%obj", State.IS_NEG), clear), "true", "i1"), no)
    columns, step = f.var("i64", -1), f.var("i64", 0)
    with f.when(f.cmp("eq", rank, 2)):
        f.set(columns, f.load("i64", shape, 8))
        f.set(step, f.load("i64", strides, 8))
    f.store("i64", address, "%place")
    facts = {
        Fact.DEVICE: f.load("i64", dl, DEVICE), Fact.DTYPE: f.op("or", dtype, f.op("shl", low, 32)),
        Fact.ROWS: f.load("i64", shape), Fact.COLUMNS: f.get(columns),
        Fact.ROW_STEP: f.load("i64", strides), Fact.COLUMN_STEP: f.get(step),
    }  # fmt: skip
    for fact, value in facts.items():
        f.store("i64", value, "%facts", 8 * fact)
    f.ret("i1", "true")
    f.start(clear)
    f.call("void", "@drop_exception")
    f.goto(no)
    f.start(no)
    f.ret("i1", "false")
    return f


def _size(f: Fn, obj: str, no: str) -> str:
    """Elements of a list or tuple; jumps to `no` where it is none."""
    cls, size = type_of(f, obj), f.var("i64", 0)
    listed, other, several, after = (f.label() for _ in range(4))
    f.branch(f.cmp("eq", cls, "@PyList_Type", "ptr"), listed, other)
    f.start(listed)
    f.set(size, f.call("i64", "PyList_Size", f"ptr {obj}"))
    f.goto(after)
    f.start(other)
    f.branch(f.cmp("eq", cls, "@PyTuple_Type", "ptr"), several, no)
    f.start(several)
    f.set(size, f.call("i64", "PyTuple_Size", f"ptr {obj}"))
    f.goto(after)
    f.start(after)
    return f.get(size)


def _read() -> Fn:
    f = Fn("read_matrices", "ptr", "ptr self", "ptr args", "i64 count")
    none, free, ask, go = (f.label() for _ in range(4))
    f.unless(f.cmp("ne", f.load("ptr", "@state", State.TORCH_TENSOR), "null", "ptr"), none)
    total = f.var("i64", 0)
    with f.each("%count") as i:
        obj = f.load("ptr", f.word("%args", i))
        f.set(total, f.add(f.get(total), _size(f, obj, none)))
    watch, bad = f.var("i64", 0), f.label()
    enabled = f.load("ptr", "@state", State.TORCH_GRAD_ENABLED)
    on = is_true(f, f.call("ptr", "PyObject_CallNoArgs", f"ptr {enabled}"), bad)
    f.branch(on, ask, go)
    f.start(ask)
    f.set(watch, 1)
    f.goto(go)
    f.start(go)
    all_of = f.get(total)
    size = f.op("mul", all_of, 8 * (1 + len(Fact)))
    out = f.call("ptr", "PyBytes_FromStringAndSize", "ptr null", f"i64 {size}")
    f.unless(f.cmp("ne", out, "null", "ptr"), bad)
    places = f.call("ptr", "PyBytes_AsString", f"ptr {out}")
    facts, at = f.word(places, all_of), f.var("i64", 0)
    with f.each("%count") as i:
        obj = f.load("ptr", f.word("%args", i))
        listed = f.cmp("eq", type_of(f, obj), "@PyList_Type", "ptr")
        with f.each(_size(f, obj, free)) as j:
            item, (tuple_, list_, both) = f.var("ptr", "null"), (f.label() for _ in range(3))
            f.branch(listed, list_, tuple_)
            for label, call in ((list_, "PyList_GetItem"), (tuple_, "PyTuple_GetItem")):
                f.start(label)
                f.set(item, f.call("ptr", call, f"ptr {obj}", f"i64 {j}"))
                f.goto(both)
            f.start(both)
            n = f.get(at)
            mine = f.at(facts, f.op("mul", n, 8 * len(Fact)))
            f.unless(f.call("i1", "@read_matrix", f"ptr {f.get(item)}", f"i64 {f.get(watch)}",
                            f"ptr {f.word(places, n)}", f"ptr {mine}"), free)  # fmt: skip
            f.set(at, f.add(n, 1))
    f.ret("ptr", out)
    f.start(free)
    f.call("void", "Py_DecRef", f"ptr {out}")
    f.goto(none)
    f.start(none)
    nothing = f.load("ptr", "@state", State.NONE)
    f.call("void", "Py_IncRef", f"ptr {nothing}")
    f.ret("ptr", nothing)
    f.start(bad)
    f.ret("ptr", "null")
    return f
