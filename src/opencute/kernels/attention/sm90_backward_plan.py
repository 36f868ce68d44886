# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is fixed of the derivatives of attention with warpgroups: layouts, products, who sees whom.

In: types, tiles and windows. Out: what the kernel and its launcher ask for::

    plan = WarpgroupBackwardPlan(Float16, 128, 64, 2, 2, True, None, 0, 1)
    plan.n                     # 128 keys of a block
    first, count = Reach(first_key, queries, keys, 0, plan).tiles()
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.parts import HeadTiles
from opencute.kernels.attention.sm90 import GROUP, ROWS
from opencute.utils import hopper_helpers

__all__ = ["GROUPS", "LINE", "Reach", "WarpgroupBackwardPlan"]

GROUPS = 2  # warpgroups that compute; each has 64 keys, and half of dQ
LINE = 128  # values of dQ in a row of the workspace, as TMA sees it

warpgroup = cute.nvgpu.warpgroup


@dataclass(frozen=True)
class WarpgroupBackwardPlan(HeadTiles):
    """What is fixed when the derivatives are compiled.

    Args:
        dtype: Float16 or BFloat16.
        head_dim: elements of a head: 64, 96, 128, 192 or 256.
        m: queries of a tile.
        stages: tiles of Q in shared memory, at least 2.
        grads: tiles of dO in shared memory.
        early: whether dV is started before dS is made.
        before, after: how many keys before and after its own place, counted from the end, a query
            sees; None: all.
        group: heads of queries to one head of keys.
        ordered: whether dQ is summed in an order that is always the same.
        atomics: whether threads add to dQ, rather than TMA; not with `ordered` where one kernel
            makes all.
        ragged: whether sequences lie end to end.
        only: "" where one kernel makes all; "keys": dK and dQ; "values": dV.
        scaled: whether operands were of eight bits, and have factors, see `Factors`. Those of a
            tile of queries are behind its levels and deltas.
        warps: warps that compute, and those of the kernels before and after.
    """

    dtype: Any
    head_dim: int
    m: int
    stages: int
    grads: int
    early: bool
    before: int | None
    after: int | None
    group: int
    ordered: bool = False
    atomics: bool = False
    ragged: bool = False
    only: str = ""
    scaled: bool = False
    warps: int = 4 * GROUPS

    @property
    def n(self) -> int:
        """Keys of a block."""
        return ROWS * GROUPS

    @property
    def threads(self) -> int:
        """Threads that compute."""
        return 32 * self.warps

    @property
    def known(self) -> int:
        """Numbers of a row of what is known of a tile of queries."""
        return self.m + (2 if self.scaled else 0)

    @property
    def starts_with_deltas(self) -> bool:
        """Whether sums of dO V^T start at -delta, before they are multiplied."""
        return False

    @property
    def turns(self) -> int:
        """Parts of a tile of dQ that blocks add to independently."""
        return GROUPS

    @property
    def wide(self) -> bool:
        """Whether dK and dV take a kernel each: together they exceed the registers."""
        return self.head_dim > 128

    def of(self, only: str) -> WarpgroupBackwardPlan:
        """The plan of the kernel that makes a part."""
        stages, grads = self.stages, self.grads
        if only == "values":
            stages, grads = max(stages, 2), max(grads, 2)  # no V and no dS: there is room
        return replace(self, only=only, stages=stages, grads=grads, atomics=True)

    @property
    def rounds(self) -> int:
        """Products that dQ of a tile is made by, one after the other, for want of registers."""
        return 2 if self.head_dim > 192 else 1

    @property
    def along(self) -> tuple[int, int]:
        """Warpgroups along rows and columns of dQ."""
        return (GROUPS, 1) if self.m == ROWS * GROUPS else (1, GROUPS)

    @property
    def of_dq(self) -> int:
        """Columns of dQ that a warpgroup makes at a time."""
        return self.head_dim // self.along[1] // self.rounds

    @property
    def piece(self) -> int:
        """Values of a tile of dQ that a warpgroup has."""
        return self.m * self.head_dim // GROUPS

    def smem_of(self, rows: int, columns: int, stages: int) -> Any:
        """Shared memory (rows, columns, stages), a row's elements together."""
        return hopper_helpers.make_smem_layout_a(
            utils.LayoutEnum.ROW_MAJOR, (rows, 0, columns), self.dtype, stages
        )

    def smem_of_keys(self) -> Any:
        """Shared memory of K: the elements that lie together divide those that a warpgroup makes of
        dQ, whose products start at such pieces."""
        if self.only == "values":
            return self.smem_of(self.n, self.head_dim, 1)
        kind = hopper_helpers.get_smem_layout_atom(
            utils.LayoutEnum.ROW_MAJOR, self.dtype, self.of_dq
        )
        atom = warpgroup.make_smem_layout_atom(kind, self.dtype)
        return cute.tile_to_shape(atom, (self.n, self.head_dim, 1), (0, 1, 2))

    def layouts(self) -> tuple[Any, ...]:
        """Shared memory of K, V, Q and dO (rows, depth, stages), and of dS (keys, queries, 2); None
        for what a kernel has not."""
        d = self.head_dim
        all_of = self.only != "values"
        return (
            self.smem_of_keys(), self.smem_of(self.n, d, 1) if all_of else None,
            self.smem_of(self.m, d, self.stages), self.smem_of(self.m, d, self.grads),
            self.smem_of(self.n, self.m, 2) if all_of else None,
        )  # fmt: skip

    def bytes_of_tiles(self) -> tuple[int | None, ...]:
        """What arrives at a time of K, V, Q with what each query has, and dO; None: nothing."""
        keys, tile = 2 * self.head_dim * self.n, 2 * self.m * self.head_dim
        return keys, None if self.only == "values" else keys, tile + 8 * self.known, tile

    def sums_layout(self) -> Any:
        """A warpgroup's part of dQ, as TMA sees it."""
        return cute.make_layout((self.piece // LINE, LINE), stride=(LINE, 1))

    def sums_of(self, sums: Any, tid: Any) -> Any:
        """A thread's values of dQ, in the order of accumulators: four of them are together, or, for
        atomics, a value of neighbouring threads.

        Args:
            sums: a tile, in the workspace or in shared memory.
            tid: index among all threads that compute.
        """
        if self.atomics:
            start = sums.iterator + (tid // GROUP * self.piece + tid % GROUP)
            layout = cute.make_layout(self.piece // GROUP, stride=GROUP)
            return cute.make_tensor(start, layout)
        start = sums.iterator.align(16) + (tid // GROUP * self.piece + tid % GROUP * 4)
        vectors = self.piece // GROUP // 4
        layout = cute.make_layout((4, vectors), stride=(1, 4 * GROUP))
        return cute.make_tensor(start.align(16), layout)

    def product(self, groups: tuple[int, int], columns: int, majors: str, source: Any) -> Any:
        """A tiled MMA of both warpgroups.

        Args:
            groups: warpgroups along rows and columns.
            columns: those of a warpgroup.
            majors: of A and of B, "K" or "M".
            source: where A is.
        """
        modes = warpgroup.OperandMajorMode
        a, b = (modes.K if x == "K" else modes.MN for x in majors)
        return hopper_helpers.make_trivial_tiled_mma(
            self.dtype, self.dtype, a, b, cutlass.Float32, (*groups, 1), (ROWS, columns), source
        )

    def products(self) -> tuple[Any, Any, Any]:
        """Of scores and slopes (keys, queries); of dK and dV, with A in registers; of dQ."""
        source, d = warpgroup.OperandSource, self.head_dim
        return (
            self.product((GROUPS, 1), self.m, "KK", source.SMEM),
            self.product((GROUPS, 1), d, "KM", source.RMEM),
            self.product(self.along, self.of_dq, "MM", source.SMEM),
        )


@dataclass(frozen=True)
class Reach:
    """Which queries see the keys of a block.

    Args:
        first_key: the block's first key.
        queries, keys: how many there are.
        base: where the workspace has the sequence's first tile of queries.
    """

    first_key: Any
    queries: Any
    keys: Any
    base: Any
    plan: WarpgroupBackwardPlan

    @property
    def offset(self) -> Any:
        """Place of the first query among the keys, counted from the end."""
        return self.keys - self.queries

    @property
    def keys_left(self) -> Any:
        """Keys of the block; more where it has all of them."""
        return self.keys - self.first_key

    def queries_left(self, tile: Any) -> Any:
        """Queries of a tile; more where it has all of them."""
        return self.queries - tile * self.plan.m

    def tiles(self) -> tuple[Any, Any]:
        """The first tile of queries that sees some key of the block, and how many do."""
        plan = self.plan
        first, end = cutlass.Int32(0), cutlass.Int32(cute.ceil_div(self.queries, plan.m))
        if plan.before is not None:
            past = self.first_key + (plan.n + plan.before) - self.offset
            end = cutlass.min(end, cute.ceil_div(cutlass.max(past, 0), plan.m))
        if plan.after is not None:
            start = cutlass.max(self.first_key - self.offset - plan.after, 0)
            first = cutlass.min(start // plan.m, end)
        return first, end - first

    def turn(self, tile: Any, block: Any) -> Any:
        """How many blocks add to a tile of dQ before a block does."""
        if self.plan.before is None:
            return block
        least = cutlass.max(tile * self.plan.m + self.offset - self.plan.before, 0)
        return block - least // self.plan.n

    def cuts(self, tile: Any) -> Any:
        """Whether some query of a tile does not see some key of the block."""
        plan, place = self.plan, tile * self.plan.m + self.offset
        cut = self.first_key + plan.n > self.keys
        if plan.after is not None:
            cut = cut | (self.first_key + (plan.n - 1) > place + plan.after)
        if plan.before is not None:
            cut = cut | (self.first_key < place + (plan.m - 1) - plan.before)
        return cut
