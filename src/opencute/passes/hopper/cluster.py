# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `tiles` for clusters of blocks.

``ptx.mapa`` becomes the instruction on 32-bit addresses; its result is a pointer of LLVM's address
space 7, whose loads and stores are PTX's ``ld.shared::cluster`` and so on.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import llvm
from opencute.ir.core import Op
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I32
from opencute.passes.hopper.mbarrier import shared_address
from opencute.passes.instructions import need

__all__ = ["cluster_rules"]


def cluster_rules(target: Target) -> dict[str, Rule]:
    """The rules, by the operation's name."""

    def mapa(op: Op, rw: Rewriter) -> Replacement:
        need(target, 90, "another block's shared memory")
        address, _ = shared_address(op.operands[0], rw, 0)
        text = "mapa.shared::cluster.u32 $0, $1, $2;"
        mapped = llvm.inline_asm(text, "=r,r,r", (address, op.operands[1]), (I32,), pure=True)
        return llvm.inttoptr(mapped.result, llvm.CLUSTER)

    return {"ptx.mapa": mapa}
