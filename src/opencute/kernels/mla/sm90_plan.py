# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is fixed when attention with a latent cache is compiled: products, and where tiles lie.

In: a configuration. Out: tiled MMAs for scores and values, layouts of shared memory, and the views
of one tile as keys and as values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.mla.config import KEYS, LATENT, ROPE, ROWS, MlaConfig
from opencute.utils import hopper_helpers

__all__ = ["GROUP", "HALF", "KEPT", "STEP", "WIDTH", "MlaPlan", "Tiles"]

GROUP = 128  # threads of a warpgroup
WIDTH = LATENT + ROPE
HALF = LATENT // 2  # columns of a warpgroup that adds values
STEP = 16  # elements of an instruction
KEPT = LATENT // STEP - 1  # steps of the queries in registers: all of 184 that a thread can have

warpgroup = cute.nvgpu.warpgroup


@dataclass(frozen=True)
class MlaPlan:
    """What is fixed when attention with a latent cache is compiled.

    Args:
        dtype: Float16 or BFloat16.
        config: how the work is shared; how many splits there are the launch says.
        queries: of a sequence.
        group: heads.
        causal: whether each query but the last one sees one key less than the next.
        page: keys of a page, or None.
        slots: threads along splits that put them together, of `combine.slots_for`.
    """

    dtype: Any
    config: MlaConfig
    queries: int
    group: int
    causal: bool
    page: int | None
    slots: int = 1

    @property
    def rows(self) -> int:
        """Of a sequence: row s * H + h is query s of head h."""
        return self.queries * self.group

    def product(self, n: int, b_major: Any, source: Any) -> Any:
        """A tiled MMA of 64 rows and n columns, for one warpgroup."""
        return hopper_helpers.make_trivial_tiled_mma(
            self.dtype, self.dtype, warpgroup.OperandMajorMode.K, b_major, cutlass.Float32,
            (1, 1, 1), (ROWS, n), source,
        )  # fmt: skip

    def products(self) -> tuple[Any, Any, Any]:
        """Those of Q K^T, with Q in registers and in shared memory, and of P V."""
        major, source = warpgroup.OperandMajorMode, warpgroup.OperandSource
        return (
            self.product(KEYS, major.K, source.RMEM), self.product(KEYS, major.K, source.SMEM),
            self.product(HALF, major.MN, source.SMEM),
        )  # fmt: skip

    def keys_layout(self) -> Any:
        """Shared memory of keys: (64, 576, stages)."""
        order, shape = utils.LayoutEnum.ROW_MAJOR, (ROWS, KEYS, WIDTH)
        return hopper_helpers.make_smem_layout_b(order, shape, self.dtype, self.config.stages)

    def queries_layout(self, width: int) -> Any:
        """Shared memory of some elements of queries: (64, width, 1)."""
        order, shape = utils.LayoutEnum.ROW_MAJOR, (ROWS, KEYS, width)
        return hopper_helpers.make_smem_layout_a(order, shape, self.dtype, 1)


class Tiles:
    """Views of the tiles in shared memory; the last mode is the stage.

    Args:
        whole: (64, 576, stages), columns 64 at a time.

    Keys without (64, 512) and with their last elements (64, 64), in whose place weights are too.
    """

    def __init__(self, whole: Any, stages: int) -> None:
        self.whole, self.stages = whole, stages
        step = KEYS * WIDTH
        rows, atom = (8, KEYS // 8), 8 * 64
        self.latent = cute.make_tensor(
            whole.iterator,
            cute.make_layout(
                (rows, (64, LATENT // 64), stages), stride=((64, atom), (1, 64 * KEYS), step)
            ),
        )
        self.last = cute.make_tensor(
            whole.iterator + LATENT * KEYS,
            cute.make_layout((rows, (64, 1), stages), stride=((64, atom), (1, 0), step)),
        )

    def values(self, half: Any) -> Any:
        """Half of the values: (256, 64, stages). What is a row of keys is a column of these."""
        layout = cute.make_layout(
            ((64, HALF // 64), (8, KEYS // 8), self.stages),
            stride=((1, 64 * KEYS), (64, 8 * 64), KEYS * WIDTH),
        )
        return cute.make_tensor(self.whole.iterator + half * (HALF * KEYS), layout)
