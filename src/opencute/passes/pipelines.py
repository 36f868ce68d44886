# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The table of contents: which passes turn the cute IR into llvm-level IR, and in which order.

In: a ``builtin.module`` as tracing leaves it. Out: the same module, in which kernels consist of
`arith`, `math`, `vector`, `scf`, `llvm`, `ptx` and ``cute.print`` operations only; host functions
have ``gpu.launch_func`` besides.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.arch.target import Target
from opencute.ir.core import Op
from opencute.passes.contract_fma import contract_fma
from opencute.passes.expand import expand
from opencute.passes.rewriter import host_functions, kernels
from opencute.passes.simplify import simplify
from opencute.passes.tiles import tiles
from opencute.passes.unroll import unroll

__all__ = [
    "CUTE", "DEVICE", "HOST", "Pass", "run_cute_passes", "run_device_passes", "run_host_passes",
]  # fmt: skip

Pass = Callable[[Op, Target], None]
"""A pass changes one function in place."""

CUTE: tuple[Pass, ...] = (
    contract_fma,  # products that are added become fma; the simulator runs the result of this
)

DEVICE: tuple[Pass, ...] = (
    *CUTE,
    simplify,  # constants where loop bounds and offsets need them
    unroll,  # loops that index register fragments disappear
    tiles,  # pointers, tiles and copies become addresses, loads and stores
    expand,  # operations without an instruction become ones that have one
    simplify,  # what the new operations have in common is computed once
)

HOST: tuple[Pass, ...] = (
    simplify,
    tiles,
    expand,
    simplify,
)

After = Callable[[str, Op], None]


def run_cute_passes(module: Op, target: Target, after: After | None = None) -> None:
    """Run, in place, the passes that decide what kernels compute, to the last bit.

    The result is still at the cute level: it is what the simulator runs, and what the rest of the
    device pipeline starts from. Running it again changes nothing.
    """
    _run(CUTE, module, kernels(module), target, after)


def run_device_passes(module: Op, target: Target, after: After | None = None) -> None:
    """Lower all kernels in place.

    Args:
        module: a ``builtin.module``.
        target: the processor.
        after: called with each pass's name and the module after it (dumps, verification, tests).
    """
    _run(DEVICE, module, kernels(module), target, after)


def run_host_passes(module: Op, target: Target, after: After | None = None) -> None:
    """Lower all host functions in place; see `run_device_passes`."""
    _run(HOST, module, host_functions(module), target, after)


def _run(
    passes: tuple[Pass, ...], module: Op, functions: list[Op], target: Target, after: After | None
) -> None:
    for pass_ in passes:
        for function in functions:
            pass_(function, target)
        if after is not None:
            after(pass_.__name__, module)
