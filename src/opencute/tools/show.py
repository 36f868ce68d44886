# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute show`: one kernel file at every stage of compilation, with no GPU.

In: a kernel file (`kernel_fn`, `get_inputs`). It is run once in the simulator so that its functions
are traced with real arguments. Out: the stages as text, each under a heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.integrations import environment
from opencute.jit.calls import compiled_artefacts
from opencute.lab.kernel_file import KernelFile

__all__ = ["STAGES", "explain", "show"]

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


def _artefacts(file: Path, arch: str) -> list[Artefacts]:
    before = len(compiled_artefacts())
    environment.own_cutlass_first()
    with KNOBS.override(target=f"sim:{arch}"):
        environment.prepare()
        kernel_file = KernelFile.load(file)
        args, kwargs = kernel_file.inputs()
        kernel_file.kernel_fn(*args, **kwargs)
    return compiled_artefacts()[before:]


def show(file: Path, stages: list[str], arch: str) -> Iterator[str]:
    """The chosen stages of every function that a file compiles.

    Args:
        file: a kernel file.
        stages: keys of STAGES; all when empty.
        arch: architecture, such as sm_90a.

    Yields:
        Headings and texts. A stage that needs a missing tool says what to install.

    Raises:
        ArgumentError: the file compiles nothing.
    """
    found = _artefacts(file, arch)
    if not found:
        raise ArgumentError(
            f"{file} compiles no function of ours", code="OC2225",
            hint="kernel_fn must call a @cute.jit function",
        )  # fmt: skip
    for artefacts in found:
        for stage in stages or list(STAGES):
            yield f"==== {artefacts.name} · {_TITLES[stage]} · {artefacts.target.name}\n"
            try:
                yield STAGES[stage](artefacts).rstrip() + "\n"
            except MissingPieceError as e:
                yield f"(not available here)\n{e}\n"
        if not stages or "sass" in stages:
            yield f"==== {artefacts.name} · ptxas\n"
            try:
                for line in artefacts.device.report.functions:
                    yield f"{line}\n"
            except MissingPieceError as e:
                yield f"(not available here)\n{e}\n"


def explain(file: Path, arch: str) -> Iterator[str]:
    """What the kernels cost that a file compiles: registers, spills, accesses with source lines.

    Args:
        file: a kernel file.
        arch: architecture, such as sm_90a.

    Yields:
        A text for each kernel.

    Raises:
        ArgumentError: the file compiles nothing.
        MissingPieceError: there is no ptxas or no disassembler.
    """
    found = _artefacts(file, arch)
    if not found:
        raise ArgumentError(
            f"{file} compiles no function of ours", code="OC2225",
            hint="kernel_fn must call a @cute.jit function",
        )  # fmt: skip
    for artefacts in found:
        for facts in artefacts.explain():
            yield facts.text()
