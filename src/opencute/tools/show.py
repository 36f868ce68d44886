# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute show` and `explain`: what a file compiles, at every stage, with no GPU.

In: a script, or a kernel file (`kernel_fn`, `get_inputs`). It is run once in the simulator so that
its functions are traced with real arguments. Out: the stages as text, each under a heading, or what
the kernels cost::

    found = compiled(Path("gemm.py"), ["--m", "64"], architecture("sm_100a"))
    print("\n".join(explain(found.artefacts)))
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from opencute.arch.target import target
from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.targets import DEFAULT_SIMULATED, asked_target
from opencute.jit.calls import compiled_artefacts
from opencute.tools.run import apart, run_file

__all__ = ["STAGES", "Compiled", "architecture", "compiled", "explain", "show"]

STAGES: dict[str, Callable[[Artefacts], str]] = {
    "cute": lambda a: a.cute,
    "lowered": lambda a: a.lowered,
    "llvm": lambda a: a.llvm,
    "ptx": lambda a: a.ptx,
    "sass": lambda a: a.sass,
}
_TITLES = {
    "cute": "cute IR: what tracing made",
    "lowered": "lowered IR: addresses, loads and stores",
    "llvm": "LLVM IR",
    "ptx": "PTX",
    "sass": "SASS: machine code",
}


def architecture(asked: str | None) -> str:
    """The processor that a report is about.

    Args:
        asked: what the command line names, or None; then OPENCUTE_TARGET counts, as in
            ``sim:sm_100a``, and else the processor that the simulator is without more being said.

    Raises:
        ArgumentError: there is no such processor, or OPENCUTE_TARGET has an unknown value.
    """
    own = asked_target()[1]  # refused when it means nothing, also where it does not count
    return target(asked).name if asked else own or DEFAULT_SIMULATED


@dataclass(frozen=True)
class Compiled:
    """What a file compiled, and the exit status with which it ended."""

    artefacts: list[Artefacts]
    status: int


def compiled(file: Path, arguments: list[str], arch: str) -> Compiled:
    """Run a script or kernel file in the simulator and collect what it compiles.

    What the script prints goes to standard error, so that a report is alone on standard output.

    Args:
        file: a script, a notebook, or a kernel file.
        arguments: what it finds in `sys.argv[1:]`.
        arch: architecture, such as sm_90a.

    Raises:
        ArgumentError: the file compiles nothing.
    """
    before = {id(a) for a in compiled_artefacts()}
    with apart(), KNOBS.override(target=f"sim:{arch}"), redirect_stdout(sys.stderr):
        status = run_file(file, arguments, call_kernel_fn=True)
    found = [a for a in compiled_artefacts() if id(a) not in before]
    if not found:
        ended = f" and ended with status {status}" if status else ""
        raise ArgumentError(
            f"{file} compiles no function of ours{ended}", code="OC2225",
            hint="name a script that launches kernels, with its arguments after --, or a kernel "
            "file, whose kernel_fn(*get_inputs()) calls a @cute.jit function",
        )  # fmt: skip
    return Compiled(found, status)


def show(found: list[Artefacts], stages: list[str]) -> Iterator[str]:
    """The chosen stages of every function that a file compiled.

    Args:
        found: what `compiled` found.
        stages: keys of STAGES; all when empty.

    Yields:
        Headings and texts. A stage that needs a missing tool says what to install.
    """
    for artefacts in found:
        for stage in stages or list(STAGES):
            yield f"==== {artefacts.name} · {_TITLES[stage]} · {artefacts.target.name}\n"
            try:
                yield STAGES[stage](artefacts).rstrip() + "\n"
            except MissingPieceError as e:
                yield f"(not available here)\n{e}\n"
        if not stages or "sass" in stages:
            yield f"==== {artefacts.name} · ptxas · {artefacts.target.name}\n"
            try:
                for line in artefacts.device.report.functions:
                    yield f"{line}\n"
            except MissingPieceError as e:
                yield f"(not available here)\n{e}\n"


def explain(found: list[Artefacts]) -> Iterator[str]:
    """What the kernels cost that a file compiled: registers, spills, accesses with source lines.

    Args:
        found: what `compiled` found.

    Yields:
        A text for each kernel, which names the processor.

    Raises:
        MissingPieceError: there is no ptxas or no disassembler.
    """
    for artefacts in found:
        for facts in artefacts.explain():
            yield facts.text()
