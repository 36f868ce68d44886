# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text for small hand-written functions, written like the C that they would be.

In: calls in the order of the code. Out: the text of one function::

    f = Fn("add1", "i64", "ptr p")
    f.ret("i64", f.add(f.load("i64", "%p", 8), 1))      # return *(int64_t *)(p + 8) + 1
    f.text()

Values are strings: names such as ``%3``, or constants. Variables live in memory (`var`, `get`,
`set`); LLVM's sroa turns them into registers. Offsets are in bytes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["Fn"]


class Fn:
    """One function under construction.

    Args:
        name: its symbol.
        result: LLVM type of its result.
        parameters: each as ``"type name"``; the value is then ``%name``.
        local: whether other modules cannot see it.
    """

    def __init__(self, name: str, result: str, *parameters: str, local: bool = False) -> None:
        listed = ", ".join("{} %{}".format(*p.split()) for p in parameters)
        self.head = f"define {'internal ' if local else ''}{result} @{name}({listed}) {{"
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        """The definition."""
        return "\n".join([self.head, "entry:", *self.allocas, *self.lines, "unreachable", "}", ""])

    # ---- values
    def let(self, text: str) -> str:
        """A new name for the result of an instruction."""
        self._count += 1
        self.lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def at(self, base: str, offset: int | str) -> str:
        """The address `offset` bytes after `base`."""
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def word(self, base: str, index: str) -> str:
        """The address of the 8-byte element `index`."""
        return self.let(f"getelementptr i64, ptr {base}, i64 {index}")

    def load(self, type: str, base: str, offset: int | str = 0) -> str:
        """What is in memory."""
        return self.let(f"load {type}, ptr {self.at(base, offset)}")

    def store(self, type: str, value: str | int, base: str, offset: int | str = 0) -> None:
        """Write to memory."""
        self.lines.append(f"store {type} {value}, ptr {self.at(base, offset)}")

    def op(self, name: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """An instruction with two operands."""
        return self.let(f"{name} {type} {a}, {b}")

    def add(self, a: str | int, b: str | int) -> str:
        """A sum of two i64."""
        return self.op("add", a, b)

    def cmp(self, how: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """A comparison, such as ``"eq"`` or ``"slt"``."""
        return self.let(f"icmp {how} {type} {a}, {b}")

    def select(self, cond: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """One of two values."""
        return self.let(f"select i1 {cond}, {type} {a}, {type} {b}")

    def call(self, result: str, callee: str, *arguments: str) -> str:
        """A call; arguments as ``"type value"``."""
        target = callee if callee[0] in "@%" else f"@{callee}"
        text = f"call {result} {target}({', '.join(arguments)})"
        if result == "void":
            self.lines.append(text)
            return ""
        return self.let(text)

    # ---- variables
    def alloca(self, type: str, count: int = 1, align: int = 8) -> str:
        """Memory of the function's frame."""
        name = f"%m{len(self.allocas)}"
        self.allocas.append(f"{name} = alloca {type}, i64 {count}, align {align}")
        return name

    def var(self, type: str, value: str | int) -> tuple[str, str]:
        """A variable; for `get` and `set`."""
        variable = (self.alloca(type), type)
        self.set(variable, value)
        return variable

    def get(self, variable: tuple[str, str]) -> str:
        """A variable's value."""
        return self.load(variable[1], variable[0])

    def set(self, variable: tuple[str, str], value: str | int) -> None:
        """Change a variable."""
        self.store(variable[1], value, variable[0])

    # ---- control
    def label(self) -> str:
        """A new place to jump to."""
        self._count += 1
        return f"l{self._count}"

    def start(self, label: str) -> None:
        """What follows is at `label`; the code before it must have jumped away."""
        self.lines.append(f"{label}:")

    def goto(self, label: str) -> None:
        """Jump."""
        self.lines.append(f"br label %{label}")

    def branch(self, cond: str, yes: str, no: str) -> None:
        """Jump to one of two places."""
        self.lines.append(f"br i1 {cond}, label %{yes}, label %{no}")

    def unless(self, cond: str, label: str) -> None:
        """Jump to `label` if the condition does not hold."""
        on = self.label()
        self.branch(cond, on, label)
        self.start(on)

    def ret(self, type: str, value: str | int = "") -> None:
        """Return; what follows needs a label."""
        self.lines.append(f"ret {type} {value}".rstrip())

    @contextmanager
    def when(self, cond: str) -> Generator[str, None, None]:
        """A block that runs if the condition holds; gives the label behind it.

        A block that returns or jumps away ends with that: `leave` says so.
        """
        inside, behind = self.label(), self.label()
        self.branch(cond, inside, behind)
        self.start(inside)
        yield behind
        if not self.lines[-1].startswith(("ret ", "br ")):
            self.goto(behind)
        self.start(behind)

    @contextmanager
    def each(self, count: str) -> Generator[str, None, None]:
        """A loop over 0 to count - 1; gives the index."""
        index = self.var("i64", 0)
        head, body, behind = self.label(), self.label(), self.label()
        self.goto(head)
        self.start(head)
        now = self.get(index)
        self.branch(self.cmp("slt", now, count), body, behind)
        self.start(body)
        yield now
        self.set(index, self.add(now, 1))
        self.goto(head)
        self.start(behind)
