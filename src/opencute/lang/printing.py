# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Printing at run time: `printf` and `print_tensor`, on the host and on the device.

Formats are C's (``%d``, ``%f``) or Python's braces. What is static is written into the format while
the kernel is traced; what is dynamic becomes an operand.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import cute
from opencute.lang.numbers import (
    Float32,
    Float64,
    Int32,
    Int64,
    Numeric,
    Uint32,
    as_numeric,
    number_in,
)
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import TracedTensor, make_rmem_tensor
from opencute.lang.values.text import MAX_ARGS, Text, loop, mode_sizes, say
from opencute.lang.vectors import TensorSSA
from opencute.layout import is_static, make_layout, product
from opencute.layout.ints import is_tuple

__all__ = ["print_tensor", "printf"]

_C_SPEC = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?([diouxXeEfFgGcsp]))")

_BRACES = re.compile(r"\{\{|\}\}|\{(\d*)(?::([-+ #0]*\d*(?:\.\d+)?)([diouxXeEfFgG]?))?\}")


def _c_format(text: Text, fmt: str, args: tuple[Any, ...]) -> None:
    """`fmt` in C's spelling; each conversion takes one argument, converted to what it prints."""
    rest = list(args)
    last = 0
    for match in _C_SPEC.finditer(fmt):
        text.format += _literal(fmt, last, match.start())
        last = match.end()
        kind = match.group(1)
        if kind is None:
            text.format += "%%"
            continue
        if not rest:
            raise TypeMismatchError(
                "printf: more conversions than arguments", code="OC1240", found=fmt
            )
        _one(text, match.group(0), kind, rest.pop(0))
    text.format += _literal(fmt, last, len(fmt))
    if rest:
        raise TypeMismatchError("printf: more arguments than conversions", code="OC1240", found=fmt)


def _literal(fmt: str, start: int, stop: int) -> str:
    """A part of a format that has no conversion."""
    part = fmt[start:stop]
    if "%" in part:
        raise TypeMismatchError(
            "printf: no such conversion", code="OC1240", found=part[part.index("%") :][:8],
            expected="%d %i %u %x %X %o %c %e %f %g %s %p, with flags, width and precision",
            hint="a percent sign is written as %%",
        )  # fmt: skip
    return part


def _check_kind(number: Numeric, kind: str, spec: str) -> None:
    """Refuse a float where a format asks for an integer; an integer may be printed as a float."""
    if number.dtype.is_float and kind in "dioxXucp":
        raise TypeMismatchError(
            "printf: a float is printed as an integer", code="OC1240",
            expected=f"an integer for {spec}", found=type(number).__name__,
            hint="write %f, or convert the value: x.to(Int32)",
        )  # fmt: skip


def _one(text: Text, spec: str, kind: str, x: Any) -> None:
    if kind == "p" and isinstance(x, Pointer):
        x = Int64(cute.ptr_to_int(x.value))
    x = number_in(x)
    if kind == "s" or not isinstance(x, Numeric | bool | int | float):
        text.any(x)
        return
    number = as_numeric(x)
    _check_kind(number, kind, spec)
    head = re.match(r"%[-+ #0]*\d*(?:\.\d+)?", spec)
    assert head is not None
    if kind in "eEfFgG":
        wide = number.dtype.width >= 64 or not number.dtype.is_float
        value: Any = number.to(Float64) if wide else number.to(Float32).to(Float64)
        text.number(_dynamic(value), head.group(0) + kind)
    elif kind == "p":
        text.plain("0x")
        text.number(_dynamic(number.to(Int64)), head.group(0) + "llx")
    elif number.dtype.width > 32:
        text.number(_dynamic(number.to(Int64)), head.group(0) + "ll" + kind)
    else:
        value = number.to(Int32) if kind in "dic" else number.to(Uint32)
        text.number(_dynamic(value), head.group(0) + kind)


def _dynamic(x: Numeric) -> Numeric:
    return type(x)(x.ir_value())


def _brace_format(text: Text, fmt: str, args: tuple[Any, ...]) -> None:
    """`fmt` in Python's spelling: ``{}``, ``{0}``, and ``{:spec}`` with a spec that C has too."""
    last = count = 0
    used: set[int] = set()
    for match in _BRACES.finditer(fmt):
        text.plain(_no_place(fmt[last : match.start()]))
        last = match.end()
        if match.group(0) in ("{{", "}}"):
            text.plain(match.group(0)[0])
            continue
        at = int(match.group(1)) if match.group(1) else count
        count += 1
        if at >= len(args):
            raise TypeMismatchError("printf: more places than arguments", code="OC1240", found=fmt)
        used.add(at)
        flags, kind = match.group(2) or "", match.group(3) or ""
        if not flags and not kind:
            text.any(args[at])
        else:
            kind = kind or ("d" if _is_whole(args[at]) else "f")
            _one(text, f"%{flags}{kind}", kind, args[at])
    text.plain(_no_place(fmt[last:]))
    if len(used) < len(args):
        mixed = "braces and % do not mix" if _C_SPEC.search(fmt) else None
        raise TypeMismatchError(
            "printf: more arguments than places", code="OC1240", found=fmt, hint=mixed
        )


def _no_place(text: str) -> str:
    """Text between places; Python reads `{name}` and `{:>5}` as places too, which C has not."""
    wrong = re.search(r"\{[\w.!]*(:[^{}\s]*)?\}", text)
    if wrong:
        raise TypeMismatchError(
            f"printf: {wrong[0]} cannot be printed", code="OC1240", found=text,
            hint="a place is {}, {0} or {:spec} with a flag, width, precision and letter of C; "
            "a brace is written twice",
        )  # fmt: skip
    return text


def _is_whole(x: Any) -> bool:
    return not as_numeric(x).dtype.is_float if isinstance(x, Numeric | int | float) else False


def printf(fmt: Any, *args: Any, end: str = "\n", loc: Any = None, ip: Any = None) -> None:
    """Print at run time, once per thread that gets here.

    Args:
        fmt: a C format or one with braces; any other value is printed as it is.
        args: numbers, vectors, coordinates, layouts, tensors (their header), static objects.
        end: what follows; a line break unless the format has one.

    Raises:
        TypeMismatchError: format and arguments differ in number.
    """
    text = Text()
    if not isinstance(fmt, str):
        for i, x in enumerate((fmt, *args)):
            if i:
                text.plain(" ")
            text.any(x)
    elif args and any(m.group(0) not in ("{{", "}}") for m in _BRACES.finditer(fmt)):
        _brace_format(text, fmt, args)
    elif args or _C_SPEC.search(fmt):
        _c_format(text, fmt, args)
    else:
        text.plain(fmt)
    if not text.format.endswith("\n"):
        text.plain(end)
    text.emit()


def print_tensor(tensor: Any, *, verbose: bool = False, loc: Any = None, ip: Any = None) -> None:
    """Print the elements of a tensor or vector with its pointer and layout.

    Args:
        tensor: a tensor, or a TensorSSA. One whose shape is known at run time only is printed by
            loops, a row of its second mode on each line.
        verbose: one line per element, with its coordinate.
    """
    if isinstance(tensor, TensorSSA):
        fragment = make_rmem_tensor(make_layout(tensor.shape), tensor.dtype)
        fragment.store(tensor)
        tensor = fragment
    head = Text()
    head.plain("tensor(")
    head.any(tensor.iterator)
    head.plain(" o ")
    head.any(tensor.layout)
    head.plain(", data= (\n" if verbose else ", data=\n       ")
    head.emit()
    if not is_static(tensor.shape):
        _at_run_time(tensor, verbose)
        return
    if product(mode_sizes(tensor)) == 0:
        say(")\n" if verbose else "[])\n")
        return
    (_verbose if verbose else _nested)(tensor)


def _at_run_time(tensor: TracedTensor, verbose: bool) -> None:
    """As `_verbose` and `_nested`, with loops in place of lines written out."""
    shape: Any = tensor.shape if is_tuple(tensor.shape) else (tensor.shape,)
    modes: list[Any] = [product(s) for s in shape]

    def element(crd: list[Any]) -> Any:
        return tensor[tuple(crd) if len(crd) > 1 else crd[0]]

    def line(crd: list[Any]) -> None:
        places = [p for i, c in enumerate(crd) for p in ((",", c) if i else (c,))]
        say("\t(", *places, ")= ", element(crd), "\n")

    def row(crd: list[Any]) -> None:
        say("[")
        loop(modes[1], lambda c: say(element([crd[0], c, *crd[1:]]), ", "))
        say("],\n       ")

    def each(rest: list[int], crd: dict[int, Any], do: Callable[[dict[int, Any]], None]) -> None:
        if not rest:
            do(crd)
            return
        loop(modes[rest[0]], lambda i: each(rest[1:], {**crd, rest[0]: i}, do))

    if verbose:
        each(list(range(len(modes))), {}, lambda c: line([c[i] for i in sorted(c)]))
        say(")\n")
    elif len(modes) == 1:
        say("[")
        loop(modes[0], lambda i: say(element([i]), ", "))
        say("])\n")
    else:
        order = [*range(len(modes) - 1, 1, -1), 0]
        each(order, {}, lambda c: row([c[0], *(c[i] for i in range(2, len(modes)))]))
        say(")\n")


def _verbose(tensor: TracedTensor) -> None:
    modes = mode_sizes(tensor)
    for i in range(product(modes)):
        crd, rest = [], i
        for extent in reversed(modes):
            crd.insert(0, rest % extent)
            rest //= extent
        text = Text()
        text.plain(f"\t({','.join(map(str, crd))})= ")
        text.any(tensor[tuple(crd) if len(crd) > 1 else crd[0]])
        text.plain("\n")
        text.emit()
    end = Text()
    end.plain(")\n")
    end.emit()


def _nested(tensor: TracedTensor) -> None:
    """Rows of the second mode inside planes of the later ones, first mode down."""
    modes = mode_sizes(tensor)
    rows, cols = modes[0], modes[1] if len(modes) > 1 else 1
    planes = product(modes[2:]) if len(modes) > 2 else 1
    depth = max(len(modes), 1)
    text = Text()
    for p in range(planes):
        outer, rest = [], p
        for extent in modes[2:]:
            outer.append(rest % extent)
            rest //= extent
        for r in range(rows):
            first = r == 0
            opening = depth if first and p == 0 else (2 if first and len(modes) > 1 else 1)
            pad = "" if first and p == 0 else " " * (7 + depth - opening)
            text.plain(pad + "[" * opening)
            for c in range(cols):
                text.element(tensor[(r, c, *outer)[: len(modes)] if len(modes) > 1 else r])
                text.plain(", ")
                if len(text.args) >= MAX_ARGS:
                    text.emit()
                    text = Text()
            last = r == rows - 1
            closing = (depth if p == planes - 1 else min(depth, 2)) if last else 1
            text.plain("]" * closing)
            text.plain(")\n" if last and p == planes - 1 else ",\n\n" if last else ",\n")
    text.emit()
