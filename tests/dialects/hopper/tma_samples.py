# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of the operations on tensor maps and of bulk copies; see `dialects.samples`."""

from __future__ import annotations

from collections.abc import Callable

from opencute.arch.tma import Tile
from opencute.dialects import cute
from opencute.dialects.hopper import bulk, tensor_maps, tma
from opencute.ir.core import Value
from opencute.ir.types import F16, I8, I16, I32, I64, Type

__all__ = ["TMA_SAMPLES"]

Arg = Callable[[Type], Value]
GMEM, SMEM = cute.PtrType(F16, "gmem", 16), cute.PtrType(F16, "smem", 128)
BAR, MAP = cute.PtrType(I64, "smem", 8), cute.PtrType(I8, "generic", 64)
IM2COL = Tile("f16", (), lower=(-1,), upper=(2,), channels=8, pixels=4)


def _descriptor(arg: Arg) -> object:
    dims, strides = [arg(I64) for _ in range(2)], [arg(I64)]
    return tensor_maps.descriptor(arg(GMEM), dims, strides, Tile("f16", (64, 8), swizzle="128b"))


def _im2col(arg: Arg) -> object:
    dims, strides = [arg(I64) for _ in range(3)], [arg(I64) for _ in range(2)]
    return tensor_maps.descriptor(arg(GMEM), dims, strides, IM2COL)


def _load(arg: Arg) -> object:
    return tma.tma_load(arg(SMEM), arg(MAP), arg(BAR), [arg(I32), arg(I32)])


def _load_all(arg: Arg) -> object:
    coords = [arg(I32) for _ in range(3)]
    return tma.tma_load(
        arg(SMEM), arg(GMEM), arg(BAR), coords, offsets=[arg(I16)], mask=arg(I16), cache=arg(I64),
        mode="im2col",
    )  # fmt: skip


TMA_SAMPLES: dict[str, tuple[Callable[[Arg], object], ...]] = {
    "cute.tma_descriptor": (_descriptor, _im2col),
    "cute.tma_descriptor_address": (
        lambda arg: tensor_maps.descriptor_address(arg(tensor_maps.TmaDescType())),
    ),
    "ptx.prefetch_tensormap": (lambda arg: tensor_maps.prefetch_tensormap(arg(MAP)),),
    "ptx.tensormap_replace": tuple(
        lambda arg, f=f, t=t: tensor_maps.replace_tensormap(arg(GMEM), f, arg(t))
        for f, (_, t) in tensor_maps.FIELDS.items()
    ),
    "ptx.tensormap_copy_fence": (
        lambda arg: tensor_maps.copy_fence_tensormap(arg(GMEM), arg(SMEM)),
    ),
    "ptx.tma_load": (_load, _load_all),
    "ptx.tma_store": (
        lambda arg: tma.tma_store(arg(MAP), arg(SMEM), [arg(I32)]),
        lambda arg: tma.tma_store(arg(MAP), arg(SMEM), [arg(I32)] * 3, mode="im2col"),
    ),
    "ptx.tma_reduce": tuple(
        lambda arg, w=w: tma.tma_reduce(w, arg(MAP), arg(SMEM), [arg(I32)])
        for w in tma.REDUCTIONS
    ),
    "ptx.tma_prefetch": (
        lambda arg: tma.tma_prefetch(arg(MAP), [arg(I32)], cache=arg(I64)),
    ),
    "ptx.bulk_copy": (
        lambda arg: bulk.bulk_copy(arg(SMEM), arg(GMEM), arg(I32), arg(BAR), mask=arg(I16)),
        lambda arg: bulk.bulk_copy(arg(GMEM), arg(SMEM), arg(I32), cache=arg(I64)),
    ),
    "ptx.bulk_reduce": (
        lambda arg: bulk.bulk_reduce("add", "f16", arg(GMEM), arg(SMEM), arg(I32)),
    ),
    "ptx.bulk_prefetch": (lambda arg: bulk.bulk_prefetch(arg(GMEM), arg(I32)),),
    "ptx.bulk_commit": (lambda arg: bulk.bulk_commit(),),
    "ptx.bulk_wait": (
        lambda arg: bulk.bulk_wait(0), lambda arg: bulk.bulk_wait(3, read=True),
    ),
}  # fmt: skip
