# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps: which tiles there are, and which tensors they fit."""

from __future__ import annotations

from typing import Any

import pytest

from opencute.arch.tma import TMA_SWIZZLES, TMA_TYPES, Tile, map_faults, swizzle_word
from opencute.base.errors import ArgumentError

pytestmark = pytest.mark.t0


def test_bytes_of_tiles() -> None:
    assert Tile("f16", (64, 128), swizzle="128b").bytes == 16384
    assert Tile("f32", (8, 3, 5), (1, 2, 1)).shape == (8, 2, 5)
    im2col = Tile("f16", (), lower=(-1, -1), upper=(1, 1), channels=64, pixels=128)
    assert im2col.rank == 4 and im2col.shape == (64, 128) and im2col.bytes == 16384


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({}, {"element": "f17"}),
        ({"box": (64,)}, {"box": ()}),
        ({"box": (256, 256)}, {"box": (8, 257)}),
        ({"box": (64, 0x1)}, {"box": (64, 0)}),
        ({"box": (8,)}, {"box": (7,)}),
        ({"box": (64,), "swizzle": "128b"}, {"box": (128,), "swizzle": "128b"}),
        ({"box": (16,), "swizzle": "32b"}, {"box": (32,), "swizzle": "32b"}),
        ({"steps": (1, 8)}, {"steps": (1, 9)}),
        ({"oob": "nan"}, {"oob": "nan", "element": "u16"}),
        ({"box": (8, 8, 8), "interleave": "16b"}, {"interleave": "16b"}),
    ],
)
def test_tiles_that_the_hardware_has(good: dict[str, Any], bad: dict[str, Any]) -> None:
    plain = {"element": "f16", "box": (64, 8)}
    assert Tile(**plain | good).bytes > 0  # type: ignore[arg-type]
    with pytest.raises(ArgumentError) as e:
        Tile(**plain | bad)  # type: ignore[arg-type]
    assert e.value.code == "OC2930"


@pytest.mark.parametrize(
    ("address", "dims", "strides", "faults"),
    [
        (4096, (64, 64), (128,), []),
        (4104, (64, 64), (128,), [0]),
        (4096, (0, 64), (128,), [1]),
        (4096, (64, 1 << 33), (128,), [2]),
        (4096, (64, 64), (130,), [9]),
        (4096, (64, 64), (1 << 40,), [9]),
    ],
)
def test_tensors_that_a_map_fits(address: int, dims: Any, strides: Any, faults: Any) -> None:
    found = map_faults(Tile("f16", (8, 8)), address, dims, strides)
    assert [n for n, _ in found] == faults


def test_swizzles_permute_their_rows() -> None:
    for s in TMA_SWIZZLES.values():
        places = [s.address(p) for p in range(4096)]
        assert sorted(places) == list(range(4096))
        assert swizzle_word(s.swizzle) == s.name
    assert TMA_SWIZZLES["128b"].address(3 * 128 + 16) == 3 * 128 + (16 ^ 48)
    assert swizzle_word((3, 3, 3)) is None


def test_types_are_numbered_as_the_driver_does() -> None:
    assert (TMA_TYPES["u8"].code, TMA_TYPES["bf16"].code, TMA_TYPES["tf32"].code) == (0, 9, 11)
