# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the published interface that are not built yet.

They are asked for by kernels that exist, so that "no such name, did you mean ..." would mislead.
A name leaves this list in the change that adds it; a test keeps the two apart.
"""

# Words are easier to read and to change here than lists of strings.
# ruff: noqa: SIM905

from __future__ import annotations

__all__ = ["MODULES", "NAMES", "not_yet"]

# Names in modules that exist, by the module's name after "opencute.".
NAMES: dict[str, frozenset[str]] = {
    "cute": frozenset("make_layout_image_mask".split()),
    "cute.arch": frozenset(
        "alloc_tmem cluster_arrive cluster_arrive_relaxed cluster_wait "
        "cp_async_bulk_commit_group cp_async_bulk_wait_group dealloc_tmem "
        "fence_view_async_tmem_load fence_view_async_tmem_store "
        "griddepcontrol_launch_dependents griddepcontrol_wait retrieve_tmem_ptr "
        "setmaxregister_decrease setmaxregister_increase warpgroup_reg_alloc "
        "warpgroup_reg_dealloc".split()
    ),
    "cute.nvgpu": frozenset("make_tiled_tma_atom_A make_tiled_tma_atom_B tcgen05".split()),
    "pipeline": frozenset(
        "PipelineAsyncUmma PipelineClcFetchAsync PipelineTmaUmma PipelineUmmaAsync".split()
    ),
    "utils": frozenset(
        "ClcDynamicPersistentTileScheduler ClcDynamicPersistentTileSchedulerParams "
        "StaticPersistentRuntimeTileScheduler TensorMapManager TmemAllocator "
        "blackwell_helpers blockscaled_layout compute_epilogue_tile_shape distributed gemm "
        "get_num_tmem_alloc_cols mixed_input_helpers sm100".split()
    ),
    "": frozenset(
        "Array Swizzle Vector experimental inttoptr jax make_array_view memory print_nd_vector "
        "vector".split()
    ),
}  # fmt: skip

# Whole modules, after "opencute.".
MODULES = frozenset(
    "cute.experimental cute.nvgpu.tcgen05 experimental jax utils.blackwell_helpers "
    "utils.blockscaled_layout utils.distributed utils.gemm utils.mixed_input_helpers "
    "utils.sm100".split()
)


def not_yet(module: str) -> frozenset[str]:
    """The names that a public module (``"opencute.cute"``) is still to get."""
    return NAMES.get(module.partition(".")[2], frozenset())
