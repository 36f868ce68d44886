# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Choices that most Hopper GEMMs make alike: the MMA, the epilogue's tile, its stores.

tiled_mma = make_trivial_tiled_mma(
    Float16, Float16, OperandMajorMode.K, OperandMajorMode.K, Float32, (2, 1, 1), (64, 256)
)
epi_tile = compute_tile_shape_or_override((128, 256, 64), Float16, is_cooperative=True)
atom = sm90_get_smem_store_op(LayoutEnum.ROW_MAJOR, Float16, Float32)
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.lang.block.majors import OperandMajorMode
from opencute.lang.numbers import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Int8,
    TFloat32,
    Uint8,
)
from opencute.lib.layout_enum import LayoutEnum

__all__ = [
    "compute_tile_shape_or_override",
    "make_trivial_tiled_mma",
    "sm90_get_smem_store_op",
]

_HALVES, _EIGHTS, _BYTES = (Float16, BFloat16), (Float8E4M3FN, Float8E5M2), (Int8, Uint8)


def make_trivial_tiled_mma(
    a_dtype: Any,
    b_dtype: Any,
    a_leading_mode: OperandMajorMode,
    b_leading_mode: OperandMajorMode,
    acc_dtype: Any,
    atom_layout_mnk: Any,
    tiler_mn: Any,
    a_source: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """A tiled MMA of wgmma instructions for operand types.

    Args:
        a_dtype, b_dtype: of the elements of A and B.
        a_leading_mode, b_leading_mode: their contiguous modes.
        acc_dtype: of the accumulator.
        atom_layout_mnk: warpgroups along M, N and K.
        tiler_mn: of one instruction: M is 64, N a multiple of 8.
        a_source: where A is, a `warpgroup.OperandSource`; shared memory if not given.

    Raises:
        TypeMismatchError: wgmma does not multiply these types.
    """
    group = cute.nvgpu.warpgroup
    source = group.OperandSource.SMEM if a_source is None else a_source
    rest = (acc_dtype, (*tiler_mn, _depth(a_dtype)), source, a_leading_mode, b_leading_mode)
    if a_dtype in _HALVES and b_dtype is a_dtype:
        op = group.MmaF16BF16Op(a_dtype, *rest)
    elif a_dtype in _EIGHTS and b_dtype in _EIGHTS:
        op = group.MmaF8Op(a_dtype, b_dtype, *rest)
    elif a_dtype in _BYTES and b_dtype in _BYTES:
        op = group.MmaI8Op(a_dtype, b_dtype, *rest)
    elif a_dtype is TFloat32 and b_dtype is a_dtype:
        op = group.MmaTF32Op(*rest[1:])
    else:
        raise TypeMismatchError(
            "wgmma does not multiply these types", code="OC1225", found=f"{a_dtype} and {b_dtype}",
            expected="f16 x f16, bf16 x bf16, two 8-bit floats or integers, or tf32 x tf32",
        )  # fmt: skip
    return cute.make_tiled_mma(cute.make_mma_atom(op), tuple(atom_layout_mnk))


def _depth(dtype: Any) -> int:
    """K of one instruction: 32 bytes."""
    return 256 // dtype.width


def compute_tile_shape_or_override(
    tile_shape_mnk: Any,
    element_type: Any,
    is_cooperative: bool = False,
    epi_tile_override: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> tuple[int, int]:
    """The part of a block's tile that the epilogue stores at a time.

    Args:
        tile_shape_mnk: the block's tile.
        element_type: of the output.
        is_cooperative: two warpgroups share the tile; each then has half of the rows.
        epi_tile_override: the answer, if the caller knows better.
    """
    if epi_tile_override is not None:
        return epi_tile_override
    rows, columns = (cute.size(tile_shape_mnk, mode=[i]) for i in (0, 1))
    if is_cooperative:
        return min(128, rows), min(32, columns)
    return min(64, rows), min(64 if element_type.width == 8 else 32, columns)


def sm90_get_smem_store_op(
    layout_d: LayoutEnum,
    elem_ty_d: Any,
    elem_ty_acc: Any,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """The copy atom that takes accumulators to shared memory.

    Args:
        layout_d: how the output is stored.
        elem_ty_d: its type. Elements of 16 bits are stored by stmatrix, others one by one.
        elem_ty_acc: the accumulator's type.

    Raises:
        TypeMismatchError: `layout_d` is no LayoutEnum, or a type is no numeric class.
    """
    for what in (elem_ty_d, elem_ty_acc):
        if not hasattr(what, "width"):
            raise TypeMismatchError("not a numeric type", code="OC1225", found=repr(what))
    if not isinstance(layout_d, LayoutEnum):
        raise TypeMismatchError(
            "how a matrix is stored is a LayoutEnum", code="OC1224", found=repr(layout_d)
        )
    if elem_ty_d.width == 16:
        op = cute.nvgpu.warp.StMatrix8x8x16bOp(layout_d.is_m_major_c(), 4)
        return cute.make_copy_atom(op, elem_ty_d)
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), elem_ty_d)
