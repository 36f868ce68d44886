# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Passes in a row, with a dump, a check and a stopwatch at each step.

A module goes in and is changed in place; a record per pass comes out::

    NVPTX = Pipeline([fold_layouts, tiles_to_addresses, atoms_to_ptx], name="nvptx")
    for record in NVPTX.run(module):
        print(record)               # 01 fold_layouts  1.2 ms (unchanged)

A pass is a function from a module to None, or an object with `name` and `run`. Given a folder, a
run writes its input as ``00-input.mlir`` and the module after pass N as ``{N:02}-{pass}.mlir``,
with source locations; such a file may be edited and `Pipeline.restart` goes on from it. (The folder
of a compiled function, below ``OPENCUTE_DUMP_DIR``, is chosen by `opencute.compiler.artefacts`.)
With ``OPENCUTE_VERIFY_PASSES``, the verifier runs on the input and after each pass. Tests hook in
with `listening`.
"""

from __future__ import annotations

import functools
import logging
import re
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from opencute.base.errors import CompileError
from opencute.base.knobs import KNOBS
from opencute.ir.builder import paused_gc
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify

__all__ = [
    "FunctionPass",
    "Listener",
    "Pass",
    "PassRecord",
    "Pipeline",
    "listening",
]

_LOG = logging.getLogger("opencute.passes")
_DUMP_NAME = re.compile(r"([0-9]{2,})-(.+)\.mlir\Z")


@runtime_checkable
class Pass(Protocol):
    """IR to IR."""

    @property
    def name(self) -> str:
        """The name in files, logs and records."""
        ...

    def run(self, module: Op) -> None:
        """Change `module` in place."""
        ...


@dataclass(frozen=True)
class FunctionPass:
    """A pass made of a function; `Pipeline` wraps functions by itself."""

    function: Callable[[Op], object]

    @property
    def name(self) -> str:
        """The function's name, also of a `functools.partial`."""
        function = self.function
        while isinstance(function, functools.partial):
            function = function.func
        return function.__name__

    def run(self, module: Op) -> None:
        """Call the function."""
        self.function(module)


AnyPass: TypeAlias = "Pass | Callable[[Op], object]"


@dataclass(frozen=True)
class PassRecord:
    """What one pass did.

    Args:
        number: position in the pipeline, from 1.
        name: of the pass.
        seconds: time that the pass took, without dump and check.
        changed: whether the text of the module is another one; None when nobody compared.
        dump: the file that was written.
    """

    number: int
    name: str
    seconds: float
    changed: bool | None = None
    dump: Path | None = None

    def __str__(self) -> str:
        note = " (unchanged)" if self.changed is False else ""
        return f"{self.number:02} {self.name}  {self.seconds * 1e3:.1f} ms{note}"


class Listener:
    """Called around each pass of every pipeline while `listening`; override what is needed."""

    def before_pass(self, name: str, module: Op) -> None:
        """`module` is about to go through the pass called `name`."""

    def after_pass(self, record: PassRecord, module: Op) -> None:
        """`module` came out of a pass."""


_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Call `listener` around each pass of the pipelines that run within the block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


class Pipeline:
    """Passes that run one after the other.

    Args:
        passes: functions or objects with `name` and `run`; one may occur several times.
        name: for logs.
        source: what the input is called in dumps.
        check: what verifies a module between passes.
    """

    def __init__(
        self,
        passes: Iterable[AnyPass],
        *,
        name: str = "pipeline",
        source: str = "input",
        check: Callable[[Op], None] = verify,
    ) -> None:
        self.name = name
        self.source = source
        self.check = check
        self.passes: list[Pass] = [p if isinstance(p, Pass) else FunctionPass(p) for p in passes]

    def run(
        self,
        module: Op,
        *,
        dump_dir: Path | None = None,
        verify_each: bool | None = None,
        start: int = 0,
    ) -> list[PassRecord]:
        """Run the passes on `module`, which they change.

        Args:
            module: the IR.
            dump_dir: where to write each stage; nowhere when omitted.
            verify_each: whether to verify in between; OPENCUTE_VERIFY_PASSES when omitted.
            start: number of passes to leave out at the front.

        Raises:
            CompileError: from a pass or the verifier, with a note that names the pass, unless its
                attribute `checks` says that its errors are about the user's code.
        """
        check = KNOBS.verify_passes if verify_each is None else verify_each
        dumps = _Dumps(dump_dir, module)
        if start == 0:
            dumps.write(0, self.source, module)
        if check:
            self.check(module)
        records: list[PassRecord] = []
        with paused_gc():
            for number, pass_ in enumerate(self.passes[start:], start + 1):
                try:
                    records.append(self._one(number, pass_, module, check, dumps))
                except CompileError as e:
                    if not getattr(pass_, "checks", False):
                        note = f"in pass {pass_.name}"
                        e.hint = f"{e.hint}; {note}" if e.hint else note
                    raise
        return records

    def _one(self, number: int, pass_: Pass, module: Op, check: bool, dumps: _Dumps) -> PassRecord:
        for listener in list(_LISTENERS):
            listener.before_pass(pass_.name, module)
        began = time.perf_counter()
        pass_.run(module)
        seconds = time.perf_counter() - began
        path, changed = dumps.write(number, pass_.name, module)
        record = PassRecord(number, pass_.name, seconds, changed, path)
        _LOG.debug("%s %s", self.name, record)
        if check:
            self.check(module)
        for listener in list(_LISTENERS):
            listener.after_pass(record, module)
        return record

    def restart(
        self, path: Path, *, dump_dir: Path | None = None, verify_each: bool | None = None
    ) -> tuple[Op, list[PassRecord]]:
        """Read a dumped stage and run the passes after it.

        Args:
            path: a file that `run` wrote, perhaps edited since; its name says where to go on.
            dump_dir: as for `run`.
            verify_each: as for `run`.

        Returns:
            The module and the records of the passes that ran.

        Raises:
            CompileError: OC1050, if the name is not that of a stage of this pipeline.
        """
        number = self.stage_of(path)
        module = parse(path.read_text(encoding="utf-8"), str(path))
        records = self.run(module, dump_dir=dump_dir, verify_each=verify_each, start=number)
        return module, records

    def stage_of(self, path: Path) -> int:
        """How many passes have been run on the module in a dumped file, by the file's name.

        Raises:
            CompileError: OC1050, if the name is not that of a stage of this pipeline.
        """
        m = _DUMP_NAME.match(path.name)
        stages = [self.source, *(p.name for p in self.passes)]
        number = int(m[1]) if m else -1
        if m is None or number >= len(stages) or stages[number] != m[2]:
            known = ", ".join(f"{i:02}-{s}.mlir" for i, s in enumerate(stages))
            raise CompileError(
                f"{path.name} is no stage of {self.name}", code="OC1050", expected=known
            )
        return number


class _Dumps:
    """Files of one run, in a directory or, for None, nowhere."""

    def __init__(self, directory: Path | None, module: Op) -> None:
        self.directory = directory
        self.before: str | None = None
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.before = print_op(module, locations=True)

    def write(self, number: int, name: str, module: Op) -> tuple[Path | None, bool | None]:
        """Write a stage; returns its file and whether its text differs from the one before."""
        if self.directory is None:
            return None, None
        text = print_op(module, locations=True)
        changed = text != self.before
        self.before = text
        path = self.directory / f"{number:02}-{name}.mlir"
        note = "" if changed or number == 0 else " (unchanged)"
        path.write_text(f"// {number:02} {name}{note}\n{text}", encoding="utf-8")
        return path, changed
