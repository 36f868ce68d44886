# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of products of warpgroups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.arch.wgmma import wgmma_atom, wgmma_names
from opencute.dialects import cute
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.hopper import wgmma
from opencute.ir.core import Value
from opencute.ir.types import F16, F32, I1, I32, I64, Type, VectorType

__all__ = ["PRODUCTS"]

Arg = Callable[[Type], Value]


def _tile(source: str) -> Any:
    def build(arg: Arg) -> object:
        d = cute.Tile(cute.alloca(F32, 32), LayoutAttr((16, 2, 1), (1, 16, 0)))
        a = cute.Tile(cute.alloca(F16, 48), LayoutAttr((8, 2, 3), (1, 8, 16)))
        rows = LayoutAttr((1, 2, 3), (0, 512, 2))
        left = (a.ptr, a.layout) if source == "rs" else (arg(I32), rows)
        return wgmma.cute_wgmma(
            f"wgmma.m64n32k16.f32.f16.f16.{source}", d, *left, arg(I32),
            LayoutAttr((1, 1, 3), (0, 0, 2)), arg(I1), majors=("k", "mn"), highs=(64, 1 << 31),
        )  # fmt: skip

    return build


def _product(name: str) -> Any:
    atom = wgmma_atom(name)
    left = wgmma.a_type(atom) if atom.a_in_registers else I64
    return lambda arg: wgmma.wgmma(
        name, arg(wgmma.accumulator_type(atom)), [(arg(left), arg(I64), arg(I1))] * 2
    )


PRODUCTS: dict[str, list[Any]] = {
    "cute.wgmma": [_tile("ss"), _tile("rs")],
    "ptx.wgmma": [_product(name) for name in list(wgmma_names())[::37]],
    "ptx.wgmma_commit": [lambda arg: wgmma.commit()],
    "ptx.wgmma_fence": [lambda arg: wgmma.fence(), lambda arg: wgmma.fence([arg(F32)])],
    "ptx.wgmma_wait": [
        lambda arg: wgmma.wait(1),
        lambda arg: wgmma.wait(0, [arg(VectorType(4, F32)), arg(VectorType(2, I32))]),
    ],
}
