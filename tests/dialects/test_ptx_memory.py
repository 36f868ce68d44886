# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a block's operations refuse: each broken operation beside one that passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.base.errors import VerificationError
from opencute.dialects import cute, ptx, ptx_memory, ptx_warp, smem
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.builder import build, insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import declaration_of
from opencute.ir.types import F16, F32, I1, I8, I16, I32, I64, Type, VectorType

pytestmark = pytest.mark.t0
G32 = cute.PtrType(F32, "gmem", 4)
G16 = cute.PtrType(F16, "gmem", 16)
GI = cute.PtrType(I32, "gmem", 4)
R32 = cute.PtrType(F32, "rmem", 4)
S32 = cute.PtrType(F32, "smem", 16)
Arg = Callable[[Type], Value]


def _check(make: Callable[[Arg], object]) -> None:
    block = Block()
    with insert_at(block):
        make(block.add_argument)
    for op in block.ops:
        declaration_of(op).check(op)
        op.verify()


def _smem(offset: int, bytes: int, type: cute.PtrType) -> Op:
    attrs = {"offset": IntAttr(offset, I64), "bytes": IntAttr(bytes, I64)}
    return build("cute.smem_alloc", (), (type,), attrs)


P8 = cute.PtrType(I8, "smem", 16)
CASES: list[tuple[str, Callable[[Arg], object], Callable[[Arg], object]]] = [
    ("OC1460", lambda a: _smem(0, 4, P8), lambda a: _smem(0, 4, S32)),
    ("OC1461", lambda a: smem.smem_alloc(32, 4, 16), lambda a: smem.smem_alloc(8, 4, 16)),
    ("OC1461", lambda a: smem.smem_alloc(0, 0), lambda a: smem.smem_alloc(-16, 4)),
    ("OC1461", lambda a: smem.smem_alloc(0, 4, 1024), lambda a: smem.smem_alloc(0, 4, 2048)),
    ("OC1462", lambda a: ptx.fence("sc", "cta"), lambda a: ptx.fence("sc", "grid")),
    (
        "OC1463",
        lambda a: ptx.sreg("clock64"),
        lambda a: build("ptx.sreg", (), (I32,), {"reg": StringAttr("clock64")}),
    ),
    (
        "OC1464",
        lambda a: ptx.fence_proxy("tensormap::generic.acquire.gpu", a(G16)),
        lambda a: ptx.fence_proxy("alias", a(G16)),
    ),
    (
        "OC1465",
        lambda a: ptx_warp.redux_sync("add", a(I32), a(I32)),
        lambda a: ptx_warp.redux_sync("add", a(I32), a(F32)),
    ),
    (
        "OC1466",
        lambda a: ptx_memory.load(a(G32), F32),
        lambda a: ptx_memory.load(a(R32), F32),
    ),
    (
        "OC1467",
        lambda a: ptx_memory.atomic("add", a(GI), a(I32), "relaxed", "gpu"),
        lambda a: ptx_memory.atomic("add", a(G32), a(I32), "relaxed", "gpu"),
    ),
    (
        "OC1468",
        lambda a: ptx_memory.atomic("add", a(G32), a(F32), "relaxed", "gpu"),
        lambda a: ptx_memory.atomic("and", a(G32), a(F32), "relaxed", "gpu"),
    ),
    (
        "OC1462",
        lambda a: ptx_memory.atomic("exch", a(G32), a(F32), "relaxed", "gpu"),
        lambda a: ptx_memory.red("exch", a(G32), a(F32), "relaxed", "gpu"),
    ),
    (
        "OC1462",
        lambda a: ptx_memory.load(a(G32), F32, sem="acquire", scope="gpu"),
        lambda a: ptx_memory.load(a(G32), F32, sem="acquire"),
    ),
    (
        "OC1469",
        lambda a: ptx_memory.load(a(G32), F32, prefetch=64),
        lambda a: ptx_memory.load(a(G32), F32, prefetch=65),
    ),
    (
        "OC1470",
        lambda a: ptx_memory.load(a(G32), F32, cache="cg"),
        lambda a: ptx_memory.load(a(G32), F32, sem="volatile", cache="cg"),
    ),
    (
        "OC1471",
        lambda a: ptx_memory.load(a(G16), VectorType(16, F16)),
        lambda a: ptx_memory.load(a(G16), VectorType(3, F16)),
    ),
    (
        "OC1472",
        lambda a: ptx_memory.cp_async(a(S32), a(G16), 16, cache="cg"),
        lambda a: ptx_memory.cp_async(a(S32), a(G16), 8, cache="cg"),
    ),
    (
        "OC1473",
        lambda a: ptx_memory.cp_async(a(S32), a(G32), 4),
        lambda a: ptx_memory.cp_async(a(S32), a(G32), 8),
    ),
    (
        "OC1474",
        lambda a: ptx_memory.cp_async_wait(-1),
        lambda a: ptx_memory.cp_async_wait(-2),
    ),
    (
        "OC1462",
        lambda a: ptx_warp.vote_sync("any", a(I32), a(I1)),
        lambda a: ptx_warp.vote_sync("none", a(I32), a(I1)),
    ),
    (
        "OC1467",
        lambda a: ptx_memory.cas(a(GI), a(I32), a(I32), "relaxed", "gpu"),
        lambda a: ptx_memory.cas(a(GI), a(I16), a(I32), "relaxed", "gpu"),
    ),
]


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_broken_one_beside_the_right_one(index: int):
    code, right, broken = CASES[index]
    _check(right)
    with pytest.raises(VerificationError) as caught:
        _check(broken)
    assert caught.value.code == code
