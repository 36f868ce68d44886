# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of a user's functions inside the child: seeds, clones, stages, counts.

In: a `KernelFile` and the line to the parent. Out: a `Session` that runs kernel and reference on
clones of the same inputs and says what it is doing, so that a crash can be told where it
happened::

    session.seed(0)
    args, kwargs = session.fresh_inputs()
    session.call("kernel_fn", args, kwargs)
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from opencute.base.counters import COUNTERS, Counts
from opencute.integrations import environment
from opencute.lab import arrays
from opencute.lab.channel import Sender
from opencute.lab.guard import Guard
from opencute.lab.kernel_file import KernelFile, UserError, guarded
from opencute.lab.verdict import Call
from opencute.sim.report import Reach, reaching

__all__ = ["Session"]

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass
class Session:
    """One kernel file in this process.

    Args:
        file: the loaded file.
        sender: where stages are reported.
        guard: undoes replacements before the reference runs.
        simulated: whether kernels run in the simulator.
    """

    file: KernelFile
    sender: Sender
    guard: Guard
    simulated: bool
    notes: list[str] = field(default_factory=list[str])

    @classmethod
    def open(cls, path: Path, sender: Sender) -> Session:
        """Prepare the process and load the file.

        Raises:
            UserError: the file cannot be imported or lacks an export.
        """
        simulated = environment.uses_simulator()
        if simulated:
            environment.prepare()
        arrays.watch_torch()
        guard = Guard()
        sender.progress(f"importing {path.name}")
        return cls(KernelFile.load(path), sender, guard, simulated)

    @property
    def target(self) -> str:
        """Where kernels run, for the report."""
        return "sim" if self.simulated else "cuda"

    def seed(self, seed: int) -> None:
        """Seed every generator that inputs or kernels may draw from."""
        random.seed(seed)
        np.random.seed(seed)
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(seed)

    def inputs(self, seed: int) -> Inputs:
        """The inputs of a seed; never handed to the user's functions, only cloned."""
        self.seed(seed)
        self.sender.progress(f"get_inputs() ran (seed {seed})")
        return self.file.inputs()

    def call(self, name: str, inputs: Inputs, seed: int) -> tuple[Any, Inputs]:
        """Run `kernel_fn` or `reference_fn` on a clone of `inputs`.

        Returns:
            What it returned, and the clone as it is afterwards.
        """
        clone: Inputs = arrays.clone(inputs)
        self.seed(seed)
        self.sender.progress(f"{name} ran (seed {seed})")
        value = guarded(
            f"{name} ran (seed {seed})", getattr(self.file, name), *clone[0], **clone[1]
        )
        guarded(f"{name} finished on the GPU (seed {seed})", arrays.synchronize)
        return value, clone

    def frozen_call(self, name: str, inputs: Inputs, seed: int) -> Call:
        """Like `call`, frozen at once: what runs later cannot change it."""
        with reaching() as reach:
            value, clone = self.call(name, inputs, seed)
        if hasattr(value, "__next__"):
            raise UserError(f"{name} returned a generator; it must return its values")
        if name == "kernel_fn" and value is not None and arrays.shares_memory(value, clone):
            self.note("the kernel's return value shares memory with an input")
        if name == "kernel_fn":
            self._note_gaps(reach, value, clone)
        return Call(arrays.freeze(value), freeze_inputs(clone))

    def _note_gaps(self, reach: Reach, value: Any, inputs: Inputs) -> None:
        """Note which elements of a result no kernel wrote, where kernels wrote others."""
        results = [
            (path, leaf) for path, leaf in arrays.leaves(value, "output")
            if not arrays.shares_memory(leaf, inputs)
        ]  # fmt: skip
        given = arrays.leaves(_tree(inputs), "input")
        for path, leaf in (*results, *given):
            place = arrays.extent(leaf)
            gap = None if place is None else reach.gap(*place)
            if gap is None:
                continue
            # What `torch.empty` made is no input, whoever made it.
            if gap.fresh or ((path, leaf) in results and not gap.read):
                self.note(gap.text(path))

    def reference(self, inputs: Inputs, seed: int) -> Call:
        """The reference's call, on the library functions as they were before the kernel ran."""
        replaced = self.guard.restore()
        if replaced:
            self.note(f"the file replaces {', '.join(replaced)}; undone before the reference ran")
        return self.frozen_call("reference_fn", inputs, seed)

    def note(self, text: str) -> None:
        """Remember a remark for the report, once."""
        if text not in self.notes:
            self.notes.append(text)

    def counts(self) -> Counts:
        """Launches and compilations of ours so far."""
        return COUNTERS.snapshot()


def freeze_inputs(inputs: Inputs) -> Any:
    """Inputs as one tree: a list of positional ones, then the keyword ones by name."""
    return arrays.freeze(_tree(inputs))


def _tree(inputs: Inputs) -> Any:
    args, kwargs = inputs
    return {**dict(enumerate(args)), **kwargs} if kwargs else list(args)
