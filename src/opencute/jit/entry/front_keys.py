# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code in front of operators: a call's arguments in words, and a hash of them.

In: the arguments. Out: the description whose places `front_words` gives. Tensors are told by type,
extents, strides and the low bits of their place; numbers by value; tuples, and objects with
``described_parts``, by what is in them; all else by identity. What cannot be told takes Python.
"""

from __future__ import annotations

from opencute.jit.entry.front_words import (
    ALIGNED,
    KEY,
    MOST_THINGS,
    MOST_WORDS,
    OBJECTS,
    PLACES,
    THINGS,
    WORDS,
)
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

__all__ = ["key_functions"]

_ROOM = 80  # words that one argument may take: a tensor of 32 modes
_CPU, _CUDA = 1, 2
_SPREAD = -7046029254386353131  # odd, and near 2**64 over the golden ratio
_TENSOR, _NAME, _SAME, _INT, _FLOAT, _TUPLE, _PARTS = range(1, 8)


def key_functions() -> tuple[Fn, ...]:
    """The functions of this file: ``@fingerprint`` describes arguments, ``@hash_words`` hashes."""
    return _dropped(), _put(), _tensor(), _describe(), _fingerprint(), _hash()


def _dropped() -> Fn:
    """Drop an exception, but none such as KeyboardInterrupt: the call ends with that one."""
    f = Fn("drop_exception", "void", local=True)
    ours = f.call("i32", "PyErr_ExceptionMatches", f"ptr {f.load('ptr', '@PyExc_Exception')}")
    with f.when(f.cmp("ne", ours, 0, "i32")):
        f.call("void", "PyErr_Clear")
    f.ret("void")
    return f


def _put() -> Fn:
    """Append a word to the description."""
    f = Fn("put_word", "void", "ptr s", "i64 word", local=True)
    n = f.load("i64", "%s", WORDS)
    f.store("i64", "%word", f.word(f.at("%s", KEY), n))
    f.store("i64", f.add(n, 1), "%s", WORDS)
    f.ret("void")
    return f


def _add(f: Fn, *words: str | int) -> None:
    for word in words:
        f.call("void", "@put_word", "ptr %s", f"i64 {word}")


def _tensor() -> Fn:
    """Describe a torch tensor, and keep it with its address; false: calls with it take Python."""
    f = Fn("describe_tensor", "i1", "ptr s", "ptr obj", local=True)
    no, clear, grad, free = (f.label() for _ in range(4))
    wants = f.var("i64", 0)
    name = f.load("ptr", "@state", State.REQUIRES_GRAD)
    watched = is_true(f, f.call("ptr", "PyObject_GetAttr", "ptr %obj", f"ptr {name}"), clear)
    f.branch(watched, grad, free)
    f.start(grad)
    enabled = f.load("ptr", "@state", State.TORCH_GRAD_ENABLED)
    on = is_true(f, f.call("ptr", "PyObject_CallNoArgs", f"ptr {enabled}"), clear)
    f.set(wants, 1 << 32)
    f.branch(on, no, free)
    f.start(free)
    dl = f.alloca("i8", DL_SIZE)
    export = f.load("ptr", "@state", State.TORCH_EXPORT)
    f.unless(f.cmp("eq", f.call("i32", export, "ptr %obj", f"ptr {dl}"), 0, "i32"), clear)
    dtype = f.let(f"zext i32 {f.load('i32', dl, DTYPE)} to i64")
    f.unless(f.cmp("ne", f.op("and", dtype, 0xFF), COMPLEX), no)
    rank = f.let(f"sext i32 {f.load('i32', dl, NDIM)} to i64")
    f.unless(f.cmp("ule", rank, 32), no)
    address = address_of(f, dl)
    shape, strides = f.load("ptr", dl, SHAPE), f.load("ptr", dl, STRIDES)
    with f.when(f.op("or", f.cmp("ne", f.op("and", address, ODD), 0),
                     spaced(f, rank, shape, strides), "i1")):  # fmt: skip
        f.unless(f.op("xor", is_true(f, method(f, "%obj", State.IS_NEG), clear), "true", "i1"), no)
    place = f.load("i64", dl, DEVICE)
    kind = f.op("and", place, 0xFFFFFFFF)
    host = f.cmp("eq", kind, _CPU)
    f.unless(f.op("or", host, f.cmp("eq", kind, _CUDA), "i1"), no)
    _add(f, f.op("or", f.op("or", f.op("shl", rank, 8), f.get(wants)), _TENSOR), dtype, place,
         f.op("and", address, ALIGNED - 1))  # fmt: skip
    many = f.var("i64", 1)
    for table in (shape, strides):
        with f.each(rank) as i:
            n = f.load("i64", f.word(table, i))
            if table is shape:
                f.set(many, f.op("mul", f.get(many), n))
            _add(f, n)
    # Memory that was given back, or never was there.
    there = f.op("or", f.cmp("ne", address, 0), f.cmp("eq", f.get(many), 0), "i1")
    f.unless(there, no)
    # One element in the host's memory may be a number.
    f.unless(f.op("or", f.op("xor", host, "true", "i1"), f.cmp("sgt", f.get(many), 1), "i1"), no)
    at = f.load("i64", "%s", THINGS)
    f.store("ptr", "%obj", f.word(f.at("%s", OBJECTS), at))
    f.store("i64", address, f.word(f.at("%s", PLACES), at))
    f.store("i64", f.add(at, 1), "%s", THINGS)
    f.ret("i1", "true")
    f.start(clear)
    f.call("void", "@drop_exception")
    f.goto(no)
    f.start(no)
    f.ret("i1", "false")
    return f


def _describe() -> Fn:
    """Describe an argument; what is none of the types here is told by its identity."""
    f = Fn("describe", "i1", "ptr s", "ptr obj", local=True)
    no, number, real, several, other, tensor, parted = (f.label() for _ in range(7))
    f.unless(f.cmp("slt", f.load("i64", "%s", WORDS), MOST_WORDS - _ROOM), no)
    f.unless(f.cmp("slt", f.load("i64", "%s", THINGS), MOST_THINGS // 2), no)
    cls = type_of(f, "%obj")
    for known in (State.TORCH_TENSOR, State.TORCH_PARAMETER):
        after = f.label()
        f.branch(f.cmp("eq", cls, f.load("ptr", "@state", known), "ptr"), tensor, after)
        f.start(after)
    for known, label in (
        ("PyLong_Type", number),
        ("PyFloat_Type", real),
        ("PyTuple_Type", several),
    ):
        after = f.label()
        f.branch(f.cmp("eq", cls, f"@{known}", "ptr"), label, after)
        f.start(after)
    f.branch(f.cmp("eq", cls, f.load("ptr", "@state", State.PARTED), "ptr"), parted, other)
    f.start(parted)
    _parts(f, no)
    f.start(tensor)
    f.ret("i1", f.call("i1", "@describe_tensor", "ptr %s", "ptr %obj"))
    f.start(number)
    over = f.alloca("i32")
    value = f.call("i64", "PyLong_AsLongLongAndOverflow", "ptr %obj", f"ptr {over}")
    f.unless(f.cmp("eq", f.load("i32", over), 0, "i32"), no)
    _add(f, _INT, value)
    f.ret("i1", "true")
    f.start(real)
    wide = f.call("double", "PyFloat_AsDouble", "ptr %obj")
    _add(f, _FLOAT, f.let(f"bitcast double {wide} to i64"))
    f.ret("i1", "true")
    f.start(several)
    size = f.call("i64", "PyTuple_Size", "ptr %obj")
    _add(f, _TUPLE, size)
    with f.each(size) as i:
        part = f.call("ptr", "PyTuple_GetItem", "ptr %obj", f"i64 {i}")
        f.unless(f.call("i1", "@describe", "ptr %s", f"ptr {part}"), no)
    f.ret("i1", "true")
    f.start(other)
    _add(f, _SAME, f.let("ptrtoint ptr %obj to i64"))
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _parts(f: Fn, no: str) -> None:
    """What an object says that it is made of. It holds these parts, so that they stay."""
    made = method(f, "%obj", State.DESCRIBED_PARTS)
    failed, wrong, after = f.label(), f.label(), f.label()
    f.unless(f.cmp("ne", made, "null", "ptr"), failed)
    f.unless(f.cmp("eq", type_of(f, made), "@PyList_Type", "ptr"), wrong)
    size = f.call("i64", "PyList_Size", f"ptr {made}")
    _add(f, _PARTS, size)
    with f.each(size) as i:
        part = f.call("ptr", "PyList_GetItem", f"ptr {made}", f"i64 {i}")
        f.unless(f.call("i1", "@describe", "ptr %s", f"ptr {part}"), wrong)
    f.goto(after)
    f.start(after)
    f.call("void", "Py_DecRef", f"ptr {made}")
    f.ret("i1", "true")
    f.start(wrong)
    f.call("void", "Py_DecRef", f"ptr {made}")
    f.goto(no)
    f.start(failed)
    f.call("void", "@drop_exception")
    f.goto(no)


def _fingerprint() -> Fn:
    """Describe the arguments of a call."""
    f = Fn("fingerprint", "i1", "ptr s", "ptr args", "i64 count", "ptr names", local=True)
    no = f.label()
    f.store("i64", 0, "%s", WORDS)
    f.store("i64", 0, "%s", THINGS)
    with f.each("%count") as i:
        obj = f.load("ptr", f.word("%args", i))
        f.unless(f.call("i1", "@describe", "ptr %s", f"ptr {obj}"), no)
    with f.when(f.cmp("ne", "%names", "null", "ptr")):
        more = f.call("i64", "PyTuple_Size", "ptr %names")
        with f.each(more) as i:
            name = f.call("ptr", "PyTuple_GetItem", "ptr %names", f"i64 {i}")
            _add(f, _NAME, f.let(f"ptrtoint ptr {name} to i64"))
            obj = f.load("ptr", f.word("%args", f.add("%count", i)))
            f.unless(f.call("i1", "@describe", "ptr %s", f"ptr {obj}"), no)
    f.ret("i1", f.cmp("ne", f.load("i64", "%s", THINGS), 0))
    f.start(no)
    f.ret("i1", "false")
    return f


def _hash() -> Fn:
    """A number that is nearly always another one for another description."""
    f = Fn("hash_words", "i64", "ptr s", local=True)
    h = f.var("i64", 0)
    words = f.at("%s", KEY)
    with f.each(f.load("i64", "%s", WORDS)) as i:
        mixed = f.op("mul", f.op("xor", f.get(h), f.load("i64", f.word(words, i))), _SPREAD)
        f.set(h, f.op("xor", mixed, f.op("lshr", mixed, 29)))
    f.ret("i64", f.get(h))
    return f
