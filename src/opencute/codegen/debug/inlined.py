# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Call chains in the line directives of PTX, for profilers that show inlined helpers.

LLVM knows that an instruction came from a helper that was called in line 15, and does not say so in
PTX. So the column of such a position is the number of its chain (`CHAIN` and up), the chains travel
as comments in the LLVM IR, and `with_chains` writes what PTX has for them::

    .loc 1 9 32768

    .loc 1 15 9
    .loc 1 9 13, function_name $L__opencute_fn0, inlined_at 1 15 9
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from opencute.base.location import Location

__all__ = ["CHAIN", "MOST", "chain_comment", "chains_of", "with_chains", "within"]

CHAIN = 0x8000
"""The column of the first chain; LLVM keeps 16 bits of a column."""
MOST = 0x8000
"""How many chains a module can have; further positions go without theirs."""

Frame = tuple[str, int, int, str]
_COMMENT = re.compile(r"^; opencute\.chain (\[.*\])$", re.MULTILINE)
_LOC = re.compile(r"^(\s*)\.loc\s+(\d+)\s+(\d+)\s+(\d+)\s*$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')


def within(loc: Location | None, outer: Location | None) -> Location | None:
    """A position without the frames of those who launched the kernel.

    Args:
        loc: a position in a kernel, with its call chain.
        outer: where the kernel was launched.

    Returns:
        The chain up to the kernel's own frame; None if nothing of it is inside of the kernel.
    """
    if loc is None or outer is None or _same(loc, outer):
        return loc if outer is None else None
    if loc.caller is None:
        return loc
    rest = within(loc.caller, outer)
    return loc if rest is loc.caller else replace(loc, caller=rest)


def _same(a: Location, b: Location) -> bool:
    return (a.file, a.line, a.function) == (b.file, b.line, b.function)


def chain_comment(loc: Location) -> str:
    """A line of LLVM IR that carries the chain of a position."""
    frames: list[Frame] = []
    at: Location | None = loc
    while at is not None:
        frames.append((at.file, at.line, at.col + 1, at.function or ""))
        at = at.caller
    return f"; opencute.chain {json.dumps(frames)}"


def chains_of(ir: str) -> list[list[Frame]]:
    """The chains that LLVM IR carries, in order; innermost frame first."""
    if "; opencute.chain " not in ir:  # found out a hundred times sooner than line by line
        return []
    return [[(f[0], f[1], f[2], f[3]) for f in json.loads(m[1])] for m in _COMMENT.finditer(ir)]


def with_chains(ptx: str, chains: Sequence[Sequence[Frame]]) -> str:
    """PTX whose line directives name the chains, instead of their numbers."""
    if not chains:
        return ptx
    writer = _Writer(ptx)
    lines: list[str] = []
    for line in ptx.splitlines():
        found = _LOC.match(line)
        number = int(found[4]) - CHAIN if found else -1
        if found and 0 <= number < len(chains):
            lines += [found[1] + text for text in writer.directives(chains[number])]
        else:
            lines.append(line)
    return "\n".join([*lines, *writer.tail(), ""])


class _Writer:
    def __init__(self, ptx: str) -> None:
        self.files = {m[2]: int(m[1]) for m in map(_FILE.match, ptx.splitlines()) if m}
        self.known = len(self.files)
        self.names: dict[str, str] = {}

    def file(self, path: str) -> int:
        """The number of a file; one that LLVM did not need gets the next."""
        return self.files.setdefault(path, max(self.files.values(), default=0) + 1)

    def directives(self, chain: Sequence[Frame]) -> Iterator[str]:
        """The directives of a chain, outermost call first."""
        outer = ""
        for depth, (path, line, column, function) in enumerate(reversed(chain)):
            place = f"{self.file(path)} {line} {column}"
            if depth == 0:
                yield f".loc\t{place}"
            else:
                name = function or "helper"
                label = self.names.setdefault(name, f"$L__opencute_fn{len(self.names)}")
                yield f".loc\t{place}, function_name {label}, inlined_at {outer}"
            outer = place

    def tail(self) -> list[str]:
        """Files that LLVM did not list, and the names of the helpers."""
        out = [f'\t.file\t{n} "{path}"' for path, n in list(self.files.items())[self.known :]]
        if self.names:
            out += ["\t.section\t.debug_str", "\t{"]
            for name, label in self.names.items():
                out.append(f"{label}:")
                out += [f".b8 {byte}" for byte in [*name.encode(), 0]]
            out.append("\t}")
        return out
