# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute help NAME`: the entry of a public name as text for the terminal.

In: a name as somebody types it, with or without the namespaces before it, also a method of a class
or a namespace. Out: text::

    described("make_tiled_copy_tv")     # cutlass.cute.make_tiled_copy_tv(atom: CopyAtom, ...
    described("Layout.size")            # a method
    described("cute.arch")              # a line for each name in it
    described("get_slice")              # the classes that have this method
    described("im2col")                 # names and entries with this word
"""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Iterator

from opencute.base.errors import ArgumentError
from opencute.base.suggest import did_you_mean
from opencute.tools.reference.entries import Member, entry, extra_members, summary
from opencute.tools.reference.names import ORDER, Name, all_names, names, namespaces
from opencute.tools.reference.operators import SPACE, folders, found_operators, operators
from opencute.tools.reference.where import where_of
from opencute.tools.reference.words import Rows, owners, with_word
from opencute.tools.stubs import ALIAS, ROOT

__all__ = ["described", "found", "overview"]

_WIDTH = 96
_MOST = 40  # rows of a list that a word finds


def _typed(text: str) -> str:
    """A name without what people put around it."""
    text = text.strip().strip("`").removesuffix("()").removesuffix(".").removeprefix(".")
    head, dot, rest = text.partition(".")
    if rest.split(".")[0] == "kernels" and head in (ROOT, ALIAS):
        return f"{ROOT}.{rest}"
    if head == "kernels":
        return f"{ROOT}.{text}"
    return ALIAS + dot + rest if head == ROOT else text


def found(text: str) -> list[Name]:
    """The things that a name, or the end of one, may mean; the closest spelling first decides."""
    name = _typed(text)
    for exact in (name, f"{ALIAS}.{name}", f"{ALIAS}.cute.{name}"):
        if exact in all_names():
            return [all_names()[exact]]
    for fold in (str, str.lower):
        ends = fold("." + name)
        hits = {n.full: n for spelt, n in all_names().items() if fold(spelt).endswith(ends)}
        if hits:
            return sorted(hits.values(), key=lambda n: (ORDER.index(n.namespace), n.full))
    return []


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    wide = min(max((len(left) for left, _ in rows), default=0), 36)
    for left, right in rows:
        lead = f"  {left:<{wide}}  "
        if len(left) > wide:
            yield f"  {left}"
            lead = " " * (wide + 4)
        yield (
            textwrap.fill(
                right, _WIDTH, initial_indent=lead, subsequent_indent=" " * (wide + 4)
            ).rstrip()
            or lead.rstrip()
        )


def _first(text: str) -> str:
    return text.split("\n\n")[0].split("\nArgs:")[0].replace("\n", " ")


def _of_members(several: tuple[Member, ...], of: str = "") -> Iterator[str]:
    kinds = (("member", "Members"), ("method", "Methods"), ("property", "Properties"))
    for kind, title in kinds:
        rows = [m for m in several if m.kind == kind]
        if rows:
            yield ""
            yield f"{title}{of and ' ' + of}:"
            if kind == "member":
                yield _wrapped(", ".join(m.name for m in rows), "  ")
            else:
                yield from _table([(" ".join(m.call.split()), _first(m.text)) for m in rows])


def _whole(name: Name) -> str:
    e = entry(name)
    lines = [f"{name.namespace}.{e.call}"]
    home = getattr(name.thing, "__module__", name.home)
    place = "" if e.kind in ("enum", "constant") else where_of(home).replace("`", "")
    also = f"Also {', '.join(name.also)}." if name.also else ""
    if place or also:
        lines.append(_wrapped(" ".join(filter(None, [place, also])), "  "))
    if e.text:
        lines += ["", e.text]
    for of, several in extra_members(name):
        lines += _of_members(several, of.replace("`", ""))
    lines += _of_members(e.members)
    if e.also:
        lines += ["", f"It also has what {', '.join(e.also)} has."]
    return "\n".join(lines) + "\n"


def _classes(head: str) -> list[Name]:
    """What may stand before the dot of a method."""
    return (found(head) or found_operators(head)) if head else []


def _member(text: str) -> str | None:
    """A method or property, written as `Class.method`."""
    head, _, last = _typed(text).rpartition(".")
    for name in _classes(head):
        classes = [name]
        for each in classes:
            e = entry(each)
            extra = [m for _, several in extra_members(each) for m in several]
            for m in (*e.members, *extra):
                if m.name == last:
                    call = m.call if m.kind != "member" else f"{m.name} = {m.call}"
                    return f"{each.full}.{call}\n" + (f"\n{m.text}\n" if m.text else "")
            classes += [names()[c] for c in e.also if c in names() and names()[c] not in classes]
    return None


def _namespace(text: str) -> str | None:
    """A line for each name of a namespace."""
    name = _typed(text)
    spaces = [s for s in namespaces() if s == name or s.endswith("." + name)]
    if not spaces:
        return None
    space = min(spaces, key=len)
    mine = sorted(
        (spelt.rpartition(".")[2], n)
        for spelt, n in all_names().items()
        if spelt.rpartition(".")[0] == space
    )
    inner = [s for s in namespaces() if s.startswith(space + ".")]
    lines = [namespaces()[space] or space, ""]
    lines += _table([(short, summary(entry(n))) for short, n in mine])
    lines += ["", "Namespaces in it: " + ", ".join(inner)] if inner else []
    return "\n".join(lines) + "\n"


def _folder(text: str) -> str | None:
    """A line for each operator of a package of them, and for each package of `opencute.kernels`."""
    name = _typed(text)
    spaces = [s for s in folders() if s == name or s.endswith("." + name)]
    if not spaces:
        return None
    space = min(spaces, key=len)
    if space == SPACE:
        rows = [(s, said) for s, said in folders().items() if s != SPACE]
    else:
        rows = [(n.last, summary(entry(n))) for n in operators().values() if n.namespace == space]
    head = folders()[space].removeprefix("Rank 11: ") or space
    return "\n".join([head, "", *_table(rows)]) + "\n"


def _listed(title: str, rows: Rows) -> list[str]:
    if not rows:
        return []
    more = [f"  and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
    return ["", title, *_table(rows[:_MOST]), *more]


def _part(text: str) -> str | None:
    """What a method's name alone, or a word, is part of."""
    name = _typed(text)
    if not name.isidentifier() or len(name) < 2:
        return None
    methods = owners(name)
    lines: list[str] = []
    if len(methods) == 1:
        lines += [(_member(methods[0][0]) or "").rstrip("\n")]
    elif methods:
        lines += [f"{len(methods)} classes have it:", "", *_table(methods)]
    named, said = (
        [(full, first) for full, first in rows if (full, first) not in methods]
        for rows in with_word(name)
    )
    lines += _listed(f"Names with {name!r}:", named) + _listed("Entries that speak of it:", said)
    return "\n".join(lines).lstrip("\n") + "\n" if lines else None


def overview() -> str:
    """What there is to ask for."""
    rows = [(s, said.partition(": ")[2]) for s, said in namespaces().items() if said]
    rows.append((SPACE, "operators: attention, gemm, softmax and others."))
    return "\n".join(["Public namespaces; `opencute help cute.copy` shows a name.", "",
                      *_table(rows)]) + "\n"  # fmt: skip


def described(text: str) -> str:
    """What there is to say of a name.

    Args:
        text: a name, the end of one, ``Class.method``, or a namespace.

    Raises:
        ArgumentError: OC2921, there is no such name; those near it are named.
    """
    several = found(text)
    others = found_operators(_typed(text))
    if not several and (space := _namespace(text)) is not None:
        return space
    if not several:
        several, others = others, []
    if len(several) == 1:
        more = [f"{n.full} is another thing: opencute help {n.full}" for n in others]
        return _whole(several[0]) + ("\n" + "\n".join(more) + "\n" if more else "")
    if several:
        rows = [(n.full, summary(entry(n))) for n in (*several, *others)]
        return "\n".join([f"{len(rows)} names end so:", "", *_table(rows)]) + "\n"
    said = _folder(text) or _member(text)
    if said is None and not _said_elsewhere(text):
        said = _part(text)
    if said is not None:
        return said
    raise _unknown(text)


@functools.lru_cache(maxsize=1)
def _short() -> list[str]:
    """Every name without `cutlass.`, which is how people write most of them."""
    spelt = [*all_names(), *operators()]
    return [s.removeprefix(ALIAS + ".").removeprefix(SPACE + ".") for s in spelt]


def _elsewhere(space: str, last: str) -> str:
    """What a module says of a name that it lacks, where it says more than that."""
    for each in namespaces():
        if each != space and not each.endswith("." + (space or "cute")):
            continue
        try:
            getattr(importlib.import_module(ROOT + each[len(ALIAS) :]), last)
        except AttributeError as e:
            said = getattr(e, "message", str(e))
            if "; it is " in said or "not in OpenCuTe yet" in said:
                return said
    return ""


def _said_elsewhere(text: str) -> str:
    space, _, last = _typed(text).rpartition(".")
    return _elsewhere(space, last)


def _no_member(text: str) -> ArgumentError | None:
    """A class that is there, and a method that it has not."""
    head, _, last = _typed(text).rpartition(".")
    for name in _classes(head):
        if not inspect.isclass(name.thing):
            continue
        has: list[str] = []
        classes = [name]
        for each in classes:
            e = entry(each)
            has += [m.name for _, several in extra_members(each) for m in several]
            has += [m.name for m in e.members]
            classes += [names()[c] for c in e.also if c in names() and names()[c] not in classes]
        return ArgumentError(
            f"{name.full} has no method or property {last!r}", code="OC2921",
            hint=did_you_mean(last, sorted({*has}), 5) or f"opencute help {name.full} lists them",
        )  # fmt: skip
    return None


def _unknown(text: str) -> ArgumentError:
    said = _said_elsewhere(text)
    if said:
        return ArgumentError(said, code="OC2921")
    wrong = _no_member(text)
    if wrong is not None:
        return wrong
    short = _typed(text).removeprefix(ALIAS + ".").removeprefix(SPACE + ".")
    known = _short() if "." in short else {s.rpartition(".")[2] for s in _short()}
    return ArgumentError(
        f"there is no public name {text!r}", code="OC2921",
        hint=did_you_mean(short, sorted(known)) or "opencute help lists the namespaces",
    )  # fmt: skip
