# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of pixels, loaded as convolutions read them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.im2col_kernels import CHANNELS, PIXELS, gathered
from lang.hopper.im2col_kernels import column_layout as layout
from lang.hopper.tma_kernels import assembled
from opencute import cute, utils
from opencute.base.errors import ArgumentError, LayoutError, SimulationError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


@cute.kernel
def columns_kernel(
    atom: cute.CopyAtom, coords: cute.Tensor, dst: cute.Tensor, smem_layout: cutlass.Constexpr,
    more: cutlass.Constexpr,
):  # fmt: skip
    """A block for each tile of pixels and place of the filter."""
    lane, (bx, by, _) = cute.arch.lane_idx(), cute.arch.block_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(
        cutlass.Float16, smem_layout.outer, 1024, swizzle=smem_layout.inner
    )
    if lane == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, PIXELS * CHANNELS * 2 + more)
    cute.arch.sync_warp()
    _, p, q, _, _, s = coords.shape
    m = bx * PIXELS
    first = (m // (p * q), m // q % p, m % q, 0, by // s, by % s)
    cute.copy(atom, cute.domain_offset(first, coords), smem, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    for i in range(PIXELS):
        dst[m + i, by, lane] = smem[i, lane]


@cute.jit
def columns(
    x: cute.Tensor, dst: cute.Tensor, smem_layout: cutlass.Constexpr, conv: cutlass.Constexpr,
    more: cutlass.Constexpr = 0,
):  # fmt: skip
    options = dict(conv)
    atom, coords = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColG2SOp(), x, smem_layout, (PIXELS, CHANNELS), **options
    )
    places = options["filter"][0] * options["filter"][1]
    grid = ((dst.shape[0] + PIXELS - 1) // PIXELS, places, 1)
    columns_kernel(atom, coords, dst, smem_layout, more).launch(grid=grid, block=(32, 1, 1))


def images(n: int, h: int, w: int) -> Any:
    return (np.arange(n * h * w * CHANNELS) % 2039).astype(np.float16).reshape(n, h, w, CHANNELS)


CONVOLUTIONS = [
    {"filter": (3, 3), "padding": (1, 1)},
    {"filter": (3, 2), "padding": (2, 0), "stride": (2, 1)},
    {"filter": (2, 3), "stride": (1, 2), "dilation": (2, 1)},
    {"filter": (1, 1)},
]


def run(x: Any, bits: int, conv: Any, more: int = 0) -> tuple[Any, Any]:
    want = gathered(x, **conv)
    room = -(-want.shape[0] // PIXELS) * PIXELS
    dst = np.full((room, *want.shape[1:]), -1, np.float16)
    columns(*(from_dlpack(a, assumed_align=16) for a in (x, dst)), layout(bits),
            tuple(conv.items()), more)  # fmt: skip
    return dst, want


@pytest.mark.parametrize("conv", CONVOLUTIONS)
@pytest.mark.parametrize("bits", [1, 2])
def test_columns_are_those_of_the_convolution(bits: int, conv: Any) -> None:
    dst, want = run(images(2, 5, 6), bits, conv)
    np.testing.assert_array_equal(dst[: len(want)], want)
    assert (dst[len(want) :] == 0).all()  # images that there are not


def test_bytes_are_counted() -> None:
    with pytest.raises(SimulationError, match="mbarrier"):
        run(images(1, 4, 4), 2, CONVOLUTIONS[3], 16)


@pytest.mark.parametrize(
    ("error", "code", "change", "shape"),
    [
        (ArgumentError, "OC2944", {"padding": (1,)}, (1, 4, 4)),
        (ArgumentError, "OC2944", {"stride": (0, 1)}, (1, 4, 4)),
        (LayoutError, "OC1329", {"padding": (200, 0)}, (1, 4, 4)),
    ],
)
def test_maps_that_do_not_exist(error: Any, code: str, change: Any, shape: Any) -> None:
    conv = tuple({**CONVOLUTIONS[3], **change}.items())
    x, dst = images(*shape), np.zeros((16, 1, 32), np.float16)
    with pytest.raises(error) as e:
        columns(*(from_dlpack(a, assumed_align=16) for a in (x, dst)), layout(2), conv)
    assert e.value.code == code


def make_atom(tile: Any = (PIXELS, CHANNELS), **conv: Any) -> Any:
    shapes: list[Any] = []

    @cute.jit
    def make(x: cute.Tensor) -> None:
        op = cpasync.CopyBulkTensorIm2ColG2SOp()
        shapes.append(cpasync.make_im2col_tma_atom(op, x, layout(2), tile, **conv)[1].shape)

    make(from_dlpack(images(1, 7, 6), assumed_align=16))
    return shapes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"filter": 3}, {"filter": "33"}, {"filter": {2: 1, 3: 1}}, {"filter": None},
        {"filter": (2, None)}, {"filter": (2.0, 2)}, {"filter": (True, 2)}, {"filter": ((2, 2), 2)},
        {"padding": 1}, {"padding": (0.5, 0)}, {"stride": 2}, {"stride": (1.5, 1)},
        {"dilation": (1, "1")}, {"tile": PIXELS}, {"tile": (PIXELS,)}, {"tile": None},
        {"tile": (PIXELS, CHANNELS, 1)}, {"tile": (float(PIXELS), CHANNELS)},
    ],
)  # fmt: skip
def test_arguments_that_are_no_integers(change: Any) -> None:
    with pytest.raises(ArgumentError, match="OC2944") as e:
        make_atom(**{"filter": (2, 2), **change})
    name = next(iter(change)).replace("tile", "cta_tiler")
    assert isinstance(e.value, TypeError) and f"{name} needs an integer for" in str(e.value)
    assert "a tuple of 2 integers, such as (1, 1)" in str(e.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"filter": (0, 3)}, "expected: at least 1"),
        ({"padding": (0, -1)}, "expected: at least 0"),
        ({"stride": (9, 1)}, "expected: 1 to 8"),
        ({"dilation": (1, 0)}, "expected: at least 1"),
        ({"tile": (-16, 32)}, "expected: at least 1"),
        ({"place": (0, 0)}, "place is for stores"),
        ({"filter": (9, 2)}, "the filter is larger than the images"),
        ({"filter": (8, 2)}, "the filter is larger than the images"),
        ({"dilation": (1, 6)}, "the filter is larger than the images"),
    ],
)
def test_numbers_out_of_range(change: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match="OC2944") as e:
        make_atom(**{"filter": (2, 2), **change})
    assert said in str(e.value)


def test_integers_of_any_kind() -> None:
    assert make_atom(filter=[np.int64(7), cutlass.Int32(2)]) == (1, 1, 5, CHANNELS, 7, 2)
    assert make_atom(filter=(9, 3), padding=(1, 0), stride=(8, 1))[:3] == (1, 1, 4)


@cute.kernel
def partitioned_kernel(atom: cute.CopyAtom, coords: cute.Tensor, smem_layout: cutlass.Constexpr):
    smem = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, smem_layout.outer, 1024, swizzle=smem_layout.inner
    )
    cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2), cute.group_modes(coords, 0, 4)
    )


def test_columns_are_not_partitioned() -> None:
    @cute.jit
    def host(x: cute.Tensor, op: cutlass.Constexpr) -> None:
        atom, coords = cpasync.make_im2col_tma_atom(
            op, x, layout(2), (PIXELS, CHANNELS), filter=(1, 1)
        )
        partitioned_kernel(atom, coords, layout(2)).launch(grid=1, block=32)

    for op, said in (
        (cpasync.CopyBulkTensorIm2ColG2SOp(), "cute.copy(atom, cute.domain_offset((n, p, q, c, r"),
        (cpasync.CopyBulkTensorIm2ColS2GOp(), "cute.copy(atom, smem, cute.domain_offset((n, p, q,"),
    ):
        with pytest.raises(TypeMismatchError, match="OC1620") as e:
            host(from_dlpack(images(1, 4, 4), assumed_align=16), op)
        assert said in str(e.value)


def test_tiles_that_are_no_columns() -> None:
    x, dst = images(1, 4, 4), np.zeros((16, 1, 32), np.float16)
    x_, dst_ = (from_dlpack(a, assumed_align=16) for a in (x, dst))
    conv = tuple(CONVOLUTIONS[3].items())
    other = cute.make_composed_layout(
        cute.make_swizzle(2, 4, 3), 0, cute.make_layout((PIXELS, CHANNELS))
    )
    with pytest.raises(LayoutError) as e:
        columns(x_, dst_, other, conv)
    assert e.value.code == "OC1391"
    with pytest.raises(LayoutError) as e:
        columns(from_dlpack(images(1, 4, 4).transpose(0, 3, 1, 2)), dst_, layout(2), conv)
    assert e.value.code == "OC1392"


def test_other_operations() -> None:
    x, dst = images(1, 4, 4), np.zeros((16, 1, 32), np.float16)

    @cute.jit
    def wrong(x: cute.Tensor) -> None:
        cpasync.make_im2col_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), x, layout(2), (PIXELS, CHANNELS), filter=(1, 1)
        )

    with pytest.raises(TypeMismatchError) as e:
        wrong(from_dlpack(x, assumed_align=16))
    assert e.value.code == "OC1617" and dst.any() == 0


def test_machine_code() -> None:
    x, dst = images(1, 4, 4), np.zeros((16, 9, 32), np.float16)
    made = assembled(
        cute.compile(columns, *(from_dlpack(a, assumed_align=16) for a in (x, dst)), layout(1),
                     tuple(CONVOLUTIONS[0].items())),
        "sm_90a",
    )  # fmt: skip
    assert made.cubin
    name = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
    assert made.ptx.count(name) == 2  # 32 channels in rows of 16
