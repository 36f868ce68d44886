# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tensor maps and bulk copies refuse: each broken operation beside one that passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from opencute.arch.tma import Tile
from opencute.base.errors import VerificationError
from opencute.dialects import builtin, cute, func
from opencute.dialects.hopper import bulk, tensor_maps, tma
from opencute.ir.builder import build, insert_at
from opencute.ir.core import Block, Value
from opencute.ir.declare import declaration_of
from opencute.ir.parser import parse
from opencute.ir.types import F16, F32, I8, I16, I32, I64, Type
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0
Arg = Callable[[Type], Value]
GMEM, SMEM, BAR = (cute.PtrType(F16, s, 128) for s in ("gmem", "smem", "smem"))
FAR, FARBAR = cute.PtrType(F16, "dsmem", 16), cute.PtrType(I64, "dsmem", 8)
MAP = cute.PtrType(I8, "generic", 64)
LOOSE = cute.PtrType(F16, "smem", 8)
SWIZZLED = cute.PtrType(F16, "gmem", 128, (3, 4, 3))
TILE = Tile("f16", (64, 8))


def _check(make: Callable[[Arg], object]) -> None:
    block = Block()
    with insert_at(block):
        make(block.add_argument)
    for op in block.ops:
        declaration_of(op).check(op)
        op.verify()


def _load(a: Arg, dst: Type = SMEM, coords: Sequence[Type] = (I32, I32), **more: object) -> object:
    return tma.tma_load(a(dst), a(MAP), a(BAR), [a(t) for t in coords], **more)  # type: ignore[arg-type]


CASES: list[tuple[str, Callable[[Arg], object], Callable[[Arg], object]]] = [
    (
        "OC1434",
        lambda a: tensor_maps.descriptor(a(GMEM), [a(I64), a(I64)], [a(I64)], TILE),
        lambda a: tensor_maps.descriptor(a(GMEM), [a(I64), a(I64)], [a(I64), a(I64)], TILE),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.descriptor(a(GMEM), [a(I64), a(I64)], [a(I64)], TILE),
        lambda a: tensor_maps.descriptor(a(SMEM), [a(I64), a(I64)], [a(I64)], TILE),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.prefetch_tensormap(a(MAP)),
        lambda a: tensor_maps.prefetch_tensormap(a(SMEM)),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.prefetch_tensormap(a(GMEM)),
        lambda a: tensor_maps.prefetch_tensormap(a(SWIZZLED)),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.replace_tensormap(a(SMEM), "global_dim", a(I32), 4),
        lambda a: tensor_maps.replace_tensormap(a(SMEM), "global_dim", a(I32), 5),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.replace_tensormap(a(SMEM), "global_address", a(I64)),
        lambda a: tensor_maps.replace_tensormap(a(SMEM), "global_address", a(I32)),
    ),
    (
        "OC1434",
        lambda a: tensor_maps.copy_fence_tensormap(a(GMEM), a(SMEM)),
        lambda a: tensor_maps.copy_fence_tensormap(a(SMEM), a(SMEM)),
    ),
    ("OC1435", _load, lambda a: _load(a, GMEM)),
    ("OC1435", _load, lambda a: _load(a, LOOSE)),
    ("OC1435", lambda a: _load(a, SMEM, [I32] * 5), lambda a: _load(a, SMEM, [I32] * 6)),
    ("OC1435", lambda a: _load(a, SMEM, [I32]), lambda a: _load(a, SMEM, [I64])),
    ("OC1435", lambda a: _load(a, mask=a(I16)), lambda a: _load(a, mask=a(I32))),
    ("OC1435", lambda a: _load(a, cache=a(I64)), lambda a: _load(a, cache=a(I32))),
    (
        "OC1435",
        lambda a: _load(a, SMEM, [I32] * 4, offsets=[a(I16), a(I16)], mode="im2col"),
        lambda a: _load(a, SMEM, [I32] * 4, offsets=[a(I16)], mode="im2col"),
    ),
    ("OC1462", _load, lambda a: _load(a, mode="stripe")),
    (
        "OC1462",
        lambda a: tma.tma_reduce("add", a(MAP), a(SMEM), [a(I32)]),
        lambda a: tma.tma_reduce("mul", a(MAP), a(SMEM), [a(I32)]),
    ),
    (
        "OC1435",
        lambda a: tma.tma_prefetch(a(MAP), [a(I32)]),
        lambda a: tma.tma_prefetch(a(MAP), []),
    ),
    (
        "OC1435",
        lambda a: tma.tma_store(a(MAP), a(SMEM), [a(I32)]),
        lambda a: tma.tma_store(a(MAP), a(GMEM), [a(I32)]),
    ),
    (
        "OC1436",
        lambda a: bulk.bulk_copy(a(SMEM), a(GMEM), a(I32), a(BAR)),
        lambda a: bulk.bulk_copy(a(SMEM), a(GMEM), a(I32)),
    ),
    (
        "OC1436",
        lambda a: bulk.bulk_copy(a(GMEM), a(SMEM), a(I32)),
        lambda a: bulk.bulk_copy(a(GMEM), a(GMEM), a(I32)),
    ),
    (
        "OC1436",
        lambda a: bulk.bulk_copy(a(FAR), a(SMEM), a(I32), a(FARBAR)),
        lambda a: bulk.bulk_copy(a(FAR), a(LOOSE), a(I32), a(FARBAR)),
    ),
    (
        "OC1436",
        lambda a: bulk.bulk_copy(a(GMEM), a(SMEM), a(I32)),
        lambda a: bulk.bulk_copy(a(GMEM), a(SMEM), a(I64)),
    ),
    (
        "OC1462",
        lambda a: bulk.bulk_reduce("add", "f16", a(GMEM), a(SMEM), a(I32)),
        lambda a: bulk.bulk_reduce("xor", "f16", a(GMEM), a(SMEM), a(I32)),
    ),
    (
        "OC1436",
        lambda a: bulk.bulk_prefetch(a(GMEM), a(I32)),
        lambda a: bulk.bulk_prefetch(a(SMEM), a(I32)),
    ),
    ("OC1436", lambda a: bulk.bulk_wait(0), lambda a: bulk.bulk_wait(-1)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_broken_beside_whole(number: int) -> None:
    code, good, bad = CASES[number]
    _check(good)
    with pytest.raises(VerificationError) as e:
        _check(bad)
    assert e.value.code == code


def test_tiles_come_back_from_attributes() -> None:
    block = Block()
    tiles = (
        Tile("bf16", (8, 4, 2), (1, 2, 1), "32b", "none", "256b", "nan"),
        Tile("f32", (), lower=(-1, 2), upper=(0, 3), channels=4, pixels=7),
    )
    with insert_at(block):
        for tile in tiles:
            n = [block.add_argument(I64) for _ in range(tile.rank)]
            op = tensor_maps.descriptor(block.add_argument(GMEM), n, n[1:], tile).op
            assert isinstance(op, tensor_maps.DescriptorOp) and tensor_maps.tile_of(op) == tile


def test_text_is_read_back() -> None:
    module, body = builtin.module()
    f32 = cute.PtrType(F32, "gmem", 16)
    with insert_at(body):
        _, block = func.func("f", [f32, I64, I64, SMEM, I32, MAP, BAR])
        with insert_at(block):
            p, n, d, s, x, m, bar = block.args
            map_ = tensor_maps.descriptor(p, [n, n], [d], Tile("f32", (4, 4)))
            address = tensor_maps.descriptor_address(map_)
            tma.tma_load(s, address, bar, [x, x])
            tma.tma_store(m, s, [x, x])
            bulk.bulk_commit()
            bulk.bulk_wait(0, read=True)
            build("func.return")
    text = str(module)
    again = parse(text)
    verify(again)
    assert str(again) == text and "!cute.tma_desc" in text
