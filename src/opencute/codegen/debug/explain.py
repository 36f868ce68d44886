# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What machine code does where: instructions with source lines, memory accesses by width, spills.

In: a cubin made with line information, and ptxas's report. Out: a `KernelFacts` for each kernel::

    k_0 on sm_90a: 10 registers, 0 bytes of stack, no spills, 0 bytes of static shared memory,
        1024 dynamic, 1 barrier, 80 instructions, 4 of them matrix products
      global load      128 bits    4 x   kernel.py:9 (from kernel.py:15)
      HGMMA.64x64x16.F32           4 x   kernel.py:12
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from opencute.base.words import singular
from opencute.codegen.ptxas import AsmReport, FunctionReport
from opencute.codegen.sass import disassemble

__all__ = ["KernelFacts", "LinedInstruction", "explain", "lined_instructions", "parse_lined"]

Place = tuple[str, int]


@dataclass(frozen=True)
class LinedInstruction:
    """One instruction.

    Args:
        kernel: the function it is in.
        text: with its guard.
        places: (file, line) pairs, innermost first: helpers, then the kernel.
    """

    kernel: str
    text: str
    places: tuple[Place, ...] = ()

    @property
    def opcode(self) -> str:
        """The opcode with its modifiers."""
        return re.sub(r"^@!?U?P\w+\s+", "", self.text).split()[0]

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product. One whose result is thrown away is none: ptxas writes
        ``HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0`` to end a group of others."""
        if not _PRODUCT.match(self.opcode.split(".")[0]):
            return False
        rest = self.text.partition(self.opcode)[2].lstrip()
        return re.match(r"U?RZ\b", rest) is None


_SECTION = re.compile(r"^\.text\.([\w$]+):")
_PLACE = re.compile(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_CODE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?[A-Z][A-Z0-9_.]*[^;/]*);")


def parse_lined(text: str) -> list[LinedInstruction]:
    """Read what ``nvdisasm -gi -c`` prints."""
    out: list[LinedInstruction] = []
    kernel, places, fresh = "", (), True
    for line in text.splitlines():
        section = _SECTION.match(line)
        place = _PLACE.search(line)
        code = _CODE.search(line)
        if section:
            kernel, places = section[1], ()
        elif place:
            here = (place[1], int(place[2]))
            places = (here,) if fresh else (*places, here)
            fresh = False
        elif code:
            fresh = True
            body = " ".join(code[1].split())
            if not body.startswith(("NOP", "@!PT ")):  # the latter never happens
                out.append(LinedInstruction(kernel, body, places))
    return out


def lined_instructions(cubin: bytes) -> list[LinedInstruction]:
    """The instructions of a cubin with their source lines.

    Raises:
        MissingPieceError: no disassembler is installed.
    """
    return parse_lined(disassemble(cubin, ("-gi", "-c")))


_KINDS = {
    "LDG": "global load", "STG": "global store", "LDS": "shared load", "STS": "shared store",
    "LDL": "local load", "STL": "local store", "LD": "generic load", "ST": "generic store",
    "LDGSTS": "async copy", "LDSM": "matrix load", "STSM": "matrix store", "ATOMG": "global atomic",
    "ATOM": "generic atomic", "ATOMS": "shared atomic", "RED": "global reduction",
    "REDG": "global reduction", "UTMALDG": "tensor load", "UTMASTG": "tensor store",
    "UBLKCP": "bulk copy", "LDTM": "tensor memory load", "STTM": "tensor memory store",
}  # fmt: skip
_ORDER = list(_KINDS.values())
_PRODUCT = re.compile(r"(?:[HIQDOB]G?MMA|UTC[A-Z]*MMA)\Z")


def _width(opcode: str) -> int:
    parts = opcode.split(".")
    for word in ("256", "128", "64"):
        if word in parts:
            return int(word)
    if parts[0] in ("LDSM", "STSM"):
        return 32 * next((int(p) for p in parts if p in ("2", "4")), 1)
    for word in parts:
        if word in ("U8", "S8", "8"):
            return 8
        if word in ("U16", "S16", "16"):
            return 16
    return 0 if parts[0].startswith(("UTMA", "UBLK")) else 32


@dataclass(frozen=True)
class KernelFacts:
    """What one kernel costs.

    Args:
        name: the kernel.
        report: registers, stack and spills, from ptxas.
        accesses: how many instructions of a kind and width (bits, 0 if that says nothing) there are
            at a place.
        instructions: how many instructions it has.
        products: how many matrix instructions of a kind there are at a place.
        dynamic_smem: the most bytes of dynamic shared memory that a launch asks for; None: that is
            decided at run time.
        arch: the processor that it was compiled for; empty where that is not known.
    """

    name: str
    report: FunctionReport
    accesses: Counter[tuple[str, int, tuple[Place, ...]]] = field(
        default_factory=Counter[tuple[str, int, tuple[Place, ...]]]
    )
    instructions: int = 0
    products: Counter[tuple[str, tuple[Place, ...]]] = field(
        default_factory=Counter[tuple[str, tuple[Place, ...]]]
    )
    dynamic_smem: int | None = 0
    arch: str = ""

    @property
    def local(self) -> int:
        """Loads and stores of local memory: spills, and arrays that are no registers."""
        return sum(n for (kind, _, _), n in self.accesses.items() if kind.startswith("local"))

    def text(self) -> str:
        """The facts as lines of text."""
        r = self.report
        spills = (
            f"spills {r.spill_stores} bytes stored, {r.spill_loads} loaded"
            if r.spill_stores or r.spill_loads
            else "no spills"
        )
        dynamic = "as the launch says" if self.dynamic_smem is None else self.dynamic_smem
        costs = singular(
            f"{r.registers} registers, {r.stack} bytes of stack, {spills}, {r.smem} bytes of "
            f"static shared memory, {dynamic} dynamic, {r.barriers} barriers, "
            f"{self.instructions} instructions, {self.products.total()} of them matrix products"
        )
        lines = [f"{self.name}{f' on {self.arch}' if self.arch else ''}: {costs}"]
        for (kind, width, places), n in sorted(
            self.accesses.items(), key=lambda x: (_ORDER.index(x[0][0]), x[0][2], -x[0][1])
        ):
            bits = f"{width} bits" if width else ""
            lines.append(f"  {kind:<16} {bits:>8} {n:>4} x   {_where(places)}".rstrip())
        for (opcode, places), n in sorted(self.products.items(), key=lambda x: (x[0][1], x[0][0])):
            lines.append(f"  {opcode:<25} {n:>4} x   {_where(places)}".rstrip())
        return "\n".join(lines)


def _where(places: Sequence[Place]) -> str:
    if not places:
        return ""
    first, *calls = [f"{file}:{line}" for file, line in places]
    return f"{first} (from {', from '.join(calls)})" if calls else first


def explain(cubin: bytes, report: AsmReport) -> list[KernelFacts]:
    """What each kernel of a cubin costs, and where.

    Args:
        cubin: machine code with line information; without it there are no places.
        report: what ptxas said about it.

    Raises:
        MissingPieceError: no disassembler is installed.
    """
    by_kernel: dict[str, list[LinedInstruction]] = {}
    for instruction in lined_instructions(cubin):
        by_kernel.setdefault(instruction.kernel, []).append(instruction)
    out: list[KernelFacts] = []
    for function in report.functions:
        code = by_kernel.get(function.name, [])
        accesses: Counter[tuple[str, int, tuple[Place, ...]]] = Counter()
        products: Counter[tuple[str, tuple[Place, ...]]] = Counter()
        for i in code:
            if i.is_product:
                products[i.opcode, i.places] += 1
            kind = _KINDS.get(i.opcode.split(".")[0])
            if kind is not None:
                accesses[kind, _width(i.opcode), i.places] += 1
        out.append(KernelFacts(function.name, function, accesses, len(code), products))
    return out
