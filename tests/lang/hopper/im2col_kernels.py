# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that move columns of pixels: out of shared memory, to several blocks, and a convolution
that both loads and stores them."""

from __future__ import annotations

from typing import Any

import numpy as np

import opencute as cutlass
from opencute import cute, utils
from opencute.cute.nvgpu import OperandMajorMode, cpasync, warpgroup

__all__ = [
    "CHANNELS", "PIXELS", "column_layout", "convolution", "extents", "gathered", "scatter",
    "scattered", "shared_columns",
]  # fmt: skip

PIXELS, CHANNELS = 16, 32


def column_layout(bits: int, width: int = 16, pixels: int = PIXELS) -> Any:
    """Pixels by channels, in rows as wide as the swizzle; elements of `width` bits."""
    wide = (128 << bits) // width
    atom = cute.make_layout((8, wide), stride=(wide, 1))
    outer = cute.tile_to_shape(atom, (pixels, CHANNELS), (0, 1))
    return cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, outer)


# ---------------------------------------------------------------------- stores and reductions
@cute.kernel
def scatter_kernel(
    atom: cute.CopyAtom, coords: cute.Tensor, cols: cute.Tensor, smem_layout: cutlass.Constexpr,
    fault: cutlass.Constexpr,
):  # fmt: skip
    """A block for each tile of pixels."""
    lane, (bx, _, _) = cute.arch.lane_idx(), cute.arch.block_idx()
    memory = utils.SmemAllocator()
    layout, swizzle = smem_layout.outer, smem_layout.inner
    smem = memory.allocate_tensor(cols.element_type, layout, 1024, swizzle=swizzle)
    m = bx * PIXELS
    for i in range(PIXELS):
        smem[i, lane] = cols[m + i, lane]
    if cutlass.const_expr(fault != "no fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    _, p, q, _ = coords.shape
    cute.copy(atom, smem, cute.domain_offset((m // (p * q), m // q % p, m % q, 0), coords))
    cute.arch.cp_async_bulk_commit_group()
    if cutlass.const_expr(fault == "no wait"):
        smem[0, lane] = cols.element_type(0)
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def scatter(
    x: cute.Tensor, cols: cute.Tensor, smem_layout: cutlass.Constexpr, op: cutlass.Constexpr,
    conv: cutlass.Constexpr, fault: cutlass.Constexpr = "",
):  # fmt: skip
    """Columns (pixels, channels) go to the images x, as `conv` says."""
    tile = (PIXELS, CHANNELS)
    atom, coords = cpasync.make_im2col_tma_atom(op, x, smem_layout, tile, **dict(conv))
    grid = (cols.shape[0] // PIXELS, 1, 1)
    scatter_kernel(atom, coords, cols, smem_layout, fault).launch(grid=grid, block=(32, 1, 1))


def extents(shape: Any, filter: Any, padding: Any = (0, 0), stride: Any = (1, 1),
            dilation: Any = (1, 1), place: Any = None) -> tuple[int, int]:  # fmt: skip
    """Rows and columns of a convolution's result."""
    p, q = (
        (n + 2 * pad - d * (t - 1) - 1) // s + 1
        for n, t, pad, s, d in zip(shape[1:3], filter, padding, stride, dilation, strict=True)
    )
    return p, q


def scattered(x: Any, cols: Any, conv: Any, change: Any) -> Any:
    """What NumPy makes of `scatter`."""
    out, (p, q), unit = x.copy(), extents(x.shape, **conv), (1, 1)
    place, dilation = conv.get("place") or (0, 0), conv.get("dilation", unit)
    stride, padding = conv.get("stride", unit), conv.get("padding", (0, 0))
    for m in range(x.shape[0] * p * q):
        n, at = m // (p * q), (m // q % p, m % q)
        h, w = (
            i * s - pad + r * d
            for i, s, pad, r, d in zip(at, stride, padding, place, dilation, strict=True)
        )
        if 0 <= h < x.shape[1] and 0 <= w < x.shape[2]:
            out[n, h, w] = change(out[n, h, w], cols[m])
    return out


# ---------------------------------------------------------------------- several blocks
@cute.kernel
def shared_kernel(
    atom: cute.CopyAtom, coords: cute.Tensor, dst: cute.Tensor, smem_layout: cutlass.Constexpr,
    mask: cutlass.Constexpr,
):  # fmt: skip
    """Both blocks of a cluster load half of the pixels of a tile for both."""
    lane, (bx, _, _) = cute.arch.lane_idx(), cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    layout, swizzle = smem_layout.outer, smem_layout.inner
    smem = memory.allocate_tensor(cutlass.Float16, layout, 1024, swizzle=swizzle)
    if lane == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, PIXELS * CHANNELS * 2)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    _, p, q, _, _, _ = coords.shape
    m = bx // 2 * PIXELS + rank * (PIXELS // 2)
    here = cute.domain_offset((m // (p * q), m // q % p, m % q, 0, 1, 0), coords)
    cute.prefetch(atom, here)
    half = cute.local_tile(smem, (PIXELS // 2, CHANNELS), (rank, 0))
    cute.copy(atom, here, half, tma_bar_ptr=bar, mcast_mask=mask)
    cute.arch.mbarrier_wait(bar, 0)
    for i in range(PIXELS):
        dst[bx // 2 * PIXELS + i, rank, lane] = smem[i, lane]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def shared_columns(
    x: cute.Tensor, dst: cute.Tensor, smem_layout: cutlass.Constexpr, conv: cutlass.Constexpr,
    mask: cutlass.Constexpr = 3,
):  # fmt: skip
    """The columns for place (1, 0) of the filter, as both blocks of each cluster have them."""
    half = column_layout(smem_layout.inner.bits, pixels=PIXELS // 2)
    op = cpasync.CopyBulkTensorIm2ColG2SMulticastOp()
    tile = (PIXELS // 2, CHANNELS)
    atom, coords = cpasync.make_im2col_tma_atom(op, x, half, tile, **dict(conv))
    grid = (dst.shape[0] // PIXELS * 2, 1, 1)
    shared_kernel(atom, coords, dst, smem_layout, mask).launch(
        grid=grid, block=(32, 1, 1), cluster=(2, 1, 1)
    )


# ---------------------------------------------------------------------- a convolution
TILE, DEEP = (64, 64), 64


@cute.kernel
def convolution_kernel(
    load_x: cute.CopyAtom, xs: cute.Tensor, load_w: cute.CopyAtom, ws: cute.Tensor,
    store: cute.CopyAtom, ys: cute.Tensor, tiled: cute.TiledMma, layout: cutlass.Constexpr,
    taps: cutlass.Constexpr, channels: cutlass.Constexpr,
):  # fmt: skip
    """64 pixels by 64 features of the result: a product over places of the filter and channels."""
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    s_a = memory.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
    s_b = memory.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    _, p, q, _ = ys.shape
    m = bx * TILE[0]
    n, row, col = m // (p * q), m // q % p, m % q
    thr = tiled.get_slice(tidx)
    acc = tiled.make_fragment_C(tiled.partition_shape_C(TILE))
    r_a = tiled.make_fragment_A(thr.partition_A(s_a))
    r_b = tiled.make_fragment_B(thr.partition_B(s_b))
    tiles = cute.local_tile(ws, (TILE[1], DEEP), (by, None))
    t_b, g_b = cpasync.tma_partition(
        load_w, 0, cute.make_layout(1), cute.group_modes(s_b, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    blocks = channels // DEEP
    for step in cutlass.range(taps[0] * taps[1] * blocks):
        tap, c = step // blocks, step % blocks * DEEP
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(bar, 2 * 2 * TILE[0] * DEEP)
            here = cute.domain_offset((n, row, col, c, tap // taps[1], tap % taps[1]), xs)
            cute.copy(load_x, here, s_a, tma_bar_ptr=bar)
            cute.copy(load_w, g_b[None, step], t_b, tma_bar_ptr=bar)
        cute.arch.mbarrier_wait(bar, step % 2)
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(r_a, mode=[2])):
            cute.gemm(tiled, acc, r_a[None, None, k], r_b[None, None, k], acc)
            tiled.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
    out = thr.partition_C(s_a)
    held = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    held.store(acc.load().to(cutlass.Float16))
    cute.basic_copy(held, out)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp == 0:
        here = cute.domain_offset((n, row, col, by * TILE[1]), ys)
        cute.copy(store, s_a, here)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def convolution(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, taps: cutlass.Constexpr,
    conv: cutlass.Constexpr,
):  # fmt: skip
    """y (N, P, Q, K), of any strides, is x (N, H, W, C) convolved with w (K, R * S * C)."""
    op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (64, 64, 16), warpgroup.OperandSource.SMEM,
        OperandMajorMode.K, OperandMajorMode.K,
    )  # fmt: skip
    kind = warpgroup.SmemLayoutAtomKind.K_SW128
    atom = warpgroup.make_smem_layout_atom(kind, cutlass.Float16)
    layout = cute.tile_to_shape(atom, (TILE[0], DEEP), (0, 1))
    load_x, xs = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColG2SOp(), x, layout, (TILE[0], DEEP), filter=taps, **dict(conv)
    )
    load_w, ws = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), w, layout, (TILE[1], DEEP)
    )
    store, ys = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColS2GOp(), y, layout, TILE, filter=(1, 1)
    )
    pixels = y.shape[0] * y.shape[1] * y.shape[2]
    grid = ((pixels + TILE[0] - 1) // TILE[0], y.shape[3] // TILE[1], 1)
    convolution_kernel(
        load_x, xs, load_w, ws, store, ys, cute.make_tiled_mma(op), layout, taps, x.shape[3]
    ).launch(grid=grid, block=(128, 1, 1))


def gathered(x: Any, filter: Any, padding: Any = (0, 0), stride: Any = (1, 1),
             dilation: Any = (1, 1)) -> Any:  # fmt: skip
    """The columns of a convolution: (pixels of the result, places of the filter, channels)."""
    padded = np.pad(x, ((0, 0), *((p, p) for p in padding), (0, 0)))
    p, q = extents(x.shape, filter, padding, stride, dilation)
    cols = [
        padded[:, r * dilation[0] :: stride[0], s * dilation[1] :: stride[1]][:, :p, :q]
        for r in range(filter[0]) for s in range(filter[1])
    ]  # fmt: skip
    return np.stack([c.reshape(-1, x.shape[-1]) for c in cols], axis=1)
