# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiles and copies become loads and stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.samples import elementwise_add, kernel_module
from opencute.base.errors import CompileError
from opencute.dialects import arith, cute, ptx
from opencute.dialects.cute import Dyn, LayoutAttr, PtrType, Tile
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, I1, I32, I64, IntegerType, VectorType
from opencute.passes.simplify import simplify
from opencute.passes.tiles import tiles
from opencute.passes.unroll import unroll
from passes.simulated import apply, check_pipeline, run

pytestmark = pytest.mark.t0


def moves(module: Op) -> list[tuple[str, str, int]]:
    """(operation, type, alignment) of every access to global memory."""
    out: list[tuple[str, str, int]] = []
    for op in module.walk():
        if op.name in ("llvm.load", "llvm.store"):
            pointer = op.operands[-1]
            if str(pointer.type) == "!llvm.ptr<1>":
                value = op.results[0] if op.results else op.operands[0]
                out.append((op.name[5:], str(value.type), op.attributes["alignment"].value))  # type: ignore[attr-defined]
    return out


def copy_kernel(
    layout: LayoutAttr, element: Any = F32, align: int = 16, dyns: int = 0, bits: int = 0
) -> Op:
    """gmem to gmem through `cute.copy`."""
    pointer = PtrType(element, "gmem", align)

    def body(a: Value, c: Value, *strides: Value) -> None:
        cute.copy("universal_copy", bits, Tile(a, layout, strides), Tile(c, layout, strides))

    return kernel_module("copy", (pointer, pointer, *([I64] * dyns)), body, 1)


def test_widths() -> None:
    module = apply(copy_kernel(LayoutAttr(4, 1)), tiles)
    assert moves(module) == [("load", "vector<4xf32>", 16), ("store", "vector<4xf32>", 16)]
    module = apply(copy_kernel(LayoutAttr(8, 1), align=32), tiles, name="sm_100a")
    assert moves(module)[0] == ("load", "vector<8xf32>", 32)
    module = apply(copy_kernel(LayoutAttr(8, 1), align=32), tiles, name="sm_90a")
    assert moves(module)[0] == ("load", "vector<8xf32>", 16)
    module = apply(copy_kernel(LayoutAttr(4, 1), bits=64), tiles)
    assert moves(module)[0] == ("load", "vector<4xf32>", 8)
    module = apply(copy_kernel(LayoutAttr((2, 2), (1, Dyn(64))), dyns=1), tiles)
    assert [m[1:] for m in moves(module)] == [("vector<2xf32>", 8), ("vector<2xf32>", 4)] * 2


def test_strided_elements_are_scalars() -> None:
    module = apply(copy_kernel(LayoutAttr(3, 2)), tiles)
    assert [m[1] for m in moves(module)] == ["f32"] * 6


def test_booleans_take_a_byte() -> None:
    pointer = PtrType(I1, "gmem", 4)
    row = LayoutAttr(4, 1)

    def body(a: Value, c: Value) -> None:
        cute.tile_store(cute.tile_load(a, row), c, row)

    module = kernel_module("flags", (pointer, pointer), body)
    assert moves(apply(module, tiles)) == [
        ("load", "vector<4xi8>", 4),
        ("store", "vector<4xi8>", 4),
    ]


def test_sub_byte_elements_are_packed() -> None:
    i4 = IntegerType(4)
    module = apply(copy_kernel(LayoutAttr(8, 1), element=i4, align=4), tiles)
    assert moves(module) == [("load", "vector<4xi8>", 4), ("store", "vector<4xi8>", 4)]
    with pytest.raises(CompileError, match="OC1062"):
        apply(copy_kernel(LayoutAttr(3, 2), element=i4, align=4), tiles)


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 5), st.integers(1, 12)),
)
def test_any_layout_copies_as_before(shape: tuple[int, int], stride: tuple[int, int]) -> None:
    copies_as_before(shape, stride, 4)


@pytest.mark.parametrize(
    ("shape", "stride"),
    [((4, 4), (4, 1)), ((4, 4), (1, 4)), ((2, 4), (8, 2)), ((8, 3), (1, 8)), ((3, 4), (4, 1))],
)
def test_aligned_layouts_copy_as_before(shape: tuple[int, int], stride: tuple[int, int]) -> None:
    copies_as_before(shape, stride, 16)


def copies_as_before(shape: tuple[int, int], stride: tuple[int, int], align: int) -> None:
    pointer = PtrType(F32, "gmem", align)
    layout = LayoutAttr(shape, stride)

    def body(a: Value, c: Value) -> None:
        cute.tile_store(cute.tile_load(a, layout), c, layout)

    a = np.arange(64, dtype=np.float32)
    module = kernel_module("copy", (pointer, pointer), body, 1)
    check_pipeline(module, 1, 1, [a, np.zeros_like(a)])


def predicated(group: bool) -> Op:
    """Copies 2 rows of 4; thread t of 8 allows elements, or rows, below t."""
    pointer = PtrType(F32, "gmem", 16)
    tile = LayoutAttr((4, 2), (1, 4))
    pred_tile = LayoutAttr(2, 1) if group else LayoutAttr((4, 2), (1, 4))

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        n = 2 if group else 8
        pred = cute.alloca(I1, n)
        for i in range(n):
            ok = arith.cmpi("slt", arith.constant(i, I32), tid)
            cute.store(ok, cute.ptr_add(pred, arith.constant(i, I32), 1))
        offset = arith.binary("muli", tid, arith.constant(8, I32))
        src, dst = (Tile(cute.ptr_add(p, offset, 16), tile) for p in (a, c))
        cute.copy("universal_copy", 0, src, dst, Tile(pred, pred_tile))

    return kernel_module("masked", (pointer, pointer), body, 8)


@pytest.mark.parametrize("group", [True, False])
def test_predicates(group: bool) -> None:
    a = np.arange(64, dtype=np.float32).reshape(8, 8) + 1
    args = [a, np.full_like(a, -1)]
    lowered = check_pipeline(predicated(group), 1, 8, args)
    out = run(lowered, 1, 8, args)[1]
    size = 4 if group else 1
    for t in range(8):
        assert (out[t] == np.where(np.arange(8) // size < t, a[t], -1)).all()
    if group:
        assert [m[1] for m in moves(lowered)] == ["vector<4xf32>"] * 4


def test_predicates_that_fit_nothing() -> None:
    def body(a: Value, c: Value) -> None:
        pred = cute.alloca(I1, 3)
        tile = LayoutAttr((4, 2), (1, 4))
        cute.copy("universal_copy", 0, Tile(a, tile), Tile(c, tile), Tile(pred, LayoutAttr(3, 1)))

    pointer = PtrType(F32, "gmem", 16)
    with pytest.raises(CompileError, match="OC1063"):
        apply(kernel_module("k", (pointer, pointer), body, 1), tiles)


def test_fragments_of_values_need_no_memory() -> None:
    """Predicates are values, and so is what a masked copy fills: it keeps what was there."""
    module = apply(elementwise_add(F32, 4), simplify, unroll, tiles)
    assert not any(op.name == "llvm.alloca" for op in module.walk())


def test_a_fragment_written_under_a_condition_is_a_result() -> None:
    from codegen.samples import when

    def body(a: Value, c: Value) -> None:
        frag = cute.alloca(F32, 1)
        cute.store(cute.load(a), frag)
        tid = ptx.sreg("tid.x")
        zero = arith.constant(0, I32)
        when(
            arith.cmpi("eq", tid, zero),
            lambda: cute.store(arith.negf(cute.load(frag)), frag) and None,
        )
        cute.store(cute.load(frag), cute.ptr_add(c, tid, 4))

    pointer = PtrType(F32, "gmem", 4)
    module = kernel_module("k", (pointer, pointer), body, 4)
    args = [np.ones(1, np.float32), np.zeros(4, np.float32)]
    lowered = check_pipeline(module, 1, 4, args)
    assert run(lowered, 1, 4, args)[1].tolist() == [-1, 1, 1, 1]
    assert not any(op.name == "llvm.alloca" for op in lowered.walk())


def test_pointers_through_control_flow_change_type() -> None:
    from opencute.dialects import scf
    from opencute.ir.builder import insert_at, new_block

    pointer = PtrType(F32, "gmem", 4)

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        arms = []
        for p in (a, c):
            region, block = new_block()
            with insert_at(block):
                scf.yield_([cute.ptr_add(p, tid, 4)])
            arms.append(region)
        even = arith.cmpi(
            "eq", arith.binary("andi", tid, arith.constant(1, I32)), arith.constant(0, I32)
        )
        chosen = scf.if_(even, [pointer], *arms).results[0]
        cute.store(arith.constant(5.0, F32), chosen)

    module = kernel_module("k", (pointer, pointer), body, 4)
    args = [np.zeros(4, np.float32), np.zeros(4, np.float32)]
    lowered = check_pipeline(module, 1, 4, args)
    out = run(lowered, 1, 4, args)
    assert out[0].tolist() == [5, 0, 5, 0] and out[1].tolist() == [0, 5, 0, 5]


def test_alignment_of_arguments_is_kept() -> None:
    module = apply(copy_kernel(LayoutAttr(4, 1), element=F16, align=8), tiles)
    kernel = module.regions[0].block.ops[0].regions[0].block.ops[0]
    assert kernel.attributes["cute.arg_align"].values == (8, 8)  # type: ignore[attr-defined]
    assert VectorType(4, F16) in {r.type for op in module.walk() for r in op.results}
