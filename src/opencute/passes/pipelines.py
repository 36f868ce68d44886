# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The table of contents: which passes turn the cute IR into llvm-level IR, and in which order.

In: a ``builtin.module`` as tracing leaves it. Out: the same module, in which kernels consist of
`arith`, `math`, `vector`, `scf`, `llvm`, `ptx` and ``cute.print`` operations only.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.arch.target import Target
from opencute.ir.core import Op
from opencute.passes.tiles import tiles

__all__ = ["DEVICE", "Pass", "run_device_passes"]

Pass = Callable[[Op, Target], None]

DEVICE: tuple[Pass, ...] = (
    tiles,  # pointers, tiles and copies become addresses, loads and stores
)


def run_device_passes(
    module: Op, target: Target, after: Callable[[str, Op], None] | None = None
) -> None:
    """Run the device pipeline in place.

    Args:
        module: a ``builtin.module``.
        target: the processor.
        after: called with each pass's name and the module after it (dumps, verification, tests).
    """
    for pass_ in DEVICE:
        pass_(module, target)
        if after is not None:
            after(pass_.__name__, module)
