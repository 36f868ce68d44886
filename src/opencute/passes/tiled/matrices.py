# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `tiles` lowers ``cute.copy`` by an instruction: cp.async, ldmatrix, stmatrix.

One instruction for each coordinate of rest. cp.async stands as assembly, with static offsets in its
addresses; what a predicate forbids is not read, and zeros are written::

    cp.async.cg.shared.global [dst + 2048], [src + 64], 16, ignore;
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencute.arch.copies import CopyAtom
from opencute.dialects import arith, llvm, ptx_matrix, vector
from opencute.dialects.cute import CopyOp, storage_bits
from opencute.ir.core import Value
from opencute.ir.types import I1, I32, I64, VectorType
from opencute.passes.tile_access import Lane, TileAccess, gather

if TYPE_CHECKING:
    from opencute.passes.fragments import FragmentAccess

    Side = TileAccess | FragmentAccess

__all__ = ["lower_by_instruction"]


def lower_by_instruction(
    op: CopyOp, atom: CopyAtom, src: Side, dst: Side, guards: dict[int, Value] | None
) -> None:
    """Build what replaces `op`; `guards` has one condition for each use of the atom."""
    if atom.grain:
        _matrices(op, atom, src, dst)
    else:
        _async(op, atom, src, dst, guards)


def _async(
    op: CopyOp, atom: CopyAtom, src: Side, dst: Side, guards: dict[int, Value] | None
) -> None:
    assert isinstance(src, TileAccess) and isinstance(dst, TileAccess)
    bits = op.bits.value
    per = bits // storage_bits(src.element)
    asked = op.access_hints()
    hints, policy = asked.qualifiers("", loads=False), asked.signed_policy
    hints += f".L2::{asked.prefetch}B" if asked.prefetch else ""
    for i in range((op.src_layout.static_size() or 0) // per):
        to, to_offset = dst.split_address(i * per)
        to = llvm.ptrtoint(to, I32)
        from_, from_offset = src.split_address(i * per)
        text = (
            f"cp.async.{atom.cache}.shared.global{hints} {_place(0, to_offset)}, "
            f"{_place(1, from_offset)}, {bits // 8}"
        )
        values, letters = [to, from_], "r,l"
        if guards is not None:
            text += f", ${len(values)}"
            values.append(arith.binary("xori", guards[i], arith.constant(1, I1)))
            letters += ",b"
        if policy is not None:
            text += f", ${len(values)}"
            values.append(arith.constant(policy, I64))
            letters += ",l"
        llvm.inline_asm(f"{text};", f"{letters},~{{memory}}", values, ())


def _place(operand: int, offset: int) -> str:
    return f"[${operand}+{offset}]" if offset else f"[${operand}]"


def _matrices(op: CopyOp, atom: CopyAtom, src: Side, dst: Side) -> None:
    memory, registers = (src, dst) if atom.loads else (dst, src)
    assert isinstance(memory, TileAccess)
    assert atom.registers is not None and atom.src is not None and atom.dst is not None
    element = registers.element
    bits = storage_bits(element)
    in_memory = 128 // bits
    held = 32 * atom.held // bits
    layout = op.src_layout if atom.loads else op.dst_layout
    for i in range((layout.static_size() or 0) // in_memory):
        address = memory.place(i * in_memory)
        elements = range(i * held, (i + 1) * held)
        if atom.loads:
            raw = ptx_matrix.ldmatrix(
                address, atom.matrices, trans=atom.trans, shape=atom.shape
            )  # fmt: skip
            values = vector.bitcast(raw, VectorType(held, element))
            registers.store({e: Lane(values, v) for v, e in enumerate(elements)})
        else:
            lanes = registers.load(elements)
            packed = _packed([lanes[e] for e in elements], atom.matrices)
            ptx_matrix.stmatrix(
                address, packed, atom.matrices, trans=atom.trans, shape=atom.shape
            )  # fmt: skip


def _packed(lanes: Sequence[Lane], registers: int) -> Value:
    value = gather(lanes)
    if not isinstance(value.type, VectorType):
        value = vector.broadcast(value, 1)
    type = VectorType(registers, I32)
    return value if value.type == type else vector.bitcast(value, type)
