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

from collections.abc import Sequence

from opencute.arch.hints import AccessHints
from opencute.arch.target import Target
from opencute.dialects import cute, llvm, vector
from opencute.dialects.cute import PtrType, storage_bits
from opencute.dialects.hopper.wgmma import CuteWgmmaOp
from opencute.dialects.tiled import GemmOp
from opencute.ir.attributes import DenseI32Attr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule, Rules
from opencute.ir.types import Type, VectorType
from opencute.passes.copies import lower_copy
from opencute.passes.folding import split_constant
from opencute.passes.fragments import FragmentAccess, Fragments
from opencute.passes.hopper.rules import hopper_rules
from opencute.passes.hopper.wgmma import lower_wgmma, order_rules
from opencute.passes.instructions import instruction_rules
from opencute.passes.memory import SPACE, advance, convert_type, load_run, memory_type, store_run
from opencute.passes.tile_access import Lane, TileAccess, gather, lanes_of
from opencute.passes.tiled.gemm import lower_gemm
from opencute.passes.tiled.hinted import Hinted, relevant
from opencute.passes.tiled.swizzle import Swizzles

__all__ = ["tiles"]

_RULES = Rules()


def tiles(function: Op, target: Target) -> None:
    """Lower the cute operations on memory of a kernel or host function."""
    entry = function.regions[0].block
    align = [a.type.align if isinstance(a.type, PtrType) else 0 for a in entry.args]
    fragments = Fragments(function)
    swizzles = Swizzles()
    own = _accesses(target, fragments, swizzles) | _pointers(fragments, swizzles)
    own |= order_rules(fragments)
    rules = _RULES | own | fragments.rules | instruction_rules(target) | hopper_rules(target)
    rules.apply(function, convert_type=convert_type)
    function.attributes["cute.arg_align"] = DenseI32Attr(tuple(align))


def _tile(
    op: Op, ptr: Value, type: PtrType, layout: cute.LayoutAttr, dyns: Sequence[Value],
    target: Target, swizzles: Swizzles,
) -> TileAccess:  # fmt: skip
    """A tile in memory; what an early load has taken over from a copy are its hints."""
    words = op.attributes.get("hints")
    hints = AccessHints.parse(words.value if isinstance(words, StringAttr) else "")
    hints = relevant(hints, type.space, loads=True)
    return TileAccess(
        ptr, type, layout, dyns, target.max_access_bits(type.space), swizzles,
        Hinted(hints, type.space, target) if hints else None,
    )  # fmt: skip


def _accesses(target: Target, fragments: Fragments, swizzles: Swizzles) -> dict[str, Rule]:
    """The rules for memory; a pointer into a forwarded fragment stands for values."""

    def tile(
        op: Op, rw: Rewriter, place: int, key: str = "layout", dyns: Sequence[Value] | None = None
    ) -> TileAccess | FragmentAccess:
        ptr, layout = op.operands[place], op.attributes[key]
        assert isinstance(layout, cute.LayoutAttr)
        if fragments.forwarded(ptr):
            return fragments.access(ptr, layout)
        type = _pointer(rw.source_type(place))
        own = op.operands[place + 1 :] if dyns is None else dyns
        return _tile(op, ptr, type, layout, own, target, swizzles)

    def final(ptr: Value, type: PtrType) -> Value:
        """The address that an access to a pointer goes to."""
        return swizzles.address(ptr, 0, type) if type.swizzle else ptr

    def tile_load(op: Op, rw: Rewriter) -> Replacement:
        assert isinstance(op.result.type, VectorType)
        size = op.result.type.length
        lanes = tile(op, rw, 0).load(range(size))
        return _as_vector([lanes[i] for i in range(size)])

    def tile_store(op: Op, rw: Rewriter) -> Replacement:
        values = lanes_of(op.operands[0])
        tile(op, rw, 1).store(dict(enumerate(values)))
        return ()

    def copy(op: Op, rw: Rewriter) -> Replacement:
        assert isinstance(op, cute.CopyOp)
        lower_copy(op, rw, target, fragments, swizzles)
        return ()

    def gemm(op: Op, rw: Rewriter) -> Replacement:
        assert isinstance(op, GemmOp)
        d, a, b, c = (tile(op, rw, i, f"{'dabc'[i]}_layout", ()) for i in range(4))
        lower_gemm(op, d, a, b, c)
        return ()

    def wgmma(op: Op, rw: Rewriter) -> Replacement:
        assert isinstance(op, CuteWgmmaOp)
        in_registers = isinstance(rw.source_type(1), PtrType)
        a = tile(op, rw, 1, "a_layout", ()) if in_registers else None
        lower_wgmma(op, tile(op, rw, 0, "d_layout", ()), a)
        return ()

    def load(op: Op, rw: Rewriter) -> Replacement:
        ptr = op.operands[0]
        if fragments.forwarded(ptr):
            return fragments.access(ptr, None).load([0])[0].scalar()
        type = _pointer(rw.source_type(0))
        return load_run(final(ptr, type), type.element, 1, _alignment(type.element))

    def store(op: Op, rw: Rewriter) -> Replacement:
        value, ptr = op.operands
        if fragments.forwarded(ptr):
            fragments.access(ptr, None).store({0: Lane(value)})
        else:
            type = _pointer(rw.source_type(1))
            store_run(value, final(ptr, type), type.element, 1, _alignment(type.element))
        return ()

    def matrix(op: Op, rw: Rewriter) -> Replacement:
        type = rw.source_type(0)
        if isinstance(type, PtrType) and type.swizzle:
            op.operands = [final(op.operands[0], type), *op.operands[1:]]
        return None

    return {
        "cute.tile_load": tile_load,
        "cute.tile_store": tile_store,
        "cute.copy": copy,
        "cute.gemm": gemm,
        "cute.wgmma": wgmma,
        "ptx.ldmatrix": matrix,
        "ptx.stmatrix": matrix,
        "cute.load": load,
        "cute.store": store,
    }


def _pointers(fragments: Fragments, swizzles: Swizzles) -> dict[str, Rule]:
    """The rules for pointers; constant offsets stay apart, to end up in immediates."""

    def alloca(op: Op, rw: Rewriter) -> Replacement:
        if fragments.forwarded(op.result):
            fragments.begin(op.result)
            return op.result  # no use of it is left
        return _alloca(op)

    def ptr_add(op: Op, rw: Rewriter) -> Replacement:
        ptr, offset = op.operands
        if fragments.forwarded(ptr):
            return op.result
        type = _pointer(rw.source_type(0))
        whole_bytes = storage_bits(type.element) >= 8
        rest, known = split_constant(offset) if whole_bytes else (offset, 0)
        if rest is None:
            base = ptr
        elif type.space == "smem" and whole_bytes:
            base = swizzles.advanced(ptr, rest, type)
        else:
            base = advance(ptr, rest, type.element)
        return base if known == 0 else advance(base, known, type.element)

    def recast(op: Op, rw: Rewriter) -> Replacement:
        return op.result if fragments.forwarded(op.operands[0]) else _recast(op, rw)

    return {"cute.alloca": alloca, "cute.ptr_add": ptr_add, "cute.recast": recast}


def _as_vector(lanes: list[Lane]) -> Value:
    value = gather(lanes)
    return vector.broadcast(value, 1) if len(lanes) == 1 else value


def _pointer(type: Type) -> PtrType:
    assert isinstance(type, PtrType)
    return type


def _alignment(element: Type) -> int:
    """Alignment of one element: its own size, for the hardware has no other access."""
    return max(storage_bits(element) // 8, 1)


def _recast(op: Op, rw: Rewriter) -> Replacement:
    value, want = op.operands[0], convert_type(op.result.type)
    if value.type == want:
        return value
    return llvm.addrspacecast(value, SPACE[_pointer(op.result.type).space])


@_RULES.on("cute.to_llvm", "cute.from_llvm")
def _interop(op: Op, rw: Rewriter) -> Replacement:
    value, want = op.operands[0], convert_type(op.result.type)
    if value.type == want:
        return value
    assert isinstance(want, llvm.LLVMPointerType)
    return llvm.addrspacecast(value, want.space)


@_RULES.on("cute.ptr_to_int")
def _ptr_to_int(op: Op, rw: Rewriter) -> Replacement:
    return llvm.ptrtoint(op.operands[0], op.result.type)


@_RULES.on("cute.int_to_ptr")
def _int_to_ptr(op: Op, rw: Rewriter) -> Replacement:
    return llvm.inttoptr(op.operands[0], SPACE[_pointer(op.result.type).space])


@_RULES.on("cute.assume")
def _assume(op: Op, rw: Rewriter) -> Replacement:
    # The fact has already gone into alignments and divisors of layouts.
    return op.operands[0]


def _alloca(op: Op) -> Value:
    assert isinstance(op, cute.AllocaOp)
    type = _pointer(op.result.type)
    bits = storage_bits(type.element)
    count = op.count.value if bits >= 8 else -(-op.count.value * bits // 8)
    return llvm.alloca(memory_type(type.element), count, max(type.align, bits // 8, 1))
