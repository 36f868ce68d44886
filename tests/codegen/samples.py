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
from opencute.ir.types import F32, I1, I32, I64, Type

__all__ = [
    "elementwise_add", "global_index", "kernel_module", "matvec_fragments", "printing", "relu_2d",
    "unary_tile", "when", "while_loop",
]  # fmt: skip


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

    def body(a: Value, b: Value, c: Value, m: Value, n: Value, s: Value, tiles_n: Value) -> None:
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


def unary_tile(element: Type, n: int, make: Callable[[Value], Value], align: int = 16) -> Op:
    """``out[i] = make(in[i])`` for `n` consecutive elements per thread."""
    pointer = PtrType(element, "gmem", align)
    layout = LayoutAttr(n, 1)

    def body(a: Value, c: Value) -> None:
        offset = arith.binary("muli", global_index(), arith.constant(n, I32))
        x = cute.tile_load(cute.ptr_add(a, offset, align), layout)
        y = make(x)
        result = PtrType(y.type.element, "gmem", align)  # type: ignore[attr-defined]
        dst = c if result == pointer else cute.recast(c, result)
        cute.tile_store(y, cute.ptr_add(dst, offset, align), layout)

    return kernel_module("unary", (pointer, pointer), body)


def matvec_fragments(n: int) -> Op:
    """One row per thread: loops fill fragments and multiply them, element by element."""
    pointer = PtrType(F32, "gmem", 16)
    row_of = LayoutAttr(n, 1)

    def loop(body: Callable[[Value], None]) -> None:
        region, block = new_block([I32])
        with insert_at(block):
            body(block.args[0])
            scf.yield_()
        bounds = [arith.constant(v, I32) for v in (0, n, 1)]
        scf.for_(*bounds, (), region)

    def body(a: Value, x: Value, y: Value) -> None:
        tid = ptx.sreg("tid.x")
        row = cute.ptr_add(a, arith.binary("muli", tid, arith.constant(n, I32)), 16)
        frag, other, total = cute.alloca(F32, n), cute.alloca(F32, n), cute.alloca(F32, 1)
        cute.tile_store(cute.tile_load(row, row_of), frag, row_of)
        cute.store(arith.constant(0.0, F32), total)
        loop(lambda i: _store_at(cute.load(cute.ptr_add(x, i, 4)), other, i))

        def step(i: Value) -> None:
            p = arith.binary("mulf", _load_at(frag, i), _load_at(other, i))
            cute.store(arith.binary("addf", p, cute.load(total)), total)

        loop(step)
        cute.store(cute.load(total), cute.ptr_add(y, tid, 4))

    return kernel_module("matvec", (pointer, pointer, pointer), body, 32)


def _load_at(p: Value, i: Value) -> Value:
    return cute.load(cute.ptr_add(p, i, 4))


def _store_at(value: Value, p: Value, i: Value) -> None:
    cute.store(value, cute.ptr_add(p, i, 4))


def while_loop() -> Op:
    """Steps of the Collatz sequence down to 1, one number per thread."""
    pointer = PtrType(I32, "gmem", 4)

    def const(v: int) -> Value:
        return arith.constant(v, I32)

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        first = cute.load(cute.ptr_add(a, tid, 4))
        before, test = new_block([I32, I32])
        with insert_at(test):
            x, steps = test.args
            scf.condition(arith.cmpi("ne", x, const(1)), [x, steps])
        after, step = new_block([I32, I32])
        with insert_at(step):
            x, steps = step.args
            odd = arith.cmpi("eq", arith.binary("andi", x, const(1)), const(1))
            up = arith.binary("addi", arith.binary("muli", x, const(3)), const(1))
            down = arith.binary("shrsi", x, const(1))
            scf.yield_([arith.select(odd, up, down), arith.binary("addi", steps, const(1))])
        loop = scf.while_([first, const(0)], [I32, I32], before, after)
        cute.store(loop.results[1], cute.ptr_add(c, tid, 4))

    return kernel_module("collatz", (pointer, pointer), body, 32)


def printing() -> Op:
    """Prints from one thread."""

    def body(x: Value, y: Value) -> None:
        tid = ptx.sreg("tid.x")
        zero = arith.cmpi("eq", tid, arith.constant(0, I32))
        when(zero, lambda: print_values(tid, x, y))

    def print_values(tid: Value, x: Value, y: Value) -> None:
        cute.print_("%d %f %lld 100%%\n", [tid, x, y])

    return kernel_module("printing", (F32, I64), body, 32)
