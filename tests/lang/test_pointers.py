# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers with an index: alignments that are promised, swizzled places, vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LayoutError, OpenCuTeError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
SMEM = cutlass.AddressSpace.smem


def simulated(host: Any, *args: Any) -> None:
    with KNOBS.override(target="sim", sim_check=True):
        host(*(from_dlpack(a) if isinstance(a, np.ndarray) else a for a in args))


@cute.kernel
def swizzled_kernel(src: cute.Tensor, dst: cute.Tensor, name: cutlass.Constexpr[str]):
    lane = cute.arch.lane_idx()
    smem = cutlass.Array(cutlass.Int32, 256, space=SMEM, alignment=1024)
    swizzle = cutlass.Swizzle.from_name(name)
    at = smem.data_ptr(lane * 8)
    values = (src.iterator.raw_ptr() + lane * 8).load(4, alignment=32)
    at.store_swizzled(values, swizzle, alignment=16)
    for i in cutlass.range_constexpr(4, 8):
        (at + i).apply_swizzle(swizzle).store(src[lane * 8 + i])
    cute.arch.sync_warp()
    for i in cutlass.range_constexpr(8):
        dst[0, lane * 8 + i] = smem[lane * 8 + i]
        dst[1, lane * 8 + i] = (at + i).load_swizzled(swizzle)


@cute.jit
def swizzled_host(src: cute.Tensor, dst: cute.Tensor, name: cutlass.Constexpr[str]):
    swizzled_kernel(src, dst, name).launch(grid=1, block=32)


@pytest.mark.parametrize(("name", "bits"), [("none", 0), ("s32b", 1), ("s64b", 2), ("s128b", 3)])
def test_swizzled_places(name: str, bits: int) -> None:
    src = np.arange(300, dtype=np.int32)
    src = src[-src.ctypes.data % 32 // 4 :][:256]
    dst = np.zeros((2, 256), np.int32)
    with KNOBS.override(target="sim", sim_check=True):
        swizzled_host(from_dlpack(src, assumed_align=32), from_dlpack(dst), name)
    places = np.arange(256) * 4
    moved = places ^ (places >> 3 & ((1 << bits) - 1) << 4)
    assert (dst[1] == src).all() and (dst[0][moved // 4] == src).all()


def test_promises_are_checked() -> None:
    src, dst = np.zeros(300, np.int32), np.zeros((2, 256), np.int32)
    src = src[-src.ctypes.data % 32 // 4 + 1 :][:256]
    with pytest.raises(OpenCuTeError, match="aligned"):
        simulated(swizzled_host, src, dst, "s64b")


def test_swizzles_that_have_no_name() -> None:
    with pytest.raises(LayoutError) as e:
        cutlass.Swizzle.from_name("s256b")
    assert e.value.code == "OC1311"


@cute.kernel
def reduce_kernel(src: cute.Tensor, dst: cute.Tensor, word: cutlass.Constexpr[str]):
    values = src.iterator.raw_ptr().load(4)
    dst[0] = values.reduce(word)
    dst[1] = values.reduce(word, 10)


@cute.jit
def reduce_host(src: cute.Tensor, dst: cute.Tensor, word: cutlass.Constexpr[str]):
    reduce_kernel(src, dst, word).launch(grid=1, block=1)


@pytest.mark.parametrize(("word", "want"), [("add", [-4, 6]), ("max", [7, 10]), ("min", [-9, -9])])
def test_words_of_reductions(word: str, want: list[int]) -> None:
    dst = np.zeros(2, np.int32)
    simulated(reduce_host, np.array([-5, 3, 7, -9], np.int32), dst, word)
    assert dst.tolist() == want


def test_a_word_of_no_reduction() -> None:
    with pytest.raises(TypeMismatchError) as e:
        simulated(reduce_host, np.zeros(4, np.int32), np.zeros(2, np.int32), "sum")
    assert e.value.code == "OC1223"


@cute.kernel
def fine_swizzle_kernel(dst: cute.Tensor, base: cutlass.Constexpr[int]):
    smem = cutlass.Array(cutlass.Int8, 256, space=SMEM, alignment=1024)
    at = smem.data_ptr(0).swizzled(cute.make_swizzle(1, base, 3))
    words = cute.recast_ptr(at, dtype=cutlass.Int32)
    words.raw_ptr().store(cutlass.Int32(7))
    dst[0] = words.raw_ptr().load()


@cute.jit
def fine_swizzle(dst: cute.Tensor, base: cutlass.Constexpr[int]):
    fine_swizzle_kernel(dst, base).launch(grid=1, block=1)


def test_swizzles_keep_elements_whole() -> None:
    dst = np.zeros(1, np.int32)
    simulated(fine_swizzle, dst, 2)
    assert dst[0] == 7
    for base in (0, 1):
        with pytest.raises(LayoutError, match="OC1394") as e:
            simulated(fine_swizzle, dst, base)
        assert f"make_swizzle(b, {base + 2}, s)" in str(e.value)
