# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code for calls: arguments to slots, guards, the stream, the host function.

`run_version` tries one version (`words.Version`): it fits if each argument is what the version was
compiled for and each guard holds. The slots of a call are on the stack, so that threads and calls
within calls do not meet. The global lock is released while kernels are launched: the driver waits
when its queue is full, perhaps for a callback that needs the lock.
"""

from __future__ import annotations

from opencute.jit.entry.spaces import TAG_AT
from opencute.jit.entry.tensors import is_true, type_of
from opencute.jit.entry.words import Arg, Check, Kind, State, Version
from opencute.native.builder import Fn

__all__ = ["DONE", "NO_CONTEXT", "OTHER", "RAISED", "SLOWLY", "call_functions"]

DONE, OTHER, RAISED, SLOWLY = range(4)
"""Results of `run_version`: launched; another version; an exception is set; ask Python."""
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT: a thread that has not used the device yet
ARG_SIZE, CHECK_SIZE = 8 * Arg.size(), 32
_EXACT = 1 << 24  # f32 has all integers up to here


def call_functions() -> str:
    """The functions of this file as LLVM IR."""
    parts = (_number(), _real(), _handle(), _pointer(), _argument(), _check(), _stream(),
             _launch(), _holds(), _run_version(), _run_prepared())  # fmt: skip
    return "\n".join(f.text() for f in parts)


def _python_class(f: Fn, name: str, obj: str) -> str:
    """Whether an object is of exactly that builtin class."""
    return f.cmp("eq", type_of(f, obj), f"@{name}", "ptr")


def _number() -> Fn:
    """An int in the range of `arg` goes to its slot."""
    f = Fn("number", "i1", "ptr arg", "ptr obj", "ptr slot", local=True)
    no = f.label()
    f.unless(_python_class(f, "PyLong_Type", "%obj"), no)
    over = f.alloca("i32")
    value = f.call("i64", "PyLong_AsLongLongAndOverflow", "ptr %obj", f"ptr {over}")
    f.unless(f.cmp("eq", f.load("i32", over), 0, "i32"), no)
    f.unless(f.cmp("sge", value, f.load("i64", "%arg", Arg.A)), no)
    f.unless(f.cmp("sle", value, f.load("i64", "%arg", Arg.B)), no)
    f.store("i64", value, "%slot")
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _real() -> Fn:
    """A float goes to its slot as f32 or f64."""
    f = Fn("real", "i1", "ptr arg", "ptr obj", "ptr slot", local=True)
    no = f.label()
    f.unless(_python_class(f, "PyFloat_Type", "%obj"), no)
    value = f.call("double", "PyFloat_AsDouble", "ptr %obj")
    with f.when(f.cmp("eq", f.load("i64", "%arg", Arg.A), 32)):
        narrow = f.let(f"fptrunc double {value} to float")
        bits = f.let(f"bitcast float {narrow} to i32")
        f.store("i64", f.let(f"zext i32 {bits} to i64"), "%slot")
        f.ret("i1", "true")
    f.store("double", value, "%slot")
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _handle() -> Fn:
    """A stream goes to its slot as its handle."""
    f = Fn("handle", "i1", "ptr arg", "ptr obj", "ptr slot", local=True)
    no, clear, got = f.label(), f.label(), f.label()
    f.unless(f.cmp("eq", type_of(f, "%obj"), f.load("ptr", "%arg", Arg.A), "ptr"), no)
    made = f.var("ptr", "null")
    own, plain = f.label(), f.label()
    f.branch(f.cmp("eq", f.load("i64", "%arg", Arg.B), 1), own, plain)
    f.start(own)
    name = f.load("ptr", "@state", State.CUDA_STREAM)
    f.set(made, f.call("ptr", "PyObject_GetAttr", "ptr %obj", f"ptr {name}"))
    f.goto(got)
    f.start(plain)
    f.set(made, f.call("ptr", "PyNumber_Long", "ptr %obj"))
    f.goto(got)
    f.start(got)
    number = f.get(made)
    f.unless(f.cmp("ne", number, "null", "ptr"), clear)
    value = f.call("i64", "PyLong_AsUnsignedLongLong", f"ptr {number}")
    f.call("void", "Py_DecRef", f"ptr {number}")
    with f.when(f.cmp("eq", value, -1)):
        f.goto(clear)
    f.store("i64", value, "%slot")
    f.ret("i1", "true")
    f.start(clear)
    f.call("void", "PyErr_Clear")
    f.goto(no)
    f.start(no)
    f.ret("i1", "false")
    return f


def _pointer() -> Fn:
    """An ExternalPointer of the same type goes to its slot as its address."""
    f = Fn("pointer", "i1", "ptr arg", "ptr obj", "ptr slot", local=True)
    no = f.label()
    f.unless(f.cmp("eq", type_of(f, "%obj"), f.load("ptr", "@state", State.POINTER), "ptr"), no)
    for place, wanted in ((State.POINTER_DTYPE_AT, Arg.A), (State.POINTER_SPACE_AT, Arg.B),
                          (State.POINTER_ALIGN_AT, Arg.C)):  # fmt: skip
        part = f.load("ptr", "%obj", f.load("i64", "@state", place))
        f.unless(f.cmp("eq", part, f.load("ptr", "%arg", wanted), "ptr"), no)
    address = f.load("ptr", "%obj", f.load("i64", "@state", State.POINTER_ADDRESS_AT))
    f.unless(f.cmp("ne", address, "null", "ptr"), no)
    f.unless(_python_class(f, "PyLong_Type", address), no)
    value = f.call("i64", "PyLong_AsUnsignedLongLong", f"ptr {address}")
    with f.when(f.cmp("eq", value, -1)):
        f.call("void", "PyErr_Clear")
        f.goto(no)
    f.store("i64", value, "%slot")
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _argument() -> Fn:
    """Whether an argument is what `arg` describes; fills its slots."""
    f = Fn("argument", "i1", "ptr arg", "ptr obj", "ptr slots", local=True)
    labels = {kind: f.label() for kind in Kind}
    no = f.label()
    kind = f.load("i64", "%arg", Arg.KIND)
    slot = f.word("%slots", f.load("i64", "%arg", Arg.SLOT))
    table = " ".join(f"i64 {k.value}, label %{labels[k]}" for k in Kind)
    f.lines.append(f"switch i64 {kind}, label %{no} [ {table} ]")
    f.start(labels[Kind.SAME])
    f.ret("i1", f.cmp("eq", "%obj", f.load("ptr", "%arg", Arg.A), "ptr"))
    for k, callee, place in ((Kind.TENSOR, "@match_tensor", "%slots"), (Kind.INT, "@number", slot),
                             (Kind.FLOAT, "@real", slot), (Kind.HANDLE, "@handle", slot),
                             (Kind.POINTER, "@pointer", slot)):  # fmt: skip
        f.start(labels[k])
        f.ret("i1", f.call("i1", callee, "ptr %arg", "ptr %obj", f"ptr {place}"))
    f.start(labels[Kind.BOOL])
    f.unless(_python_class(f, "PyBool_Type", "%obj"), no)
    truth = f.call("i32", "PyObject_IsTrue", "ptr %obj")
    f.store("i64", f.let(f"zext i32 {truth} to i64"), slot)
    f.ret("i1", "true")
    for k, callee in ((Kind.NUMBER_INT, "@number"), (Kind.NUMBER_FLOAT, "@real")):
        f.start(labels[k])
        f.unless(f.cmp("eq", type_of(f, "%obj"), f.load("ptr", "%arg", Arg.C), "ptr"), no)
        value = f.load("ptr", "%obj", f.load("i64", "@state", State.NUMBER_VALUE_AT))
        f.unless(f.cmp("ne", value, "null", "ptr"), no)
        f.ret("i1", f.call("i1", callee, "ptr %arg", f"ptr {value}", f"ptr {slot}"))
    f.start(labels[Kind.TUPLE])
    _items(f, no)
    f.start(labels[Kind.EQUAL])
    _equal(f, no)
    f.start(labels[Kind.INT_FLOAT])
    _whole_real(f, slot, no)
    f.start(labels[Kind.EQUAL_INT])
    f.unless(_python_class(f, "PyLong_Type", "%obj"), no)
    over = f.alloca("i32")
    value = f.call("i64", "PyLong_AsLongLongAndOverflow", "ptr %obj", f"ptr {over}")
    f.unless(f.cmp("eq", f.load("i32", over), 0, "i32"), no)
    f.ret("i1", f.cmp("eq", value, f.load("i64", "%arg", Arg.A)))
    f.start(no)
    f.ret("i1", "false")
    return f


def _items(f: Fn, no: str) -> None:
    """A tuple or a list: its items are what is described."""
    f.unless(f.cmp("eq", type_of(f, "%obj"), f.load("ptr", "%arg", Arg.B), "ptr"), no)
    count, items = f.load("i64", "%arg", Arg.A), f.load("ptr", "%arg", Arg.D)
    several = f.cmp("eq", f.load("i64", "%arg", Arg.C), 1)
    f.unless(f.cmp("eq", f.call("i64", "PyObject_Size", "ptr %obj"), count), no)
    with f.each(count) as i:
        item = f.var("ptr", "null")
        in_list, in_tuple, found = f.label(), f.label(), f.label()
        f.branch(several, in_list, in_tuple)
        f.start(in_list)
        f.set(item, f.call("ptr", "PyList_GetItem", "ptr %obj", f"i64 {i}"))
        f.goto(found)
        f.start(in_tuple)
        f.set(item, f.call("ptr", "PyTuple_GetItem", "ptr %obj", f"i64 {i}"))
        f.goto(found)
        f.start(found)
        described = f.at(items, f.op("mul", i, ARG_SIZE))
        fits = f.call("i1", "@argument", f"ptr {described}", f"ptr {f.get(item)}", "ptr %slots")
        f.unless(fits, no)
    f.ret("i1", "true")


def _equal(f: Fn, no: str) -> None:
    """A constant: the object itself, or one that Python calls the same."""
    known = f.load("ptr", "%arg", Arg.A)
    with f.when(f.cmp("eq", "%obj", known, "ptr")):
        f.ret("i1", "true")
    f.unless(f.cmp("eq", type_of(f, "%obj"), type_of(f, known), "ptr"), no)
    pair, clear = f.alloca("ptr", 2), f.label()
    f.store("ptr", "%obj", pair)
    f.store("ptr", known, pair, 8)
    python = f.load("ptr", "@state", State.SAME_CONSTANT)
    answer = f.call("ptr", "PyObject_Vectorcall", f"ptr {python}", f"ptr {pair}", "i64 2",
                    "ptr null")  # fmt: skip
    f.ret("i1", is_true(f, answer, clear))
    f.start(clear)
    f.call("void", "PyErr_Clear")
    f.goto(no)


def _whole_real(f: Fn, slot: str, no: str) -> None:
    """An int that f32 has exactly, as f32 or f64."""
    f.unless(_python_class(f, "PyLong_Type", "%obj"), no)
    over = f.alloca("i32")
    value = f.call("i64", "PyLong_AsLongLongAndOverflow", "ptr %obj", f"ptr {over}")
    f.unless(f.cmp("eq", f.load("i32", over), 0, "i32"), no)
    f.unless(f.cmp("ult", f.add(value, _EXACT), 2 * _EXACT), no)
    wide = f.let(f"sitofp i64 {value} to double")
    with f.when(f.cmp("eq", f.load("i64", "%arg", Arg.A), 32)):
        narrow = f.let(f"fptrunc double {wide} to float")
        bits = f.let(f"bitcast float {narrow} to i32")
        f.store("i64", f.let(f"zext i32 {bits} to i64"), slot)
        f.ret("i1", "true")
    f.store("double", wide, slot)
    f.ret("i1", "true")


def _check() -> Fn:
    """Whether one guard holds."""
    f = Fn("check", "i1", "ptr c", local=True)
    labels = {kind: f.label() for kind in Check if kind is not Check.SPACE}
    no, clear = f.label(), f.label()
    a, b, expected = (f.load("ptr", "%c", at) for at in (8, 16, 24))
    table = " ".join(f"i64 {k.value}, label %{at}" for k, at in labels.items())
    f.lines.append(f"switch i64 {f.load('i64', '%c')}, label %{no} [ {table} ]")
    two = (f"ptr {a}", f"ptr {b}")
    f.start(labels[Check.DICT])
    f.unless(_python_class(f, "PyDict_Type", a), no)
    found = f.call("ptr", "PyDict_GetItemWithError", *two)
    hit = f.cmp("eq", found, expected, "ptr")
    with f.when(f.op("and", hit, f.cmp("ne", found, "null", "ptr"), "i1")):
        f.ret("i1", "true")
    with f.when(f.cmp("ne", f.call("ptr", "PyErr_Occurred"), "null", "ptr")):
        f.goto(clear)
    f.ret("i1", hit)
    for kind, callee, arguments in (
        (Check.CELL, "PyCell_Get", two[:1]), (Check.ATTRIBUTE, "PyObject_GetAttr", two),
    ):  # fmt: skip
        f.start(labels[kind])
        value = f.call("ptr", callee, *arguments)
        same = f.cmp("eq", value, expected, "ptr")
        with f.when(f.cmp("eq", value, "null", "ptr")):
            f.call("void", "PyErr_Clear")
            f.ret("i1", same)
        f.call("void", "Py_DecRef", f"ptr {value}")
        f.ret("i1", same)
    for kind, callee in (
        (Check.CODE, "PyFunction_GetCode"), (Check.DEFAULTS, "PyFunction_GetDefaults"),
        (Check.KEYWORD_DEFAULTS, "PyFunction_GetKwDefaults"),
    ):  # fmt: skip
        f.start(labels[kind])
        f.ret("i1", f.cmp("eq", f.call("ptr", callee, two[0]), expected, "ptr"))
    f.start(labels[Check.LENGTH])
    size = f.call("i64", "PyObject_Size", two[0])
    f.ret("i1", f.cmp("eq", size, f.load("i64", "%c", 24)))
    f.start(labels[Check.ITEM])
    at = f.load("i64", "%c", 16)
    f.unless(f.cmp("slt", at, f.call("i64", "PyList_Size", two[0])), no)
    item = f.call("ptr", "PyList_GetItem", two[0], f"i64 {at}")
    f.ret("i1", f.cmp("eq", item, expected, "ptr"))
    f.start(labels[Check.NUMBER])
    number = f.call("ptr", "PyObject_CallNoArgs", two[0])
    f.unless(f.cmp("ne", number, "null", "ptr"), clear)
    now = f.call("i64", "PyLong_AsLongLong", f"ptr {number}")
    f.call("void", "Py_DecRef", f"ptr {number}")
    f.ret("i1", f.cmp("eq", now, f.load("i64", "%c", 24)))
    f.start(labels[Check.KEYS])
    f.unless(_python_class(f, "PyDict_Type", a), no)
    position, key, value = f.alloca("i64"), f.alloca("ptr"), f.alloca("ptr")
    f.store("i64", 0, position)
    with f.each(f.call("i64", "PyTuple_Size", two[1])) as j:
        places = [f"ptr {p}" for p in (position, key, value)]
        f.unless(f.cmp("ne", f.call("i32", "PyDict_Next", two[0], *places), 0, "i32"), no)
        want = f.call("ptr", "PyTuple_GetItem", two[1], f"i64 {j}")
        f.unless(f.cmp("eq", f.load("ptr", key), want, "ptr"), no)
    f.ret("i1", "true")
    f.start(labels[Check.TYPE])
    f.ret("i1", f.cmp("eq", type_of(f, a), expected, "ptr"))
    f.start(labels[Check.WORD])
    f.ret("i1", f.cmp("eq", f.load("ptr", a), expected, "ptr"))
    f.start(clear)
    f.call("void", "PyErr_Clear")
    f.goto(no)
    f.start(no)
    f.ret("i1", "false")
    return f


def _holds() -> Fn:
    """Whether all guards hold: (checks, how many).

    Those of a dict whose tag is the one that is noted are passed over. Else they are looked at, and
    the tag that the dict had before is noted.
    """
    f = Fn("holds", "i32", "ptr checks", "i64 count")
    no, head, body, space, found, behind = (f.label() for _ in range(6))
    index = f.var("i64", 0)
    f.goto(head)
    f.start(head)
    i = f.get(index)
    done = f.label()
    f.branch(f.cmp("slt", i, "%count"), body, done)
    f.start(body)
    check = f.at("%checks", f.op("mul", i, CHECK_SIZE))
    f.set(index, f.add(i, 1))
    single = f.label()
    f.branch(f.cmp("eq", f.load("i64", check), Check.SPACE.value), space, single)
    f.start(single)
    f.unless(f.call("i1", "@check", f"ptr {check}"), no)
    f.goto(head)
    f.start(space)
    many = f.load("i64", check, 16)
    tag = f.load("i64", f.load("ptr", check, 8), TAG_AT)
    f.branch(f.cmp("eq", tag, f.load("i64", check, 24)), behind, found)
    f.start(found)
    with f.each(many) as j:
        part = f.at(check, f.op("mul", f.add(j, 1), CHECK_SIZE))
        f.unless(f.call("i1", "@check", f"ptr {part}"), no)
    f.store("i64", tag, check, 24)
    f.goto(behind)
    f.start(behind)
    f.set(index, f.add(f.get(index), many))
    f.goto(head)
    f.start(done)
    f.ret("i32", 1)
    f.start(no)
    f.ret("i32", 0)
    return f


def _stream() -> Fn:
    """The current stream goes to slot 0; false means that an exception is set."""
    f = Fn("current_stream", "i1", "ptr v", "ptr slots", local=True)
    bad = f.label()
    f.store("i64", 0, "%slots")
    exchange, reader = (f.load("ptr", "%v", w) for w in (Version.STREAM, Version.STREAM_READER))
    with f.when(f.cmp("ne", exchange, "null", "ptr")):
        device = f.load("i32", "%v", Version.DEVICE)
        status = f.call("i32", exchange, "i32 2", f"i32 {device}", "ptr %slots")
        f.ret("i1", f.cmp("eq", status, 0, "i32"))
    with f.when(f.cmp("ne", reader, "null", "ptr")):
        device = f.load("ptr", "%v", Version.DEVICE_OBJECT)
        number = f.call("ptr", "PyObject_CallOneArg", f"ptr {reader}", f"ptr {device}")
        f.unless(f.cmp("ne", number, "null", "ptr"), bad)
        value = f.call("i64", "PyLong_AsUnsignedLongLong", f"ptr {number}")
        f.call("void", "Py_DecRef", f"ptr {number}")
        f.store("i64", value, "%slots")
        with f.when(f.cmp("eq", value, -1)):
            occurred = f.call("ptr", "PyErr_Occurred")
            f.ret("i1", f.cmp("eq", occurred, "null", "ptr"))
    f.ret("i1", "true")
    f.start(bad)
    f.ret("i1", "false")
    return f


def _launch() -> Fn:
    """Run the host function of a version with filled slots."""
    f = Fn("launch", "i32", "ptr v", "ptr slots", local=True)
    python = f.label()
    current = f.load("ptr", "%v", Version.CURRENT_DEVICE)
    with f.when(f.cmp("ne", current, "null", "ptr")):
        now = f.alloca("i32")
        status = f.call("i32", current, f"ptr {now}")
        f.unless(f.cmp("eq", status, 0, "i32"), python)
        device = f.load("i32", "%v", Version.DEVICE)
        f.unless(f.cmp("eq", f.load("i32", now), device, "i32"), python)
    with f.when(f.op("xor", f.call("i1", "@current_stream", "ptr %v", "ptr %slots"), "true", "i1")):
        f.ret("i32", RAISED)
    host = f.load("ptr", "%v", Version.HOST)
    thread = f.call("ptr", "PyEval_SaveThread")
    result = f.call("i32", host, "ptr %slots")
    f.call("void", "PyEval_RestoreThread", f"ptr {thread}")
    with f.when(f.cmp("eq", result, 0, "i32")):
        counter = f.load("ptr", "%v", Version.LAUNCHES_AT)
        count = f.add(f.load("i64", counter), f.load("i64", "%v", Version.LAUNCHES))
        f.store("i64", count, counter)
        f.ret("i32", DONE)
    with f.when(f.cmp("eq", result, NO_CONTEXT, "i32")):
        f.ret("i32", SLOWLY)
    wide = f.let(f"sext i32 {result} to i64")
    code = f.call("ptr", "PyLong_FromLongLong", f"i64 {wide}")
    failed = f.load("ptr", "%v", Version.FAILED)
    with f.when(f.cmp("ne", code, "null", "ptr")):
        none = f.call("ptr", "PyObject_CallOneArg", f"ptr {failed}", f"ptr {code}")
        f.call("void", "Py_DecRef", f"ptr {code}")
        with f.when(f.cmp("ne", none, "null", "ptr")):
            f.call("void", "Py_DecRef", f"ptr {none}")
            f.ret("i32", SLOWLY)
    f.ret("i32", RAISED)
    f.start(python)
    f.ret("i32", SLOWLY)
    return f


def _run_version() -> Fn:
    """Run a version if it fits the arguments; see the results above."""
    f = Fn("run_version", "i32", "ptr v", "ptr args", "i64 count", local=True)
    other = f.label()
    f.unless(f.cmp("eq", f.load("i64", "%v", Version.COUNT), "%count"), other)
    size = f.load("i64", "%v", Version.SLOT_COUNT)
    slots = f.let(f"alloca i64, i64 {size}, align 8")
    prepared = f.load("ptr", "%v", Version.SLOTS)
    with f.each(size) as i:
        f.store("i64", f.load("i64", f.word(prepared, i)), f.word(slots, i))
    described = f.load("ptr", "%v", Version.ARGS)
    with f.each("%count") as i:
        arg = f.at(described, f.op("mul", i, ARG_SIZE))
        obj = f.load("ptr", f.word("%args", i))
        fits = f.call("i1", "@argument", f"ptr {arg}", f"ptr {obj}", f"ptr {slots}")
        f.unless(fits, other)
    checks = f.load("ptr", "%v", Version.CHECKS)
    many = f.load("i64", "%v", Version.CHECK_COUNT)
    holds = f.call("i32", "@holds", f"ptr {checks}", f"i64 {many}")
    f.unless(f.cmp("ne", holds, 0, "i32"), other)
    f.ret("i32", f.call("i32", "@launch", "ptr %v", f"ptr {slots}"))
    f.start(other)
    f.ret("i32", OTHER)
    return f


def _run_prepared() -> Fn:
    """Run a version whose slots are complete, if its guards hold."""
    f = Fn("run_prepared", "i32", "ptr v", local=True)
    checks, many = f.load("ptr", "%v", Version.CHECKS), f.load("i64", "%v", Version.CHECK_COUNT)
    with f.when(f.cmp("eq", f.call("i32", "@holds", f"ptr {checks}", f"i64 {many}"), 0, "i32")):
        f.ret("i32", OTHER)
    size = f.load("i64", "%v", Version.SLOT_COUNT)
    slots = f.let(f"alloca i64, i64 {size}, align 8")
    prepared = f.load("ptr", "%v", Version.SLOTS)
    with f.each(size) as i:
        f.store("i64", f.load("i64", f.word(prepared, i)), f.word(slots, i))
    f.ret("i32", f.call("i32", "@launch", "ptr %v", f"ptr {slots}"))
    return f
