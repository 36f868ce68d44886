# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that copy tiles by tensor maps, for the tests of the language and of machine code."""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

__all__ = ["assembled", "copy", "tensor"]


def tensor(x: Any, dtype: Any = None, *, leading: int | None = None) -> Any:
    """An array with a dynamic layout."""
    t = from_dlpack(x, assumed_align=16)
    if dtype is not None:
        t.element_type = dtype
    return t.mark_layout_dynamic() if leading is None else t.mark_layout_dynamic(leading)


@cute.kernel
def copy_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    raw: Any,
    dtype: cutlass.Constexpr,
    layout: cutlass.Constexpr,
    tile: cutlass.Constexpr,
    size: cutlass.Constexpr,
):
    tid, _, _ = cute.arch.thread_idx()
    block = cute.arch.block_idx()
    where = (*block, 0, 0)[: len(tile)]
    rank = len(tile)
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    inner = layout.inner if isinstance(layout, cute.ComposedLayout) else None
    outer = layout.outer if isinstance(layout, cute.ComposedLayout) else layout
    smem = memory.allocate_tensor(dtype, outer, 1024, swizzle=inner)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_expect_tx(bar, size)
    cute.arch.mbarrier_init_fence()
    cute.arch.barrier()
    g_src = cute.local_tile(src, tile, where)
    g_dst = cute.local_tile(dst, tile, where)
    one = cute.make_layout(1)
    s_load, g_load = cpasync.tma_partition(
        load, 0, one, cute.group_modes(smem, 0, rank), cute.group_modes(g_src, 0, rank)
    )
    s_store, g_store = cpasync.tma_partition(
        store, 0, one, cute.group_modes(smem, 0, rank), cute.group_modes(g_dst, 0, rank)
    )
    cute.copy(load, g_load, s_load, tma_bar_ptr=bar)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(bar)
    cute.arch.mbarrier_wait(bar, 0)
    if cutlass.const_expr(raw is not None):
        first = block[0] + block[1] + block[2] == 0
        flat = cute.make_tensor(memory_start(smem), cute.make_layout(cute.cosize(outer)))
        if first:
            for i in range(tid, cute.cosize(outer), 32):
                raw[i] = flat[i]
    cute.copy(store, s_store, g_store)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


def memory_start(t: Any) -> Any:
    """The bytes of a tensor as they lie there, whatever its swizzle."""
    p = t.iterator
    return cute.make_ptr(p.dtype, p.toint(), cute.AddressSpace.smem, assumed_align=128)


@cute.jit
def copy(
    src: cute.Tensor,
    dst: cute.Tensor,
    raw: Any,
    layout: cutlass.Constexpr,
    tile: cutlass.Constexpr,
    store_op: cutlass.Constexpr = None,
    dtype: cutlass.Constexpr = None,
):
    """Copy `src` to `dst` tile by tile; `raw` gets the first tile as it lies in shared memory."""
    load_op = cpasync.CopyBulkTensorTileG2SOp()
    load, s = cpasync.make_tiled_tma_atom(load_op, src, layout, tile, internal_type=dtype)
    save = cpasync.CopyBulkTensorTileS2GOp() if store_op is None else store_op
    store, d = cpasync.make_tiled_tma_atom(save, dst, layout, tile, internal_type=dtype)
    size = cute.size_in_bytes(src.element_type, layout)
    grid = cute.ceil_div((*src.shape, 1, 1, 1)[:3], (*tile, 1, 1, 1)[:3])
    copy_kernel(load, s, store, d, raw, src.element_type, layout, tile, size).launch(
        grid=grid, block=(32, 1, 1)
    )


def assembled(compiled: Any, arch: str) -> Any:
    """The machine code of a compiled function for an architecture."""
    from opencute.compiler.artefacts import Artefacts

    made = compiled.artefacts
    return Artefacts(made.name, made.module, arch, made.options)
