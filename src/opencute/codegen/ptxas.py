# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX to cubin through ptxas, and what its report says.

In: PTX text and a processor. Out: a cubin and an `AsmReport`::

    with Assembler(target("sm_90a")) as asm:   # ptxas starts up meanwhile
        asm.feed(ptx)
        ...                                    # whatever else there is to do
        cubin, report = asm.finish()

ptxas takes most of a small compile and half of that is its own start, so the process is started
before the PTX exists; text and cubin travel through pipes. A process that is not finished is
killed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from opencute.arch.target import Target
from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.toolchain import find_ptxas

__all__ = ["AsmReport", "Assembler", "FunctionReport", "parse_report", "source_of_line"]


@dataclass(frozen=True)
class FunctionReport:
    """What ptxas says of one kernel.

    Args:
        name: the kernel.
        registers: per thread.
        stack: bytes of local memory per thread for arrays and calls.
        spill_stores: bytes.
        spill_loads: bytes.
        smem: bytes of static shared memory.
        barriers: named barriers.
    """

    name: str
    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    smem: int = 0
    barriers: int = 0


@dataclass(frozen=True)
class AsmReport:
    """What ptxas says of a module.

    Args:
        functions: one per kernel.
        diagnostics: warnings, and notes on performance such as C7510 (serialised wgmma).
        log: all of its output.
    """

    functions: tuple[FunctionReport, ...] = ()
    diagnostics: tuple[str, ...] = ()
    log: str = field(default="", repr=False)

    @property
    def spills(self) -> int:
        """Bytes that all kernels together store to spill registers, and load again."""
        return sum(f.spill_stores + f.spill_loads for f in self.functions)

    def function(self, name: str) -> FunctionReport:
        """The report of one kernel."""
        for f in self.functions:
            if f.name == name:
                return f
        raise KeyError(name)


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FACTS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "smem": re.compile(r"(\d+) bytes smem"),
    "barriers": re.compile(r"used (\d+) barriers"),
}
_DIAGNOSTIC = re.compile(r"\bwarning\b|\(C\d{4}\)", re.IGNORECASE)


def parse_report(log: str) -> AsmReport:
    """Read the output of ``ptxas -v``."""
    functions: list[dict[str, int | str]] = []
    diagnostics: list[str] = []
    for line in log.splitlines():
        entry = _ENTRY.search(line)
        if entry:
            functions.append({"name": entry[1]})
        elif _DIAGNOSTIC.search(line):
            diagnostics.append(line.strip())
        if functions:
            for key, pattern in _FACTS.items():
                found = pattern.search(line)
                if found:
                    functions[-1][key] = int(found[1])
    reports = tuple(FunctionReport(**f) for f in functions)  # type: ignore[arg-type]
    return AsmReport(reports, tuple(diagnostics), log)


_HEAP = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"


def _environment() -> dict[str, str]:
    """That of ptxas: its heap is one piece, in huge pages where the kernel gives such to who asks.
    Of a run for a small kernel, a tenth is page faults otherwise."""
    own = dict(os.environ)
    tunables = own.get("GLIBC_TUNABLES", "")
    if "glibc.malloc." not in tunables:
        own["GLIBC_TUNABLES"] = f"{tunables}:{_HEAP}" if tunables else _HEAP
    return own


class Assembler:
    """One run of ptxas.

    Args:
        target: the processor.
        opt_level: ptxas's level, 0 to 3.
        line_info: keep source lines in the cubin.
        extra: further options.
    """

    def __init__(
        self,
        target: Target,
        *,
        opt_level: int = 3,
        line_info: bool = False,
        extra: tuple[str, ...] = (),
    ) -> None:
        # --fmad=false: contraction is a pass of ours. PTX made by us carries .rn anyway.
        self._options = [
            find_ptxas().path, "-arch", target.name, f"-O{opt_level}", "-v", "--fmad=false",
            *(("-lineinfo",) if line_info else ()), *extra,
        ]  # fmt: skip
        self._target = target
        self._ptx = ""
        self._process: subprocess.Popen[bytes] | None = self._start("/dev/stdin", "/dev/stdout")

    def _start(self, source: str, cubin: str) -> subprocess.Popen[bytes]:
        command = [str(x) for x in self._options] + [source, "-o", cubin]
        try:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=_environment(),
            )  # fmt: skip
        except OSError as e:
            raise ToolchainError(f"ptxas cannot be started: {e}", code="OC1530") from e

    def feed(self, ptx: str) -> None:
        """Hand over the text; ptxas works on it from now on, `finish` waits for it."""
        process = self._process
        assert process is not None and process.stdin is not None, "feed is called once"
        self._ptx = ptx
        try:
            process.stdin.write(ptx.encode())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ptxas has ended early; what it printed says why
        process.stdin = None

    def finish(self) -> tuple[bytes, AsmReport]:
        """The machine code of what was fed.

        Raises:
            ToolchainError: ptxas rejects the text; the error shows the line and where it came from.
        """
        process, self._process = self._process, None
        assert process is not None, "finish is called once"
        out, err = process.communicate()
        log, code = err.decode(errors="replace"), process.returncode
        if code == 0 and not out.startswith(b"\x7fELF"):
            out, log, code = self._through_files(self._ptx)
        if code != 0:
            raise _error(log, self._ptx, self._target, code)
        return out, parse_report(log)

    def _through_files(self, ptx: str) -> tuple[bytes, str, int]:
        """For a ptxas that cannot write to a pipe."""
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
            source.write_text(ptx)
            process = self._start(str(source), str(cubin))
            out, err = process.communicate()
            data = cubin.read_bytes() if cubin.exists() else b""
            return data, (out + err).decode(errors="replace"), process.returncode

    def close(self) -> None:
        """Give up a run that was not finished."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __enter__(self) -> Assembler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_ERROR_LINE = re.compile(r"line (\d+)")


def _error(log: str, ptx: str, target: Target, code: int) -> ToolchainError:
    errors = [x.strip() for x in log.splitlines() if "error" in x.lower() or "fatal" in x.lower()]
    first = errors[0] if errors else f"exit status {code}"
    number = _ERROR_LINE.search(first)
    lines = ptx.splitlines()
    shown, loc = None, None
    if number and 0 < int(number[1]) <= len(lines):
        shown = f"PTX line {number[1]}: {lines[int(number[1]) - 1].strip()}"
        loc = source_of_line(ptx, int(number[1]))
    return ToolchainError(
        f"ptxas rejects the code for {target.name}: {first}",
        code="OC1531",
        loc=loc,
        found=shown,
    )


_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')


def source_of_line(ptx: str, number: int) -> Location | None:
    """The source position of a line of PTX, if the PTX was made with line information."""
    lines = ptx.splitlines()
    for line in reversed(lines[:number]):
        found = _LOC.match(line)
        if found:
            files = {m[1]: m[2] for m in map(_FILE.match, lines) if m}
            if found[1] in files and int(found[2]):
                return Location(files[found[1]], int(found[2]), max(int(found[3]) - 1, 0))
            return None
    return None
