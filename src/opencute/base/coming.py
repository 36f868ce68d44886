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
    "cute.arch": frozenset(
        "alloc_tmem dealloc_tmem fence_view_async_tmem_load fence_view_async_tmem_store "
        "retrieve_tmem_ptr".split()
    ),
    "cute.nvgpu": frozenset("tcgen05".split()),
    "pipeline": frozenset(
        "PipelineAsyncUmma PipelineClcFetchAsync PipelineTmaUmma PipelineUmmaAsync".split()
    ),
    "utils": frozenset(
        "ClcDynamicPersistentTileScheduler ClcDynamicPersistentTileSchedulerParams "
        "TmemAllocator "
        "blockscaled_layout compute_epilogue_tile_shape distributed gemm "
        "get_num_tmem_alloc_cols mixed_input_helpers sm100".split()
    ),
    "": frozenset(
        "inttoptr jax make_array_view memory print_nd_vector".split()
    ),
    "utils.blackwell_helpers": frozenset(
        "check_gemm_tma_alignment cluster_shape_to_tma_atom_A cluster_shape_to_tma_atom_B "
        "cluster_shape_to_tma_atom_SFB compute_epilogue_tile_shape compute_epilogue_tile_size "
        "get_layoutSFA_TV get_layoutSFB_TV get_permutation_mnk get_smem_layout_atom_ab "
        "get_smem_store_op get_tmem_load_op make_blockscaled_trivial_tiled_mma "
        "make_smem_layout_a make_smem_layout_b make_smem_layout_epi make_trivial_tiled_mma "
        "partition_fragment_SFA partition_fragment_SFB sm120_get_smem_store_op".split()
    ),
}  # fmt: skip

# Whole modules, after "opencute.".
MODULES = frozenset(
    "cute.experimental cute.nvgpu.tcgen05 jax "
    "utils.blockscaled_layout utils.distributed utils.gemm utils.mixed_input_helpers "
    "utils.sm100".split()
)


def not_yet(module: str) -> frozenset[str]:
    """The names that a public module (``"opencute.cute"``) is still to get."""
    own = module.partition(".")[2]
    inner = frozenset(m.rpartition(".")[2] for m in MODULES if m.rpartition(".")[0] == own)
    return NAMES.get(own, frozenset()) | inner
