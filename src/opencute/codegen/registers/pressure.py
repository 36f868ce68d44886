# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How many registers PTX needs if it runs in the order in which it is written.

In: PTX text. Out: for each kernel, the most 32-bit registers that hold something at once::

    most_live(ptx)                     # {"kernel_0": 249}

ptxas moves instructions, so that its own number differs; but what is live in written order is what
the kernel's author and our passes have asked for. Values that are the same for all threads of a
block, and predicates, count nothing: they have registers of their own. Neither does a sum with a
constant, which ends as an offset in an address.

Cost: linear in the text, and a few rounds over the values that cross blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["most_live"]

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\(")
_LABEL = re.compile(r"^(\$L\w+):", re.M)
_REGISTER = re.compile(r"%(?:r|rd|rs|rq|f|fd|acc[a-z])\d+")
_COMMENT = re.compile(r"//[^\n]*")
_SUM = re.compile(r"add\.s(?:32|64)\s+(%r\d+|%rd\d+), (%r\d+|%rd\d+), -?\d+$")
_TARGET = re.compile(r"\$L\w+")
_SIZE = {"rd": 2, "fd": 2, "rq": 4}
# What has no result, though its first operand may be a register.
_NO_RESULT = (
    "st.", "red.", "bar", "bra", "cp.", "pref", "mbarrier.in", "fence", "stmatrix", "wgmma", "ret",
    "exit", "trap", "nanosleep", "setmaxnreg", "griddep", "discard", "applypriority",
)  # fmt: skip
# What differs between threads though no operand of it does.
_OWN = ("%tid", "%lane", "ld.shared", "ld.global", "ld.local", "ld.volatile", "atom", "activemask")

_Step = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass
class _Block:
    """Steps (registers written, registers read), where it goes on, and what is live before it."""

    steps: list[_Step] = field(default_factory=list[_Step])
    exits: list[str] = field(default_factory=list[str])
    falls: bool = True
    before: frozenset[str] = frozenset()


def most_live(ptx: str) -> dict[str, int]:
    """The most registers that are live at once, by kernel."""
    entries = list(_ENTRY.finditer(ptx))
    ends = [e.start() for e in entries[1:]] + [len(ptx)]
    return {
        e[1]: _most(ptx[ptx.index("{", e.end()) + 1 : end])
        for e, end in zip(entries, ends, strict=True)
    }


def _most(body: str) -> int:
    parts = _LABEL.split(_COMMENT.sub("", body))
    names = ["", *parts[1::2]]
    registers = _Registers()
    blocks = [_block(text, registers) for text in parts[::2]]
    _flow(names, blocks)
    after = [*blocks[1:], _Block()]
    at = dict(zip(names, blocks, strict=True))
    size = _Sizes(registers.uniform - registers.varying)
    return max(
        _peak(b, _after(b, following, at), size) for b, following in zip(blocks, after, strict=True)
    )


class _Registers:
    """What is known of registers while statements are read in order."""

    def __init__(self) -> None:
        self.uniform: set[str] = set()
        self.varying: set[str] = set()
        self.sums: dict[str, str] = {}  # a sum with a constant, and what it was added to

    def resolve(self, names: list[str]) -> tuple[str, ...]:
        """Registers that hold something for the sake of what reads `names`."""
        return tuple([self.sums.get(name, name) for name in names])


class _Sizes(dict[str, int]):
    """32-bit registers that a register takes."""

    def __init__(self, uniform: set[str]) -> None:
        super().__init__(dict.fromkeys(uniform, 0))

    def __missing__(self, name: str) -> int:
        size = self[name] = _SIZE.get(name[1:].rstrip("0123456789"), 1)
        return size


def _block(text: str, registers: _Registers) -> _Block:
    block = _Block()
    for statement in text.split(";"):
        statement = statement.strip(" \t\n{}")
        if not statement or statement[0] == ".":
            continue
        guarded = statement[0] == "@"
        if guarded:
            statement = statement.split(None, 1)[1]
        opcode, operands = (*statement.split(None, 1), "")[:2]
        if opcode.startswith(("bra", "ret", "exit", "trap")):
            block.exits += _TARGET.findall(operands)
            block.falls = block.falls and guarded
            continue
        total = None if guarded else _SUM.match(statement)
        if total is not None and total[1] != total[2]:
            (base,) = registers.resolve([total[2]])
            if base != total[1]:  # else it is a counter
                registers.sums[total[1]] = base
                continue
        written, found = _operands(opcode, operands)
        read = registers.resolve(found)
        for name in written:
            registers.sums.pop(name, None)
        if guarded:  # what was there before may stay
            read += tuple(written)
        block.steps.append((tuple(written), read))
        same = not any(own in statement for own in _OWN) and registers.uniform.issuperset(read)
        (registers.uniform if same and not guarded else registers.varying).update(written)
    return block


def _operands(opcode: str, operands: str) -> tuple[list[str], list[str]]:
    """The registers that a statement writes and reads."""
    if opcode.startswith(_NO_RESULT):
        return [], _REGISTER.findall(operands)
    operands = operands.lstrip()
    end = operands.find("}" if operands.startswith("{") else ",")
    first = operands if end < 0 else operands[:end]
    rest = "" if end < 0 else operands[end:]
    return _REGISTER.findall(first), _REGISTER.findall(rest)


def _after(block: _Block, following: _Block, at: dict[str, _Block]) -> set[str]:
    """What is live after a block."""
    live = set(following.before) if block.falls else set[str]()
    for name in block.exits:
        if name in at:
            live |= at[name].before
    return live


def _flow(names: list[str], blocks: list[_Block]) -> None:
    """Find what is live before each block, by going round until nothing changes."""
    at = dict(zip(names, blocks, strict=True))
    facts: list[tuple[frozenset[str], frozenset[str]]] = []
    for block in blocks:
        needs, makes = set[str](), set[str]()
        for written, read in reversed(block.steps):
            needs.difference_update(written)
            needs.update(read)
            makes.update(written)
        facts.append((frozenset(needs), frozenset(makes)))
    after = [*blocks[1:], _Block()]
    changed = True
    while changed:
        changed = False
        for i in range(len(blocks) - 1, -1, -1):
            needs, makes = facts[i]
            live = needs | (_after(blocks[i], after[i], at) - makes)
            if live != blocks[i].before:
                blocks[i].before = frozenset(live)
                changed = True


def _peak(block: _Block, live: set[str], size: _Sizes) -> int:
    """The most registers live at once in a block."""
    now = most = sum(size[r] for r in live)
    for written, read in reversed(block.steps):
        for r in written:
            if r in live:
                live.remove(r)
                now -= size[r]
        for r in read:
            if r not in live:
                live.add(r)
                now += size[r]
        most = max(most, now)
    return most
