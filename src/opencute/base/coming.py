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
    "cute": frozenset(
        "copy_atom_call fast_divmod_create_divisor gemm make_cotiled_copy make_layout_image_mask "
        "make_mma_atom make_tiled_copy_A make_tiled_copy_B make_tiled_copy_C "
        "make_tiled_copy_C_atom make_tiled_copy_D make_tiled_copy_S make_tiled_mma mma_atom_call "
        "prefetch struct".split()
    ),
    "cute.arch": frozenset(
        "add_packed_f32x2 alloc_smem alloc_tmem atomic_add atomic_fmax atomic_fmin barrier "
        "block_idx_in_cluster block_in_cluster_dim block_in_cluster_idx cluster_arrive "
        "cluster_arrive_relaxed cluster_dim cluster_idx cluster_size cluster_wait "
        "cp_async_bulk_commit_group cp_async_bulk_wait_group cp_async_commit_group "
        "cp_async_wait_group dealloc_tmem dynamic_smem_size elect_one fence_acq_rel_cta "
        "fence_proxy fence_view_async_shared fence_view_async_tmem_load "
        "fence_view_async_tmem_store fma_packed_f32x2 fmax griddepcontrol_launch_dependents "
        "griddepcontrol_wait load make_warp_uniform mbarrier_arrive "
        "mbarrier_arrive_and_expect_tx mbarrier_expect_tx mbarrier_init mbarrier_init_fence "
        "mbarrier_wait mul_packed_f32x2 nanosleep popc prmt rcp_approx retrieve_tmem_ptr "
        "setmaxregister_decrease setmaxregister_increase shuffle_sync shuffle_sync_bfly "
        "shuffle_sync_down shuffle_sync_up store sub_packed_f32x2 sync_threads sync_warp "
        "vote_all_sync vote_any_sync vote_ballot_sync vote_uni_sync warp_reduction "
        "warp_reduction_max warp_reduction_sum warp_redux_sync warpgroup_reg_alloc "
        "warpgroup_reg_dealloc".split()
    ),
    "cute.nvgpu": frozenset(
        "CopyG2ROp CopyR2GOp MmaUniversalOp cpasync make_tiled_tma_atom_A make_tiled_tma_atom_B "
        "tcgen05 warp warpgroup".split()
    ),
    "cute.testing": frozenset("autotune_jit tune".split()),
    "": frozenset("experimental jax pipeline utils".split()),
}  # fmt: skip

# Whole modules, after "opencute.".
MODULES = frozenset(
    "cute.experimental cute.nvgpu.cpasync cute.nvgpu.tcgen05 cute.nvgpu.warp cute.nvgpu.warpgroup "
    "experimental jax pipeline utils".split()
)


def not_yet(module: str) -> frozenset[str]:
    """The names that a public module (``"opencute.cute"``) is still to get."""
    return NAMES.get(module.partition(".")[2], frozenset())
