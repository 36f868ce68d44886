# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Staged shared-memory layouts for Hopper: operands A and B, and the epilogue's buffers.

In: how a tensor is stored, the tile, the element type, the stages. Out: a composed layout; its
`outer` is what tensors have, its `inner` the swizzle of the pointer::

    s = make_smem_layout_a(LayoutEnum.ROW_MAJOR, (128, 256, 64), Float16, 4)
    str(s)          # S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.lang.block.majors import OperandMajorMode
from opencute.lang.hopper.smem_layouts import SmemLayoutAtomKind, make_smem_layout_atom
from opencute.lang.pointers import element_bits
from opencute.layout import ComposedLayout, product, product_each, tile_to_shape
from opencute.lib.layout_enum import LayoutEnum

__all__ = [
    "get_smem_layout_atom",
    "make_smem_layout",
    "make_smem_layout_a",
    "make_smem_layout_b",
    "make_smem_layout_epi",
]

_WIDEST_FIRST = {"SW128": 1024, "SW64": 512, "SW32": 256, "INTER": 128}  # bits of a row


def get_smem_layout_atom(
    layout: LayoutEnum, element_type: Any, major_mode_size: int, *, loc: Any = None, ip: Any = None
) -> SmemLayoutAtomKind:
    """The widest swizzle whose row divides the contiguous mode.

    Args:
        layout: how the matrix is stored; the second mode is K (or N of an output).
        element_type: of the elements.
        major_mode_size: elements of the tile's contiguous mode.

    Raises:
        TypeMismatchError: `layout` is no LayoutEnum.
        LayoutError: the contiguous mode is not made of 16-byte words.
    """
    if not isinstance(layout, LayoutEnum):
        raise TypeMismatchError(
            "how a matrix is stored is a LayoutEnum", code="OC1224", found=repr(layout),
            hint="LayoutEnum.from_tensor(tensor) says how a tensor is stored",
        )  # fmt: skip
    major = "K" if layout is LayoutEnum.ROW_MAJOR else "MN"
    bits = int(product(major_mode_size)) * element_bits(element_type)
    for name, row in _WIDEST_FIRST.items():
        if bits and bits % row == 0:
            return SmemLayoutAtomKind[f"{major}_{name}"]
    raise LayoutError(
        "the tile's contiguous mode is not made of 16-byte words", code="OC1341",
        expected=f"a multiple of {128 // element_bits(element_type)} elements",
        found=f"{major_mode_size} elements of {element_type}",
    )  # fmt: skip


def _staged(
    layout: LayoutEnum, dtype: Any, shape: Any, target: tuple[Any, ...], order: Any = None
) -> ComposedLayout:
    """The atom of a tile (rows, columns), repeated to `target`."""
    rows, columns = product_each(shape)
    by_rows = layout is LayoutEnum.ROW_MAJOR
    atom = make_smem_layout_atom(
        get_smem_layout_atom(layout, dtype, columns if by_rows else rows), dtype
    )
    usual = (0, 1) if by_rows else (1, 0)
    out = tile_to_shape(atom, target, order or (*usual, *range(2, len(target))))
    if product(target) != out.size():
        raise LayoutError(
            "the tile is not made of whole pieces of eight rows", code="OC1342",
            expected=f"a multiple of {atom.outer.shape}", found=shape,
        )  # fmt: skip
    return out


def make_smem_layout(
    leading_mode: OperandMajorMode,
    smem_tile_shape: Any,
    element_type: Any,
    num_stages: int,
    *,
    loc: Any = None,
    ip: Any = None,
) -> ComposedLayout:
    """Shared memory for tiles of any matrix: (rows, columns, stages).

    Args:
        leading_mode: which of rows (MN) and columns (K) is contiguous.
        smem_tile_shape: the tile.
        element_type: of the elements.
        num_stages: tiles that are there at a time.

    Raises:
        TypeMismatchError: no such mode.
        LayoutError: the tile is not made of whole pieces.
    """
    if not isinstance(leading_mode, OperandMajorMode):
        raise TypeMismatchError(
            "the contiguous mode is an OperandMajorMode", code="OC1224", found=repr(leading_mode)
        )
    by_rows = leading_mode is OperandMajorMode.K
    layout = LayoutEnum.ROW_MAJOR if by_rows else LayoutEnum.COL_MAJOR
    shape = tuple(smem_tile_shape)
    return _staged(layout, element_type, shape, (*shape, num_stages))


def make_smem_layout_a(
    a_layout: LayoutEnum,
    tile_shape_mnk: Any,
    a_dtype: Any,
    num_stages: int,
    *,
    loc: Any = None,
    ip: Any = None,
) -> ComposedLayout:
    """Shared memory for tiles of A: (M, K, stages).

    Args:
        a_layout: how A is stored.
        tile_shape_mnk: the block's tile.
        a_dtype: of the elements.
        num_stages: tiles that are there at a time.

    Raises:
        LayoutError: the tile is not made of whole pieces.
    """
    shape = (tile_shape_mnk[0], tile_shape_mnk[2])
    return _staged(a_layout, a_dtype, shape, (*shape, num_stages))


def make_smem_layout_b(
    b_layout: LayoutEnum,
    tile_shape_mnk: Any,
    b_dtype: Any,
    num_stages: int,
    *,
    loc: Any = None,
    ip: Any = None,
) -> ComposedLayout:
    """Shared memory for tiles of B: (N, K, stages); see `make_smem_layout_a`.

    Args:
        b_layout: how B is stored.
        tile_shape_mnk: the block's tile.
        b_dtype: of the elements.
        num_stages: tiles that are there at a time.
    """
    shape = (tile_shape_mnk[1], tile_shape_mnk[2])
    return _staged(b_layout, b_dtype, shape, (*shape, num_stages))


def make_smem_layout_epi(
    epi_dtype: Any,
    epi_layout: LayoutEnum,
    epi_tile: Any,
    epi_stage: int,
    smem_trg_shape: Any = None,
    smem_order: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> ComposedLayout:
    """Shared memory for tiles of the output: (M, N, stages).

    Args:
        epi_dtype: of the elements.
        epi_layout: how the output is stored.
        epi_tile: what is stored at a time, (M, N).
        epi_stage: how many of them are there.
        smem_trg_shape: the whole shape, where it has more modes than those three.
        smem_order: in which order the modes of that shape are repeated.

    Raises:
        LayoutError: the tile is not made of whole pieces.
    """
    target = (*epi_tile, epi_stage) if smem_trg_shape is None else tuple(smem_trg_shape)
    return _staged(epi_layout, epi_dtype, tuple(epi_tile), target, smem_order)
