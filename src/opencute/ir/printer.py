# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""IR to text, in MLIR's generic form.

An operation goes in; text that `parser.parse` and ``mlir-opt --allow-unregistered-dialect`` read
comes out::

    %sum = "arith.addi"(%a, %b) : (i32, i32) -> i32 loc("add"("kernel.py":7:11 to :16))

All attributes stand in the ``{...}`` dictionary, where MLIR also looks for inherent ones. Values
are named by their hint, or numbered; names are unique within an isolated operation (a function), so
the same function prints the same wherever it stands. The pretty form is for reading only: no
quotes, no operand types, and nothing parses it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from opencute.base.location import Location
from opencute.ir.attributes import Attribute, UnitAttr, attribute_name, quote

__all__ = ["location_text", "outline", "print_op"]

_HINT = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")


# What is printed, by its form alone: `core`, which has the classes, prints itself with this module.
class _Value(Protocol):
    @property
    def hint(self) -> str: ...
    @property
    def type(self) -> object: ...


class _Block(Protocol):
    @property
    def args(self) -> Sequence[_Value]: ...
    @property
    def ops(self) -> Sequence[_Op]: ...


class _Region(Protocol):
    @property
    def blocks(self) -> Sequence[_Block]: ...


class _Op(Protocol):
    @property
    def ISOLATED(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def symbol(self) -> str | None: ...
    @property
    def operands(self) -> Sequence[_Value]: ...
    @property
    def results(self) -> Sequence[_Value]: ...
    @property
    def attributes(self) -> Mapping[str, Attribute]: ...
    @property
    def regions(self) -> Sequence[_Region]: ...
    @property
    def loc(self) -> Location | None: ...
    def walk(self) -> Iterable[_Op]: ...


def print_op(op: _Op, *, locations: bool = False, pretty: bool = False) -> str:
    """The text of an operation and everything inside it.

    Args:
        op: what to print; values defined outside of it are named like its own.
        locations: append ``loc(...)`` to each operation.
        pretty: a shorter form for people; it cannot be parsed.
    """
    printer = _Pretty(locations) if pretty else _Printer(locations)
    printer.op(op, "")
    return "\n".join(printer.lines) + "\n"


def outline(op: _Op) -> str:
    """A digest of which operations there are, in order: 64 hex digits, soon made.

    Who has another outline has another text, so that most often nobody need print it to know.
    """
    names = "\n".join([inner.name for inner in op.walk()])
    return hashlib.sha256(names.encode()).hexdigest()


def location_text(loc: Location | None) -> str:
    """A location as the inside of MLIR's ``loc(...)``; columns count from 1 there."""
    if loc is None:
        return "unknown"
    parts: list[str] = []
    here: Location | None = loc
    while here is not None:
        end = f" to :{here.end_col + 1}" if here.end_col is not None else ""
        text = f"{quote(here.file)}:{here.line}:{here.col + 1}{end}"
        text = f"{quote(here.function)}({text})" if here.function else text
        here = here.caller
        parts.append(text if here is None else f"callsite({text} at ")
    return "".join(parts) + ")" * (len(parts) - 1)


class _Printer:
    """The generic form. Types and locations are printed once per object, not once per use."""

    def __init__(self, locations: bool) -> None:
        self.lines: list[str] = []
        self.locations = locations
        self.names: dict[_Value, str] = {}
        self.used: set[str] = set()
        self.count = 0
        self.types: dict[int, str] = {}
        self.locs: dict[int, str] = {}

    def name(self, value: _Value) -> str:
        """The name of a value, chosen on first sight."""
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = self._choose(value.hint)
        return name

    def _choose(self, hint: str) -> str:
        if not hint or not _HINT.match(hint):
            name = f"%{self.count}"
            self.count += 1
            return name
        name, n = f"%{hint}", 0
        while name in self.used:
            name = f"%{hint}_{n}"
            n += 1
        self.used.add(name)
        return name

    def type(self, type: object) -> str:
        """The text of a type; `type` is kept alive by the value that has it."""
        text = self.types.get(id(type))
        if text is None:
            text = self.types[id(type)] = str(type)
        return text

    def loc(self, op: _Op) -> str:
        """``loc(...)`` with a leading space, or nothing."""
        if not self.locations:
            return ""
        text = self.locs.get(id(op.loc))
        if text is None:
            text = self.locs[id(op.loc)] = f" loc({location_text(op.loc)})"
        return text

    def op(self, op: _Op, indent: str) -> None:
        """Append the lines of an operation."""
        name, operands, results = self.name, op.operands, op.results
        args = ", ".join([name(v) for v in operands])
        ins = ", ".join([self.type(v.type) for v in operands])
        if len(results) == 1:
            head = f'{indent}{name(results[0])} = "{op.name}"({args})'
            outs = self.type(results[0].type)
        else:
            names = ", ".join([name(r) for r in results])
            head = f'{indent}{names}{" = " if results else ""}"{op.name}"({args})'
            outs = f"({', '.join([self.type(r.type) for r in results])})"
        attrs = f" {_dictionary(op.attributes)}" if op.attributes else ""
        tail = f"{attrs} : ({ins}) -> {outs}{self.loc(op)}"
        if op.regions:
            self.lines.append(f"{head} ({{")
            self.regions(op, indent)
            self.lines[-1] += tail
        else:
            self.lines.append(head + tail)

    def regions(self, op: _Op, indent: str) -> None:
        """Append the regions of an operation; names start anew in an isolated one."""
        before = self.names, self.used, self.count
        if op.ISOLATED:
            self.names, self.used, self.count = dict(self.names), set(), 0
        last = op.regions[-1]
        for region in op.regions:
            self.region(region, indent)
            self.lines.append(f"{indent}}})" if region is last else f"{indent}}}, {{")
        if op.ISOLATED:
            self.names, self.used, self.count = before

    def region(self, region: _Region, indent: str) -> None:
        """Append the blocks of a region."""
        for i, block in enumerate(region.blocks):
            if i or block.args or not block.ops:
                args = ", ".join([f"{self.name(a)}: {self.type(a.type)}" for a in block.args])
                self.lines.append(f"{indent}^bb{i}{f'({args})' if args else ''}:")
            inner = indent + "  "
            for op in block.ops:
                self.op(op, inner)


class _Pretty(_Printer):
    """Names of results, operation, operands, attributes, result types; braces around regions."""

    def op(self, op: _Op, indent: str) -> None:
        results = ", ".join([self.name(r) for r in op.results])
        types = ", ".join([self.type(r.type) for r in op.results])
        symbol = op.symbol
        attrs: Mapping[str, Attribute] = {
            k: v
            for k, v in op.attributes.items()
            if k not in ("sym_name", "function_type", "operandSegmentSizes")
        }
        parts = [f"{results} =" if results else "", op.name, f"@{symbol}" if symbol else ""]
        parts += [self.names_of(op.operands), _dictionary(attrs) if attrs else ""]
        parts += [f": {types}" if types else "", "{" if op.regions else ""]
        self.lines.append(indent + " ".join(filter(None, parts)))
        if op.regions:
            self.regions(op, indent)
        self.lines[-1] += self.loc(op)

    def names_of(self, values: Sequence[_Value]) -> str:
        """Names with commas between."""
        return ", ".join([self.name(v) for v in values])

    def regions(self, op: _Op, indent: str) -> None:
        super().regions(op, indent)
        self.lines[-1] = f"{indent}}}"

    def region(self, region: _Region, indent: str) -> None:
        for block in region.blocks:
            self.label(block, indent)
            for op in block.ops:
                self.op(op, indent + "  ")

    def label(self, block: _Block, indent: str) -> None:
        """The arguments of a block, where it has any."""
        if block.args:
            args = ", ".join([f"{self.name(a)}: {self.type(a.type)}" for a in block.args])
            self.lines.append(f"{indent}^({args}):")


def _dictionary(attributes: Mapping[str, Attribute]) -> str:
    parts: list[str] = []
    for key, value in attributes.items():
        name = attribute_name(key)
        parts.append(name if isinstance(value, UnitAttr) else f"{name} = {value}")
    return f"{{{', '.join(parts)}}}"
