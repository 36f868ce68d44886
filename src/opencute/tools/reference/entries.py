# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of one public thing: its call, its docstring, its methods or members.

In: a class, function or constant. Out: an `Entry`, which pages and the terminal show::

    entry(names()["cutlass.cute.size"]).call      # size(a, mode=None)
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opencute.lang.tensors import Tensor
from opencute.tools.reference.names import Name, names

__all__ = [
    "Entry",
    "Member",
    "ancestors",
    "call_of",
    "entry",
    "extra_members",
    "members",
    "summary",
    "text_of",
]

# Where in the source an operation is noted and inserted: every function takes them, and no user
# needs to give them.
_EVERYWHERE = ("loc", "ip")

# Modules of classes that annotations name and nobody makes.
_NAMES_ONLY = ("opencute.lang.typing",)

# Methods of Python's own that are part of how a thing is used.
_SPOKEN = (
    "__call__", "__getitem__", "__setitem__", "__iter__", "__len__",
    "__mlir__", "__ptx__", "__cubin__", "__sass__",
)  # fmt: skip

# Members that the compiler uses, and no user.
_OURS = {
    "accessed", "annotations", "apply_op", "argument_notes", "artefacts", "check", "check_bits",
    "dynamic_values", "facts", "field", "fragment", "fresh", "k_part", "k_parts", "key",
    "layout_attr", "make_atom", "metadata_layout", "moved", "name", "open_ended", "parts", "record",
    "reduction", "reference", "request", "rewritten", "runtime_names", "settings", "signature",
    "static_parameters", "static_parts", "symbol", "takes", "tile_of", "trusted", "type_word",
    "view", "view_dst", "view_src",
}  # fmt: skip

# What users hold is an instance of another class than the one that they name.
_MADE = {
    "cutlass.cute.Tensor": (
        ("in compiled code", "opencute.lang.tensors:TracedTensor"),
        ("of those from `from_dlpack`, outside of it", "opencute.lang.external:ExternalTensor"),
    ),
    "cutlass.cute.compile": (("of what it returns", "opencute.jit.executor:Executor"),),
    "cutlass.cute.jit": (("of the function", "opencute.jit.functions:JitFunction"),),
    "cutlass.cute.kernel": (
        ("of the kernel", "opencute.jit.functions:KernelFunction"),
        ("of a call of it", "opencute.frontend.tracing:KernelCall"),
    ),
}

# Methods that native code takes the place of after a first call, and those in Python.
_NATIVE = {"mark_layout_dynamic": "opencute.lang.external:slow_mark"}

_ANNOTATIONS = (
    (re.compile(r"\bNumericMeta\b"), "type[Numeric]"),
    (re.compile(r"\bTracedTensor\b"), "Tensor"),
    (re.compile(r"\bExternalTensor\b|\bFakeTensor\b"), "Tensor"),
    (re.compile(r"\bRawPointer\b"), "Pointer"),
    (re.compile(r"\btyping\.|\bcollections\.abc\."), ""),
)


@dataclass(frozen=True)
class Member:
    """A method, property or enum member.

    Args:
        name: its name.
        kind: "method", "property" or "member".
        call: how it is called; the value of a member.
        text: its docstring.
    """

    name: str
    kind: str
    call: str
    text: str


@dataclass(frozen=True)
class Entry:
    """What there is to say of a name.

    Args:
        name: the name.
        kind: "class", "enum", "function" or "constant".
        call: how it is called, or the value of a constant.
        text: its docstring.
        members: methods, properties or enum members.
        also: public classes whose members it has too.
    """

    name: Name
    kind: str
    call: str
    text: str
    members: tuple[Member, ...] = ()
    also: tuple[str, ...] = field(default=())


def _annotation(note: Any) -> str:
    if note is inspect.Parameter.empty:
        return ""
    text = note if isinstance(note, str) else inspect.formatannotation(note)
    for pattern, plain in _ANNOTATIONS:
        text = pattern.sub(plain, text)
    return "" if text in ("Any", "'Any'") else text


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type):
        return value.__name__
    if type(value) is int and value >= 1 << 16:
        return f"{value:#x}"
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}()"
    text = repr(value)
    return "..." if "<" in text or " at 0x" in text else text


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    note = _annotation(p.annotation)
    text = f"{stars}{p.name}{note and ': ' + note}"
    if p.default is p.empty:
        return text
    return f"{text}{' = ' if note else '='}{_default(p.default)}"


def call_of(name: str, thing: Any) -> str:
    """How something is called: `name(parameters) -> result`; only the name where nobody knows."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    out: list[str] = []
    hidden = {"self", *(_EVERYWHERE if {*_EVERYWHERE} <= {*signature.parameters} else ())}
    shown = [p for p in signature.parameters.values() if p.name not in hidden]
    kinds = [p.kind for p in shown]
    for i, p in enumerate(shown):
        first_named = p.kind is p.KEYWORD_ONLY and p.KEYWORD_ONLY not in kinds[:i]
        if first_named and p.VAR_POSITIONAL not in kinds:
            out.append("*")
        out.append(_parameter(p))
        if p.kind is p.POSITIONAL_ONLY and p.POSITIONAL_ONLY not in kinds[i + 1 :]:
            out.append("/")
    result = "" if inspect.isclass(thing) else _annotation(signature.return_annotation)
    head, tail = f"{name}(", f"){result and ' -> ' + result}"
    line = head + ", ".join(out) + tail
    if len(line) <= 96:
        return line
    return "\n".join([head, *(f"    {each}," for each in out), tail])


def text_of(thing: Any) -> str:
    """The docstring as it is written; none of those that Python makes or inherits from itself."""
    plain = (int, float, str, bytes, tuple)
    own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    if isinstance(thing, plain) or not own:
        return ""
    made = inspect.isclass(thing) and own.startswith(f"{thing.__name__}(")
    return "" if made else inspect.cleandoc(own)


def ancestors(cls: type) -> list[str]:
    """The nearest public classes that a class derives from, without those that they derive from."""
    public = {n.thing: n.full for n in names().values() if inspect.isclass(n.thing)}
    found = [c for c in cls.__mro__[1:] if c in public]
    nearest = [c for c in found if not any(c in d.__mro__[1:] for d in found)]
    return [public[c] for c in nearest]


def _own_classes(cls: type) -> Iterator[type]:
    """The class and those that it derives from, but the public ones and Python's."""
    theirs: set[type] = {object}
    public = {n.thing for n in names().values() if inspect.isclass(n.thing)}
    for c in cls.__mro__[1:]:
        if c in public or not c.__module__.startswith("opencute"):
            theirs.update(c.__mro__)
    for c in cls.__mro__:
        if c is cls or c not in theirs:
            yield c


def _member(name: str, raw: Any) -> Member | None:
    function: Any = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    if inspect.ismethoddescriptor(function) and name in _NATIVE:
        module, _, attribute = _NATIVE[name].partition(":")
        function = raw = getattr(importlib.import_module(module), attribute)
    if isinstance(raw, property) or type(raw).__name__ == "cached_property":
        return Member(name, "property", name, text_of(raw))
    if not inspect.isfunction(function):
        return None
    bound = function
    if isinstance(raw, classmethod):  # the class stands before what is given
        bound = raw.__get__(None, object)
    return Member(name, "method", call_of(name, bound), text_of(function))


def members(cls: type) -> tuple[Member, ...]:
    """Public methods, properties and, of an enum, members; what public base classes have is left
    to their entries."""
    out: dict[str, Member] = {}
    if issubclass(cls, enum.Enum):
        for each in cls.__members__.values():
            value = each.value if isinstance(each.value, int | str) else ""
            out[each.name] = Member(each.name, "member", repr(value) if value != "" else "", "")
    for owner in _own_classes(cls):
        for name, raw in vars(owner).items():
            hidden = name in _OURS or (name.startswith("_") and name not in _SPOKEN)
            found = None if hidden or name in out else _member(name, raw)
            if found is not None and (found.text or not name.startswith("_")):
                out[name] = found
    order = list(out) if issubclass(cls, enum.Enum) else sorted(out, key=lambda n: (n.lower(), n))
    return tuple(out[name] for name in order)


def extra_members(name: Name) -> Iterator[tuple[str, tuple[Member, ...]]]:
    """Members of what stands behind a name: when they are there, and which."""
    for when, where in _MADE.get(name.full, ()):
        module, _, attribute = where.partition(":")
        yield when, members(getattr(importlib.import_module(module), attribute))


def entry(name: Name) -> Entry:
    """What there is to say of a name."""
    thing: Any = name.thing
    if inspect.isclass(thing):
        enumeration = issubclass(thing, enum.Enum)
        called = not enumeration and name.home not in _NAMES_ONLY and thing is not Tensor
        call = call_of(name.last, thing) if called else name.last
        text, also = text_of(thing), tuple(ancestors(thing))
        kind = "enum" if enumeration else "class"
        return Entry(name, kind, call, text, members(thing), also)
    if callable(thing):
        return Entry(name, "function", call_of(name.last, thing), text_of(thing))
    return Entry(name, "constant", f"{name.last} = {_default(thing)}", "")


def summary(e: Entry) -> str:
    """The first sentence of the docstring, without the line breaks."""
    first = re.split(r"\n\s*\n|\n(?:Args|Raises|Returns):", e.text)[0].replace("\n", " ")
    sentence = re.match(r"(.+?[.?!])(?=\s+[A-Z`]|$)", first)
    return sentence[1] if sentence else first
