# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `tiles` lowers ``cute.wgmma``, and the fences and waits around it.

Before::

    "cute.wgmma"(%d, %a, %b, %true) {atom = "wgmma.m64n128k16.f32.f16.f16.ss", ...}
    "ptx.wgmma_wait"() {count = 0}

After, with the accumulator as a value::

    %d1 = "ptx.wgmma"(%d0, %descriptor_a, %descriptor_b, %true) {...}
    %d2 = "ptx.wgmma_wait"(%d1) {count = 0}

Why: the hardware changes an accumulator behind the compiler's back until a wait. What is read after
the wait is therefore a new value, which the wait gives, so that no read can move before it. A fence
likewise takes registers that other instructions have computed, so that these cannot move behind it.

Cost: linear in the number of registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opencute.arch.wgmma import wgmma_atom
from opencute.dialects import arith, vector
from opencute.dialects.cute import LayoutAttr, storage_bits
from opencute.dialects.hopper import wgmma
from opencute.dialects.tiled import extents
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I1, I32, I64, FloatType, Type, VectorType, element_type
from opencute.passes.folding import int_of
from opencute.passes.tile_access import Lane
from opencute.passes.tiled.gemm import Side, registers
from opencute.passes.tiled.liveness import offsets_of

if TYPE_CHECKING:
    from opencute.passes.fragments import Fragments, Lanes

__all__ = ["lower_wgmma", "order_rules"]

_IN_FLIGHT = ("ptx.wgmma", "ptx.wgmma_wait", "scf.for", "scf.if", "scf.while")


# ---------------------------------------------------------------- products
def lower_wgmma(op: wgmma.CuteWgmmaOp, d: Side, a: Side | None) -> None:
    """Build what replaces `op`.

    Args:
        op: the product.
        d: the accumulator.
        a: A where it is in registers.
    """
    atom = wgmma_atom(op.atom.value)
    _, m, n = extents(op.d_layout)
    k = extents(op.a_layout)[2]
    va, _, vc = atom.values
    type = wgmma.accumulator_type(atom)
    adds = int_of(op.accumulate) != 0
    old = d.load(range(vc * m * n)) if adds else {}
    if a is None:
        left = _descriptors(op.a, op.a_layout, op.a_high)
    else:
        held, own = a.load(range(va * m * k)), wgmma.a_type(atom)
        left = [
            registers([held[i * va + v] for v in range(va)], own) for i in range(m * k)
        ]  # fmt: skip
    right = _descriptors(op.b, op.b_layout, op.b_high)
    true = arith.constant(1, I1)
    majors = (op.a_major.value, op.b_major.value)
    chosen = op.attributes.get("selector")
    selector = chosen.value if isinstance(chosen, IntAttr) else None
    meta = [(v,) for v in op.meta] or [()] * (m * k)
    new: Lanes = {}
    for j in range(n):
        for i in range(m):
            first = vc * (i + m * j)
            lanes = [old[first + v] for v in range(vc)] if adds else []
            start = registers(lanes, type) if adds else _zeros(type)
            steps = [
                (left[i + m * s], right[j + n * s], true if s else op.accumulate, *meta[i + m * s])
                for s in range(k)
            ]
            out: Value = wgmma.wgmma(atom.name, start, steps, majors, selector)
            element = _element(d)
            if type.element != element:
                out = vector.bitcast(out, VectorType(vc, element))
            for v in range(vc):
                new[first + v] = Lane(out, v)
    d.store(new)


def _element(side: Side) -> Type:
    element: Type = getattr(side, "element")  # noqa: B009 - both kinds of sides have it
    return element


def _zeros(type: VectorType) -> Value:
    """Registers that the instruction does not read."""
    zero = arith.constant(0.0 if isinstance(type.element, FloatType) else 0, type.element)
    return vector.from_elements([zero] * type.length)


def _descriptors(low: Value, layout: LayoutAttr, high: IntAttr) -> list[Value]:
    """The descriptors of all tiles, first mode fastest."""
    upper = high.value << 32
    bits = arith.constant(upper - (1 << 64) if upper >> 63 else upper, I64)
    made: dict[int, Value] = {}
    out: list[Value] = []
    for offset in offsets_of(0, layout):
        if offset not in made:
            moved = arith.binary("addi", low, arith.constant(offset, I32)) if offset else low
            made[offset] = arith.binary("ori", arith.cast("extui", moved, I64), bits)
        out.append(made[offset])
    return out


# ---------------------------------------------------------------- fences and waits
def order_rules(fragments: Fragments) -> dict[str, Rule]:
    """The rules for what orders products."""

    def fence(op: Op, rw: Rewriter) -> Replacement:
        if not op.operands:
            _through(op, fragments, _computed, wgmma.fence)
        return ()

    def wait(op: Op, rw: Rewriter) -> Replacement:
        assert isinstance(op, wgmma.WgmmaWaitOp)
        count = op.count.value
        _through(op, fragments, _flying, lambda values: wgmma.wait(count, values))
        return ()

    return {"ptx.wgmma_fence": fence, "ptx.wgmma_wait": wait}


def _source(value: Value) -> Op | None:
    """The operation that made some registers, whatever they are called."""
    op = value.op
    while op is not None and op.name == "vector.bitcast":
        op = op.operands[0].op
    return op


def _flying(value: Value) -> bool:
    """Whether hardware may still be about to change some registers."""
    op = _source(value)
    return op is None or op.name in _IN_FLIGHT


def _computed(value: Value) -> bool:
    """Whether an ordinary instruction has made some registers."""
    return not _flying(value) and value.op is not None and value.op.name != "arith.constant"


def _through(
    op: Op, fragments: Fragments, wanted: Callable[[Value], bool],
    build: Callable[[Sequence[Value]], Op],
) -> None:  # fmt: skip
    """Build an operation that takes and gives back registers of fragments that are used later."""
    groups: list[tuple[Lanes, list[int], Type]] = []
    values: list[Value] = []
    for lanes, live, element in fragments.products(op):
        per = 32 // storage_bits(element)
        picked: list[int] = []
        for first in range(0, live.bit_length(), per):
            members = range(first, first + per)
            found = [lanes[o] for o in members if o in lanes]
            if live >> first & (1 << per) - 1 and len(found) == per:
                picked += members if any(wanted(x.value) for x in found) else ()
        if picked:
            type = VectorType(len(picked) // per, I32)
            if per == 1:
                type = VectorType(len(picked), element)
            groups.append((lanes, picked, element))
            values.append(registers([lanes[o] for o in picked], type))
    new = build(values)
    for (lanes, picked, element), value in zip(groups, new.results, strict=True):
        out: Value = value
        if element_type(value.type) != element:
            out = vector.bitcast(value, VectorType(len(picked), element))
        for i, o in enumerate(picked):
            lanes[o] = Lane(out, i)
