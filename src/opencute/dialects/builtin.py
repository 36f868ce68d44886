# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The module: one per compiled host function, with the kernels that it launches inside."""

from __future__ import annotations

from opencute.ir.attributes import UNIT
from opencute.ir.builder import new_block
from opencute.ir.core import Block, Op
from opencute.ir.declare import Trait, op, region

__all__ = ["ModuleOp", "module"]


@op("builtin.module", Trait.ISOLATED | Trait.SYMBOL_TABLE)
class ModuleOp(Op):
    """A list of symbols: host functions and a `gpu.module`."""

    body = region()


def module() -> tuple[ModuleOp, Block]:
    """An empty module and its block."""
    reg, block = new_block()
    # MLIR wants the mark on every module that launches kernels of a `gpu.module` inside.
    out = Op.make("builtin.module", (), (), {"gpu.container_module": UNIT}, (reg,))
    assert isinstance(out, ModuleOp)
    return out, block
