# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels built by hand, of the shapes that the frontend makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.dialects import arith, builtin, cute, gpu, ptx, scf
from opencute.dialects.cute import Dyn, LayoutAttr, PtrType
from opencute.ir.attributes import DenseI32Attr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import I1, I32, I64, Type

__all__ = ["elementwise_add", "global_index", "kernel_module", "relu_2d", "when"]


def kernel_module(
    name: str,
    inputs: Sequence[Type],
    body: Callable[..., None],
    threads: int = 256,
) -> Op:
    """A module with one kernel; `body` gets the arguments."""
    module, top = builtin.module()
    with insert_at(top):
        _, block = gpu.gpu_module()
        with insert_at(block):
            attrs = {"cute.reqntid": DenseI32Attr((threads, 1, 1))}
            _, entry = gpu.gpu_func(name, inputs, attrs)
            with insert_at(entry):
                body(*entry.args)
                gpu.return_()
    return module


def global_index() -> Value:
    """Block index times block size plus thread index."""
    block = arith.binary("muli", ptx.sreg("ctaid.x"), ptx.sreg("ntid.x"))
    return arith.binary("addi", block, ptx.sreg("tid.x"))


def when(condition: Value, body: Callable[[], None]) -> None:
    """An `scf.if` without results."""
    then, block = new_block()
    with insert_at(block):
        body()
        scf.yield_()
    orelse, empty = new_block()
    with insert_at(empty):
        scf.yield_()
    scf.if_(condition, (), then, orelse)


def relu_2d(element: Type, vec: int, align: int = 16) -> Op:
    """relu_2d.py: rows of a dynamic row stride, `vec` elements per thread."""
    pointer = PtrType(element, "gmem", align)
    layout = LayoutAttr((1, vec), (Dyn(64, vec), 1))

    def body(a: Value, c: Value, m: Value, n: Value, sa: Value, sc: Value) -> None:
        idx = global_index()
        total = arith.binary("muli", m, n)

        def inside() -> None:
            row = arith.binary("divsi", idx, n)
            col = arith.binary("remsi", idx, n)

            def at(p: Value, stride: Value) -> Value:
                wide = arith.cast("extsi", row, I64)
                offset = arith.binary("muli", wide, stride)
                column = arith.binary("muli", col, arith.constant(vec, I32))
                column = arith.cast("extsi", column, I64)
                return cute.ptr_add(p, arith.binary("addi", offset, column), align)

            x = cute.tile_load(at(a, sa), layout, (sa,))
            zero = arith.constant(0.0, x.type)
            y = arith.select(arith.cmpf("ogt", x, zero), x, zero)
            cute.tile_store(y, at(c, sc), layout, (sc,))

        when(arith.cmpi("slt", idx, total), inside)

    return kernel_module("relu", (pointer, pointer, I32, I32, I64, I64), body)


def elementwise_add(element: Type, vec: int, rows: int = 4, align: int = 4) -> Op:
    """The published elementwise_add: thread tiles of rows x vec, a predicate per element.

    The tiled copy of 4 x 32 threads; the row stride is dynamic, predicates sit in a fragment.
    """
    pointer = PtrType(element, "gmem", align)
    size = rows * vec
    tile = LayoutAttr(((1, vec), (rows,)), ((0, 1), (Dyn(64),)))
    frag = LayoutAttr(((1, vec), (rows,)), ((0, 1), (vec,)))

    def body(
        a: Value, b: Value, c: Value, m: Value, n: Value, s: Value, tiles_n: Value
    ) -> None:
        tid, bid = ptx.sreg("tid.x"), ptx.sreg("ctaid.x")

        def const(v: int) -> Value:
            return arith.constant(v, I32)

        def mul(x: Value, y: Value) -> Value:
            return arith.binary("muli", x, y)

        def add(x: Value, y: Value) -> Value:
            return arith.binary("addi", x, y)

        bm, bn = arith.binary("divsi", bid, tiles_n), arith.binary("remsi", bid, tiles_n)
        tm = arith.binary("divsi", tid, const(32))
        tn = arith.binary("remsi", tid, const(32))
        row = add(mul(bm, const(4 * rows)), mul(tm, const(rows)))
        col = add(mul(bn, const(32 * vec)), mul(tn, const(vec)))
        offset = arith.binary("muli", arith.cast("extsi", row, I64), s)
        offset = arith.binary("addi", offset, arith.cast("extsi", col, I64))
        pred = cute.alloca(I1, size)
        loop, block = new_block([I32])
        with insert_at(block):
            i = block.args[0]
            r = add(row, arith.binary("divsi", i, const(vec)))
            j = add(col, arith.binary("remsi", i, const(vec)))
            ok = arith.binary("andi", arith.cmpi("slt", r, m), arith.cmpi("slt", j, n))
            cute.store(ok, cute.ptr_add(pred, i, 1))
            scf.yield_()
        scf.for_(const(0), const(size), const(1), (), loop)
        guard = cute.Tile(pred, frag)
        frags = []
        for p in (a, b):
            frags.append(cute.alloca(element, size))
            src = cute.Tile(cute.ptr_add(p, offset, align), tile, (s,))
            cute.copy("universal_copy", 0, src, cute.Tile(frags[-1], frag), guard)
        x, y = (cute.tile_load(f, frag) for f in frags)
        out = cute.alloca(element, size)
        cute.tile_store(arith.binary("addf", x, y), out, frag)
        dst = cute.Tile(cute.ptr_add(c, offset, align), tile, (s,))
        cute.copy("universal_copy", 0, cute.Tile(out, frag), dst, guard)

    types = (pointer, pointer, pointer, I32, I32, I64, I32)
    return kernel_module("add", types, body, 128)
