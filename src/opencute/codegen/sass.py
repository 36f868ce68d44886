# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code as text, and what it contains.

In: a cubin. Out: SASS text, and counts by instruction::

    sass = read_sass(cubin)
    sass.count("LDG.E.128"), sass.local_memory

Needs nvdisasm or cuobjdump.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass

from opencute.base.errors import ToolchainError
from opencute.codegen.toolchain import find_disassembler

__all__ = ["Sass", "disassemble", "parse_sass", "read_sass"]

_INSTRUCTION = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?[A-Z][A-Z0-9_.]*[^;/]*);"
)
_GUARD = re.compile(r"^@!?U?P\w+\s+")


@dataclass(frozen=True)
class Sass:
    """Disassembled code.

    Args:
        text: the disassembler's output.
        instructions: one line each, guard included, without padding.
    """

    text: str
    instructions: tuple[str, ...]

    @property
    def opcodes(self) -> Counter[str]:
        """How often each opcode, with its modifiers, stands in the code."""
        return Counter(_GUARD.sub("", i).split()[0] for i in self.instructions)

    def count(self, prefix: str) -> int:
        """How many instructions have `prefix` as first components of their opcode.

        ``LDG.E`` counts ``LDG.E`` and ``LDG.E.128``.
        """
        return sum(
            n for op, n in self.opcodes.items() if op == prefix or op.startswith(prefix + ".")
        )

    @property
    def local_memory(self) -> int:
        """Loads and stores of local memory: spills, and arrays that are no registers."""
        return self.count("LDL") + self.count("STL")


def parse_sass(text: str) -> Sass:
    """Find the instructions in a disassembler's output."""
    found = [" ".join(m[1].split()) for m in _INSTRUCTION.finditer(text)]
    # The code ends in a branch to itself, padded with NOP.
    body = [i for i in found if not i.startswith(("NOP", "BRA `(.L_x_0)"))]
    return Sass(text, tuple(body))


def disassemble(cubin: bytes, options: tuple[str, ...] = ("-c",)) -> str:
    """The disassembler's text for a cubin.

    Args:
        cubin: machine code.
        options: flags of nvdisasm; cuobjdump has its own.

    Raises:
        MissingPieceError: no disassembler is installed.
        ToolchainError: the disassembler rejects the cubin.
    """
    tool = find_disassembler()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        flags = ["-sass"] if tool.path.name == "cuobjdump" else list(options)
        run = subprocess.run(
            [str(tool.path), *flags, file.name], capture_output=True, text=True, check=False
        )
    if run.returncode != 0:
        raise ToolchainError(
            f"the disassembler rejects the cubin: {run.stderr.strip()[:500]}", code="OC1532"
        )
    return run.stdout


def read_sass(cubin: bytes) -> Sass:
    """Disassemble a cubin and find its instructions; raises what `disassemble` raises."""
    return parse_sass(disassemble(cubin))
