# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Masked accesses as predicated instructions instead of branches.

In: an ``scf.if`` that moves one element, or one vector, between memory and registers::

    %v = scf.if %c { %x = llvm.load %p : !llvm.ptr<1> -> f32 ; yield %x } else { yield %old }

Out: straight-line code with ``@c ld.global.b32 v, [p];``, where v starts as the old value.
ptxas would form the same instruction from the branch, but a tile of 16 masked elements would
first cost LLVM 16 basic blocks, which is most of the time of a small compile.
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.codegen.emitter import Emitter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.cute import storage_bits
from opencute.dialects.llvm import GENERIC, GLOBAL, SHARED, LLVMPointerType
from opencute.ir.core import Op, Value
from opencute.ir.types import Type, VectorType, element_type

__all__ = ["print_predicated"]

_STATE = {GLOBAL: "global", SHARED: "shared"}
# What may be computed although the condition does not hold: nothing here can fail.
_ANYWHERE = {
    "llvm.getelementptr", "vector.extract", "vector.shuffle", "vector.from_elements",
    "vector.broadcast", "vector.bitcast", "arith.constant", "arith.addi", "arith.muli",
    "arith.andi", "arith.cmpi", "arith.extsi", "arith.extui", "arith.trunci", "arith.bitcast",
}  # fmt: skip
_CONSTRAINT = {8: "h", 16: "h", 32: "r", 64: "l"}


@dataclass(frozen=True)
class _Shape:
    """How a value travels through inline assembly: `count` registers of `bits` each."""

    count: int
    bits: int

    @property
    def register(self) -> int:
        return max(self.bits, 16)

    @property
    def suffix(self) -> str:
        vector = f".v{self.count}" if self.count > 1 else ""
        return f"{vector}.b{self.bits}"


def _shape(type: Type, align: int) -> _Shape | None:
    """One instruction's worth of registers, None if the value takes several instructions."""
    bits = storage_bits(element_type(type))
    total = bits * (type.length if isinstance(type, VectorType) else 1)
    if total > 8 * align or total not in (8, 16, 32, 64, 128):
        return None
    if total <= 64 and (total <= 32 or not isinstance(type, VectorType)):
        return _Shape(1, total)
    return _Shape(total // 32, 32)


def print_predicated(e: Emitter, op: Op) -> bool:
    """Print an ``scf.if`` without branches if it is a masked access; whether it was one."""
    then, orelse = op.regions[0].block, op.regions[1].block
    if op.results:
        return len(op.results) == 1 and _chosen(e, op)
    if len(orelse.ops) > 1:
        return False
    *body, _ = then.ops
    memory = [x for x in body if x.name in ("llvm.load", "llvm.store")]
    if any(x not in memory and x.name not in _ANYWHERE for x in body):
        return False
    if not memory or memory[-1].name != "llvm.store" or len(memory) > 2:
        return False
    load = memory[0] if len(memory) == 2 else None
    store = memory[-1]
    if load is not None and (load.name != "llvm.load" or store.operands[0] is not load.result):
        return False
    loads = load is not None and _space(load.operands[0]) in _STATE
    moved = load if loads else store
    assert moved is not None
    other = store.operands[1] if loads else load.operands[0] if load is not None else None
    if other is not None and not _is_slot(other):
        return False
    value = store.operands[0]
    shape = _shape(value.type, int(moved.attributes["alignment"].value))  # type: ignore[attr-defined]
    if shape is None or (not loads and _space(store.operands[1]) not in _STATE):
        return False
    for x in body:
        if x in memory and (x is moved or x is store):
            continue
        e.op(x)
    condition = e.ref(op.operands[0])
    if loads:
        assert load is not None
        type = llvm_type(load.result.type)
        slot = e.typed(store.operands[1])
        align = store.attributes["alignment"].value  # type: ignore[attr-defined]
        before = e.assign(f"load {type}, {slot}, align {align}")
        e.names[load.result] = _load(e, condition, load, before, shape)
        e.void(f"store {type} {e.names[load.result]}, {slot}, align {align}")
    else:
        _store(e, condition, value, store.operands[1], shape)
    return True


def _chosen(e: Emitter, op: Op) -> bool:
    """Print an ``scf.if`` that gives what it loads, or else a value that is there already."""
    *body, end = op.regions[0].block.ops
    *others, last = op.regions[1].block.ops
    load = end.operands[0].op
    if load is None or load.name != "llvm.load" or load not in body:
        return False
    if any(x is not load and x.name not in _ANYWHERE for x in (*body, *others)):
        return False
    shape = _shape(load.result.type, int(load.attributes["alignment"].value))  # type: ignore[attr-defined]
    if shape is None or _space(load.operands[0]) not in _STATE:
        return False
    for x in (*body, *others):
        if x is not load:
            e.op(x)
    old = e.ref(last.operands[0])
    e.names[op.result] = _load(e, e.ref(op.operands[0]), load, old, shape)
    return True


def _space(pointer: Value) -> int:
    assert isinstance(pointer.type, LLVMPointerType)
    return pointer.type.space


def _is_slot(pointer: Value) -> bool:
    """Whether a pointer leads into a stack slot, which may be read and written at any time."""
    while True:
        op = pointer.op
        if _space(pointer) != GENERIC or op is None:
            return False
        if op.name == "llvm.alloca":
            return True
        if op.name != "llvm.getelementptr":
            return False
        pointer = op.operands[0]


def _to_registers(e: Emitter, value: str, type: str, shape: _Shape) -> list[str]:
    """Integers that hold the bits of a value."""
    packed = f"i{shape.bits}" if shape.count == 1 else f"<{shape.count} x i{shape.bits}>"
    if packed != type:
        value = e.assign(f"bitcast {type} {value} to {packed}")
    if shape.count == 1:
        if shape.register != shape.bits:
            value = e.assign(f"zext {packed} {value} to i{shape.register}")
        return [value]
    return [e.assign(f"extractelement {packed} {value}, i32 {i}") for i in range(shape.count)]


def _from_registers(e: Emitter, registers: list[str], type: str, shape: _Shape) -> str:
    packed = f"i{shape.bits}" if shape.count == 1 else f"<{shape.count} x i{shape.bits}>"
    if shape.count == 1:
        value = registers[0]
        if shape.register != shape.bits:
            value = e.assign(f"trunc i{shape.register} {value} to {packed}")
    else:
        value = "poison"
        for i, r in enumerate(registers):
            value = e.assign(f"insertelement {packed} {value}, i{shape.bits} {r}, i32 {i}")
    return value if packed == type else e.assign(f"bitcast {packed} {value} to {type}")


def _braces(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _load(e: Emitter, condition: str, load: Op, before: str, shape: _Shape) -> str:
    """Print a guarded load; without the condition the result is `before`."""
    type = llvm_type(load.result.type)
    old = _to_registers(e, before, type, shape)
    n, reg = shape.count, f"i{shape.register}"
    names = _braces([f"${i}" for i in range(n)])
    space = _STATE[_space(load.operands[0])]
    text = f"@${n + 1} ld.{space}{shape.suffix} {names}, [${n}];"
    letter = _CONSTRAINT[shape.bits]
    outputs = [f"={letter}"] * n
    ties = [str(i) for i in range(n)]
    constraints = ",".join([*outputs, "l" if space == "global" else "r", "b", *ties, "~{memory}"])
    ret = reg if n == 1 else "{" + ", ".join([reg] * n) + "}"
    address = _address(e, load.operands[0])
    args = ", ".join([address, f"i1 {condition}", *(f"{reg} {v}" for v in old)])
    got = e.assign(f'call {ret} asm sideeffect "{text}", "{constraints}"({args})')
    parts = [got] if n == 1 else [e.assign(f"extractvalue {ret} {got}, {i}") for i in range(n)]
    return _from_registers(e, parts, type, shape)


def _store(e: Emitter, condition: str, value: Value, pointer: Value, shape: _Shape) -> None:
    registers = _to_registers(e, e.ref(value), llvm_type(value.type), shape)
    n, reg = shape.count, f"i{shape.register}"
    space = _STATE[_space(pointer)]
    names = _braces([f"${i + 2}" for i in range(n)])
    text = f"@$1 st.{space}{shape.suffix} [$0], {names};"
    letter = _CONSTRAINT[shape.bits]
    constraints = ",".join(["l" if space == "global" else "r", "b", *[letter] * n, "~{memory}"])
    args = ", ".join([_address(e, pointer), f"i1 {condition}", *(f"{reg} {v}" for v in registers)])
    e.void(f'call void asm sideeffect "{text}", "{constraints}"({args})')


def _address(e: Emitter, pointer: Value) -> str:
    return e.typed(pointer)
