# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels and their launch, as in MLIR's `gpu` dialect.

A kernel is a ``gpu.func`` with the attribute ``gpu.kernel`` in the one ``gpu.module @kernels``.
Launch properties that MLIR has no operand for are discardable attributes whose names start with
``cute.`` (``cute.use_pdl``, ``cute.cooperative``, ...).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from opencute.arch.target import MAX_BLOCKS_PER_SM, MAX_CLUSTER, MAX_THREADS
from opencute.base.errors import VerificationError
from opencute.dialects.func import check_call, check_return, check_signature
from opencute.ir.attributes import (
    UNIT,
    Attribute,
    DenseI32Attr,
    IntAttr,
    StringAttr,
    SymbolAttr,
    TypeAttr,
)
from opencute.ir.builder import build, new_block
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import (
    ANY,
    SCALAR_INT,
    Trait,
    attr,
    op,
    operand,
    optional,
    region,
    variadic,
)
from opencute.ir.types import FunctionType, Type

__all__ = [
    "KERNELS",
    "GpuFuncOp",
    "GpuModuleOp",
    "LaunchFuncOp",
    "gpu_func",
    "gpu_module",
    "launch_func",
    "return_",
]

KERNELS = "kernels"


# Threads of a block, resident blocks, blocks of a cluster: LLVM aborts on values out of range.
_LIMITS = {
    "cute.reqntid": MAX_THREADS, "cute.maxntid": MAX_THREADS,
    "cute.minctasm": MAX_BLOCKS_PER_SM, "cute.cluster_dim": MAX_CLUSTER,
}  # fmt: skip


@op("gpu.module", Trait.ISOLATED | Trait.SYMBOL_TABLE)
class GpuModuleOp(Op):
    """Device code."""

    sym_name = attr(StringAttr)
    body = region()


@op("gpu.func", Trait.ISOLATED)
class GpuFuncOp(Op):
    """A kernel. Optional attributes: `cute.reqntid` (exact block size), `cute.maxntid`,
    `cute.minctasm`, `cute.smem_bytes` (static sum of the allocator)."""

    sym_name = attr(StringAttr)
    function_type = attr(TypeAttr)
    body = region()

    def verify(self) -> None:
        check_signature(self)
        for key, most in _LIMITS.items():
            found = self.attributes.get(key)
            if found is None:
                continue
            sizes: tuple[int, ...] = ()
            if isinstance(found, DenseI32Attr):
                sizes = found.values
            elif isinstance(found, IntAttr):
                sizes = (found.value,)
            if not sizes or min(sizes) < 1 or math.prod(sizes) > most:
                raise VerificationError(
                    f"gpu.func: {key} is not possible", code="OC1495", loc=self.loc,
                    expected=f"positive, together at most {most}", found=sizes,
                )  # fmt: skip


@op("gpu.return", Trait.TERMINATOR)
class GpuReturnOp(Op):
    """End of a kernel."""

    values = variadic()

    def verify(self) -> None:
        check_return(self, "gpu.func")


@op("gpu.launch_func", Trait.WRITES | Trait.READS)
class LaunchFuncOp(Op):
    """Launch a kernel on a stream (`async_object`, an llvm pointer)."""

    async_dependencies = variadic()
    grid_x = operand(SCALAR_INT)
    grid_y = operand(SCALAR_INT)
    grid_z = operand(SCALAR_INT)
    block_x = operand(SCALAR_INT)
    block_y = operand(SCALAR_INT)
    block_z = operand(SCALAR_INT)
    cluster_x = optional(SCALAR_INT)
    cluster_y = optional(SCALAR_INT)
    cluster_z = optional(SCALAR_INT)
    smem = optional(SCALAR_INT)
    args = variadic()
    async_object = optional(ANY)
    kernel = attr(SymbolAttr)

    def verify_symbols(self, lookup: Callable[[SymbolAttr], Op | None]) -> None:
        check_call(self, lookup(self.kernel), "gpu.func", self.args)


def gpu_module() -> tuple[Op, Block]:
    """The module of kernels at the insertion point, and its block."""
    reg, block = new_block()
    return build("gpu.module", (), (), {"sym_name": StringAttr(KERNELS)}, (reg,)), block


def gpu_func(
    name: str, inputs: Sequence[Type], attributes: Mapping[str, Attribute] | None = None
) -> tuple[Op, Block]:
    """A kernel at the insertion point, and its entry block."""
    reg, block = new_block(inputs)
    attrs: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": TypeAttr(FunctionType(tuple(inputs), ())),
        "gpu.kernel": UNIT,
        **(attributes or {}),
    }
    return build("gpu.func", (), (), attrs, (reg,)), block


def launch_func(
    kernel: str,
    grid: Sequence[Value],
    block: Sequence[Value],
    args: Sequence[Value],
    *,
    cluster: Sequence[Value] = (),
    smem: Value | None = None,
    stream: Value | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> Op:
    """Launch `kernel`. `grid`, `block` and `cluster` have three i32 values each (or no cluster)."""
    tail = (() if smem is None else (smem,), tuple(args), () if stream is None else (stream,))
    c = 1 if cluster else 0
    sizes = (0, 1, 1, 1, 1, 1, 1, c, c, c, len(tail[0]), len(tail[1]), len(tail[2]))
    attrs: dict[str, Attribute] = {
        "kernel": SymbolAttr((KERNELS, kernel)),
        "operandSegmentSizes": DenseI32Attr(sizes),
        **(attributes or {}),
    }
    operands = [*grid, *block, *cluster, *tail[0], *tail[1], *tail[2]]
    return build("gpu.launch_func", operands, (), attrs)


def return_() -> Op:
    """End the kernel."""
    return build("gpu.return")
