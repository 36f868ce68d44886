# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Source positions as LLVM debug metadata, enough for ``.loc`` lines in PTX and for profilers.

In: `Location` values with their call chains. Out: numbered metadata nodes::

    !7 = !DILocation(line: 12, column: 5, scope: !4, inlinedAt: !6)

A helper that was traced into a kernel becomes an inlined function: its instructions keep its lines.
Their column stands for the call chain, see `debug.inlined`. A position in another file than its
function's, with no call that led to it, is in a block of the function that has its own file.
"""

from __future__ import annotations

import os

from opencute.base.location import Location
from opencute.codegen.debug.inlined import CHAIN, MOST, chain_comment
from opencute.ir.attributes import quote

__all__ = ["DebugInfo"]


class DebugInfo:
    """Collects the metadata of one module; node numbers start at `first`."""

    def __init__(self, first: int = 0) -> None:
        self._nodes: list[str] = []
        self._first = first
        self._numbers: dict[object, int] = {}
        self._unit = -1
        self._paths: dict[int, str] = {}
        self.chains: list[str] = []

    def _node(self, key: object, text: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = self._first + len(self._nodes)
            self._nodes.append(text)
        return self._numbers[key]

    def _file(self, path: str) -> int:
        folder, name = os.path.split(path)
        text = f"!DIFile(filename: {quote(name)}, directory: {quote(folder)})"
        return self._node(("file", path), text)

    def _compile_unit(self, path: str) -> int:
        if self._unit < 0:
            text = (
                f"distinct !DICompileUnit(language: DW_LANG_Python, file: !{self._file(path)}, "
                'producer: "opencute", isOptimized: true, runtimeVersion: 0, '
                "emissionKind: DebugDirectivesOnly)"
            )
            self._unit = self._node("unit", text)
        return self._unit

    def subprogram(self, name: str, path: str, line: int, linkage: str = "") -> int:
        """The node of a function."""
        file, unit = self._file(path), self._compile_unit(path)
        kind = self._node("type", "!DISubroutineType(types: !{})")
        link = f", linkageName: {quote(linkage)}" if linkage else ""
        text = (
            f"distinct !DISubprogram(name: {quote(name)}{link}, scope: !{file}, file: !{file}, "
            f"line: {line}, type: !{kind}, spFlags: DISPFlagDefinition, unit: !{unit})"
        )
        number = self._node(("function", name, path, line if linkage else 0, linkage), text)
        self._paths[number] = path
        return number

    def _within(self, scope: int, path: str) -> int:
        """The scope of what is in a function's code but in a file that may not be its own."""
        if self._paths.get(scope, path) == path:
            return scope
        text = f"!DILexicalBlockFile(scope: !{scope}, file: !{self._file(path)}, discriminator: 0)"
        return self._node(("block", scope, path), text)

    def location(self, loc: Location | None, scope: int) -> int:
        """The node of a position in the kernel whose subprogram is `scope`."""
        key = ("loc", loc, scope)
        if key in self._numbers:
            return self._numbers[key]
        if loc is None:
            return self._node(key, f"!DILocation(line: 0, scope: !{scope})")
        where = f"line: {loc.line}, column: {loc.col + 1}"
        if loc.caller is None:
            within = self._within(scope, loc.file)
            return self._node(key, f"!DILocation({where}, scope: !{within})")
        outer = self.location(loc.caller, scope)
        helper = self.subprogram(loc.function or "helper", loc.file, loc.line)
        if len(self.chains) < MOST:
            where = f"line: {loc.line}, column: {CHAIN + len(self.chains)}"
            self.chains.append(chain_comment(loc))
        return self._node(key, f"!DILocation({where}, scope: !{helper}, inlinedAt: !{outer})")

    def lines(self) -> list[str]:
        """The metadata as text."""
        out = [*self.chains]
        out += [f"!{self._first + i} = {text}" for i, text in enumerate(self._nodes)]
        version = self._first + len(self._nodes)
        out.append(f'!{version} = !{{i32 2, !"Debug Info Version", i32 3}}')
        out.append(f"!llvm.module.flags = !{{!{version}}}")
        if self._unit >= 0:
            out.append(f"!llvm.dbg.cu = !{{!{self._unit}}}")
        return out
