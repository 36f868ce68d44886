# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared-memory layouts for Hopper, against addresses as the PTX manual gives them."""

from __future__ import annotations

import itertools

import pytest

import cutlass
from cutlass.utils import LayoutEnum
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.lang.hopper.smem_layouts import SmemLayoutAtomKind, make_smem_layout_atom
from opencute.layout import ComposedLayout
from opencute.lib.hopper.smem_layouts import (
    get_smem_layout_atom,
    make_smem_layout_a,
    make_smem_layout_b,
    make_smem_layout_epi,
)

pytestmark = pytest.mark.t0

ROW, COL = LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR
TYPES = [cutlass.Float16, cutlass.BFloat16, cutlass.Float32, cutlass.Float8E4M3FN, cutlass.Int8]


def byte_address(layout: ComposedLayout, coord: tuple[int, ...], width: int) -> int:
    """Where an element lies, with the swizzle applied to the byte address."""
    return layout.inner(layout.outer(coord) * width // 8)


def manual_address(row: int, column: int, width: int, row_bytes: int) -> int:
    """Where an element of a piece of eight rows lies: the 16-byte word's index in a line of 128
    bytes is combined with the line's number, over as many bits as the row has words."""
    byte = row * row_bytes + column * width // 8
    line, word = byte // 128, byte // 16 % 8
    words = row_bytes // 16
    return line * 128 + (word ^ (line % 8 % words)) * 16 + byte % 16


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("kind", SmemLayoutAtomKind, ids=lambda k: k.name)
def test_pieces_lie_as_the_manual_says(kind: SmemLayoutAtomKind, dtype: type) -> None:
    atom = make_smem_layout_atom(kind, dtype)
    width = dtype.width
    bits = {"INTER": 128, "SW32": 256, "SW64": 512, "SW128": 1024}[kind.name.split("_")[1]]
    n = bits // width
    assert atom.outer.shape == ((8, n) if kind.name.startswith("K") else (n, 8))
    seen = set()
    for row, column in itertools.product(range(8), range(n)):
        coord = (row, column) if kind.name.startswith("K") else (column, row)
        got = byte_address(atom, coord, width)
        assert got == manual_address(row, column, width, bits // 8)
        seen.add(got)
    assert seen == set(range(0, 8 * bits // 8, width // 8))


@pytest.mark.parametrize(
    ("layout", "dtype", "size", "kind"),
    [
        (ROW, cutlass.Float16, 64, "K_SW128"),
        (ROW, cutlass.Float16, 32, "K_SW64"),
        (ROW, cutlass.Float16, 16, "K_SW32"),
        (ROW, cutlass.Float16, 8, "K_INTER"),
        (ROW, cutlass.Float16, 96, "K_SW64"),
        (ROW, cutlass.Float16, 40, "K_INTER"),
        (COL, cutlass.Float16, 128, "MN_SW128"),
        (COL, cutlass.BFloat16, 48, "MN_SW32"),
        (ROW, cutlass.Float8E4M3FN, 128, "K_SW128"),
        (ROW, cutlass.Float8E5M2, 64, "K_SW64"),
        (ROW, cutlass.Float32, 32, "K_SW128"),
        (COL, cutlass.Int8, 32, "MN_SW32"),
    ],
)
def test_widest_swizzle_that_divides(layout: LayoutEnum, dtype: type, size: int, kind: str) -> None:
    assert get_smem_layout_atom(layout, dtype, size) is SmemLayoutAtomKind[kind]


TILES = [(64, 64, 64), (128, 256, 64), (128, 64, 128), (64, 24, 32), (192, 96, 16)]


@pytest.mark.parametrize("dtype", [cutlass.Float16, cutlass.Float8E4M3FN, cutlass.Float32])
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("order", [ROW, COL])
@pytest.mark.parametrize("which", ["a", "b", "epi"])
def test_staged_layouts_place_each_element_once(
    which: str, order: LayoutEnum, tile: tuple[int, int, int], dtype: type
) -> None:
    m, n, k = tile
    make = {
        "a": lambda: (make_smem_layout_a(order, tile, dtype, 2), (m, k)),
        "b": lambda: (make_smem_layout_b(order, tile, dtype, 2), (n, k)),
        "epi": lambda: (make_smem_layout_epi(dtype, order, (m, n), 2), (m, n)),
    }[which]
    major = {"a": (k, m), "b": (k, n), "epi": (n, m)}[which][order is COL]
    if major * dtype.width % 128:
        with pytest.raises(LayoutError, match="16-byte words"):
            make()
        return
    layout, shape = make()
    assert [layout.outer[i].size() for i in range(3)] == [*shape, 2]
    size, stage = dtype.width // 8, shape[0] * shape[1]
    every = [layout.inner(offset * size) for offset in layout.outer.offsets()]
    last = shape[0] - 1, shape[1] - 1
    assert every[stage - 1] == byte_address(layout, (*last, 0), dtype.width)
    assert sorted(every) == list(range(0, stage * 2 * size, size))
    # Each stage is a piece of memory of its own, and starts where a swizzle does.
    assert max(every[:stage]) < stage * size


def test_layouts_of_published_tiles() -> None:
    a = make_smem_layout_a(ROW, (128, 256, 64), cutlass.Float16, 4)
    assert str(a) == "S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))"
    t = make_smem_layout_a(COL, (128, 256, 64), cutlass.Float16, 4)
    assert str(t) == "S<3,4,3> o 0 o ((64,2),(8,8),(1,4)):((1,4096),(64,512),(0,8192))"
    e = make_smem_layout_epi(cutlass.Float16, ROW, (64, 32), 4)
    assert str(e) == "S<2,4,3> o 0 o ((8,8),(32,1),(1,4)):((32,256),(1,0),(0,2048))"


def test_epilogue_with_a_shape_of_its_own() -> None:
    layout = make_smem_layout_epi(
        cutlass.Float16, COL, (64, 32), 3, (64, 32, 3, 2), smem_order=(1, 0, 2, 3)
    )
    assert [layout.outer[i].size() for i in range(4)] == [64, 32, 3, 2]
    every = {
        byte_address(layout, c, 16)
        for c in itertools.product(range(64), range(32), range(3), range(2))
    }
    assert every == set(range(0, 64 * 32 * 3 * 2 * 2, 2))


def test_refused() -> None:
    with pytest.raises(TypeMismatchError, match="LayoutEnum"):
        get_smem_layout_atom("row_major", cutlass.Float16, 64)
    with pytest.raises(TypeMismatchError, match="takes a kind"):
        make_smem_layout_atom("K_SW128", cutlass.Float16)
    with pytest.raises(LayoutError, match="eight rows"):
        make_smem_layout_a(ROW, (60, 64, 64), cutlass.Float16, 2)
    with pytest.raises(ArgumentError, match="do not fill"):
        make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, cutlass.Float6E3M2FN)
