# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code for tensors: `from_dlpack`, `mark_layout_dynamic`, and matching one to a version.

torch's tensors are read through DLPack's C exchange functions. A tensor that native code made keeps
a copy of the description in a bytes object (`runtime.capsule.pack`), torch's storage, and its marks
as one integer (`lang.external.mark_word`); the Python attributes are filled in when somebody reads
one (`ExternalTensor.__getattr__`). What native code does not understand goes to the Python function
that does, which also raises the error.
"""

from __future__ import annotations

from opencute.jit.entry.words import Arg, State
from opencute.lang.external import MARK_ALIGN, MARK_LEAD
from opencute.native.builder import Fn

__all__ = [
    "address_of", "is_true", "method", "spaced", "tensor_functions", "type_of", "unless_tangents",
]  # fmt: skip

# DLTensor.
DATA, DEVICE, NDIM, DTYPE, SHAPE, STRIDES, OFFSET = 0, 8, 16, 20, 24, 32, 40
DL_SIZE = 48
_TYPE_AT = 8  # of an object's class, in every CPython that has a global lock
COMPLEX = 5  # a code of element types
# Negated views are imaginary parts, which begin in the middle of 16 bytes; those that `as_strided`
# lets begin elsewhere still have no neighbours.
ODD = 15
_MAX_RANK = 32
_FACT_BYTES = 16


def tensor_functions() -> str:
    """The functions of this file as LLVM IR."""
    parts = (
        _plain_torch(), _lead(), _known_type(), _record_of(), _from_dlpack(), _mark(), _borrow(),
        _match_tensor(),
    )  # fmt: skip
    return "\n".join(f.text() for f in parts)


def type_of(f: Fn, obj: str) -> str:
    """An object's class."""
    return f.load("ptr", obj, _TYPE_AT)


def is_true(f: Fn, obj: str, other: str) -> str:
    """Whether a new reference is True; it is let go. Jumps to `other` if it is null, or if it does
    not say so; an exception is set then."""
    f.unless(f.cmp("ne", obj, "null", "ptr"), other)
    truth = f.call("i32", "PyObject_IsTrue", f"ptr {obj}")
    f.call("void", "Py_DecRef", f"ptr {obj}")
    f.unless(f.cmp("sge", truth, 0, "i32"), other)
    return f.cmp("ne", truth, 0, "i32")


def method(f: Fn, obj: str, name: State) -> str:
    """Call a method without arguments; a new reference, or null."""
    args = f.alloca("ptr", 2)
    first = f.at(args, 8)
    f.store("ptr", obj, first)
    flag = "-9223372036854775807"  # one argument, and the word before it may be used
    named = f.load("ptr", "@state", name)
    return f.call(
        "ptr",
        "PyObject_VectorcallMethod",
        f"ptr {named}",
        f"ptr {first}",
        f"i64 {flag}",
        "ptr null",
    )


def spaced(f: Fn, rank: str, shape: str, strides: str) -> str:
    """Whether there are several elements, none of which is next to another one."""
    wide, unit = f.var("i64", 0), f.var("i64", 0)
    with f.each(rank) as i, f.when(f.cmp("sgt", f.load("i64", f.word(shape, i)), 1)):
        f.set(wide, 1)
        with f.when(f.cmp("eq", f.load("i64", f.word(strides, i)), 1)):
            f.set(unit, 1)
    return f.cmp("ugt", f.get(wide), f.get(unit))


def unless_tangents(f: Fn, other: str) -> None:
    """Jump to `other` where tensors may have tangents, which Python looks for."""
    given = (f.load("ptr", "@state", at) for at in (State.TORCH_LEVELS, State.CURRENT_LEVEL))
    level = f.call("ptr", "PyDict_GetItem", *(f"ptr {g}" for g in given))
    f.unless(f.cmp("eq", level, f.load("ptr", "@state", State.NO_LEVEL), "ptr"), other)


def _plain_torch() -> Fn:
    """Whether an object is a torch tensor of a plain class that autograd does not watch, and whose
    memory is not to be negated."""
    f = Fn("plain_torch", "i1", "ptr obj", local=True)
    no, clear, grad, neg, yes = (f.label() for _ in range(5))
    cls = type_of(f, "%obj")
    tensor = f.cmp("eq", cls, f.load("ptr", "@state", State.TORCH_TENSOR), "ptr")
    parameter = f.cmp("eq", cls, f.load("ptr", "@state", State.TORCH_PARAMETER), "ptr")
    f.unless(f.op("or", tensor, parameter, "i1"), no)
    unless_tangents(f, no)
    name = f.load("ptr", "@state", State.REQUIRES_GRAD)
    wants = is_true(f, f.call("ptr", "PyObject_GetAttr", "ptr %obj", f"ptr {name}"), clear)
    f.branch(wants, grad, neg)
    f.start(grad)
    enabled = f.load("ptr", "@state", State.TORCH_GRAD_ENABLED)
    on = is_true(f, f.call("ptr", "PyObject_CallNoArgs", f"ptr {enabled}"), clear)
    f.branch(on, no, neg)
    f.start(neg)
    answer = method(f, "%obj", State.IS_NEG)
    f.branch(is_true(f, answer, clear), no, yes)
    f.start(yes)
    f.ret("i1", "true")
    f.start(clear)
    f.call("void", "PyErr_Clear")
    f.goto(no)
    f.start(no)
    f.ret("i1", "false")
    return f


def _lead() -> Fn:
    """The mode whose stride is 1, plus 1: 0 for none, -1 where it is not clear."""
    f = Fn("lead_of", "i64", "ptr dl", local=True)
    rank = f.let(f"sext i32 {f.load('i32', '%dl', NDIM)} to i64")
    shape, strides = f.load("ptr", "%dl", SHAPE), f.load("ptr", "%dl", STRIDES)
    ones, one, wides, wide = (f.var("i64", 0) for _ in range(4))
    with f.each(rank) as i, f.when(f.cmp("eq", f.load("i64", f.word(strides, i)), 1)):
        f.set(ones, f.add(f.get(ones), 1))
        f.set(one, f.add(i, 1))
        with f.when(f.cmp("sgt", f.load("i64", f.word(shape, i)), 1)):
            f.set(wides, f.add(f.get(wides), 1))
            f.set(wide, f.add(i, 1))
    with f.when(f.cmp("sle", f.get(ones), 1)):
        f.ret("i64", f.get(one))
    with f.when(f.cmp("eq", f.get(wides), 1)):
        f.ret("i64", f.get(wide))
    none = f.cmp("eq", f.get(wides), 0)
    f.ret("i64", f.select(none, rank, -1))  # all extents are 1: the last mode leads
    return f


def _known_type() -> Fn:
    """Whether the language has an element type."""
    f = Fn("known_type", "i1", "i32 dtype", local=True)
    table, count = (f.load(t, "@state", w) for t, w in (("ptr", State.TYPES),
                                                        ("i64", State.TYPE_COUNT)))  # fmt: skip
    wide = f.let("zext i32 %dtype to i64")
    with f.each(count) as i, f.when(f.cmp("eq", f.load("i64", f.word(table, i)), wide)):
        f.ret("i1", "true")
    f.ret("i1", "false")
    return f


def _log2(f: Fn, value: str) -> str:
    return f.call("i64", "llvm.cttz.i64", f"i64 {value}", "i1 false")


def _element_bytes(f: Fn, dtype: str) -> str:
    """Bytes of an element, at least 1, from DLPack's four bytes (code, bits, lanes)."""
    bits = f.op("and", f.op("lshr", f.let(f"zext i32 {dtype} to i64"), 8), 0xFF)
    size = f.op("lshr", bits, 3)
    return f.select(f.cmp("eq", size, 0), 1, size)


def address_of(f: Fn, dl: str) -> str:
    """Where a DLTensor's first element is."""
    return f.add(f.load("i64", dl, DATA), f.load("i64", dl, OFFSET))


def _from_dlpack() -> Fn:
    """from_dlpack(tensor, assumed_align), as METH_FASTCALL."""
    f = Fn("from_dlpack", "ptr", "ptr self", "ptr args", "i64 count")
    slow, clear = f.label(), f.label()
    none = f.load("ptr", "@state", State.NONE)
    f.unless(f.cmp("eq", "%count", 2), slow)
    obj, given = (f.load("ptr", "%args", 8 * i) for i in range(2))
    f.unless(f.call("i1", "@plain_torch", f"ptr {obj}"), slow)
    dl = f.alloca("i8", DL_SIZE)
    export = f.load("ptr", "@state", State.TORCH_EXPORT)
    status = f.call("i32", export, f"ptr {obj}", f"ptr {dl}")
    f.unless(f.cmp("eq", status, 0, "i32"), clear)
    dtype = f.load("i32", dl, DTYPE)
    f.unless(f.call("i1", "@known_type", f"i32 {dtype}"), slow)
    address = address_of(f, dl)
    f.unless(f.cmp("ne", address, 0), slow)
    f.unless(f.cmp("ule", f.load("i32", dl, NDIM), _MAX_RANK, "i32"), slow)
    align = f.var("i64", _element_bytes(f, dtype))
    with f.when(f.cmp("ne", given, none, "ptr")):
        asked = f.call("i64", "PyLong_AsLongLong", f"ptr {given}")
        f.unless(f.cmp("sge", asked, 1), clear)  # -1 comes with an exception
        f.unless(f.cmp("eq", f.op("and", address, f.op("sub", asked, 1)), 0), slow)
        f.set(align, asked)
    # No power of two: an error, or an element of 6 bits.
    now = f.get(align)
    f.unless(f.cmp("eq", f.op("and", now, f.op("sub", now, 1)), 0), slow)
    record = f.call("ptr", "@record_of", f"ptr {dl}")
    word = f.op("shl", _log2(f, now), MARK_ALIGN)
    marks = f.call("ptr", "PyLong_FromLongLong", f"i64 {word}")
    storage = method(f, obj, State.UNTYPED_STORAGE)
    made = f.call("ptr", "PyType_GenericAlloc", f"ptr {f.load('ptr', '@state', State.TENSOR)}",
                  "i64 0")  # fmt: skip
    with f.when(f.cmp("eq", made, "null", "ptr")):
        f.ret("ptr", "null")
    f.call("void", "Py_IncRef", f"ptr {obj}")
    for value, place in ((obj, State.OWNER_AT), (record, State.RECORD_AT),
                         (storage, State.STORAGE_AT), (marks, State.MARKS_AT)):  # fmt: skip
        f.store("ptr", value, made, f.load("i64", "@state", place))
    for value in (record, marks, storage):
        with f.when(f.cmp("eq", value, "null", "ptr")):
            f.call("void", "Py_DecRef", f"ptr {made}")
            f.ret("ptr", "null")
    f.ret("ptr", made)
    f.start(clear)
    f.call("void", "PyErr_Clear")
    f.goto(slow)
    f.start(slow)
    python = f.load("ptr", "@state", State.SLOW_FROM_DLPACK)
    f.ret("ptr", f.call("ptr", "PyObject_Vectorcall", f"ptr {python}", "ptr %args",
                        "i64 %count", "ptr null"))  # fmt: skip
    return f


def _record_of() -> Fn:
    """A bytes object with a DLTensor, its extents and its strides; null without memory."""
    f = Fn("record_of", "ptr", "ptr dl", local=True)
    rank = f.let(f"sext i32 {f.load('i32', '%dl', NDIM)} to i64")
    size = f.add(f.op("shl", rank, 4), DL_SIZE)
    record = f.call("ptr", "PyBytes_FromStringAndSize", "ptr null", f"i64 {size}")
    with f.when(f.cmp("eq", record, "null", "ptr")):
        f.ret("ptr", "null")
    start = f.call("ptr", "PyBytes_AsString", f"ptr {record}")
    for word in range(0, DL_SIZE, 8):
        f.store("i64", f.load("i64", "%dl", word), start, word)
    extents = f.at(start, DL_SIZE)
    steps = f.word(extents, rank)
    f.store("i64", address_of(f, "%dl"), start, DATA)
    f.store("i64", 0, start, OFFSET)
    f.store("ptr", extents, start, SHAPE)
    f.store("ptr", steps, start, STRIDES)
    shape, strides = f.load("ptr", "%dl", SHAPE), f.load("ptr", "%dl", STRIDES)
    with f.each(rank) as i:
        f.store("i64", f.load("i64", f.word(shape, i)), f.word(extents, i))
        f.store("i64", f.load("i64", f.word(strides, i)), f.word(steps, i))
    f.ret("ptr", record)
    return f


def _mark() -> Fn:
    """ExternalTensor.mark_layout_dynamic, as a method with METH_FASTCALL | METH_KEYWORDS."""
    f = Fn("mark_layout_dynamic", "ptr", "ptr self", "ptr args", "i64 count", "ptr names")
    slow, bare, found = f.label(), f.label(), f.label()
    none = f.load("ptr", "@state", State.NONE)
    exact = f.cmp("eq", type_of(f, "%self"), f.load("ptr", "@state", State.TENSOR), "ptr")
    f.unless(exact, slow)
    record, marks, array = (
        f.load("ptr", "%self", f.load("i64", "@state", place))
        for place in (State.RECORD_AT, State.MARKS_AT, State.ARRAY_AT)
    )
    f.unless(f.cmp("eq", array, "null", "ptr"), slow)
    f.unless(f.cmp("ne", record, "null", "ptr"), slow)
    f.unless(f.cmp("ne", marks, "null", "ptr"), slow)
    f.unless(f.cmp("ne", marks, none, "ptr"), slow)
    dl = f.call("ptr", "PyBytes_AsString", f"ptr {record}")
    lead = f.var("i64", 0)
    with f.when(f.cmp("ne", "%names", "null", "ptr")):
        f.unless(f.cmp("eq", "%count", 0), slow)
        f.unless(f.cmp("eq", f.call("i64", "PyTuple_Size", "ptr %names"), 1), slow)
        name = f.call("ptr", "PyTuple_GetItem", "ptr %names", "i64 0")
        f.unless(f.cmp("eq", name, f.load("ptr", "@state", State.LEADING_DIM), "ptr"), slow)
    few = f.cmp("eq", "%count", 0)
    keyword = f.cmp("ne", "%names", "null", "ptr")
    nothing = f.op("and", few, f.op("xor", keyword, "true", "i1"), "i1")
    f.unless(f.cmp("ule", "%count", 1), slow)
    given_label = f.label()
    f.branch(nothing, bare, given_label)
    f.start(given_label)
    given = f.load("ptr", "%args")
    rank = f.let(f"sext i32 {f.load('i32', dl, NDIM)} to i64")
    asked_label = f.label()
    f.branch(f.cmp("eq", given, none, "ptr"), bare, asked_label)
    f.start(asked_label)
    asked = f.call("i64", "PyLong_AsLongLong", f"ptr {given}")
    with f.when(f.cmp("eq", asked, -1)):  # an error, or the last mode
        error = f.call("ptr", "PyErr_Occurred")
        with f.when(f.cmp("ne", error, "null", "ptr")):
            f.call("void", "PyErr_Clear")
            f.goto(slow)
    place = f.select(f.cmp("slt", asked, 0), f.add(asked, rank), asked)
    f.unless(f.cmp("ult", place, rank), slow)
    shape, strides = f.load("ptr", dl, SHAPE), f.load("ptr", dl, STRIDES)
    unit = f.cmp("eq", f.load("i64", f.word(strides, place)), 1)
    single = f.cmp("eq", f.load("i64", f.word(shape, place)), 1)
    f.unless(f.op("or", unit, single, "i1"), slow)
    f.set(lead, f.add(place, 1))
    f.goto(found)
    f.start(bare)
    deduced = f.call("i64", "@lead_of", f"ptr {dl}")
    f.unless(f.cmp("sge", deduced, 0), slow)
    f.set(lead, deduced)
    f.goto(found)
    f.start(found)
    before = f.call("i64", "PyLong_AsLongLong", f"ptr {marks}")
    kept = f.op("shl", f.op("lshr", before, MARK_ALIGN), MARK_ALIGN)
    word = f.op("or", f.op("or", kept, f.op("shl", f.get(lead), MARK_LEAD)), 1)
    new = f.call("ptr", "PyLong_FromLongLong", f"i64 {word}")
    with f.when(f.cmp("eq", new, "null", "ptr")):
        f.ret("ptr", "null")
    f.store("ptr", new, "%self", f.load("i64", "@state", State.MARKS_AT))
    f.call("void", "Py_DecRef", f"ptr {marks}")
    f.call("void", "Py_IncRef", "ptr %self")
    f.ret("ptr", "%self")
    f.start(slow)
    _slow_mark(f)
    return f


def _slow_mark(f: Fn) -> None:
    """Call the Python method: the same arguments after self."""
    named = f.var("i64", 0)
    with f.when(f.cmp("ne", "%names", "null", "ptr")):
        f.set(named, f.call("i64", "PyTuple_Size", "ptr %names"))
    total = f.add("%count", f.get(named))
    many = f.cmp("sgt", total, 6)
    used = f.select(many, 6, total)  # more is an error in any case, which 6 suffice for
    copied = f.alloca("ptr", 8)
    f.store("ptr", "%self", copied)
    with f.each(used) as i:
        f.store("ptr", f.load("ptr", f.word("%args", i)), f.word(copied, f.add(i, 1)))
    positional = f.select(many, 6, "%count")
    names = f.select(many, "null", "%names", "ptr")
    python = f.load("ptr", "@state", State.SLOW_MARK)
    f.ret("ptr", f.call("ptr", "PyObject_Vectorcall", f"ptr {python}", f"ptr {copied}",
                        f"i64 {f.add(positional, 1)}", f"ptr {names}"))  # fmt: skip


def _borrow() -> Fn:
    """The DLTensor of a tensor argument and its marks: (obj, space for one, where the marks go).

    Null if the argument is no tensor that native code understands.
    """
    f = Fn("borrow", "ptr", "ptr obj", "ptr space", "ptr marks", local=True)
    other, no = f.label(), f.label()
    none = f.load("ptr", "@state", State.NONE)
    ours = f.cmp("eq", type_of(f, "%obj"), f.load("ptr", "@state", State.TENSOR), "ptr")
    f.unless(ours, other)
    record, marks = (
        f.load("ptr", "%obj", f.load("i64", "@state", place))
        for place in (State.RECORD_AT, State.MARKS_AT)
    )
    f.unless(f.cmp("ne", record, "null", "ptr"), no)
    f.unless(f.cmp("ne", marks, "null", "ptr"), no)
    f.unless(f.cmp("ne", marks, none, "ptr"), no)
    f.store("i64", f.call("i64", "PyLong_AsLongLong", f"ptr {marks}"), "%marks")
    f.ret("ptr", f.call("ptr", "PyBytes_AsString", f"ptr {record}"))
    f.start(other)
    f.unless(f.call("i1", "@plain_torch", "ptr %obj"), no)
    export = f.load("ptr", "@state", State.TORCH_EXPORT)
    status = f.call("i32", export, "ptr %obj", "ptr %space")
    with f.when(f.cmp("ne", status, 0, "i32")):
        f.call("void", "PyErr_Clear")
        f.goto(no)
    size = _element_bytes(f, f.load("i32", "%space", DTYPE))
    word = f.var("i64", f.op("shl", _log2(f, size), MARK_ALIGN))
    with f.when(f.cmp("ne", f.load("i32", "%space", NDIM), 0, "i32")):
        lead = f.call("i64", "@lead_of", "ptr %space")
        f.unless(f.cmp("sge", lead, 0), no)
        dynamic = f.op("or", f.op("shl", lead, MARK_LEAD), 1)
        f.set(word, f.op("or", f.get(word), dynamic))
    f.store("i64", f.get(word), "%marks")
    f.ret("ptr", "%space")
    f.start(no)
    f.ret("ptr", "null")
    return f


def _match_tensor() -> Fn:
    """Whether an argument is a tensor like the one described by `arg`; fills its slots.

    The table (word D) of a static layout holds extents and strides. That of a dynamic one holds a
    word for each mode: -1 for the leading one, 0 for a stride of 0, else what divides the stride.
    """
    f = Fn("match_tensor", "i1", "ptr arg", "ptr obj", "ptr slots", local=True)
    no = f.label()
    space, marks = f.alloca("i8", DL_SIZE), f.alloca("i64")
    dl = f.call("ptr", "@borrow", "ptr %obj", f"ptr {space}", f"ptr {marks}")
    f.unless(f.cmp("ne", dl, "null", "ptr"), no)
    f.unless(f.cmp("eq", f.load("i64", dl, DEVICE), f.load("i64", "%arg", Arg.A)), no)
    dtype = f.let(f"zext i32 {f.load('i32', dl, DTYPE)} to i64")
    f.unless(f.cmp("eq", dtype, f.load("i64", "%arg", Arg.B)), no)
    rank = f.load("i64", "%arg", Arg.C)
    f.unless(f.cmp("eq", f.let(f"sext i32 {f.load('i32', dl, NDIM)} to i64"), rank), no)
    address = address_of(f, dl)
    f.unless(f.cmp("ne", address, 0), no)
    word = f.load("i64", marks)
    low = f.op("or", address, _FACT_BYTES)
    low = f.op("and", low, f.op("sub", 0, low))
    assumed = f.op("shl", 1, f.op("lshr", word, MARK_ALIGN))
    align = f.select(f.cmp("ugt", low, assumed), low, assumed)
    f.unless(f.cmp("eq", align, f.load("i64", "%arg", Arg.E)), no)
    layout = f.op("and", word, (1 << MARK_ALIGN) - 1)
    f.unless(f.cmp("eq", layout, f.op("and", f.load("i64", "%arg", Arg.F), 0xFF)), no)
    slot = f.var("i64", f.load("i64", "%arg", Arg.SLOT))
    f.store("i64", address, f.word("%slots", f.get(slot)))
    f.set(slot, f.add(f.get(slot), 1))
    shape, strides = f.load("ptr", dl, SHAPE), f.load("ptr", dl, STRIDES)
    table = f.load("ptr", "%arg", Arg.D)
    dynamic_label = f.label()
    f.branch(f.cmp("eq", f.op("and", layout, 1), 0), "static", dynamic_label)
    f.start("static")
    with f.each(rank) as i:
        f.unless(f.cmp("eq", f.load("i64", f.word(shape, i)), f.load("i64", f.word(table, i))), no)
        wanted = f.load("i64", f.word(table, f.add(i, rank)))
        f.unless(f.cmp("eq", f.load("i64", f.word(strides, i)), wanted), no)
    f.ret("i1", "true")
    f.start(dynamic_label)
    with f.each(rank) as i:
        extent = f.load("i64", f.word(shape, i))
        f.unless(f.cmp("ult", extent, 1 << 31), no)
        f.store("i64", extent, f.word("%slots", f.get(slot)))
        f.set(slot, f.add(f.get(slot), 1))
    per = f.op("lshr", f.load("i64", "%arg", Arg.F), 8)
    with f.each(rank) as i:
        wanted = f.load("i64", f.word(table, i))
        after = f.label()
        _match_stride(f, i, wanted, (shape, strides, per), (no, after), slot)
        f.start(after)
    f.ret("i1", "true")
    f.start(no)
    f.ret("i1", "false")
    return f


def _match_stride(
    f: Fn,
    i: str,
    wanted: str,
    tensor: tuple[str, str, str],
    labels: tuple[str, str],
    slot: tuple[str, str],
) -> None:
    """One mode of a dynamic layout: jumps to one of `labels`, no or yes."""
    shape, strides, per = tensor
    no, after = labels
    other = f.label()
    f.branch(f.cmp("eq", wanted, -1), after, other)
    f.start(other)
    stride = f.load("i64", f.word(strides, i))
    zero = f.cmp("eq", stride, 0)
    with f.when(zero):
        f.branch(f.cmp("eq", wanted, 0), after, no)
    f.unless(f.cmp("ne", wanted, 0), no)
    bits = f.op("or", stride, per)
    known = f.op("and", bits, f.op("sub", 0, bits))
    free = f.cmp("sle", f.load("i64", f.word(shape, i)), 1)
    f.unless(f.cmp("eq", f.select(free, per, known), wanted), no)
    f.store("i64", stride, f.word("%slots", f.get(slot)))
    f.set(slot, f.add(f.get(slot), 1))
    f.goto(after)
