# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code in front of operators: what a call depends on, and what it did, without Python.

``front_call(self, args, count, names)`` is a METH_FASTCALL | METH_KEYWORDS function whose ``self``
is the address of a `Front` record. It describes the arguments in words (`front_keys`), looks for a
call with the same ones (`Known`), and does its steps (`Step`): memory, numbers, launches. Calls
that are not known, and those of which a step cannot be done, go to the Python function, and so do
those within a dispatch mode of torch's, which is to see each of torch's operations. Of exceptions
on the way only those that are an `Exception` are dropped; Ctrl-C is not.
``front_key`` gives the words of a call as bytes: hash, tensors, words.
"""

from __future__ import annotations

from opencute.jit.entry.arguments import DONE, RAISED, SLOWLY
from opencute.jit.entry.front_keys import key_functions
from opencute.jit.entry.front_words import (
    KEY,
    MADE,
    OBJECTS,
    PLACES,
    SCRATCH,
    THING,
    THINGS,
    VIEW,
    WORDS,
    Action,
    Front,
    Given,
    Known,
    Step,
)
from opencute.jit.entry.tensors import DL_SIZE, address_of, is_true, unless_tangents
from opencute.jit.entry.words import State, Version
from opencute.native.builder import Fn

__all__ = ["front_functions"]

_PATCH = 24  # bytes of what says which address goes where
_OFFSET_FLAG = -9223372036854775808  # the word before the arguments may be used


def front_functions() -> str:
    """The functions of this file and of `front_keys` as LLVM IR."""
    parts = (*key_functions(), _fits(), _patched(), _step(), _item(), _result(), _play(), _found(),
             _call(), _key())  # fmt: skip
    return "\n".join(f.text() for f in parts)


def _unless_raised(f: Fn) -> None:
    """End the function if an exception is set."""
    with f.when(f.cmp("ne", f.call("ptr", "PyErr_Occurred"), "null", "ptr")):
        f.ret("ptr", "null")


def _fits() -> Fn:
    """Whether a kind of calls is that of a description: also where tensors lie to each other."""
    f = Fn("known_fits", "i1", "ptr e", "ptr s", "i64 hash", local=True)
    no = f.label()
    f.unless(f.cmp("eq", f.load("i64", "%e", Known.HASH), "%hash"), no)
    count = f.load("i64", "%s", WORDS)
    f.unless(f.cmp("eq", f.load("i64", "%e", Known.COUNT), count), no)
    key, words = f.load("ptr", "%e", Known.KEY), f.at("%s", KEY)
    with f.each(count) as i:
        known = f.load("i64", f.word(key, i))
        f.unless(f.cmp("eq", known, f.load("i64", f.word(words, i))), no)
    aliases, places = f.load("ptr", "%e", Known.ALIASES), f.at("%s", PLACES)
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
    n = f.load("i64", "%s", THINGS)
    place, kept = f.word(f.at("%s", PLACES), n), f.word(f.at("%s", OBJECTS), n)
    places = f.at("%s", PLACES)
    a, b = (f.load("ptr", "%p", at) for at in (Step.A, Step.B))
    c, more = f.load("i64", "%p", Step.C), f.add(n, 1)
    table = " ".join(f"i64 {k.value}, label %{at}" for k, at in labels.items())
    f.lines.append(f"switch i64 {f.load('i64', '%p', Step.ACTION)}, label %{slowly} [ {table} ]")
    f.start(labels[Action.MAKE])
    names = f.load("ptr", "%p", Step.D)
    made = f.call("ptr", "PyObject_Vectorcall", f"ptr {a}", f"ptr {b}", f"i64 {c}", f"ptr {names}")
    f.unless(f.cmp("ne", made, "null", "ptr"), raised)
    f.store("ptr", made, kept)
    f.store("i64", more, "%s", THINGS)
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
    f.store("i64", more, "%s", THINGS)
    f.ret("i32", DONE)


def _item() -> Fn:
    """One object that is returned, a new reference; null: an exception is set."""
    f = Fn("given_item", "ptr", "ptr g", "ptr s", local=True)
    thing, view, constant = (f.label() for _ in range(3))
    kind = f.load("i64", "%g", Given.KIND)
    obj = f.load("ptr", f.word(f.at("%s", OBJECTS), f.load("i64", "%g", Given.A)))
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
    given = f.load("i64", "%s", THINGS)
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
    made = f.op("sub", f.load("i64", "%s", THINGS), given)
    objects = f.word(f.at("%s", OBJECTS), given)
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
    s, out = f.alloca("i8", SCRATCH), f.alloca("ptr")
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
    s = f.alloca("i8", SCRATCH)
    arguments = ("ptr %args", "i64 %count", "ptr %names")
    f.unless(f.call("i1", "@fingerprint", f"ptr {s}", *arguments), no)
    words = f.load("i64", s, WORDS)
    out = f.call(
        "ptr", "PyBytes_FromStringAndSize", "ptr null", f"i64 {f.add(f.op('shl', words, 3), 16)}"
    )
    with f.when(f.cmp("eq", out, "null", "ptr")):
        f.ret("ptr", "null")
    start = f.call("ptr", "PyBytes_AsString", f"ptr {out}")
    f.store("i64", f.call("i64", "@hash_words", f"ptr {s}"), start)
    f.store("i64", f.load("i64", s, THINGS), start, 8)
    key, target = f.at(s, KEY), f.at(start, 16)
    with f.each(words) as i:
        f.store("i64", f.load("i64", f.word(key, i)), f.word(target, i))
    f.ret("ptr", out)
    f.start(no)
    _unless_raised(f)
    none = f.load("ptr", "@state", State.NONE)
    f.call("void", "Py_IncRef", f"ptr {none}")
    f.ret("ptr", none)
    return f
