# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code in front of operators: what a call depends on, and what it did, without Python.

``front_call(self, args, count, names)`` is a METH_FASTCALL | METH_KEYWORDS function whose ``self``
is the address of a `Front` record. It describes the arguments in words (`_describe`), looks for a
call with the same ones (`Known`), and does its steps (`Step`): memory, numbers, launches. Calls
that are not known, and those of which a step cannot be done, go to the Python function, and so do
those within a dispatch mode of torch's, which is to see each of torch's operations. Of exceptions
on the way only those that are an `Exception` are dropped; Ctrl-C is not.
``front_key`` gives the words of a call as bytes: hash, tensors, words.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.arguments import DONE, RAISED, SLOWLY
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
    unless_tangents,
)
from opencute.jit.entry.words import Offsets, State, Version
from opencute.native.builder import Fn

__all__ = ["MOST_THINGS", "Action", "Front", "Given", "Known", "Step", "front_functions"]

MOST_THINGS, _MOST_WORDS = 64, 512
_ROOM = 80  # words that one argument may take: a tensor of 32 modes
_PATCH = 24
ALIGNED = 256
"""Bytes in which the places of tensors are told apart: no kernel asks for more."""
MADE = 64
"""Bytes that the places of new tensors are multiples of, on every device."""
_CPU, _CUDA = 1, 2
_SPREAD = -7046029254386353131  # odd, and near 2**64 over the golden ratio
_OFFSET_FLAG = -9223372036854775808  # the word before the arguments may be used


class Front(Offsets):
    """An operator."""

    SLOW = enum.auto()  # a Python function with the same arguments
    WATCHED_AT = enum.auto()  # not 0 there: calls are being recorded, which Python makes
    TABLE = enum.auto()  # of `Known` records, by hash; 0 where there is none
    MASK = enum.auto()  # its size, a power of two, less 1
    HITS = enum.auto()  # calls that took no Python


class Known(Offsets):
    """A kind of calls, and what they do."""

    HASH = enum.auto()
    COUNT = enum.auto()
    KEY = enum.auto()
    ALIASES = enum.auto()  # three words each: two tensors, bytes from the one to the other
    ALIAS_COUNT = enum.auto()
    APART = enum.auto()  # four words each: two tensors, bytes of each, which share no memory
    APART_COUNT = enum.auto()
    STEPS = enum.auto()
    STEP_COUNT = enum.auto()
    RESULTS = enum.auto()  # as `Given`
    RESULT_COUNT = enum.auto()  # of a tuple; -1: the result is the only one
    OWNER = enum.auto()  # an object that keeps all this


class Step(Offsets):
    """One step."""

    ACTION = enum.auto()
    A = enum.auto()
    B = enum.auto()
    C = enum.auto()
    D = enum.auto()
    E = enum.auto()


class Action(enum.IntEnum):
    """What a step is; in brackets what its words hold."""

    MAKE = 0  # a tensor (A a function, B its arguments, C how many, D keywords, E low address)
    PART = 1  # of memory that was made (A thing, B bytes)
    NUMBER = 2  # the next one of (A an iterator)
    LAUNCH = 3  # (A version, B patches, C how many)


class Given(Offsets):
    """What is returned: a thing (A), part of one (A thing, B four objects), an object (B)."""

    KIND = enum.auto()
    A = enum.auto()
    B = enum.auto()


THING, VIEW, OBJECT = range(3)
_TENSOR, _NAME, _SAME, _INT, _FLOAT, _TUPLE, _PARTS = range(1, 8)
_WORDS, _THINGS, _KEY = 0, 8, 16
_OBJECTS = _KEY + 8 * _MOST_WORDS
_PLACES = _OBJECTS + 8 * MOST_THINGS
_SCRATCH = _PLACES + 8 * MOST_THINGS


def front_functions() -> str:
    """The functions of this file as LLVM IR."""
    parts = (_dropped(), _put(), _tensor(), _describe(), _fingerprint(), _hash(), _fits(),
             _patched(), _step(), _item(), _result(), _play(), _found(), _call(),
             _key())  # fmt: skip
    return "\n".join(f.text() for f in parts)


def _dropped() -> Fn:
    """Drop an exception, but none such as KeyboardInterrupt: the call ends with that one."""
    f = Fn("drop_exception", "void", local=True)
    ours = f.call("i32", "PyErr_ExceptionMatches", f"ptr {f.load('ptr', '@PyExc_Exception')}")
    with f.when(f.cmp("ne", ours, 0, "i32")):
        f.call("void", "PyErr_Clear")
    f.ret("void")
    return f


def _unless_raised(f: Fn) -> None:
    """End the function if an exception is set."""
    with f.when(f.cmp("ne", f.call("ptr", "PyErr_Occurred"), "null", "ptr")):
        f.ret("ptr", "null")


def _put() -> Fn:
    """Append a word to the description."""
    f = Fn("put_word", "void", "ptr s", "i64 word", local=True)
    n = f.load("i64", "%s", _WORDS)
    f.store("i64", "%word", f.word(f.at("%s", _KEY), n))
    f.store("i64", f.add(n, 1), "%s", _WORDS)
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
    at = f.load("i64", "%s", _THINGS)
    f.store("ptr", "%obj", f.word(f.at("%s", _OBJECTS), at))
    f.store("i64", address, f.word(f.at("%s", _PLACES), at))
    f.store("i64", f.add(at, 1), "%s", _THINGS)
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
    f.unless(f.cmp("slt", f.load("i64", "%s", _WORDS), _MOST_WORDS - _ROOM), no)
    f.unless(f.cmp("slt", f.load("i64", "%s", _THINGS), MOST_THINGS // 2), no)
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
    f.store("i64", 0, "%s", _WORDS)
    f.store("i64", 0, "%s", _THINGS)
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
    f.ret("i1", f.cmp("ne", f.load("i64", "%s", _THINGS), 0))
    f.start(no)
    f.ret("i1", "false")
    return f


def _hash() -> Fn:
    """A number that is nearly always another one for another description."""
    f = Fn("hash_words", "i64", "ptr s", local=True)
    h = f.var("i64", 0)
    words = f.at("%s", _KEY)
    with f.each(f.load("i64", "%s", _WORDS)) as i:
        mixed = f.op("mul", f.op("xor", f.get(h), f.load("i64", f.word(words, i))), _SPREAD)
        f.set(h, f.op("xor", mixed, f.op("lshr", mixed, 29)))
    f.ret("i64", f.get(h))
    return f


def _fits() -> Fn:
    """Whether a kind of calls is that of a description: also where tensors lie to each other."""
    f = Fn("known_fits", "i1", "ptr e", "ptr s", "i64 hash", local=True)
    no = f.label()
    f.unless(f.cmp("eq", f.load("i64", "%e", Known.HASH), "%hash"), no)
    count = f.load("i64", "%s", _WORDS)
    f.unless(f.cmp("eq", f.load("i64", "%e", Known.COUNT), count), no)
    key, words = f.load("ptr", "%e", Known.KEY), f.at("%s", _KEY)
    with f.each(count) as i:
        known = f.load("i64", f.word(key, i))
        f.unless(f.cmp("eq", known, f.load("i64", f.word(words, i))), no)
    aliases, places = f.load("ptr", "%e", Known.ALIASES), f.at("%s", _PLACES)
    with f.each(f.load("i64", "%e", Known.ALIAS_COUNT)) as i:
        alias = f.at(aliases, f.op("mul", i, 24))
        a, b = (f.load("i64", f.word(places, f.load("i64", alias, at))) for at in (0, 8))
        f.unless(f.cmp("eq", f.op("sub", b, a), f.load("i64", alias, 16)), no)
    apart = f.load("ptr", "%e", Known.APART)
    with f.each(f.load("i64", "%e", Known.APART_COUNT)) as i:
        pair = f.at(apart, f.op("mul", i, 32))
        a, b = (f.load("i64", f.word(places, f.load("i64", pair, at))) for at in (0, 8))
        distance, size, other = f.op("sub", b, a), f.load("i64", pair, 16), f.load("i64", pair, 24)
        before = f.cmp("sle", f.add(distance, other), 0)
        f.unless(f.op("or", before, f.cmp("sge", distance, size), "i1"), no)
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _patched() -> Fn:
    """Launch a version with other addresses, if its guards hold."""
    f = Fn("launch_patched", "i32", "ptr v", "ptr patches", "i64 count", "ptr places", local=True)
    python = f.label()
    checks, many = f.load("ptr", "%v", Version.CHECKS), f.load("i64", "%v", Version.CHECK_COUNT)
    holds = f.call("i32", "@holds", f"ptr {checks}", f"i64 {many}")
    f.unless(f.cmp("ne", holds, 0, "i32"), python)
    size = f.load("i64", "%v", Version.SLOT_COUNT)
    slots = f.let(f"alloca i64, i64 {size}, align 8")
    prepared = f.load("ptr", "%v", Version.SLOTS)
    with f.each(size) as i:
        f.store("i64", f.load("i64", f.word(prepared, i)), f.word(slots, i))
    with f.each("%count") as i:
        patch = f.at("%patches", f.op("mul", i, _PATCH))
        slot, which, more = (f.load("i64", patch, at) for at in (0, 8, 16))
        f.store("i64", f.add(f.load("i64", f.word("%places", which)), more), f.word(slots, slot))
    f.ret("i32", f.call("i32", "@launch", "ptr %v", f"ptr {slots}"))
    f.start(python)
    f.ret("i32", SLOWLY)
    return f


def _step() -> Fn:
    """Do one step: DONE, RAISED, or SLOWLY where it cannot be done as it was."""
    f = Fn("do_step", "i32", "ptr p", "ptr s", local=True)
    labels = {a: f.label() for a in Action}
    slowly, raised = f.label(), f.label()
    n = f.load("i64", "%s", _THINGS)
    place, kept = f.word(f.at("%s", _PLACES), n), f.word(f.at("%s", _OBJECTS), n)
    places = f.at("%s", _PLACES)
    a, b = (f.load("ptr", "%p", at) for at in (Step.A, Step.B))
    c, more = f.load("i64", "%p", Step.C), f.add(n, 1)
    table = " ".join(f"i64 {k.value}, label %{at}" for k, at in labels.items())
    f.lines.append(f"switch i64 {f.load('i64', '%p', Step.ACTION)}, label %{slowly} [ {table} ]")
    f.start(labels[Action.MAKE])
    names = f.load("ptr", "%p", Step.D)
    made = f.call("ptr", "PyObject_Vectorcall", f"ptr {a}", f"ptr {b}", f"i64 {c}", f"ptr {names}")
    f.unless(f.cmp("ne", made, "null", "ptr"), raised)
    f.store("ptr", made, kept)
    f.store("i64", more, "%s", _THINGS)
    dl = f.alloca("i8", DL_SIZE)
    export = f.load("ptr", "@state", State.TORCH_EXPORT)
    with f.when(f.cmp("ne", f.call("i32", export, f"ptr {made}", f"ptr {dl}"), 0, "i32")):
        f.call("void", "PyErr_Clear")
        f.goto(slowly)
    address = address_of(f, dl)
    f.store("i64", address, place)
    low = f.cmp("eq", f.op("and", address, MADE - 1), f.load("i64", "%p", Step.E))
    f.ret("i32", f.select(low, DONE, SLOWLY, "i32"))
    f.start(labels[Action.PART])
    base = f.load("i64", f.word(places, f.let(f"ptrtoint ptr {a} to i64")))
    _made(f, f.add(base, f.let(f"ptrtoint ptr {b} to i64")), (place, kept, more))
    f.start(labels[Action.NUMBER])
    number = f.call("ptr", "PyIter_Next", f"ptr {a}")
    f.unless(f.cmp("ne", number, "null", "ptr"), slowly)  # perhaps an exception is set
    value = f.call("i64", "PyLong_AsUnsignedLongLong", f"ptr {number}")
    f.call("void", "Py_DecRef", f"ptr {number}")
    with f.when(f.cmp("eq", value, -1)):
        error = f.call("ptr", "PyErr_Occurred")
        f.unless(f.cmp("eq", error, "null", "ptr"), raised)
    _made(f, value, (place, kept, more))
    f.start(labels[Action.LAUNCH])
    f.ret("i32", f.call("i32", "@launch_patched", f"ptr {a}", f"ptr {b}", f"i64 {c}",
                        f"ptr {places}"))  # fmt: skip
    f.start(slowly)
    f.ret("i32", SLOWLY)
    f.start(raised)
    f.ret("i32", RAISED)
    return f


def _made(f: Fn, value: str, room: tuple[str, str, str]) -> None:
    """A thing that is no object."""
    place, kept, more = room
    f.store("i64", value, place)
    f.store("ptr", "null", kept)
    f.store("i64", more, "%s", _THINGS)
    f.ret("i32", DONE)


def _item() -> Fn:
    """One object that is returned, a new reference; null: an exception is set."""
    f = Fn("given_item", "ptr", "ptr g", "ptr s", local=True)
    thing, view, constant = (f.label() for _ in range(3))
    kind = f.load("i64", "%g", Given.KIND)
    obj = f.load("ptr", f.word(f.at("%s", _OBJECTS), f.load("i64", "%g", Given.A)))
    rest = f.load("ptr", "%g", Given.B)
    f.lines.append(f"switch i64 {kind}, label %{constant} [ i64 {THING}, label %{thing} "
                   f"i64 {VIEW}, label %{view} ]")  # fmt: skip
    f.start(thing)
    f.call("void", "Py_IncRef", f"ptr {obj}")
    f.ret("ptr", obj)
    f.start(view)
    args = f.alloca("ptr", 5)
    first = f.at(args, 8)
    f.store("ptr", obj, first)
    for i in range(3):
        f.store("ptr", f.load("ptr", rest, 8 * i), first, 8 * (i + 1))
    name = f.load("ptr", "@state", State.AS_STRIDED)
    f.ret("ptr", f.call("ptr", "PyObject_VectorcallMethod", f"ptr {name}", f"ptr {first}",
                        f"i64 {_OFFSET_FLAG + 4}", "ptr null"))  # fmt: skip
    f.start(constant)
    f.call("void", "Py_IncRef", f"ptr {rest}")
    f.ret("ptr", rest)
    return f


def _result() -> Fn:
    """What a call returns, a new reference; null: an exception is set."""
    f = Fn("given_result", "ptr", "ptr e", "ptr s", local=True)
    failed, null = f.label(), f.label()
    items, count = f.load("ptr", "%e", Known.RESULTS), f.load("i64", "%e", Known.RESULT_COUNT)
    with f.when(f.cmp("slt", count, 0)):
        f.ret("ptr", f.call("ptr", "@given_item", f"ptr {items}", "ptr %s"))
    out = f.call("ptr", "PyTuple_New", f"i64 {count}")
    f.unless(f.cmp("ne", out, "null", "ptr"), null)
    with f.each(count) as i:
        item = f.at(items, f.op("mul", i, 8 * Given.size()))
        obj = f.call("ptr", "@given_item", f"ptr {item}", "ptr %s")
        f.unless(f.cmp("ne", obj, "null", "ptr"), failed)
        f.call("i32", "PyTuple_SetItem", f"ptr {out}", f"i64 {i}", f"ptr {obj}")
    f.ret("ptr", out)
    f.start(failed)
    f.call("void", "Py_DecRef", f"ptr {out}")
    f.goto(null)
    f.start(null)
    f.ret("ptr", "null")
    return f


def _play() -> Fn:
    """Do what a known call does; its result goes to `out`. DONE, RAISED, or SLOWLY."""
    f = Fn("play", "i32", "ptr e", "ptr s", "ptr out", local=True)
    finish = f.label()
    owner = f.load("ptr", "%e", Known.OWNER)  # other threads may forget the call meanwhile
    f.call("void", "Py_IncRef", f"ptr {owner}")
    given = f.load("i64", "%s", _THINGS)
    status = f.var("i32", DONE)
    steps = f.load("ptr", "%e", Known.STEPS)
    with f.each(f.load("i64", "%e", Known.STEP_COUNT)) as i:
        step = f.at(steps, f.op("mul", i, 8 * Step.size()))
        f.set(status, f.call("i32", "@do_step", f"ptr {step}", "ptr %s"))
        f.unless(f.cmp("eq", f.get(status), DONE, "i32"), finish)
    result = f.call("ptr", "@given_result", "ptr %e", "ptr %s")
    f.store("ptr", result, "%out")
    with f.when(f.cmp("eq", result, "null", "ptr")):
        f.set(status, RAISED)
    f.goto(finish)
    f.start(finish)
    made = f.op("sub", f.load("i64", "%s", _THINGS), given)
    objects = f.word(f.at("%s", _OBJECTS), given)
    with f.each(made) as i:
        obj = f.load("ptr", f.word(objects, i))
        with f.when(f.cmp("ne", obj, "null", "ptr")):
            f.call("void", "Py_DecRef", f"ptr {obj}")
    f.call("void", "Py_DecRef", f"ptr {owner}")
    f.ret("i32", f.get(status))
    return f


def _found() -> Fn:
    """The record of calls like the described one, or null."""
    f = Fn("find_known", "ptr", "ptr st", "ptr s", local=True)
    no, head = f.label(), f.label()
    table, mask = f.load("ptr", "%st", Front.TABLE), f.load("i64", "%st", Front.MASK)
    f.unless(f.cmp("ne", table, "null", "ptr"), no)
    h = f.call("i64", "@hash_words", "ptr %s")
    at = f.var("i64", h)
    f.goto(head)
    f.start(head)
    place = f.op("and", f.get(at), mask)
    known = f.load("ptr", f.word(table, place))
    f.unless(f.cmp("ne", known, "null", "ptr"), no)
    with f.when(f.call("i1", "@known_fits", f"ptr {known}", "ptr %s", f"i64 {h}")):
        f.ret("ptr", known)
    f.set(at, f.add(place, 1))
    f.goto(head)
    f.start(no)
    f.ret("ptr", "null")
    return f


def _call() -> Fn:
    f = Fn("front_call", "ptr", "ptr self", "ptr args", "i64 count", "ptr names")
    slow, failed = f.label(), f.label()
    st = f.call("ptr", "PyLong_AsVoidPtr", "ptr %self")
    watched = f.load("i64", f.load("ptr", st, Front.WATCHED_AT))
    f.unless(f.cmp("eq", watched, 0), slow)
    # Without torch there are no modes, nor is anything known.
    modes, bare = f.load("ptr", "@state", State.TORCH_MODES), f.label()
    f.unless(f.cmp("ne", modes, "null", "ptr"), slow)
    within = is_true(f, f.call("ptr", "PyObject_CallNoArgs", f"ptr {modes}"), failed)
    f.branch(within, slow, bare)
    f.start(bare)
    unless_tangents(f, slow)
    s, out = f.alloca("i8", _SCRATCH), f.alloca("ptr")
    arguments = ("ptr %args", "i64 %count", "ptr %names")
    f.unless(f.call("i1", "@fingerprint", f"ptr {s}", *arguments), slow)
    known = f.call("ptr", "@find_known", f"ptr {st}", f"ptr {s}")
    f.unless(f.cmp("ne", known, "null", "ptr"), slow)
    status = f.call("i32", "@play", f"ptr {known}", f"ptr {s}", f"ptr {out}")
    with f.when(f.cmp("eq", status, DONE, "i32")):
        f.store("i64", f.add(f.load("i64", st, Front.HITS), 1), st, Front.HITS)
        f.ret("ptr", f.load("ptr", out))
    f.branch(f.cmp("eq", status, RAISED, "i32"), failed, slow)
    f.start(failed)
    f.ret("ptr", "null")
    f.start(slow)
    _unless_raised(f)
    python = f.load("ptr", st, Front.SLOW)
    f.ret("ptr", f.call("ptr", "PyObject_Vectorcall", f"ptr {python}", *arguments))
    return f


def _key() -> Fn:
    f = Fn("front_key", "ptr", "ptr self", "ptr args", "i64 count", "ptr names")
    no = f.label()
    s = f.alloca("i8", _SCRATCH)
    arguments = ("ptr %args", "i64 %count", "ptr %names")
    f.unless(f.call("i1", "@fingerprint", f"ptr {s}", *arguments), no)
    words = f.load("i64", s, _WORDS)
    out = f.call(
        "ptr", "PyBytes_FromStringAndSize", "ptr null", f"i64 {f.add(f.op('shl', words, 3), 16)}"
    )
    with f.when(f.cmp("eq", out, "null", "ptr")):
        f.ret("ptr", "null")
    start = f.call("ptr", "PyBytes_AsString", f"ptr {out}")
    f.store("i64", f.call("i64", "@hash_words", f"ptr {s}"), start)
    f.store("i64", f.load("i64", s, _THINGS), start, 8)
    key, target = f.at(s, _KEY), f.at(start, 16)
    with f.each(words) as i:
        f.store("i64", f.load("i64", f.word(key, i)), f.word(target, i))
    f.ret("ptr", out)
    f.start(no)
    _unless_raised(f)
    none = f.load("ptr", "@state", State.NONE)
    f.call("void", "Py_IncRef", f"ptr {none}")
    f.ret("ptr", none)
    return f
