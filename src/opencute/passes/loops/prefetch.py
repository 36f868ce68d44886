# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""prefetch: loops that ask for it load from global memory some turns before they use it.

Before::

    scf.for %i = %a to %b {cute.prefetch_stages = 2} { %v = cute.tile_load %p(%i) ; use %v }

After::

    %v0, %v1 = the loads of the first two turns, if there is a turn
    scf.for %i = %a to %b iter_args(%x = %v0, %y = %v1) {
      %z = cute.tile_load %p(min(%i + 2, last)) ; use %x ; scf.yield %y, %z
    }

Which loads: those of every turn (in no branch or inner loop) whose address is made of the loop's
variable and of values from before the loop; copies from global memory into registers among them.
Which loops: those that neither change global memory nor meet other threads, as what is loaded early
might then be old. `unmet` says what stands in the way. The last turns load the last element again,
so that nothing beyond the range is touched.

Why: a load of 400 to 800 cycles is on its way while earlier turns calculate.

Cost: linear; registers for what is loaded ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from opencute.arch.copies import COPY_ATOMS
from opencute.arch.target import Target
from opencute.dialects import arith, cute, scf
from opencute.dialects.cute import CopyOp, LayoutAttr, PtrType, storage_bits
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import Trait, traits_of
from opencute.ir.rewrite import Replacement, Rewriter
from opencute.ir.types import FloatType, IntegerType, Type, element_type

__all__ = ["ASKED", "prefetch", "unmet"]

ASKED = "cute.prefetch_stages"
_LOADS = ("cute.load", "cute.tile_load")
_SPACES = ("rmem", "smem")  # what stores to them cannot change global memory


def prefetch(function: Op, target: Target) -> None:
    """Pipeline the loops of one function that ask for it and can be."""
    if any(ASKED in op.attributes for op in function.walk() if op.name == "scf.for"):
        Rewriter(_rule).run(function)


def _rule(op: Op, rw: Rewriter) -> Replacement:
    stages = op.attributes.pop(ASKED, None) if op.name == "scf.for" else None
    if not isinstance(stages, IntAttr) or stages.value < 1:
        return None
    plan = _plan(op)
    return _pipelined(op, plan, stages.value) if plan.loads else None


def unmet(loop: Op) -> str:
    """Why a loop that asks for it is not pipelined, or some of its loads are not; else empty."""
    return _plan(loop).reason


@dataclass
class _Plan:
    """What is loaded early.

    Attributes:
        loads: operations of the body, in order.
        addresses: those that their addresses are made with.
        reason: why there are no loads, or not all; empty if there is nothing to say.
    """

    loads: list[Op] = field(default_factory=list)
    addresses: set[Op] = field(default_factory=set)
    reason: str = ""


def _plan(loop: Op) -> _Plan:
    body = loop.regions[0].block
    plan = _Plan()
    inside: dict[Value, Op] = {v: op for op in body.ops for v in op.results}
    hidden = {o for op in body.ops for o in op.walk()} - set(body.ops)
    for op in (o for top in body.ops for o in top.walk()):
        obstacle = _obstacle(op)
        if obstacle:
            return _Plan(reason=obstacle)
        if not _is_load(op):
            continue
        if op in hidden:
            plan.reason = "a load stands in a branch or in another loop"
            continue
        found: set[Op] = set()
        if _reaches(_address(op), body, inside, found):
            plan.loads.append(op)
            plan.addresses |= found
        else:
            plan.reason = "an address is not made of the loop's variable only"
    if not plan.loads and not plan.reason:
        plan.reason = "it has no loads from global memory into registers (without a predicate)"
    return plan


def _space(value: Value) -> str:
    return value.type.space if isinstance(value.type, PtrType) else ""


def _is_load(op: Op) -> bool:
    if op.name in _LOADS:
        return _space(op.operands[0]) == "gmem" and _is_number(op.results[0].type)
    if not isinstance(op, CopyOp) or op.pred is not None or op.access_hints().sem:
        return False
    atom = COPY_ATOMS.get(op.atom.value)
    a, b = op.src.type, op.dst.type
    return (
        isinstance(a, PtrType) and isinstance(b, PtrType) and a.element == b.element
        and (a.space, b.space) == ("gmem", "rmem") and not (atom is not None and atom.spaces)
        and storage_bits(a.element) >= 8 and _is_number(a.element)
        and op.src_layout.static_size() is not None
    )  # fmt: skip


def _is_number(type: Type) -> bool:
    return isinstance(element_type(type), IntegerType | FloatType)


def _address(op: Op) -> Sequence[Value]:
    return (op.src, *op.src_dyns) if isinstance(op, CopyOp) else op.operands


def _obstacle(op: Op) -> str:
    """How an operation could change what is loaded early."""
    if op.name == "cute.print" or (op.name.startswith("scf.") and op.name != "scf.while"):
        return ""
    traits = traits_of(op)
    if op.name == "scf.while":
        return "a loop inside of it has no known number of turns"
    if traits & Trait.WRITES:
        if isinstance(op, CopyOp):
            targets: list[Value] = [op.dst]
        elif op.name in ("cute.store", "cute.tile_store"):
            targets = [op.operands[1]]
        elif op.name == "cute.gemm":
            targets = []
        else:
            return f"{op.name} may change global memory, or waits for what does"
        if any(_space(t) not in _SPACES for t in targets):
            return f"it writes to global memory ({op.name})"
    elif traits & Trait.BLOCKING and traits & Trait.READS:
        return f"{op.name} waits for other threads"
    return ""


def _reaches(values: Sequence[Value], body: Block, inside: dict[Value, Op], found: set[Op]) -> bool:
    """Whether values are made of the loop's variable and of what is outside of the loop; `found`
    gets the operations that make them."""
    for value in values:
        op = inside.get(value)
        if op is None:
            if value in body.args[1:]:
                return False
        elif op not in found:
            if not traits_of(op) & Trait.PURE or op.regions:
                return False
            found.add(op)
            if not _reaches(op.operands, body, inside, found):
                return False
    return True


# ---------------------------------------------------------------- the loop that replaces it
def _pipelined(op: Op, plan: _Plan, stages: int) -> list[Value]:
    lower, upper, step, *inits = op.operands
    body = op.regions[0].block
    one = arith.constant(1, lower.type)
    span = arith.binary("subi", arith.binary("subi", upper, lower), one)
    last = arith.binary(
        "addi", lower, arith.binary("muli", arith.binary("divsi", span, step), step)
    )

    def turn(start: Value, count: int) -> Value:
        """The variable `count` turns later, at most that of the last turn."""
        ahead = arith.binary("muli", step, arith.constant(count, step.type))
        return arith.binary("minsi", arith.binary("addi", start, ahead), last)

    first, block = new_block()
    with insert_at(block):
        early = [v for n in range(stages) for v in _loaded(plan, body, turn(lower, n))]
        types = [v.type for v in early]
        scf.yield_(early)
    nothing, block = new_block()
    with insert_at(block):
        scf.yield_([_zero(t) for t in types])
    ahead = scf.if_(arith.cmpi("slt", lower, upper), types, first, nothing).results
    region, block = new_block([a.type for a in body.args] + types)
    own, handed = block.args[: len(body.args)], block.args[len(body.args) :]
    with insert_at(block):
        later = _loaded(plan, body, turn(own[0], stages))
        values: dict[Value, Value] = dict(zip(body.args, own, strict=True))
        waiting = dict(zip(plan.loads, handed, strict=False))
        for each in body.ops[:-1]:
            if each not in waiting:
                block.append(each.clone(values))
            elif isinstance(each, CopyOp):
                _keep(each, waiting[each], values)
            else:
                values[each.results[0]] = waiting[each]
        ends = [values.get(v, v) for v in body.terminator.operands]
        scf.yield_([*ends, *handed[len(plan.loads) :], *later])
    made = scf.for_(lower, upper, step, [*inits, *ahead], region)
    made.attributes.update(op.attributes)
    return list(made.results[: len(op.results)])


def _loaded(plan: _Plan, body: Block, index: Value) -> list[Value]:
    """The loads of the turn of an index, in order."""
    values: dict[Value, Value] = {body.args[0]: index}
    out: list[Value] = []
    block = current_block()
    assert block is not None
    for op in body.ops:
        if op in plan.addresses:
            block.append(op.clone(values))
        elif isinstance(op, CopyOp) and op in plan.loads:
            dyns = [values.get(v, v) for v in op.src_dyns]
            loaded = cute.tile_load(values.get(op.src, op.src), op.src_layout, dyns)
            if "hints" in op.attributes:
                assert loaded.op is not None
                loaded.op.attributes["hints"] = op.attributes["hints"]
            out.append(loaded)
        elif op in plan.loads:
            out.append(block.append(op.clone(values)).results[0])
    return out


def _keep(op: CopyOp, value: Value, values: dict[Value, Value]) -> None:
    """What a copy has loaded goes where it would have put it."""
    layout: LayoutAttr = op.dst_layout
    dyns = [values.get(v, v) for v in op.dst_dyns]
    cute.tile_store(value, values.get(op.dst, op.dst), layout, dyns)


def _zero(type: Type) -> Value:
    zero = 0.0 if isinstance(element_type(type), FloatType) else 0
    return arith.constant(zero, type)
