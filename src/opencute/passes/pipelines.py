# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The table of contents: which passes turn the cute IR into llvm-level IR, and in which order.

In: a ``builtin.module`` as tracing leaves it. Out: the same module, in which kernels consist of
`arith`, `math`, `vector`, `scf`, `llvm`, `ptx` and ``cute.print`` operations only; host functions
have ``gpu.launch_func`` besides::

    device_pipeline(target("sm_90a")).run(module)      # a record of each pass, with its time
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from opencute.arch.target import Target
from opencute.ir.core import Op
from opencute.ir.passes import Pipeline
from opencute.ir.verifier import verify
from opencute.passes.check_atoms import check_atoms
from opencute.passes.contract_fma import contract_fma
from opencute.passes.expand import expand
from opencute.passes.hopper.join_products import join_products
from opencute.passes.hopper.roll_products import roll_products
from opencute.passes.integers.wide import wide
from opencute.passes.loops.fresh import fresh
from opencute.passes.loops.prefetch import prefetch
from opencute.passes.simplify import simplify
from opencute.passes.tiles import tiles
from opencute.passes.unroll import unroll

__all__ = [
    "CUTE", "DEVICE", "HOST", "EachFunction", "Pass", "cute_pipeline", "device_pipeline",
    "host_functions", "host_pipeline", "kernels", "run_cute_passes", "run_device_passes",
    "run_host_passes", "verify_functions",
]  # fmt: skip

Pass = Callable[[Op, Target], None]
"""A pass changes one function in place."""

CUTE: tuple[Pass, ...] = (
    check_atoms,  # what the target does not have
    contract_fma,  # products that are added become fma; the simulator runs the result of this
)

DEVICE: tuple[Pass, ...] = (
    *CUTE,
    simplify,  # constants where loop bounds and offsets need them
    prefetch,  # loads of later turns begin early, where a loop asks for it
    unroll,  # loops that index register fragments disappear
    fresh,  # registers of earlier turns of a loop stay apart from those of this one
    tiles,  # pointers, tiles and copies become addresses, loads and stores
    wide,  # conversions of 128-bit integers use 64-bit halves
    expand,  # operations without an instruction become ones that have one
    simplify,  # what the new operations have in common is computed once
    join_products,  # products of warpgroups on one accumulator become one piece of assembly
    roll_products,  # those that are seldom run become a loop in it
)

HOST: tuple[Pass, ...] = (
    simplify,
    tiles,
    wide,
    expand,
    simplify,
)


def kernels(module: Op) -> list[Op]:
    """The kernels of a module, in order."""
    out: list[Op] = []
    for op in module.regions[0].block.ops:
        if op.name == "gpu.module":
            out += [f for f in op.regions[0].block.ops if f.name == "gpu.func"]
    return out


def host_functions(module: Op) -> list[Op]:
    """The host functions of a module, in order."""
    return [op for op in module.regions[0].block.ops if op.name == "func.func"]


@dataclass(frozen=True)
class EachFunction:
    """A pass on functions as a pass on modules.

    Args:
        function: the pass.
        target: the processor that it lowers for.
        select: picks the functions.
    """

    function: Pass
    target: Target
    select: Callable[[Op], Iterable[Op]]

    @property
    def name(self) -> str:
        """The name of the pass, which is that of its file."""
        return self.function.__name__

    @property
    def checks(self) -> bool:
        """Whether it only looks for errors of the user's: then who found one is no matter."""
        return self.function is check_atoms

    def run(self, module: Op) -> None:
        """Run the pass on each function."""
        for function in self.select(module):
            self.function(function, self.target)


def verify_functions(module: Op) -> None:
    """Verify the functions of a module in which only one side may be lowered.

    A launch and its kernel then differ in types, so that the module as a whole is not valid.
    """
    for function in (*kernels(module), *host_functions(module)):
        verify(function)


def _pipeline(
    name: str, passes: Iterable[Pass], target: Target, select: Callable[[Op], Iterable[Op]]
) -> Pipeline:
    def check(module: Op) -> None:
        for function in select(module):
            verify(function)

    each = [EachFunction(p, target, select) for p in passes]
    return Pipeline(each, name=name, source="cute", check=check)


@lru_cache(maxsize=64)
def cute_pipeline(target: Target) -> Pipeline:
    """The passes that decide what kernels compute, to the last bit.

    The result is still at the cute level: it is what the simulator runs, and what the rest of the
    device pipeline starts from. Running it again changes nothing.
    """
    return _pipeline("cute", CUTE, target, kernels)


@lru_cache(maxsize=64)
def device_pipeline(target: Target) -> Pipeline:
    """All passes for kernels."""
    return _pipeline("device", DEVICE, target, kernels)


@lru_cache(maxsize=64)
def host_pipeline(target: Target) -> Pipeline:
    """All passes for host functions."""
    return _pipeline("host", HOST, target, host_functions)


def run_cute_passes(module: Op, target: Target) -> None:
    """Run `cute_pipeline` in place."""
    cute_pipeline(target).run(module)


def run_device_passes(module: Op, target: Target) -> None:
    """Lower all kernels in place; see `device_pipeline`."""
    device_pipeline(target).run(module)


def run_host_passes(module: Op, target: Target) -> None:
    """Lower all host functions in place; see `host_pipeline`."""
    host_pipeline(target).run(module)
