# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The text of inline PTX as a list of instructions.

In: a template. Out: a `Listing`; anything that is not understood is an `AsmError` that quotes it::

    >>> listing = parse_asm("{ .reg .pred p; setp.ne.b32 p, $1, 0; @!p mov.b32 $0, 5; }")
    >>> [str(i) for i in listing.instructions]
    ['setp.ne.b32 p, $1, 0', '@!p mov.b32 $0, 5']

Blocks in braces are scopes: a register declared inside hides one of the same name outside. Each
declaration gets a name of its own here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = [
    "Address",
    "AsmError",
    "Immediate",
    "Instruction",
    "Listing",
    "Operand",
    "Pair",
    "Register",
    "Vector",
    "parse_asm",
    "type_width",
]


class AsmError(ValueError):
    """Inline PTX that the simulator does not run.

    Args:
        message: what is wrong.
        text: the instruction or part that is meant.
    """

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


@dataclass(frozen=True)
class Register:
    """A register, an operand ``$0``, a special register ``%tid.x``, ``_`` or a label.

    Args:
        name: how it is written, made unique for declared registers.
        negated: for a predicate, whether ``!`` stands before it.
    """

    name: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{'!' if self.negated else ''}{self.name}"


@dataclass(frozen=True)
class Immediate:
    """A constant; for floats, their bits and the width of the spelling (0 if it has none)."""

    value: int | float
    width: int = 0

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Address:
    """``[base + offset]``, or ``[base, more...]`` for what takes several."""

    base: Operand
    offset: int = 0
    more: tuple[Operand, ...] = ()

    def __str__(self) -> str:
        tail = f"+{self.offset}" if self.offset else ""
        return f"[{', '.join([f'{self.base}{tail}', *map(str, self.more)])}]"


@dataclass(frozen=True)
class Vector:
    """``{a, b}``."""

    items: tuple[Operand, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


@dataclass(frozen=True)
class Pair:
    """``p|q``."""

    first: Operand
    second: Operand

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


Operand = Register | Immediate | Address | Vector | Pair


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Args:
        name: with its modifiers, ``setp.ne.b32``.
        operands: what follows.
        guard: the predicate it is under, if any.
        text: how it was written.
    """

    name: str
    operands: tuple[Operand, ...]
    guard: Register | None = None
    text: str = field(default="", compare=False)

    @property
    def parts(self) -> list[str]:
        """The name's parts."""
        return self.name.split(".")

    def __str__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.name} {', '.join(map(str, self.operands))}".strip()


@dataclass
class Listing:
    """Instructions, the labels between them and the registers they use.

    Args:
        instructions: in order.
        labels: for each label, the number of the instruction after it.
        widths: bits of each declared register; 1 for predicates.
    """

    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    widths: dict[str, int] = field(default_factory=dict[str, int])


def type_width(word: str) -> int | None:
    """Bits of a PTX type such as ``u32``, ``f16x2`` or ``pred``; None for another word."""
    if word == "pred":
        return 1
    found = re.fullmatch(r"(?:b|u|s|f|bf|tf)(8|16|32|64|128)(x2|x4)?", word)
    if found is None:
        return None
    return int(found[1]) * {None: 1, "x2": 2, "x4": 4}[found[2]]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
_GUARD = re.compile(r"@(!?\s*[\w$%.{}]+)\s*(.*)\Z", re.DOTALL)
_NAME = re.compile(r"[A-Za-z][\w.:]*")
_WORD = re.compile(r"(?:\$\d+|\$\{\d+\}|[A-Za-z_%][\w$.]*)\Z")
_HEX_FLOAT = re.compile(r"0([fFdD])([0-9A-Fa-f]{8}|[0-9A-Fa-f]{16})\Z")
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+)U?\Z")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?\Z")
_REG = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)\Z", re.DOTALL)
_RANGE = re.compile(r"([\w$%]+)<(\d+)>\Z")


def parse_asm(text: str) -> Listing:
    """Read a template.

    Raises:
        AsmError: it is not understood.
    """
    return _Parser(text).run()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = _COMMENT.sub(" ", text)
        self.out = Listing()
        self.scopes: list[dict[str, str]] = [{}]
        self.at = 0

    def run(self) -> Listing:
        for statement in self._statements():
            self._statement(statement)
        if len(self.scopes) != 1:
            raise AsmError("the braces do not match")
        return self.out

    def _statements(self) -> Iterator[str]:
        """Statements; braces that open and close scopes are handled on the way."""
        text = self.text
        while self.at < len(text):
            c = text[self.at]
            if c.isspace() or c == ";":
                self.at += 1
            elif c == "{":
                self.scopes.append({})
                self.at += 1
            elif c == "}":
                if len(self.scopes) == 1:
                    raise AsmError("the braces do not match")
                self.scopes.pop()
                self.at += 1
            elif label := _LABEL.match(text, self.at):
                self._label(label[1])
                self.at = label.end()
            else:
                end = text.find(";", self.at)
                if end < 0:
                    raise AsmError("a semicolon is missing", text[self.at :].strip())
                statement, self.at = text[self.at : end], end + 1
                yield statement.strip()

    def _label(self, name: str) -> None:
        if name in self.out.labels:
            raise AsmError(f"label {name} is there twice", name)
        self.out.labels[name] = len(self.out.instructions)

    def _statement(self, text: str) -> None:
        if text.startswith(".reg"):
            self._declare(text)
            return
        if text.startswith("."):
            raise AsmError("the simulator knows no directive but .reg", text)
        rest, guard = text, None
        if text.startswith("@"):
            found = _GUARD.match(text)
            if found is None:
                raise AsmError("this is no instruction", text)
            head, rest = found[1], found[2]
            negated = head.startswith("!")
            guard = Register(self._resolve(head.removeprefix("!").strip()), negated)
        name = _NAME.match(rest)
        if name is None:
            raise AsmError("this is no instruction", text)
        operands = rest[name.end() :].strip()
        try:
            parsed = tuple(self._operand(o) for o in _split(operands)) if operands else ()
        except AsmError as e:
            raise AsmError(str(e), text) from None
        self.out.instructions.append(Instruction(name[0], parsed, guard, " ".join(text.split())))

    def _declare(self, text: str) -> None:
        found = _REG.match(text)
        width = type_width(found[1]) if found else None
        if found is None or width is None:
            raise AsmError("this declaration is not understood", text)
        scope = self.scopes[-1]
        for item in found[2].split(","):
            name = item.strip()
            several = _RANGE.match(name)
            names = [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
            for n in names:
                if not re.fullmatch(r"[\w$%]+", n):
                    raise AsmError(f"{n!r} is no name of a register", text)
                own = n if n not in self.out.widths else f"{n}#{len(self.out.widths)}"
                scope[n] = own
                self.out.widths[own] = width

    def _resolve(self, name: str) -> str:
        if name.startswith("${"):
            return f"${name[2:-1]}"
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _operand(self, text: str) -> Operand:
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return self._address(text[1:-1])
        if text.startswith("{") and text.endswith("}"):
            return Vector(tuple(self._operand(t) for t in _split(text[1:-1])))
        if "|" in text:
            first, second = text.split("|", 1)
            return Pair(self._operand(first), self._operand(second))
        if text.startswith("!"):
            return Register(self._resolve(text[1:].strip()), True)
        if _WORD.match(text):
            return Register(self._resolve(text))
        return _immediate(text)

    def _address(self, text: str) -> Address:
        first, *more = _split(text)
        found = re.match(r"\s*(.*?)\s*(?:\+\s*(-?\s*\w+)|(-\s*\d+))?\s*\Z", first, re.DOTALL)
        base, plus, minus = found.groups() if found else (first, None, None)
        offset = 0
        if plus or minus:
            number = _immediate(str(plus or minus).replace(" ", ""))
            if not isinstance(number.value, int):
                raise AsmError(f"{text!r} is no address")
            offset = number.value
        return Address(self._operand(base), offset, tuple(self._operand(t) for t in more))


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[{") - (c in "]}")
        if c == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]]


def _immediate(text: str) -> Immediate:
    hexadecimal = _HEX_FLOAT.match(text)
    if hexadecimal:
        wide = len(hexadecimal[2]) == 16
        if (hexadecimal[1] in "dD") != wide:
            raise AsmError(f"{text!r} is no number")
        return Immediate(int(hexadecimal[2], 16), 64 if wide else 32)
    integer = _INTEGER.match(text)
    if integer:
        digits = integer[2]
        octal = len(digits) > 1 and digits[0] == "0" and digits[1:].isdigit()
        value = int(digits, 8) if octal else int(digits, 0)
        return Immediate(-value if integer[1] == "-" else value)
    if _FLOAT.match(text):
        return Immediate(float(text))
    raise AsmError(f"{text!r} is not understood")
