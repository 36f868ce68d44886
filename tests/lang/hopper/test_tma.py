# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of tiles by tensor maps against NumPy: shapes, majors, swizzles, types; refusals."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.tma_kernels import assembled, copy, tensor
from opencute import cute
from opencute.base.errors import ArgumentError, LayoutError, OpenCuTeError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


def numbers(shape: Any, dtype: Any = np.float16) -> Any:
    count = int(np.prod(shape))
    return (np.arange(count) % 1021).astype(dtype).reshape(shape)


def row_major(*tile: int) -> Any:
    return cute.make_ordered_layout(tile, order=tuple(range(len(tile)))[::-1])


def swizzled(bits: int, *tile: int, width: int = 16) -> Any:
    """Rows of a swizzle's width, one block of columns after the other."""
    span = (16 << bits) * 8 // width
    atom = cute.make_layout((8, span), stride=(span, 1))
    outer = cute.tile_to_shape(atom, tile, (0, 1))
    return cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, outer)


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((256,), (64,)),
        ((200,), (64,)),
        ((128, 128), (64, 64)),
        ((100, 72), (64, 32)),
        ((5, 8), (8, 8)),
        ((30, 20, 16), (8, 4, 8)),
        ((7, 3, 2, 64), (4, 2, 2, 64)),
        ((3, 2, 2, 3, 16), (2, 2, 2, 3, 8)),
    ],
)
def test_what_is_copied_is_what_was_there(shape: Any, tile: Any) -> None:
    src, dst = numbers(shape), np.full(shape, -1, np.float16)
    copy(tensor(src), tensor(dst), None, row_major(*tile), tile)
    covered = tuple(slice(0, None) for _ in shape[:3]) + tuple(slice(0, n) for n in tile[3:])
    np.testing.assert_array_equal(dst[covered], src[covered])


@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.uint8, np.uint16, np.int32, np.float32, np.float64, np.int64,
     ml_dtypes.bfloat16],
)  # fmt: skip
def test_types(dtype: Any) -> None:
    src, dst = numbers((48, 64), dtype), np.zeros((48, 64), dtype)
    copy(tensor(src), tensor(dst), None, row_major(32, 32), (32, 32))
    np.testing.assert_array_equal(dst, src)


def test_floats_of_eight_bits_and_tf32() -> None:
    src = np.arange(256, dtype=np.uint8).reshape(16, 16)
    dst = np.zeros_like(src)
    f8 = cutlass.Float8E4M3FN
    copy(tensor(src, f8), tensor(dst, f8), None, row_major(16, 16), (16, 16))
    np.testing.assert_array_equal(dst, src)
    a, b = numbers((16, 16), np.float32), np.zeros((16, 16), np.float32)
    copy(tensor(a), tensor(b), None, row_major(16, 16), (16, 16), None, cutlass.TFloat32)
    np.testing.assert_array_equal(a, b)


def test_columns() -> None:
    src, dst = (np.asfortranarray(x) for x in (numbers((96, 40)), np.zeros((96, 40), np.float16)))
    copy(tensor(src), tensor(dst), None, cute.make_layout((32, 8)), (32, 8))
    np.testing.assert_array_equal(dst, src)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_swizzles_change_address_bits(bits: int) -> None:
    """Byte p of a tile goes to p ^ (bits of p above)."""
    tile = (16, 64)
    src, dst = numbers((32, 128)), np.zeros((32, 128), np.float16)
    raw = np.zeros(16 * 64, np.float16)
    copy(tensor(src), tensor(dst), tensor(raw), swizzled(bits, *tile), tile)
    np.testing.assert_array_equal(dst, src)
    span = 8 << bits
    blocks = np.concatenate([src[:16, i : i + span].ravel() for i in range(0, 64, span)])
    place = np.arange(blocks.size) * 2
    place ^= (place >> 3) & (((1 << bits) - 1) << 4)
    want = np.zeros_like(blocks)
    want[place // 2] = blocks
    np.testing.assert_array_equal(raw, want)


def test_what_is_outside_of_the_tensor_is_zero() -> None:
    src, dst = numbers((10, 24)) + 1, np.zeros((10, 24), np.float16)
    raw = np.full(16 * 32, 7, np.float16)
    copy(tensor(src), tensor(dst), tensor(raw), row_major(16, 32), (16, 32))
    want = np.zeros((16, 32), np.float16)
    want[:10, :24] = src
    np.testing.assert_array_equal(raw.reshape(16, 32), want)
    np.testing.assert_array_equal(dst, src)


@pytest.mark.parametrize(
    ("kind", "dtype", "change"),
    [
        ("ADD", np.float16, np.add),
        ("ADD", np.float32, np.add),
        ("ADD", ml_dtypes.bfloat16, np.add),
        ("MAX", np.int32, np.maximum),
        ("MIN", np.uint32, np.minimum),
        ("XOR", np.int64, np.bitwise_xor),
    ],
)
def test_reductions(kind: str, dtype: Any, change: Any) -> None:
    src = numbers((20, 32), dtype)
    dst = numbers((20, 32), dtype)[::-1].copy()
    want = change(dst, src)
    op = cpasync.CopyReduceBulkTensorTileS2GOp(cute.ReductionOp[kind])
    copy(tensor(src), tensor(dst), None, row_major(16, 16), (16, 16), op)
    np.testing.assert_array_equal(dst, want)


@pytest.mark.parametrize("seed", [1, 2])
def test_other_orders(seed: int) -> None:
    src, dst = numbers((64, 64)), np.zeros((64, 64), np.float16)
    with KNOBS.override(sim_seed=seed):
        copy(tensor(src), tensor(dst), None, row_major(32, 32), (32, 32))
    np.testing.assert_array_equal(dst, src)


# ---------------------------------------------------------------------- refusals
def refused(kind: type[OpenCuTeError], code: str, *args: Any) -> str:
    with pytest.raises(kind) as e:
        copy(*args)
    assert e.value.code == code, e.value
    return str(e.value)


def test_tiles_that_no_map_has() -> None:
    a = tensor(numbers((64, 64)))
    refused(LayoutError, "OC1322", a, a, None, cute.make_layout((32, 32)), (32, 32))
    refused(LayoutError, "OC1328", a, a, None, row_major(32, 16), (32, 32))
    text = refused(LayoutError, "OC1329", a, a, None, row_major(32, 4), (32, 4))
    assert "no multiple of 16" in text
    odd = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, row_major(8, 64))
    refused(LayoutError, "OC1326", a, a, None, odd, (8, 64))
    wide = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, row_major(8, 64))
    assert "no more than the 64" in refused(TypeMismatchError, "OC1238", a, a, None, wide, (8, 64))


def test_shared_memory_of_another_type() -> None:
    layout = swizzled(3, 8, 64)
    a = numbers((16, 64), np.int16)
    half, wide = tensor(a.view(np.float16)), tensor(numbers((16, 64), np.float32))
    # What was loaded as Int16 is stored as Float16, of the same width.
    text = refused(TypeMismatchError, "OC1238", tensor(a), half, None, layout, (8, 64))
    assert "Int16" in text and "Float16" in text
    text = refused(TypeMismatchError, "OC1238", wide, wide, None, layout, (8, 64))
    assert "Float32" in text and "16 bits" in text


def test_tensors_that_no_map_fits() -> None:
    whole = numbers((64, 72))
    a = whole[:, :68].copy()  # rows of 136 bytes
    text = refused(
        ArgumentError, "OC2931", tensor(a), tensor(whole), None, row_major(32, 32), (32, 32)
    )
    assert "stride of dimension 1" in text and "rows of a multiple of 8 elements" in text
    line, flat = cute.make_layout(64), whole.reshape(-1)
    shifted = cute.runtime.from_dlpack(flat[4:-4], assumed_align=2).mark_layout_dynamic()
    text = refused(ArgumentError, "OC2931", shifted, tensor(flat), None, line, (64,))
    assert "begin at a multiple of 8 elements" in text


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_120a"])
def test_machine_code(arch: str) -> None:
    a, b = (tensor(numbers((64, 64))) for _ in range(2))
    compiled = cute.compile(copy, a, b, None, swizzled(3, 32, 64), (32, 64))
    made = assembled(compiled, arch)
    assert made.cubin
    for part in (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
    ):
        assert made.ptx.count(part) == 1
