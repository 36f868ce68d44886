# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Text that is printed at run time, in the making.

In: text, and whatever a kernel may print. Out: calls of C's printf. What is static is written into
the format while the kernel is traced; what is dynamic becomes an operand::

    say("row ", i, ": ", x[i], "\n")

Objects that are printed in parts (tensors) list them in ``__opencute_parts__``.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from opencute.base.errors import LayoutError
from opencute.dialects import arith, cute, scf
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import I32
from opencute.lang.numbers import (
    Float32,
    Float64,
    Int32,
    Int64,
    Numeric,
    Uint32,
    Uint64,
    number_in,
)
from opencute.lang.pointers import Pointer
from opencute.lang.vectors import TensorSSA
from opencute.layout import ComposedLayout, Layout, is_scaled_basis, is_static, product
from opencute.layout.ints import is_sequence, is_tuple

__all__ = ["MAX_ARGS", "Text", "loop", "mode_sizes", "print_rows", "say"]

# CUDA's printf takes 32 arguments at most (CUDA C++ Programming Guide, "Formatted Output").
MAX_ARGS = 32
_PIECE = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z])")


class Text:
    """A C format in the making, with the values that it prints."""

    def __init__(self) -> None:
        self.format = ""
        self.args: list[Value] = []

    def plain(self, text: str) -> None:
        self.format += text.replace("%", "%%")

    def number(self, x: Numeric, spec: str | None = None) -> None:
        if not x.is_dynamic and spec is None:
            self.plain(f"{x.value:f}" if x.dtype.is_float else str(int(x.value)))
            return
        if x.dtype.width > 64:  # C has no conversion for it
            self.format += "0x%016llx%016llx"
            self.args += [(x >> 64).to(Uint64).ir_value(), x.to(Uint64).ir_value()]
            return
        wide, default = _widened(x)
        self.format += spec or default
        self.args.append(wide.ir_value())

    def element(self, x: Any) -> None:
        """Print an element of a tensor, with a blank where a sign would stand."""
        blank = isinstance(x, Numeric) and x.is_dynamic and x.dtype.width <= 64
        if blank and (x.dtype.is_float or x.dtype.signed):
            wide, default = _widened(x)
            self.format += f"% {default[1:]}"
            self.args.append(wide.ir_value())
        else:
            self.plain(" ")
            self.any(x)

    def any(self, x: Any) -> None:
        """Print whatever a user may hand to printf."""
        x = number_in(x)
        if isinstance(x, Numeric):
            self.number(x)
        elif isinstance(x, bool):
            self.plain(str(int(x)))
        elif isinstance(x, float):
            self.plain(f"{x:f}")
        elif is_sequence(x):
            self._sequence(x)
        elif isinstance(x, Layout):
            self.any(x.shape)
            self.plain(":")
            self.any(x.stride)
        elif isinstance(x, ComposedLayout):
            self.plain(f"{x.inner} o ")
            self.any(x.offset)
            self.plain(" o ")
            self.any(x.outer)
        elif isinstance(x, TensorSSA):
            self._sequence([x[i] for i in range(product(x.shape))])
        elif isinstance(x, Pointer):
            self._pointer(x)
        elif hasattr(type(x), "__opencute_parts__"):
            self.parts(x.__opencute_parts__())
        elif is_scaled_basis(x):
            self.any(x.value)
            self.plain("".join(f"@{m}" for m in reversed(x.mode)))
        else:
            self.plain("_" if x is None else str(x))

    def parts(self, parts: Iterable[Any]) -> None:
        """Print text, and other things as `any` does."""
        for part in parts:
            if isinstance(part, str):
                self.plain(part)
            else:
                self.any(part)

    def _sequence(self, items: Any) -> None:
        self.plain("(")
        for i, item in enumerate(items):
            if i:
                self.plain(",")
            self.any(item)
        self.plain(")")

    def _pointer(self, p: Pointer) -> None:
        self.plain("raw_ptr(0x")
        self.format += "%016llx"
        self.args.append(cute.ptr_to_int(p.value))
        self.plain(f": {p.dtype.dtype.name}, {p.memspace.name}, align<{p.alignment}>)")

    def emit(self) -> None:
        """Print; in several parts where there are more values than one call takes."""
        start = used = taken = 0
        for match in _PIECE.finditer(self.format):
            if match.group(0) == "%%":
                continue
            if used - taken == MAX_ARGS:
                cute.print_(self.format[start : match.start()], self.args[taken:used])
                start, taken = match.start(), used
            used += 1
        cute.print_(self.format[start:], self.args[taken:])


def _widened(x: Numeric) -> tuple[Numeric, str]:
    t = x.dtype
    if t.is_float:
        return (x if t.width == 64 else x.to(Float32).to(Float64)), "%f"
    if t.is_bool:
        return x.to(Int32), "%d"
    if t.width <= 32:
        return (x.to(Int32), "%d") if t.signed else (x.to(Uint32), "%u")
    return (x.to(Int64), "%lld") if t.signed else (x.to(Uint64), "%llu")


def mode_sizes(tensor: Any) -> tuple[int, ...]:
    """Elements along each mode of a tensor."""
    shape = tensor.shape if is_tuple(tensor.shape) else (tensor.shape,)
    return tuple(product(s) for s in shape)


def say(*parts: Any) -> None:
    """Print text, and other things as `Text.any` does."""
    text = Text()
    text.parts(parts)
    text.emit()


def loop(extent: Any, body: Callable[[Any], None]) -> None:
    """Build a run-time loop over 0, 1, ... below an extent."""
    region, block = new_block([I32])
    with insert_at(block):
        index: Any = Int32(block.args[0])
        index.nonneg = index.is_index = True
        body(index)
        scf.yield_()
    zero, one = (arith.constant(n, I32) for n in (0, 1))
    scf.for_(zero, Int32(extent).ir_value(), one, (), region)


def print_rows(tensor: Any, max_elements: int | None = None) -> None:
    """Print the elements of a tensor of static shape, a row of its last mode on each line.

    Args:
        tensor: the tensor.
        max_elements: how many of each mode; all when omitted.

    Raises:
        LayoutError: the shape is not static.
    """
    if not is_static(tensor.shape):
        raise LayoutError(
            "rows of a static length are printed", code="OC1357", found=str(tensor),
            hint="cute.print_tensor prints tensors of any shape",
        )  # fmt: skip
    modes = mode_sizes(tensor)
    shown = modes if max_elements is None else tuple(min(n, max_elements) for n in modes)

    def row(crd: tuple[Any, ...]) -> None:
        text = Text()
        for i in crd:
            text.plain("[")
            text.any(i)
            text.plain("]")
        text.plain(": [" if crd else "[")
        for c in range(shown[-1]):
            text.plain(", " if c else "")
            text.any(tensor[(*crd, c) if crd else c])
        text.plain(", ...]\n" if shown[-1] < modes[-1] else "]\n")
        text.emit()

    def each(crd: tuple[Any, ...]) -> None:
        if len(crd) == len(shown) - 1:
            row(crd)
        else:
            loop(shown[len(crd)], lambda i: each((*crd, i)))

    each(())
