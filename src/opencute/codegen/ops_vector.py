# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `vector` operations are printed as LLVM IR.

``vector.extract %v[3] : f16 from vector<8xf16>`` becomes
``extractelement <8 x half> %v, i32 3``.
"""

from __future__ import annotations

from opencute.base.errors import ToolchainError
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import constant_text, llvm_type, mangled
from opencute.ir.attributes import Attribute, DenseAttr, DenseI32Attr, DialectAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Op
from opencute.ir.types import VectorType

__all__ = ["VECTOR_OPS"]


def _broadcast(e: Emitter, op: Op) -> None:
    result = op.results[0]
    assert isinstance(result.type, VectorType)
    type, n = llvm_type(result.type), result.type.length
    first = e.assign(f"insertelement {type} poison, {e.typed(op.operands[0])}, i32 0")
    e.emit(result, f"shufflevector {type} {first}, {type} poison, <{n} x i32> zeroinitializer")


def _position(op: Op) -> int:
    position = op.attributes["static_position"]
    assert isinstance(position, DenseI32Attr)
    return position.values[0]


def _extract(e: Emitter, op: Op) -> None:
    source, at = op.operands[0], _position(op)
    if source in e.parts:
        e.names[op.results[0]] = e.parts[source][at]
    elif source in e.banks:
        e.names[op.results[0]] = e.from_bank(source, at)
    else:
        e.emit(op.results[0], f"extractelement {e.typed(source)}, i32 {at}")


def _insert(e: Emitter, op: Op) -> None:
    value, dest = op.operands[:2]
    e.emit(op.results[0], f"insertelement {e.typed(dest)}, {e.typed(value)}, i32 {_position(op)}")


def _from_elements(e: Emitter, op: Op) -> None:
    e.parts[op.results[0]] = e.refs(op.operands)


def _shuffle(e: Emitter, op: Op) -> None:
    mask = op.attributes["mask"]
    assert isinstance(mask, DenseI32Attr)
    a, b = op.operands
    assert isinstance(a.type, VectorType) and isinstance(b.type, VectorType)
    known = constant_of(a), constant_of(b)
    if isinstance(known[0], DenseAttr) and isinstance(known[1], DenseAttr):
        items = [*_items(known[0]), *_items(known[1])]
        e.names[op.results[0]] = constant_text(
            DenseAttr(tuple([items[max(m, 0)] for m in mask.values]), op.results[0].type)
        )
        return
    if a in e.parts and b in e.parts and min(mask.values) >= 0:
        both = e.parts[a] + e.parts[b]
        e.parts[op.results[0]] = [both[m] for m in mask.values]
        return
    first, second, values = e.typed(a), e.typed(b), list(mask.values)
    if a.type != b.type:  # LLVM wants one type: widen the shorter one
        n = max(a.type.length, b.type.length)
        first, second = _widen(e, first, a.type, n), _widen(e, second, b.type, n)
        shift = n - a.type.length
        values = [m if m < a.type.length else m + shift for m in values]
    lanes = ", ".join("i32 poison" if m < 0 else f"i32 {m}" for m in values)
    e.emit(op.results[0], f"shufflevector {first}, {second}, <{len(values)} x i32> <{lanes}>")


def _items(value: DenseAttr) -> tuple[Attribute, ...]:
    """The elements of a constant vector."""
    assert isinstance(value.type, VectorType)
    return value.items * value.type.length if len(value.items) == 1 else value.items


def _widen(e: Emitter, value: str, type: VectorType, length: int) -> str:
    if type.length == length:
        return value
    lanes = [f"i32 {i}" if i < type.length else "i32 poison" for i in range(length)]
    name = e.assign(
        f"shufflevector {value}, {llvm_type(type)} poison, <{length} x i32> <{', '.join(lanes)}>"
    )
    return f"{llvm_type(VectorType(length, type.element))} {name}"


_STEPS = {
    "add": ("add", "fadd"), "mul": ("mul", "fmul"), "and": ("and", ""), "or": ("or", ""),
    "xor": ("xor", ""),
}  # fmt: skip
_STEP_CALLS = {
    "minsi": "smin", "minui": "umin", "maxsi": "smax", "maxui": "umax", "minnumf": "minnum",
    "maxnumf": "maxnum", "minimumf": "minimum", "maximumf": "maximum",
}  # fmt: skip


def _reduction(e: Emitter, op: Op) -> None:
    """Elements in ascending order: the order is part of the operation's meaning for floats."""
    kind = op.attributes["kind"]
    assert isinstance(kind, DialectAttr)
    name = kind.body.removeprefix("kind<").removesuffix(">")
    source, result = op.operands[0], op.results[0]
    assert isinstance(source.type, VectorType)
    type = llvm_type(result.type)
    values = [
        e.assign(f"extractelement {e.typed(source)}, i32 {i}") for i in range(source.type.length)
    ]
    if len(op.operands) > 1:
        values.insert(0, e.ref(op.operands[1]))
    acc = values[0]
    for value in values[1:]:
        if name in _STEP_CALLS:
            callee = f"llvm.{_STEP_CALLS[name]}.{mangled(result.type)}"
            acc = e.call(callee, result.type, [(type, acc), (type, value)])
        elif name in _STEPS:
            word = _STEPS[name][0 if type.startswith("i") else 1]
            acc = e.assign(f"{word} {type} {acc}, {value}")
        else:
            raise ToolchainError(f"no reduction is called {name}", code="OC1523", loc=op.loc)
    e.names[result] = acc


def _bitcast(e: Emitter, op: Op) -> None:
    value, to = op.operands[0], llvm_type(op.results[0].type)
    if llvm_type(value.type) == to:
        e.names[op.results[0]] = e.ref(value)
    else:
        e.emit(op.results[0], f"bitcast {e.typed(value)} to {to}")


VECTOR_OPS: dict[str, OpPrinter] = {
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.from_elements": _from_elements,
    "vector.shuffle": _shuffle,
    "vector.reduction": _reduction,
    "vector.bitcast": _bitcast,
}
