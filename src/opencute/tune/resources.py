# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a compiled configuration takes of a multiprocessor, and what follows from that.

In: an executor, whose machine code is there. Out: `Resources`, before anything has run::

    taken = resources_of(executor)
    taken.registers, taken.spills, taken.occupancy      # 242, 0, 0.125
    Roofline(peak=6.2e8, bandwidth=4.2e6).floor(flops=2 * m * n * k, bytes=moved)   # microseconds
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from opencute.arch.target import Target
from opencute.base.errors import ArgumentError
from opencute.dialects.gpu import LaunchFuncOp
from opencute.ir.core import Op, Value
from opencute.passes.folding import int_of

__all__ = ["Resources", "Roofline", "resources_of"]

_RESERVED = 1024  # bytes of shared memory that the system keeps for each block
_UNIT = 256  # registers are given to warps in such units


@dataclass(frozen=True)
class Resources:
    """The most that a kernel of a configuration takes.

    Args:
        registers: of a thread.
        spills: bytes of registers stored to and loaded from local memory.
        smem: bytes of shared memory of a block; None if known at run time only.
        threads: of a block; None likewise.
        grid: blocks; None likewise.
        blocks: blocks that fit on a multiprocessor at once; None likewise.
        occupancy: resident threads, as a part of what is possible; None likewise.
    """

    registers: int
    spills: int
    smem: int | None = None
    threads: int | None = None
    grid: int | None = None
    blocks: int | None = None
    occupancy: float | None = None

    def text(self) -> str:
        """In words."""
        spills = f", {self.spills} bytes spilled" if self.spills else ""
        blocks = "" if self.blocks is None else f", {self.blocks} blocks resident"
        return f"{self.registers} registers{spills}{blocks}"


def resources_of(executor: Any) -> Resources:
    """What an executor's kernels take: of several, the numbers of the most demanding."""
    artefacts = executor.artefacts
    facts = artefacts.kernel_info
    launches = {op.kernel.path[-1]: op for op in _launches(artefacts.module)}
    each = [
        _one(f.registers, f.spill_stores + f.spill_loads, f.smem, launches.get(name), artefacts)
        for name, f in facts.items()
    ]
    if not each:
        return Resources(0, 0)
    return max(each, key=lambda r: (r.spills, -math.inf if r.blocks is None else -r.blocks))


def _one(registers: int, spills: int, smem: int, launch: Any, artefacts: Any) -> Resources:
    if launch is None:
        return Resources(registers, spills)
    threads = _product(launch.block_x, launch.block_y, launch.block_z)
    grid = _product(launch.grid_x, launch.grid_y, launch.grid_z)
    dynamic = 0 if launch.smem is None else int_of(launch.smem)
    if threads is None or dynamic is None:
        return Resources(registers, spills, None, threads, grid)
    target: Target = artefacts.target
    blocks = resident_blocks(target, registers, smem + dynamic, threads)
    share = blocks * threads / target.max_threads_per_sm
    return Resources(registers, spills, smem + dynamic, threads, grid, blocks, share)


def resident_blocks(target: Target, registers: int, smem: int, threads: int) -> int:
    """How many blocks a multiprocessor holds at once."""
    warps = -(-threads // target.warp_size)
    per_warp = -(-registers * target.warp_size // _UNIT) * _UNIT
    limits = [
        target.max_blocks_per_sm,
        target.max_threads_per_sm // (warps * target.warp_size),
        (target.max_smem + _RESERVED) // (smem + _RESERVED),
    ]
    if registers:
        limits.append(target.registers_per_sm // per_warp // warps)
    return min(limits)


def _product(*values: Value) -> int | None:
    known = [int_of(v) for v in values]
    return None if None in known else math.prod(k or 0 for k in known)


def _launches(op: Op) -> list[LaunchFuncOp]:
    found: list[LaunchFuncOp] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, LaunchFuncOp):
                    found.append(inner)
                found += _launches(inner)
    return found


@dataclass(frozen=True)
class Roofline:
    """What no configuration can beat on a machine.

    Args:
        peak: operations per microsecond.
        bandwidth: bytes per microsecond.
        processors: multiprocessors; 0 leaves waves of blocks out of account.

    Raises:
        ArgumentError: a rate is not positive.
    """

    peak: float
    bandwidth: float
    processors: int = 0

    def __post_init__(self) -> None:
        if self.peak <= 0 or self.bandwidth <= 0:
            raise ArgumentError("rates of a roofline are positive", code="OC2404", found=self)

    def floor(self, flops: float, bytes: float, taken: Resources | None = None) -> float:
        """Microseconds at least.

        Args:
            flops, bytes: the work, and what it moves.
            taken: what a configuration takes: a last wave of blocks that fills the machine only in
                part takes as long as a full one.
        """
        best = max(flops / self.peak, bytes / self.bandwidth)
        if taken is None or not taken.grid or not taken.blocks or not self.processors:
            return best
        waves = taken.grid / (taken.blocks * self.processors)
        # A block that shares its multiprocessor runs faster when the others are gone.
        full = math.ceil(taken.grid / self.processors) / (taken.grid / self.processors)
        return best * min(math.ceil(waves) / waves, full)
