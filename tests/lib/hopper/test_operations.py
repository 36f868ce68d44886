# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Choices for Hopper GEMMs, as published kernels ask for them."""

from __future__ import annotations

from typing import Any

import pytest

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.utils import LayoutEnum
from opencute.base.errors import OpenCuTeError, TypeMismatchError

pytestmark = pytest.mark.t0

K, MN = OperandMajorMode.K, OperandMajorMode.MN


@pytest.mark.parametrize(
    ("a", "b", "acc", "depth"),
    [
        (cutlass.Float16, cutlass.Float16, cutlass.Float32, 16),
        (cutlass.Float16, cutlass.Float16, cutlass.Float16, 16),
        (cutlass.BFloat16, cutlass.BFloat16, cutlass.Float32, 16),
        (cutlass.Float8E4M3FN, cutlass.Float8E5M2, cutlass.Float32, 32),
        (cutlass.Int8, cutlass.Uint8, cutlass.Int32, 32),
        (cutlass.TFloat32, cutlass.TFloat32, cutlass.Float32, 8),
    ],
)
@pytest.mark.parametrize("groups", [(1, 1, 1), (2, 1, 1)])
def test_tiled_mmas(a: Any, b: Any, acc: Any, depth: int, groups: Any) -> None:
    mma = sm90_utils.make_trivial_tiled_mma(a, b, K, K, acc, groups, tiler_mn=(64, 128))
    assert mma.shape_mnk == (64, 128, depth)
    assert mma.size == 128 * groups[0]
    assert mma.get_tile_size(0) == 64 * groups[0] if hasattr(mma, "get_tile_size") else True


def test_tiled_mma_as_published_kernels_write_it() -> None:
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, K, MN, cutlass.Float32, (1, 1, 1), (64, 64),
        warpgroup.OperandSource.RMEM,
    )  # fmt: skip
    assert cute.size(mma.shape_mnk, mode=[2]) == 16


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (cutlass.Float16, cutlass.BFloat16),
        (cutlass.Float32, cutlass.Float32),
        (cutlass.Float8E4M3FN, cutlass.Int8),
    ],
)
def test_types_that_wgmma_has_not(a: Any, b: Any) -> None:
    with pytest.raises(TypeMismatchError, match="does not multiply"):
        sm90_utils.make_trivial_tiled_mma(a, b, K, K, cutlass.Float32, (1, 1, 1), (64, 64))


def test_epilogue_tiles() -> None:
    choose = sm90_utils.compute_tile_shape_or_override
    assert choose((128, 256, 64), cutlass.Float16, is_cooperative=True) == (128, 32)
    assert choose((128, 128, 64), cutlass.Float16) == (64, 32)
    assert choose((128, 128, 64), cutlass.Float8E4M3FN) == (64, 64)
    assert choose([64, 16, 64], cutlass.Float16) == (64, 16)
    assert choose((128, 128, 64), cutlass.Float16, epi_tile_override=(32, 8)) == (32, 8)


@pytest.mark.parametrize(("layout", "transpose"), [("ROW_MAJOR", False), ("COL_MAJOR", True)])
def test_stores_to_shared_memory(layout: str, transpose: bool) -> None:
    choose = sm90_utils.sm90_get_smem_store_op
    order = LayoutEnum[layout]
    atom = choose(order, elem_ty_d=cutlass.Float16, elem_ty_acc=cutlass.Float32)
    assert isinstance(atom.op, cute.nvgpu.warp.StMatrix8x8x16bOp)
    assert atom.op.transpose is transpose and atom.op.num_matrices == 4
    for dtype in (cutlass.Float32, cutlass.Int8):
        atom = choose(order, elem_ty_d=dtype, elem_ty_acc=cutlass.Float32)
        assert isinstance(atom.op, cute.nvgpu.CopyUniversalOp)


def test_refused() -> None:
    with pytest.raises(OpenCuTeError, match="LayoutEnum"):
        sm90_utils.sm90_get_smem_store_op("row", cutlass.Float16, cutlass.Float32)
    with pytest.raises(OpenCuTeError, match="numeric type"):
        sm90_utils.sm90_get_smem_store_op(LayoutEnum.ROW_MAJOR, 16, cutlass.Float32)
