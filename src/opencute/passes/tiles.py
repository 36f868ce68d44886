# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""tiles: pointers with element types and tiles become addresses, loads and stores.

Before::

    %v = "cute.tile_load"(%p, %s) {layout = #cute.layout<"(8,2):(1,?{i64 div=8})">}
         : (!cute.ptr<f16, gmem, align<16>>, i64) -> vector<16xf16>

After::

    %a = llvm.load %p {alignment = 16} : !llvm.ptr<1> -> vector<8xf16>
    %q = llvm.getelementptr %p[%s] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %b = llvm.load %q {alignment = 16} : !llvm.ptr<1> -> vector<8xf16>
    %v = vector.shuffle %a, %b [0, ..., 15]

Why: this is where layouts end. Accesses are as wide as alignment, contiguity and the target allow;
an access that is wider than one instruction carries the alignment at which it may be cut. Static
offsets stay constants of their own, so that they end up in the instruction's immediate field.

Cost: linear in the number of elements of all tiles.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import cute, llvm, vector
from opencute.dialects.cute import PtrType, storage_bits
from opencute.ir.attributes import DenseI32Attr, TypeAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import FunctionType, Type, VectorType
from opencute.passes.copies import lower_copy
from opencute.passes.fragments import FragmentAccess, Fragments
from opencute.passes.memory import SPACE, advance, convert_type, load_run, memory_type, store_run
from opencute.passes.rewriter import Handler, Rewriter
from opencute.passes.tile_access import Lane, TileAccess, gather, lanes_of

__all__ = ["tiles"]


def tiles(function: Op, target: Target) -> None:
    """Lower the cute operations on memory of a kernel or host function."""
    rw = Rewriter(_handlers(target, Fragments(function)), convert_type)
    entry = function.regions[0].block
    align = [a.type.align if isinstance(a.type, PtrType) else 0 for a in entry.args]
    rw.block(entry)
    function.attributes["cute.arg_align"] = DenseI32Attr(tuple(align))
    inputs = tuple(a.type for a in entry.args)
    results = tuple(v.type for v in entry.terminator.operands)
    function.attributes["function_type"] = TypeAttr(FunctionType(inputs, results))


def _handlers(target: Target, fragments: Fragments) -> dict[str, Handler]:
    def tile(rw: Rewriter, ptr: Value, op: Op, first_dyn: int) -> TileAccess | FragmentAccess:
        layout = op.attributes["layout"]
        assert isinstance(layout, cute.LayoutAttr)
        if fragments.forwarded(ptr):
            return fragments.access(ptr, layout)
        type = _pointer(ptr)
        dyns = rw.get_all(op.operands[first_dyn:])
        return TileAccess(rw.get(ptr), type, layout, dyns, target.max_access_bits(type.space))

    def tile_load(rw: Rewriter, op: Op) -> list[Value]:
        assert isinstance(op.result.type, VectorType)
        size = op.result.type.length
        lanes = tile(rw, op.operands[0], op, 1).load(range(size))
        return [_as_vector([lanes[i] for i in range(size)])]

    def tile_store(rw: Rewriter, op: Op) -> list[Value]:
        values = lanes_of(rw.get(op.operands[0]))
        tile(rw, op.operands[1], op, 2).store(dict(enumerate(values)))
        return []

    def copy(rw: Rewriter, op: Op) -> list[Value]:
        assert isinstance(op, cute.CopyOp)
        lower_copy(rw, op, target, fragments)
        return []

    def load(rw: Rewriter, op: Op) -> list[Value]:
        ptr = op.operands[0]
        if fragments.forwarded(ptr):
            return [fragments.access(ptr, None).load([0])[0].scalar()]
        element = _pointer(ptr).element
        return [load_run(rw.get(ptr), element, 1, _alignment(element))]

    def store(rw: Rewriter, op: Op) -> list[Value]:
        value, ptr = op.operands
        if fragments.forwarded(ptr):
            fragments.access(ptr, None).store({0: Lane(rw.get(value))})
        else:
            element = _pointer(ptr).element
            store_run(rw.get(value), rw.get(ptr), element, 1, _alignment(element))
        return []

    def alloca(rw: Rewriter, op: Op) -> list[Value]:
        if fragments.forwarded(op.result):
            return [op.result]  # no use of it is left
        return _alloca(op)

    def ptr_add(rw: Rewriter, op: Op) -> list[Value]:
        ptr, offset = op.operands
        if fragments.forwarded(ptr):
            return [op.result]
        return [advance(rw.get(ptr), rw.get(offset), _pointer(ptr).element)]

    return {
        **_SIMPLE,
        "cute.tile_load": tile_load,
        "cute.tile_store": tile_store,
        "cute.copy": copy,
        "cute.load": load,
        "cute.store": store,
        "cute.alloca": alloca,
        "cute.ptr_add": ptr_add,
    }


def _as_vector(lanes: list[Lane]) -> Value:
    value = gather(lanes)
    return vector.broadcast(value, 1) if len(lanes) == 1 else value


def _pointer(value: Value) -> PtrType:
    assert isinstance(value.type, PtrType)
    return value.type


def _alignment(element: Type) -> int:
    """Alignment of one element: its own size, for the hardware has no other access."""
    return max(storage_bits(element) // 8, 1)


def _recast(rw: Rewriter, op: Op) -> list[Value]:
    value, want = rw.get(op.operands[0]), convert_type(op.result.type)
    if value.type == want:
        return [value]
    return [llvm.addrspacecast(value, SPACE[_pointer(op.result).space])]


def _ptr_to_int(rw: Rewriter, op: Op) -> list[Value]:
    return [llvm.ptrtoint(rw.get(op.operands[0]), op.result.type)]


def _int_to_ptr(rw: Rewriter, op: Op) -> list[Value]:
    return [llvm.inttoptr(rw.get(op.operands[0]), SPACE[_pointer(op.result).space])]


def _alloca(op: Op) -> list[Value]:
    assert isinstance(op, cute.AllocaOp)
    type = _pointer(op.result)
    bits = storage_bits(type.element)
    count = op.count.value if bits >= 8 else -(-op.count.value * bits // 8)
    return [llvm.alloca(memory_type(type.element), count, max(type.align, bits // 8, 1))]


def _assume(rw: Rewriter, op: Op) -> list[Value]:
    # The fact has already gone into alignments and divisors of layouts.
    return [rw.get(op.operands[0])]


_SIMPLE: dict[str, Handler] = {
    "cute.recast": _recast,
    "cute.ptr_to_int": _ptr_to_int,
    "cute.int_to_ptr": _int_to_ptr,
    "cute.assume": _assume,
}
