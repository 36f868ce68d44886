# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of pixels, stored, combined and loaded for several blocks, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.im2col_kernels import (
    CHANNELS,
    PIXELS,
    column_layout,
    convolution,
    extents,
    gathered,
    scatter,
    scattered,
    shared_columns,
)
from lang.hopper.tma_kernels import assembled
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    DeadlockError,
    LayoutError,
    OpenCuTeError,
    RaceError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack
from opencute.sim.hopper.tma.reductions import map_reduction

pytestmark = pytest.mark.t1
STORE = cpasync.CopyBulkTensorIm2ColS2GOp
REDUCE = cpasync.CopyReduceBulkTensorIm2ColS2GOp
R = cute.ReductionOp


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


def wrapped(a: Any) -> Any:
    return from_dlpack(a, assumed_align=16)


def images(dtype: Any, n: int = 2, h: int = 5, w: int = 6) -> tuple[Any, Any]:
    """Images in a larger array, and that array."""
    room = np.arange(n * (h + 1) * (w + 2) * (CHANNELS + 16)) % 251
    whole = room.astype(dtype).reshape(n, h + 1, w + 2, CHANNELS + 16)
    return whole[:, :h, :w, :CHANNELS], whole


def columns(pixels: int, dtype: Any) -> Any:
    room = -(-pixels // PIXELS) * PIXELS
    return (np.arange(room * CHANNELS) % 127 + 1).astype(dtype).reshape(room, CHANNELS)


CONVOLUTIONS = [
    {"filter": (1, 1)},
    {"filter": (3, 3), "padding": (1, 1), "place": (1, 1)},
    {"filter": (2, 2), "place": (0, 1)},
    {"filter": (3, 2), "padding": (1, 0), "stride": (2, 1), "place": (1, 1)},
    {"filter": (2, 3), "stride": (1, 2), "dilation": (2, 1), "place": (1, 2)},
]
OUTSIDE = [
    {"filter": (3, 3), "padding": (1, 1)},
    {"filter": (3, 3), "padding": (1, 1), "place": (2, 1)},
    {"filter": (1, 1), "padding": (0, 1)},
]


@pytest.mark.parametrize("conv", CONVOLUTIONS)
@pytest.mark.parametrize("bits", [1, 2])
def test_stores_write_the_pixels_of_a_convolution(bits: int, conv: Any) -> None:
    x, whole = images(np.float16)
    p, q = extents(x.shape, **conv)
    cols = columns(2 * p * q, np.float16)
    want, around = scattered(x, cols, conv, lambda old, new: new), whole.copy()
    around[:, :5, :6, :CHANNELS] = want
    assert (want != x).any()
    scatter(wrapped(x), wrapped(cols), column_layout(bits), STORE(), tuple(conv.items()))
    np.testing.assert_array_equal(whole, around)


@pytest.mark.parametrize(
    ("shape", "conv"),
    [
        ((3, 11), {"filter": (3,), "padding": (1,), "stride": (2,), "place": (1,)}),
        ((2, 3, 4, 5), {"filter": (2, 3, 2), "padding": (0, 1, 0), "stride": (1, 2, 1),
                        "dilation": (1, 1, 2), "place": (1, 1, 1)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("op", [STORE(), REDUCE()])
def test_images_of_one_and_of_three_modes(shape: Any, conv: Any, op: Any) -> None:
    x = (np.arange(np.prod(shape) * CHANNELS) % 127).astype(np.float16).reshape(*shape, CHANNELS)
    cols = columns(shape[0] * int(np.prod(extents(x.shape, **conv))), np.float16)
    want = scattered(x, cols, conv, np.add if op.reduction else lambda old, new: new)
    scatter(wrapped(x), wrapped(cols), column_layout(2), op, tuple(conv.items()))
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize(
    ("kind", "dtype", "change"),
    [
        (R.ADD, np.float16, np.add), (R.MAX, np.float16, np.maximum),
        (R.ADD, np.float32, np.add), (R.MIN, np.int32, np.minimum),
        (R.XOR, np.uint32, np.bitwise_xor),
    ],
)  # fmt: skip
def test_reductions_combine_them(kind: Any, dtype: Any, change: Any) -> None:
    conv = CONVOLUTIONS[3]
    x, whole = images(dtype)
    p, q = extents(x.shape, **conv)
    cols = columns(2 * p * q, dtype)
    around = whole.copy()
    around[:, :5, :6, :CHANNELS] = scattered(x, cols, conv, change)
    layout = column_layout(1, dtype().itemsize * 8)
    scatter(wrapped(x), wrapped(cols), layout, REDUCE(kind), tuple(conv.items()))
    np.testing.assert_array_equal(whole, around)


def test_all_places_together_undo_im2col() -> None:
    """The gradient of a convolution's input: each pixel gets what was made of it."""
    conv = {"filter": (3, 3), "stride": (2, 1)}
    x, _ = images(np.float32, h=7, w=8)  # with room for the padding
    x[:] = 0
    p, q = extents(x.shape, **conv)
    want = x.copy()
    for place in np.ndindex(3, 3):
        there = {**conv, "place": place}
        cols = columns(2 * p * q, np.float32) * (1 + 3 * place[0] + place[1])
        want = scattered(want, cols, there, np.add)
        layout = column_layout(2, 32)
        scatter(wrapped(x), wrapped(cols), layout, REDUCE(), tuple(there.items()))
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [("no fence", RaceError, "OC3406"), ("no wait", RaceError, "OC3403")],
)
def test_missing_order(fault: str, error: Any, code: str) -> None:
    x, _ = images(np.float16)
    with pytest.raises(error) as e:
        scatter(wrapped(x), wrapped(columns(60, np.float16)), column_layout(2), STORE(),
                tuple(CONVOLUTIONS[0].items()), fault)  # fmt: skip
    assert e.value.code == code


def test_reductions_that_there_are_not() -> None:
    with pytest.raises(TypeMismatchError) as e:
        REDUCE("mul")
    assert e.value.code == "OC1601"
    x, _ = images(np.float16)
    with pytest.raises(TypeMismatchError) as e:
        scatter(wrapped(x), wrapped(columns(60, np.float16)), column_layout(2), REDUCE(R.XOR),
                tuple(CONVOLUTIONS[0].items()))  # fmt: skip
    assert e.value.code == "OC1601" and e.value.expected == "add, min, max"
    with pytest.raises(SimulationError) as s:
        map_reduction(None, "xor", "f16")
    assert s.value.code == "OC3065"


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(R.ADD, np.int8), (R.MIN, np.float32), (R.INC, np.int32), (R.ADD, np.int64), (R.OR, np.int16)],
)
@pytest.mark.parametrize("tiles", [False, True])
def test_atoms_refuse_reductions(kind: Any, dtype: Any, tiles: bool) -> None:
    """Where they are made, not when a copy runs; also those that move tiles."""

    @cute.jit
    def make(x: cute.Tensor) -> None:
        flat = cute.make_layout((PIXELS, CHANNELS), stride=(CHANNELS, 1))
        if cutlass.const_expr(tiles):
            op = cpasync.CopyReduceBulkTensorTileS2GOp(kind)
            cpasync.make_tiled_tma_atom(op, x[0, 0, None, None], flat, (PIXELS, CHANNELS))
        else:
            cpasync.make_im2col_tma_atom(REDUCE(kind), x, flat, (PIXELS, CHANNELS), (1, 1))

    with pytest.raises(TypeMismatchError, match="no copy combines elements of") as e:
        make(wrapped(np.zeros((1, 4, 16, CHANNELS), dtype)))
    assert e.value.code == "OC1601"


@pytest.mark.parametrize("op", [STORE(), REDUCE()])
@pytest.mark.parametrize("conv", OUTSIDE)
def test_stores_have_no_padding(conv: Any, op: Any) -> None:
    x, _ = images(np.float16)
    cols = columns(2 * int(np.prod(extents(x.shape, **conv))), np.float16)
    with pytest.raises(LayoutError, match="have no padding") as e:
        scatter(wrapped(x), wrapped(cols), column_layout(2), op, tuple(conv.items()))
    assert e.value.code == "OC1393"


def test_a_store_through_the_map_of_a_load() -> None:
    @cute.kernel
    def kernel(load: cute.CopyAtom, atom: cute.CopyAtom, coords: cute.Tensor, maps: cute.Tensor):
        place = maps.iterator.align(128)
        layout = column_layout(2)
        memory = cutlass.utils.SmemAllocator()
        smem = memory.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
        smem.fill(0.0)
        with cute.arch.elect_one():
            cpasync.copy_tensormap(load, place)
        cute.copy(atom, smem, coords, tma_desc_ptr=place)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)

    @cute.jit
    def host(x: cute.Tensor, maps: cute.Tensor) -> None:
        tile, layout = (PIXELS, CHANNELS), column_layout(2)
        load, _ = cpasync.make_im2col_tma_atom(
            cpasync.CopyBulkTensorIm2ColG2SOp(), x, layout, tile, filter=(3, 3), padding=(1, 1)
        )
        store, coords = cpasync.make_im2col_tma_atom(STORE(), x, layout, tile, filter=(1, 1))
        kernel(load, store, coords, maps).launch(grid=1, block=32)

    raw = np.zeros(32, np.int64)
    maps = raw[-raw.ctypes.data % 128 // 8 :][:16]
    with KNOBS.override(sim_check=False), pytest.raises(SimulationError) as e:
        host(wrapped(images(np.float16)[0]), from_dlpack(maps, assumed_align=8))
    assert e.value.code == "OC3063" and "lower (-1, -1)" in str(e.value)


@pytest.mark.parametrize(
    ("op", "change"),
    [
        (STORE(), {"place": (1, 0)}), (STORE(), {"place": (0,)}),
        (cpasync.CopyBulkTensorIm2ColG2SOp(), {"place": (0, 0)}),
    ],
)  # fmt: skip
def test_places_that_there_are_not(op: Any, change: Any) -> None:
    x, _ = images(np.float16)
    with pytest.raises(ArgumentError) as e:
        scatter(wrapped(x), wrapped(columns(60, np.float16)), column_layout(2), op,
                (("filter", (1, 2)), *change.items()))  # fmt: skip
    assert e.value.code == "OC2944"


@pytest.mark.parametrize("op", [STORE(), REDUCE(), cpasync.CopyBulkTensorIm2ColG2SOp()])
def test_no_atom_of_boxes_is_made_of_them(op: Any) -> None:
    @cute.jit
    def wrong(x: cute.Tensor) -> None:
        cpasync.make_tiled_tma_atom(op, x, cute.make_layout((8, 8)), (8, 8))

    with pytest.raises(TypeMismatchError) as e:
        wrong(wrapped(np.zeros((8, 8), np.float16)))
    assert e.value.code == "OC1226"


@cute.kernel
def misused_kernel(atom: cute.CopyAtom, coords: cute.Tensor, layout: cutlass.Constexpr,
                   what: cutlass.Constexpr):  # fmt: skip
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
    if cutlass.const_expr(what == "barrier"):
        cute.copy(atom, smem, coords, tma_bar_ptr=bar)
    elif cutlass.const_expr(what == "mask"):
        cute.copy(atom, smem, coords, mcast_mask=1)
    elif cutlass.const_expr(what == "prefetch"):
        cute.prefetch(atom, coords)
    else:
        cute.copy(atom, coords, smem)


@pytest.mark.parametrize(
    ("what", "code"),
    [("barrier", "OC1227"), ("mask", "OC1227"), ("prefetch", "OC1227"), ("turned", "OC1236")],
)
def test_operands_of_stores(what: str, code: str) -> None:
    @cute.jit
    def wrong(x: cute.Tensor) -> None:
        layout = column_layout(2)
        atom, coords = cpasync.make_im2col_tma_atom(
            STORE(), x, layout, (PIXELS, CHANNELS), filter=(1, 1)
        )
        misused_kernel(atom, coords, layout, what).launch(grid=1, block=32)

    with pytest.raises(OpenCuTeError) as e:
        wrong(wrapped(images(np.float16)[0]))
    assert e.value.code == code


# ---------------------------------------------------------------------- several blocks
@pytest.mark.parametrize("bits", [1, 2])
def test_blocks_share_columns(bits: int) -> None:
    conv = {"filter": (3, 2), "padding": (1, 1)}
    x = (np.arange(2 * 5 * 6 * CHANNELS) % 2039).astype(np.float16).reshape(2, 5, 6, CHANNELS)
    want = gathered(x, **conv)[:, 2]
    room = -(-len(want) // PIXELS) * PIXELS
    dst = np.full((room, 2, CHANNELS), -1, np.float16)
    shared_columns(wrapped(x), wrapped(dst), column_layout(bits), tuple(conv.items()))
    for block in range(2):
        np.testing.assert_array_equal(dst[: len(want), block], want)


def test_a_block_that_gets_nothing_waits_forever() -> None:
    x, dst = np.zeros((1, 4, 4, CHANNELS), np.float16), np.zeros((16, 2, CHANNELS), np.float16)
    with pytest.raises(DeadlockError) as e:
        shared_columns(wrapped(x), wrapped(dst), column_layout(2), (("filter", (2, 1)),), 1)
    assert e.value.code == "OC3501"


# ---------------------------------------------------------------------- a convolution
@pytest.mark.parametrize(
    "conv",
    [
        {"padding": (1, 1)}, {"padding": (1, 1), "stride": (2, 1)},
        {"padding": (2, 0), "stride": (1, 2), "dilation": (2, 1)},
    ],
)  # fmt: skip
def test_a_convolution_loads_and_stores_columns(conv: Any) -> None:
    rng, taps = np.random.default_rng(0), (3, 3)
    x = rng.integers(-2, 3, (2, 7, 8, 128)).astype(np.float16)
    w = rng.integers(-1, 2, (64, 9 * 128)).astype(np.float16)
    p, q = extents(x.shape, filter=taps, **conv)
    whole = np.full((2, p + 1, q + 3, 72), 7, np.float16)
    cols = gathered(x, filter=taps, **conv).reshape(2 * p * q, -1).astype(np.float32)
    want = whole.copy()
    want[:, :p, :q, :64] = (cols @ w.astype(np.float32).T).reshape(2, p, q, 64)
    y = whole[:, :p, :q, :64]
    convolution(wrapped(x), wrapped(w), wrapped(y), taps, tuple(conv.items()))
    np.testing.assert_array_equal(whole, want)


# ---------------------------------------------------------------------- machine code
def test_machine_code() -> None:
    x, cols = wrapped(images(np.float16)[0]), wrapped(columns(60, np.float16))
    conv = tuple(CONVOLUTIONS[1].items())

    def text(host: Any, *args: Any) -> str:
        made = assembled(cute.compile(host, *args), "sm_90a")
        assert made.cubin
        return made.ptx

    name = "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
    assert text(scatter, x, cols, column_layout(1), STORE(), conv).count(name) == 2
    name = "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.bulk_group"
    assert text(scatter, x, cols, column_layout(2), REDUCE(), conv).count(name) == 1
    dst = wrapped(np.zeros((64, 2, CHANNELS), np.float16))
    ptx = text(shared_columns, x, dst, column_layout(2), (("filter", (3, 3)),))
    name = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
    assert f"{name}.multicast::cluster" in ptx
    assert "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col" in ptx
