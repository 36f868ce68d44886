# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch`: thread and block indices, single instructions."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_ARCH = "opencute.lang.arch"
_BLOCK = "opencute.lang.block."
_HOPPER = "opencute.lang.hopper."

_TABLE = {
    "Arch": "opencute.compiler.dsl",
    **{name: "opencute.lang.asm.inline" for name in ("inline_asm", "inline_ptx")},
    **{
        name: _ARCH
        for name in (
            "FULL_MASK", "WARP_SIZE", "block_dim", "block_idx", "grid_dim", "lane_idx",
            "thread_idx", "warp_idx",
        )
    },
    **{
        name: _BLOCK + "access"
        for name in (
            "cp_async", "cp_async_commit_group", "cp_async_wait_all", "cp_async_wait_group",
            "load", "store",
        )
    },
    **{
        name: _BLOCK + "arithmetic"
        for name in (
            "add_packed_f32x2", "clz", "fma_packed_f32x2", "fmax", "fmin", "mul_packed_f32x2",
            "popc", "prmt", "rcp_approx", "sub_packed_f32x2",
        )
    },
    **{
        name: _BLOCK + "atomics"
        for name in (
            "atomic_add", "atomic_and", "atomic_cas", "atomic_dec", "atomic_exch",
            "atomic_fmax", "atomic_fmin", "atomic_inc", "atomic_max", "atomic_min", "atomic_or",
            "atomic_xor", "red_add",
        )
    },
    **{
        name: _BLOCK + "barriers"
        for name in (
            "ProxyKind", "SharedSpace", "barrier", "barrier_arrive", "barrier_red",
            "fence_acq_rel_cluster", "fence_acq_rel_cta", "fence_acq_rel_gpu",
            "fence_acq_rel_sys", "fence_proxy", "fence_sc", "fence_view_async_shared",
            "nanosleep", "sync_threads", "sync_warp",
        )
    },
    **{
        name: _BLOCK + "registers"
        for name in (
            "block_idx_in_cluster", "block_in_cluster_dim", "block_in_cluster_idx", "clock",
            "clock64", "cluster_dim", "cluster_idx", "cluster_size", "globaltimer",
            "lanemask_eq", "lanemask_ge", "lanemask_gt", "lanemask_le", "lanemask_lt", "smid",
        )
    },
    **{
        name: _BLOCK + "smem"
        for name in (
            "alloc_smem", "dynamic_smem_size", "get_dyn_smem", "get_dyn_smem_size",
        )
    },
    **{
        name: _BLOCK + "warps"
        for name in (
            "activemask", "elect_one", "make_warp_uniform", "match_all_sync", "match_any_sync",
            "shuffle_sync", "shuffle_sync_bfly", "shuffle_sync_down", "shuffle_sync_op",
            "shuffle_sync_up", "vote_all_sync", "vote_any_sync", "vote_ballot_sync",
            "vote_uni_sync", "warp_reduction", "warp_reduction_max", "warp_reduction_sum",
            "warp_redux_sync",
        )
    },
    **{
        name: _HOPPER + "clusters"
        for name in (
            "cluster_arrive", "cluster_arrive_relaxed", "cluster_sync", "cluster_wait",
            "cp_async_mbarrier_arrive_noinc", "cp_async_mbarrier_arrive_shared",
            "griddepcontrol_launch_dependents", "griddepcontrol_wait", "map_dsmem_ptr", "mapa",
            "red_async", "setmaxregister_decrease", "setmaxregister_increase", "st_async",
            "warpgroup_reg_alloc", "warpgroup_reg_dealloc",
        )
    },
    **{
        name: _HOPPER + "mbarriers"
        for name in (
            "mbarrier_arrive", "mbarrier_arrive_and_expect_tx", "mbarrier_arrive_drop",
            "mbarrier_arrive_drop_and_expect_tx", "mbarrier_arrive_token", "mbarrier_complete_tx",
            "mbarrier_conditional_try_wait", "mbarrier_expect_tx", "mbarrier_init",
            "mbarrier_init_fence", "mbarrier_inval", "mbarrier_pending_count",
            "mbarrier_test_wait", "mbarrier_test_wait_token", "mbarrier_try_wait",
            "mbarrier_wait", "mbarrier_wait_token",
        )
    },
    **{
        name: _HOPPER + "bulk"
        for name in ("cp_async_bulk_commit_group", "cp_async_bulk_wait_group")
    },
}  # fmt: skip

# What CUDA C++ and others call it.
_RENAMED = {
    "atomicAdd": "cute.arch.atomic_add",
    "atomicCAS": "cute.arch.atomic_cas",
    "atomicExch": "cute.arch.atomic_exch",
    "atomicMax": "cute.arch.atomic_max",
    "ballot": "cute.arch.vote_ballot_sync",
    "barrier_sync": "cute.arch.sync_threads, or cute.arch.barrier for some of the threads",
    "shfl": "cute.arch.shuffle_sync",
    "shfl_down": "cute.arch.shuffle_sync_down",
    "shfl_down_sync": "cute.arch.shuffle_sync_down",
    "shfl_sync": "cute.arch.shuffle_sync",
    "shfl_up": "cute.arch.shuffle_sync_up",
    "shfl_up_sync": "cute.arch.shuffle_sync_up",
    "shfl_xor": "cute.arch.shuffle_sync_bfly",
    "shfl_xor_sync": "cute.arch.shuffle_sync_bfly",
    "syncthreads": "cute.arch.sync_threads",
    "syncwarp": "cute.arch.sync_warp",
    "warp_max": "cute.arch.warp_reduction_max",
    "warp_sum": "cute.arch.warp_reduction_sum",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE, _RENAMED)
