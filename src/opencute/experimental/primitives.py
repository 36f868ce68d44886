# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.experimental.primitives`: single instructions by PTX's names."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_LIB = "opencute.lib.primitives."

_TABLE = {
    **{
        name: _LIB + "barriers"
        for name in (
            "bar_warp_sync", "barrier_cluster_arrive", "barrier_cluster_arrive_relaxed",
            "barrier_cluster_wait", "barrier_cta_arrive", "barrier_cta_red", "barrier_cta_sync",
            "barrier_cta_sync_aligned", "cluster_ctarank", "cp_async_mbarrier_arrive",
            "elect_sync", "fence_mbarrier_init", "fence_proxy", "mapa", "mbarrier_arrive",
            "mbarrier_arrive_expect_tx", "mbarrier_expect_tx", "mbarrier_init",
            "mbarrier_inval", "mbarrier_test_wait_parity", "mbarrier_try_wait_parity",
            "mbarrier_try_wait_timelimit", "mbarrier_wait_parity", "setmaxregister",
        )
    },
    **{
        name: _LIB + "bulk"
        for name in (
            "cp_async_bulk_commit_group", "cp_async_bulk_global_shared_cta",
            "cp_async_bulk_prefetch", "cp_async_bulk_shared_cluster_global",
            "cp_async_bulk_wait_group", "ldmatrix", "stmatrix",
        )
    },
    "mma": _LIB + "products",
    "mma_sp": _LIB + "products",
    "wgmma_sp": _LIB + "products",
    **{
        name: _LIB + "tiles"
        for name in (
            "cp_async_bulk_prefetch_tensor", "cp_async_bulk_shared_cluster_shared_cta",
            "cp_async_bulk_tensor_global_shared_cta",
            "cp_async_bulk_tensor_shared_cluster_global",
            "cp_async_bulk_tensor_shared_cta_global",
            "cp_reduce_async_bulk_tensor_global_shared_cta", "fence_proxy_acquire",
            "fence_proxy_release", "prefetch_tensormap", "tensormap_replace",
        )
    },
    **{
        name: _LIB + "values"
        for name in (
            "cp_async_commit_group", "cp_async_shared_global", "cp_async_wait_group", "red",
            "redux_sync", "shfl_sync", "vote_sync",
        )
    },
    **{
        name: _LIB + "words"
        for name in (
            "CTAGroup", "LoadShape", "LoadSrcFormat", "MBarrierWait", "MMALayout", "MemOrder",
            "MemScope", "Proxy", "ReductionKind", "ReductionOp", "ReductionType",
            "SetMaxRegisterAction", "SharedSpace", "Shfl", "StoreShape", "TensormapField",
            "VoteSync",
        )
    },
    "barrier": "opencute.lang.block.barriers",
    "print_runtime": "opencute.lang.printing:printf",
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_names(__name__, _TABLE)
