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
def pixel(m: Any, shape: Any) -> tuple[Any, ...]:
    """Where pixel m of the result is: its image, its place there, and channel 0."""
    at: list[Any] = [0]
    for n in cutlass.range_constexpr(len(shape) - 2):
        extent = shape[-2 - n]
        at.insert(0, m % extent)
        m = m // extent
    return (m, *at)


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
    cute.copy(atom, smem, cute.domain_offset(pixel(m, coords.shape), coords))
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


def _terms(shape: Any, conv: Any) -> list[tuple[int, ...]]:
    """For each mode of space: its extent, the filter's, padding, step, dilation, place."""
    n = len(shape) - 2
    some = {"padding": (0,) * n, "stride": (1,) * n, "dilation": (1,) * n, "place": (0,) * n}
    full = {**some, **conv}
    keys = ("filter", "padding", "stride", "dilation", "place")
    return list(zip(shape[1:-1], *(full[k] for k in keys), strict=True))


def extents(shape: Any, **conv: Any) -> tuple[int, ...]:
    """Pixels of a convolution's result, in each mode of space."""
    return tuple((n + 2 * p - d * (t - 1) - 1) // s + 1 for n, t, p, s, d, _ in _terms(shape, conv))


def scattered(x: Any, cols: Any, conv: Any, change: Any) -> Any:
    """What NumPy makes of `scatter`."""
    out, space = x.copy(), extents(x.shape, **conv)
    for m, (n, *at) in enumerate(np.ndindex(x.shape[0], *space)):
        there = tuple(
            i * s - p + r * d
            for i, (_, _, p, s, d, r) in zip(at, _terms(x.shape, conv), strict=True)
        )
        if all(0 <= i < extent for i, extent in zip(there, x.shape[1:-1], strict=True)):
            out[(n, *there)] = change(out[(n, *there)], cols[m])
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


def gathered(x: Any, **conv: Any) -> Any:
    """The columns of a convolution: (pixels of the result, places of the filter, channels)."""
    terms, space = _terms(x.shape, conv), extents(x.shape, **conv)
    padded = np.pad(x, ((0, 0), *((p, p) for _, _, p, _, _, _ in terms), (0, 0)))
    cols: list[Any] = []
    for place in np.ndindex(*(t for _, t, _, _, _, _ in terms)):
        cut = tuple(
            slice(r * d, r * d + s * (n - 1) + 1, s)
            for r, n, (_, _, _, s, d, _) in zip(place, space, terms, strict=True)
        )
        cols.append(padded[(slice(None), *cut)].reshape(-1, x.shape[-1]))
    return np.stack(cols, axis=1)
