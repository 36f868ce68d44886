# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms by tensor maps for the operands of a tiled MMA, in the order of its partitions.

A tile in shared memory is given as an MMA reads it, ``(values of one MMA, MMAs in M or N, in K)``;
the tensor's tile is partitioned alike, so that both orders agree.
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from opencute import layout as la
from opencute.base.errors import TypeMismatchError
from opencute.lang.hopper.tma_atoms import TmaInfo, global_tensor, make_tma_info
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.tiled.multiplying import TiledMma

__all__ = ["make_tiled_tma_atom_A", "make_tiled_tma_atom_B"]

_WHERE = {"A": (0, 2, 2), "B": (1, 2, 1)}  # modes of the tile, and of the cluster that shares it


def _operand(
    which: str, op: Any, gmem_tensor: Any, smem_layout: Any, mma_tiler_mnk: Any, tiled_mma: Any,
    cluster_shape_vmnk: Any, internal_type: Any,
) -> TmaInfo:  # fmt: skip
    if not isinstance(tiled_mma, TiledMma):
        raise TypeMismatchError(
            f"make_tiled_tma_atom_{which} takes a tiled MMA", code="OC1278", found=repr(tiled_mma)
        )
    tensor = global_tensor(gmem_tensor)
    first, second, shared = _WHERE[which]
    tiler = tuple(mma_tiler_mnk)
    tile = la.composition(
        la.make_identity_layout(tensor.layout.shape), (tiler[first], tiler[second])
    )
    _, order = tiled_mma.view(tile, which)
    count = 1
    if isinstance(op, TmaOp) and op.multicast and cluster_shape_vmnk is not None:
        count = la.size(getattr(cluster_shape_vmnk, "shape", cluster_shape_vmnk)[shared])
    return make_tma_info(op, tensor, smem_layout, order, count, internal_type)


def make_tiled_tma_atom_A(
    op: Any,
    gmem_tensor: Any,
    smem_layout: Any,
    mma_tiler_mnk: Any,
    tiled_mma: Any,
    cluster_shape_vmnk: Any = None,
    *,
    internal_type: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> TmaInfo:
    """An atom that copies tiles of A of a tiled MMA, and the tensor of its coordinates.

    Args:
        op: an operation as for `make_tiled_tma_atom`.
        gmem_tensor: the tensor (M, K, ...) in global memory.
        smem_layout: layout of one tile in shared memory, (MMA, MMA_M, MMA_K), stages may follow.
        mma_tiler_mnk: extents of the tile in M, N and K.
        tiled_mma: the tiled MMA.
        cluster_shape_vmnk: shape of the cluster; multicast loads share tiles along N.
        internal_type: element type of the tensor map, if it is another one.

    Raises:
        LayoutError: no tensor map describes such tiles.
        TypeMismatchError: not such an operation, or not a tensor in global memory.
    """
    return _operand(
        "A", op, gmem_tensor, smem_layout, mma_tiler_mnk, tiled_mma, cluster_shape_vmnk,
        internal_type,
    )  # fmt: skip


def make_tiled_tma_atom_B(
    op: Any,
    gmem_tensor: Any,
    smem_layout: Any,
    mma_tiler_mnk: Any,
    tiled_mma: Any,
    cluster_shape_vmnk: Any = None,
    *,
    internal_type: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> TmaInfo:
    """As `make_tiled_tma_atom_A`, for B: tiles (N, K), which multicast loads share along M.

    Args:
        op, gmem_tensor, smem_layout, mma_tiler_mnk, tiled_mma: as there, for (N, K).
        cluster_shape_vmnk, internal_type: as there.
    """
    return _operand(
        "B", op, gmem_tensor, smem_layout, mma_tiler_mnk, tiled_mma, cluster_shape_vmnk,
        internal_type,
    )  # fmt: skip
