# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of a warpgroup with a sparse A, as `opencute.lang.tiled.sparse` has those of a warp.

In: types and shape. Out: an operation for `cute.make_tiled_mma`; its A is (M, K / 2)::

    op = warpgroup.MmaSparseOp(Float16, Float32, (64, 128, 32))
    cute.gemm(cute.make_tiled_mma(op), acc, [tCrA, tCrE], tCrB, acc)
"""

from __future__ import annotations

from typing import Any

from opencute.lang.block.majors import OperandMajorMode
from opencute.lang.hopper.operations import OperandSource, WarpgroupOp
from opencute.lang.numbers import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Int8,
    TFloat32,
    Uint8,
)
from opencute.lang.tiled.sparse import metadata_of, unit_of
from opencute.layout import Layout

__all__ = ["MmaSparseOp"]


class MmaSparseOp(WarpgroupOp):
    """wgmma.sp: a product of a warpgroup whose A has half of its elements left out.

    Args:
        ab_dtype: type of A, and of B if that has none of its own.
        acc_dtype: type of the accumulator.
        instruction_shape: (64, N, K), where K counts what is left out: 32 for 16-bit types, 16 for
            TFloat32, 64 for bytes; K may be left out.
        a_src: whether A is in shared memory or in registers.
        a_major_mode: the contiguous mode of A.
        b_major_mode: the contiguous mode of B.
        b_dtype: type of B.
    """

    allowed = (Float16, BFloat16, TFloat32, Float8E4M3FN, Float8E5M2, Int8, Uint8)
    k_factor = 2

    def __init__(
        self, ab_dtype: Any, acc_dtype: Any, instruction_shape: Any,
        a_src: Any = OperandSource.SMEM, a_major_mode: Any = OperandMajorMode.K,
        b_major_mode: Any = OperandMajorMode.K, b_dtype: Any = None, *, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ab_dtype, b_dtype or ab_dtype, acc_dtype, instruction_shape, a_src, a_major_mode,
            b_major_mode,
        )  # fmt: skip

    @property
    def k_parts(self) -> dict[str, int]:
        """How many elements along k one of an operand stands for."""
        return {"A": 2, "E": unit_of(self.record.types[1])}

    @property
    def metadata_layout(self) -> Layout:
        """(thread, value) to place in the tile of metadata."""
        r = self.record
        return metadata_of(r.types[1], 64, r.mnk[2])
