# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped matrix products on Hopper: one launch, tiles of all groups.

Persistent blocks take tiles of all groups in turns; which group a tile is of, its warps find out by
reading the groups' sizes. Rows of one matrix are loaded from wherever a group begins, and stored as
`rows` says. Where groups are matrices of their own, or sums that must end with a group, the warp
that loads changes a tensor map in shared memory when it comes to another group, publishes it in
global memory and acquires it there; then TMA sees the group's matrix and no other. Each of two
warpgroups multiplies half of a tile's rows, and stores to such matrices with maps of its own.

Loads with older maps may be on their way still, so a block has more maps than buffers: when one
comes round again, each buffer that was loaded with it has been waited for. A product without K has
one step, which lies outside of its matrices, where TMA loads zeros.

Floor: 2 M N K operations over what `wgmma` reaches, or the bytes of all operands over the bandwidth
of memory.
"""

from __future__ import annotations

import copy
from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.kernels.gemm.sm90 import (
    CONSUMER_REGISTERS,
    LOADER_REGISTERS,
    as_tma_matrix,
    first_step,
    further_steps,
    group_of,
    moved,
    multiply_twice,
    operand_parts,
)
from opencute.kernels.gemm.sm90_epilogue import (
    Epilogue,
    finish_tile,
    full_barriers,
    leave,
    memory_of,
    start_tile,
)
from opencute.kernels.gemm.sm90_plan import CONSUMERS, HopperPlan
from opencute.kernels.grouped_gemm.groups import ListGroups, RowGroups, SumGroups

__all__ = ["DRAFTS", "grouped_kernel", "list_gemm", "map_slots", "row_gemm", "sum_gemm"]

DRAFTS = 1024
"""Bytes of shared memory in which maps are changed, and before them to align the rest."""
_WORDS = 16  # of a map


def ring(plan: HopperPlan) -> int:
    """Maps that the loads of an operand take in turns."""
    return plan.stages + 1


def map_slots(plan: HopperPlan) -> int:
    """Maps of a block in global memory: for loads of A, of B, and of each warpgroup's stores."""
    return 2 * ring(plan) + CONSUMERS


class Maps:
    """The tensor maps of a block.

    Args:
        room: (blocks, slots, words) in global memory.
        smem: the allocator.
        atoms: of A, B and D, whose maps are what is changed.
    """

    def __init__(self, room: Any, smem: Any, atoms: tuple[Any, Any, Any]) -> None:
        self.room, self.atoms = room, atoms
        self.block = cute.arch.block_idx()[2]
        self.drafts = smem.allocate_tensor(
            cutlass.Int64, cute.make_layout((_WORDS, 2 + CONSUMERS)), 128
        )
        self.manager = utils.TensorMapManager(utils.TensorMapUpdateMode.SMEM)

    def draft(self, which: Any) -> Any:
        """Where the map of A (0), of B (1), or of a warpgroup's stores (2, 3) is changed."""
        return self.drafts[None, which].iterator.align(128)

    def place(self, slot: Any) -> Any:
        """A map in global memory."""
        return self.manager.get_tensormap_ptr(self.room[self.block, slot, None].iterator)

    def change(self, changes: list[tuple[int, Any, Any, Any]], warp: Any) -> None:
        """Make maps those of matrices, by one warp, which may use them when it has `seen` them.

        Args:
            changes: for each 0 for A, 1 for B, 2 for D; the matrix in global memory; where the map
                is changed, and where it is used.
            warp: which warp.
        """
        which, matrices, drafts, slots = zip(*changes, strict=True)
        self.manager.update_tensormap(
            matrices, tuple(self.atoms[w] for w in which), tuple(self.place(s) for s in slots),
            warp, tuple(self.draft(d) for d in drafts),
        )  # fmt: skip

    def seen(self, slots: list[Any]) -> None:
        """Let copies of this warp's see maps as they were changed last."""
        for slot in slots:
            self.manager.fence_tensormap_update(self.place(slot))


@cute.kernel
def grouped_kernel(
    atom_a: cute.CopyAtom,
    mA: cute.Tensor,
    atom_b: cute.CopyAtom,
    mB: cute.Tensor,
    atom_d: cute.CopyAtom,
    mD: cute.Tensor,
    about: Any,
    extra: Any,
    room: Any,
    params: utils.PersistentTileSchedulerParams,
    mma: cute.TiledMma,
    part_mma: cute.TiledMma,
    plan: cutlass.Constexpr[HopperPlan],
    form: cutlass.Constexpr[Any],
):
    """A block for some tiles of all groups."""
    tid, _, _ = cute.arch.thread_idx()
    group = cute.arch.make_warp_uniform(tid // 128)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    sA, sB = (
        smem.allocate_tensor(plan.types[i], s.outer, 1024, swizzle=s.inner)
        for i, s in enumerate((plan.operand_smem(0), plan.operand_smem(1)))
    )
    matrices = memory_of(smem, (atom_d, mD), extra, plan)
    full = full_barriers(plan, matrices[1])
    groups = form(*about, plan)
    maps: Any = None
    if cutlass.const_expr(any(groups.mapped)):
        maps = Maps(room, smem, (atom_a, atom_b, atom_d))
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=plan.stages, producer_group=group_of(1),
        consumer_group=group_of(4 * CONSUMERS), tx_count=plan.operand_bytes(), defer_sync=True,
    )  # fmt: skip
    if cutlass.const_expr(full is not None):
        if warp == 0:
            with cute.arch.elect_one():
                full.init()
    if cutlass.const_expr(maps is not None):
        for i in cutlass.range_constexpr(2 + CONSUMERS):
            if cutlass.const_expr(groups.mapped[min(i, 2)]):
                by = 4 * CONSUMERS if i < 2 else 4 * (i - 2)
                maps.manager.init_tensormap_from_atom(maps.atoms[min(i, 2)], maps.draft(i), by)
        maps.manager.fence_tensormap_initialization()
    pipeline.pipeline_init_arrive(is_relaxed=True)
    pipeline.pipeline_init_wait()
    sched = utils.StaticPersistentGroupTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim(), plan.tile,
        utils.create_initial_search_state(), groups.count, groups,
    )  # fmt: skip
    if group == CONSUMERS:
        cute.arch.setmaxregister_decrease(LOADER_REGISTERS)
        if warp == 4 * CONSUMERS:
            operands = ((atom_a, mA, sA), (atom_b, mB, sB))
            produce(loads, sched, groups, maps, operands, plan)
    else:
        cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
        epilogue = Epilogue(
            plan, (group, tid % 128), matrices, full, groups.operands(extra, 0), mD.shape[:2],
            part_mma,
        )  # fmt: skip
        consume(loads, sched, groups, maps, (sA, sB), mma, (group, extra), epilogue, plan)


def inside(work: Any, plan: HopperPlan) -> Any:
    """Whether there is such a tile: how many there are, only sizes in memory tell."""
    found = work.group_search_result
    in_rows = found.cta_tile_idx_m * plan.tile[0] < found.problem_shape_m
    return (
        work.is_valid_tile & in_rows & (found.cta_tile_idx_n * plan.tile[1] < found.problem_shape_n)
    )


def steps_of(groups: Any, found: Any) -> tuple[Any, Any]:
    """How many steps along k a tile has, and which is the first."""
    count = found.cta_tile_count_k
    if not groups.hollow:
        return count, 0
    return cutlass.max(count, 1), cutlass.Int32(count == 0)


def parts_of(
    operand: Any, which: int, groups: Any, group: Any, own: bool, plan: HopperPlan
) -> Any:  # fmt: skip
    """What is needed to load tiles of A or B: as `operand_parts`, from where a group begins, or
    with the group's own map from its first row on."""
    atom, matrix, into = operand
    start = None if own else groups.start(which, group)
    if start is not None:
        matrix = cute.domain_offset(start, matrix)
    alone = cute.make_layout((1, 1, 1))
    return operand_parts(atom, matrix, into, alone, (0, 0, 0), which, plan)


@cute.jit
def produce(
    loads: Any, sched: Any, groups: Any, maps: Any, operands: Any,
    plan: cutlass.Constexpr[HopperPlan],
):  # fmt: skip
    """Load the tiles of A and B, in the order in which they are multiplied."""
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
    last, turn = cutlass.Int32(-1), cutlass.Int32(0)
    work = sched.initial_work_tile_info()
    while inside(work, plan):
        found = work.group_search_result
        group = found.group_idx
        steps, first = steps_of(groups, found)
        tail = groups.tail(found)
        if cutlass.const_expr(groups.mapped[0] or groups.mapped[1]):
            if group != last:
                last = group
                turn = turn + 1
                if turn == ring(plan):
                    turn = cutlass.Int32(0)
                if tail < steps:
                    change_maps(groups, maps, group, turn, plan)
        tile = (found.cta_tile_idx_m, found.cta_tile_idx_n)
        parts = [parts_of(operands[i], i, groups, group, False, plan) for i in range(2)]
        owned = [parts_of(operands[i], i, groups, group, True, plan) for i in range(2)]
        for k in range(steps):
            loads.producer_acquire(state)
            if cutlass.const_expr(not groups.tails):
                load_step(loads, state, groups, maps, parts, (*tile, k + first), group, turn, plan)
            elif k < tail:
                load_step(loads, state, groups, None, parts, (*tile, k), group, turn, plan)
            else:
                maps.seen([i * ring(plan) + turn for i in range(2)])
                load_step(loads, state, groups, maps, owned, (*tile, k + first), group, turn, plan)
            loads.producer_commit(state)
            state.advance()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    loads.producer_tail(state)


def change_maps(groups: Any, maps: Any, group: Any, turn: Any, plan: HopperPlan) -> None:
    """Make those maps of A and B that groups have of their own a group's."""
    of = [i for i in range(2) if groups.mapped[i]]
    slots = [i * ring(plan) + turn for i in of]
    changes = [(i, groups.matrix(i, group), i, s) for i, s in zip(of, slots, strict=True)]
    maps.change(changes, 4 * CONSUMERS)
    if not groups.tails:
        maps.seen(slots)


def load_step(
    loads: Any, state: Any, groups: Any, maps: Any, parts: Any, at: Any, group: Any, turn: Any,
    plan: HopperPlan,
) -> None:  # fmt: skip
    """Load a tile of A and one of B.

    Args:
        maps: of groups, or None for those of whole matrices.
        at: row, column, and step along k.
    """
    for i in range(2):
        atom, coords, into, _ = parts[i]
        own = maps is not None and groups.mapped[i]
        cute.copy(
            atom,
            coords[None, at[i], at[2], groups.batch(i, group)],
            into[None, state.index],
            tma_bar_ptr=loads.producer_get_barrier(state),
            tma_desc_ptr=maps.place(i * ring(plan) + turn) if own else None,
            cache_policy=plan.policy(i),
        )


@cute.jit
def consume(
    loads: Any, sched: Any, groups: Any, maps: Any, smem: Any, mma: Any, who: Any,
    epilogue: Any, plan: cutlass.Constexpr[HopperPlan],
):  # fmt: skip
    """Multiply tiles, and store them.

    Args:
        who: which warpgroup, and what the visitors of all groups are given.
    """
    own = mma.get_slice(who[0] * 128)
    rA = mma.make_fragment_A(own.partition_A(smem[0]))
    rB = mma.make_fragment_B(own.partition_B(smem[1]))
    acc = mma.make_fragment_C(mma.partition_shape_C(plan.tile[:2]))
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
    last, turn = cutlass.Int32(-1), cutlass.Int32(0)
    slot = 2 * ring(plan) + who[0]
    if cutlass.const_expr(groups.mapped[2]):
        epilogue.map = maps.place(slot)
    work = sched.initial_work_tile_info()
    while inside(work, plan):
        found = work.group_search_result
        group = found.group_idx
        if cutlass.const_expr(groups.mapped[2]):
            if group != last:
                last = group
                maps.change([(2, groups.matrix(2, group), 2 + who[0], slot)], 4 * who[0])
                maps.seen([slot])
        tile = (found.cta_tile_idx_m, found.cta_tile_idx_n, groups.batch(2, group))
        seen = seen_by(epilogue, groups, found, who[1])
        steps = steps_of(groups, found)[0]
        if cutlass.const_expr(plan.config.twice):
            start_tile(seen, tile, plan)
            sums = cute.make_rmem_tensor(acc.layout, cutlass.Float32)
            multiply_twice(loads, state, steps, mma, acc, sums, rA, rB, None)
            sched.advance_to_next_work()
            work = sched.get_current_work()
            finish_tile(sums, seen, tile, turn, plan)
        else:
            before = state.clone()
            first_step(loads, state, mma, acc, rA, rB)
            start_tile(seen, tile, plan)
            # Which tile is next takes a while to find: the products go on meanwhile.
            sched.advance_to_next_work()
            work = sched.get_current_work()
            further_steps(loads, state, before, steps, mma, acc, rA, rB, None)
            finish_tile(acc, seen, tile, turn, plan)
        turn = turn + 1
    leave(epilogue)


def seen_by(epilogue: Any, groups: Any, found: Any, extra: tuple[Any, ...]) -> Any:
    """The epilogue of a tile: that of all tiles, with what is its group's own."""
    seen = copy.copy(epilogue)
    seen.extents = (found.problem_shape_m, found.problem_shape_n)
    seen.rows = groups.rows(found.group_idx)
    operands = groups.operands(extra, found.group_idx)
    seen.extra = dict(zip(epilogue.extra, operands, strict=True))
    return seen


@cute.jit
def row_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    ends: cute.Tensor,
    extra: Any,
    plan: cutlass.Constexpr[HopperPlan],
):
    """Launch the kernel for groups that are rows of one matrix.

    Args:
        a, b, d: (1, rows, K), (groups, N, K) and (1, rows, N); A and D are row-major.
        ends: for each group the row behind its last one.
        extra: the visitor's operands; matrices are as D.
    """
    groups = b.shape[0]
    # However rows are spread, no more tiles than that.
    most = (a.shape[1] // plan.tile[0] + groups) * cute.ceil_div(b.shape[1], plan.tile[1])
    launch((a, b, d), (ends,), most, extra or (), None, plan, RowGroups)


@cute.jit
def sum_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    ends: cute.Tensor,
    extra: Any,
    room: cute.Tensor,
    plan: cutlass.Constexpr[HopperPlan],
):
    """Launch the kernel for groups that are sums over rows of one matrix.

    Args:
        a, b, d: (1, M, rows), (1, N, rows) and (groups, M, N); A and B are not contiguous along
            rows.
        ends: for each group the row behind its last one.
        extra: the visitor's operands; matrices are as D.
        room: (blocks, slots, words) for tensor maps.
    """
    tiles = cute.ceil_div(a.shape[1], plan.tile[0]) * cute.ceil_div(b.shape[1], plan.tile[1])
    launch((a, b, d), (ends,), d.shape[0] * tiles, extra or (), room, plan, SumGroups)


@cute.jit
def list_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    table: cute.Tensor,
    tiles: cutlass.Int32,
    extra: Any,
    room: cute.Tensor,
    reached: Any,
    vectors: cutlass.Constexpr[Any],
    plan: cutlass.Constexpr[HopperPlan],
):
    """Launch the kernel for lists of matrices.

    Args:
        a, b, d: (1, M, K), (1, N, K) and (1, M, N) of some group, of which only majors count.
        table: of all groups, see `ListGroups`.
        tiles: how many there are.
        extra: the visitor's operands, with None for vectors, which are in the table.
        room: as for `sum_gemm`.
        reached: arrays whose addresses are in the table, which the simulator wants to know; or
            None.
        vectors: types of the vectors.
    """
    about = (table, vectors)
    launch((a, b, d), about, tiles, extra or (), room, plan, ListGroups)


def launch(
    operands: Any, about: Any, tiles: Any, extra: Any, room: Any, plan: HopperPlan, form: Any
) -> None:
    """Launch the kernel."""
    a, b, d = operands
    mA = as_tma_matrix(a, plan.k_major[0], plan.types[0])
    mB = as_tma_matrix(b, plan.k_major[1], plan.types[1])
    mD = as_tma_matrix(d, True, plan.types[2])
    if form is not ListGroups:
        kinds = plan.visitor.kinds
        whole = tuple(
            as_tma_matrix(x, True, x.element_type) if kind in ("load", "store") else None
            for kind, x in zip(kinds, extra, strict=True)
        )
        about = (*about, (mA, mB, mD, *whole))
        extra = tuple(
            moved(x, plan, plan.columns, kind == "load") if kind in ("load", "store") else x
            for kind, x in zip(kinds, extra, strict=True)
        )
    params = utils.PersistentTileSchedulerParams((1, 1, tiles), (1, 1, 1))
    grid = utils.StaticPersistentGroupTileScheduler.get_grid_shape(params, plan.clusters)
    grouped_kernel(
        *plan.operand_atom(mA, 0), *plan.operand_atom(mB, 1),
        *plan.part_atom(mD, plan.result_columns, False), about, extra, room, params,
        plan.tiled_mma(), plan.part_mma(), plan, form,
    ).launch(grid=grid, block=[plan.threads, 1, 1], min_blocks_per_mp=1)  # fmt: skip
