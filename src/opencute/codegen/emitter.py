# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One function as LLVM IR text: names of values, basic blocks, and structured control flow.

In: a function of llvm-level IR. Out: lines of text. What an operation becomes is a row in a table
of the `ops_*` modules; each row is a function ``(emitter, op) -> None`` that calls `emit`::

    def addi(e: Emitter, op: Op) -> None:
        e.emit(op.result, f"add {e.typed(op.operands[0])}, {e.ref(op.operands[1])}")

Integers wrap: no ``nsw`` or ``nuw`` is ever printed. Floats never get ``contract``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.debug.inlined import within
from opencute.codegen.debug_info import DebugInfo
from opencute.codegen.hopper.accumulators import Bank
from opencute.codegen.llvm_types import constant_text, llvm_type
from opencute.ir.attributes import DenseAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import Type, VectorType, element_type

__all__ = ["Emitter", "ModuleText", "OpPrinter"]


_UNNAMED = 4  # members of a structure
# What only moves what it is given.
_MOVES = frozenset({"vector.bitcast", "vector.extract", "vector.shuffle"})


class ModuleText:
    """What functions of one module share: declarations, globals, metadata.

    Args:
        debug: where source positions are collected; None prints none.
    """

    def __init__(self, debug: DebugInfo | None = None) -> None:
        self.debug = debug
        self.declarations: dict[str, None] = {}
        self.globals: dict[str, str] = {}
        self.libdevice: dict[str, None] = {}
        self.libraries: dict[str, None] = {}
        """PTX of device functions, as it is."""
        self.attributes: dict[str, int] = {}
        self.structs: dict[str, str] = {}
        self.functions: list[str] = []

    def declare(self, text: str) -> None:
        """Add ``declare ...`` once."""
        self.declarations[text] = None

    def global_name(self, text: str, prefix: str) -> str:
        """The name of a global with this initialiser text; equal texts share one."""
        if text not in self.globals:
            self.globals[text] = f"@{prefix}{len(self.globals)}"
        return self.globals[text]

    def struct(self, types: Sequence[str]) -> str:
        """A structure of some types. A large one gets a name: it is written for each member that is
        taken out of it, and LLVM reads that as often."""
        body = "{ " + ", ".join(types) + " }"
        if len(types) <= _UNNAMED:
            return body
        return self.structs.setdefault(body, f"%s{len(self.structs)}")

    def attribute_group(self, text: str) -> str:
        """``#n`` for a list of function attributes."""
        return f"#{self.attributes.setdefault(text, len(self.attributes))}"


class Emitter:
    """Prints one function.

    Args:
        module: what it shares with the other functions.
        table: what prints each operation.
        scope: the function's debug scope, None without line information.
        outer: where a kernel is launched; positions are given without it.
    """

    def __init__(
        self,
        module: ModuleText,
        table: Mapping[str, OpPrinter],
        scope: int | None = None,
        outer: Location | None = None,
    ) -> None:
        self.module = module
        self.table = table
        self.scope = scope
        self.outer = outer
        self.predicate: Callable[[Emitter, Op], bool] | None = None
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.names: dict[Value, str] = {}
        # Vectors as the names of their elements, for those that nobody may need as a whole.
        self.parts: dict[Value, list[str]] = {}
        # Vectors in registers that PTX declares: LLVM does not see them.
        self.banks: Mapping[Value, Bank] = {}
        self._whole: dict[tuple[Value, str], str] = {}
        self._loaded: dict[Value, Location] = {}
        self.block_name = "entry"
        self._count = 0
        self._dbg = ""

    # ---------------------------------------------------------------- values
    def fresh(self) -> str:
        """A new local name: a number, which LLVM keeps in no table of names. Numbers are to grow in
        the order of the text."""
        self._count += 1
        return f"%{self._count}"

    def label(self, hint: str) -> str:
        """A new block name, without the percent sign."""
        self._count += 1
        return f"{hint}{self._count}"

    def ref(self, value: Value) -> str:
        """How `value` is written as an operand, without its type."""
        name = self.names.get(value)
        if name is None and value in self.parts:
            return self._joined(value)
        if name is None:
            op = value.op
            if op is None or op.name != "arith.constant":
                raise ToolchainError("a value is used before its definition", code="OC1521")
            name = self.names[value] = constant_text(op.attributes["value"])
        return name

    def _joined(self, value: Value) -> str:
        """A vector that stands as its elements, put together where it is used."""
        key = (value, self.block_name)
        name = self._whole.get(key)
        if name is None:
            assert isinstance(value.type, VectorType)
            whole, element = llvm_type(value.type), llvm_type(value.type.element)
            name = "poison"
            for i, part in enumerate(self.parts[value]):
                name = self.assign(f"insertelement {whole} {name}, {element} {part}, i32 {i}")
            self._whole[key] = name
        return name

    def elements(self, value: Value) -> list[str]:
        """The elements of a vector, each by a name."""
        parts = self.parts.get(value)
        if parts is None:
            assert isinstance(value.type, VectorType)
            count = value.type.length
            known = constant_of(value)
            if isinstance(known, DenseAttr):
                texts = [constant_text(item) for item in known.items]
                return texts * count if len(texts) == 1 else texts
            typed = self.typed(value)
            parts = [self.moved(value, f"extractelement {typed}, i32 {i}") for i in range(count)]
        return parts

    def use_banks(self, banks: Mapping[Value, Bank]) -> None:
        """Have values stand in registers that PTX declares, and declare them."""
        self.banks = banks
        for bank in dict.fromkeys(banks.values()):
            text = f".reg .{bank.kind} {bank.name}<{bank.count}>;"
            self.allocas.append(f'  call void asm sideeffect "{text}", ""()')

    def from_bank(self, value: Value, at: int) -> str:
        """An element of a vector that stands in registers which PTX declares, as it is now."""
        bank = self.banks[value]
        type, letter = ("float", "f") if bank.kind == "f32" else ("i32", "r")
        text = f"mov.b32 $0, {bank.name}{at};"
        return self.assign(f'call {type} asm sideeffect "{text}", "={letter}"()')

    def _clear(self, value: Value) -> None:
        """Zero in the registers that a vector stands in."""
        text = "\\0A".join([f"mov.b32 {r}, 0;" for r in self.banks[value].registers()])
        self.void(f'call void asm sideeffect "{text}", ""()')

    def seen(self, values: Sequence[Value], targets: Sequence[Value]) -> list[Value]:
        """Of the values that `targets` get on an edge, those that phis give them; what stands in
        registers that PTX declares is there already, or put there now."""
        if not self.banks:
            return [*values]
        for value, target in zip(values, targets, strict=True):
            if target in self.banks and value not in self.banks:
                self._clear(target)
        return [v for v, t in zip(values, targets, strict=True) if t not in self.banks]

    def typed(self, value: Value) -> str:
        """How `value` is written as an operand, with its type."""
        return f"{llvm_type(value.type)} {self.ref(value)}"

    def assign(self, text: str) -> str:
        """Print ``%n = text`` and return ``%n``."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}{self._dbg}")
        return name

    def moved(self, value: Value, text: str) -> str:
        """As `assign`, where the instruction only moves what is in a value, see `_place`."""
        place = self._loaded.get(value)
        if place is None:
            return self.assign(text)
        here = self._dbg
        self.locate(place)
        name = self.assign(text)
        self._dbg = here
        return name

    def emit(self, result: Value, text: str) -> None:
        """Print the instruction that defines `result`."""
        self.names[result] = self.assign(text)

    def void(self, text: str) -> None:
        """Print an instruction without a result."""
        self.lines.append(f"  {text}{self._dbg}")

    def call(self, name: str, result: Type | str, args: Sequence[tuple[str, str]]) -> str:
        """Print a call of an external function, and declare it; (type, operand) pairs."""
        ret = result if isinstance(result, str) else llvm_type(result)
        self.module.declare(f"declare {ret} @{name}({', '.join(t for t, _ in args)})")
        return self.assign(f"call {ret} @{name}({', '.join(f'{t} {v}' for t, v in args)})")

    def alloca(self, type: str, count: int, align: int) -> str:
        """A stack slot; in the entry block wherever it is asked for, so that LLVM promotes it."""
        self._count += 1
        name = f"%m{self._count}"  # no number, which would stand before smaller ones
        self.allocas.append(f"  {name} = alloca [{count} x {type}], align {align}")
        return name

    # ---------------------------------------------------------------- code
    def ops(self, block: Block) -> Op:
        """Print a block's operations except its terminator, which is returned."""
        for op in block.ops[:-1]:
            self.op(op)
        return block.ops[-1]

    def op(self, op: Op) -> None:
        """Print one operation."""
        self.locate(op.loc if self.module.debug is None else self._place(op))
        if op.name == "scf.if" and self.predicate is not None and self.predicate(self, op):
            return
        control = _CONTROL.get(op.name)
        if control is not None:
            control(self, op)
            return
        printer = self.table.get(op.name)
        if printer is None:
            raise ToolchainError(
                f"{op.name} cannot be printed as LLVM IR", code="OC1522", loc=op.loc
            )
        printer(self, op)

    def _place(self, op: Op) -> Location | None:
        """Where an operation is. What only moves loaded values is where they are loaded: of a load
        and a bitcast LLVM makes one load, at the place of the latter."""
        if op.name == "llvm.load":
            place = op.loc
        elif op.name in _MOVES:
            place = self._loaded.get(op.operands[0])
            if any(self._loaded.get(v) != place for v in op.operands[1:]):
                place = None
        else:
            return op.loc
        if place is not None:
            self._loaded[op.results[0]] = place
        return place or op.loc

    def locate(self, loc: Location | None) -> None:
        """Give the instructions that follow a source position."""
        debug = self.module.debug
        if debug is not None and self.scope is not None:
            here = within(loc, self.outer)
            self._dbg = f", !dbg !{debug.location(here, self.scope)}"

    def start(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")
        self.block_name = name

    def jump(self, name: str) -> str:
        """End the basic block; returns its name, for phis."""
        self.void(f"br label %{name}")
        return self.block_name

    def branch(self, condition: str, yes: str, no: str) -> str:
        """End the basic block with a condition; returns its name."""
        self.void(f"br i1 {condition}, label %{yes}, label %{no}")
        return self.block_name

    def phi(self, name: str, type: Type, edges: Sequence[tuple[str, str]]) -> str:
        """Text of a phi."""
        pairs = ", ".join(f"[ {value}, %{block} ]" for value, block in edges)
        return f"  {name} = phi {llvm_type(type)} {pairs}"

    def refs(self, values: Sequence[Value]) -> list[str]:
        """Operand texts."""
        return [self.ref(v) for v in values]


OpPrinter = Callable[[Emitter, Op], None]


def _empty(block: Block) -> bool:
    return len(block.ops) == 1


class _Carried:
    """Values on one edge of some phis: vectors that stand as their elements have one for each.

    Args:
        e: the emitter; what an element needs is printed now.
        values: the values.
        split: which of them to take apart; those that are apart, if omitted.
    """

    def __init__(
        self, e: Emitter, values: Sequence[Value], split: Sequence[bool] | None = None
    ) -> None:
        self.split = [v in e.parts for v in values] if split is None else split
        self.texts = [
            e.elements(v) if apart else [e.ref(v)]
            for v, apart in zip(values, self.split, strict=True)
        ]

    def name(self, e: Emitter, targets: Sequence[Value]) -> None:
        """Give names to the values that phis define."""
        for target, apart, texts in zip(targets, self.split, self.texts, strict=True):
            if apart:
                e.parts[target] = [e.fresh() for _ in texts]
            else:
                e.names[target] = e.fresh()


def _phis(e: Emitter, targets: Sequence[Value], edges: Sequence[tuple[_Carried, str]]) -> list[str]:
    """The phis of values that have names."""
    out: list[str] = []
    for i, target in enumerate(targets):
        apart = edges[0][0].split[i]
        names = e.parts[target] if apart else [e.names[target]]
        type = element_type(target.type) if apart else target.type
        for k, name in enumerate(names):
            out.append(e.phi(name, type, [(c.texts[i][k], block) for c, block in edges]))
    return out


def _if(e: Emitter, op: Op) -> None:
    then, orelse = op.regions[0].block, op.regions[1].block
    targets = e.seen(op.results, op.results)
    yes, no, end = e.label("then"), e.label("else"), e.label("end")
    skip = _empty(orelse)
    others = e.seen(orelse.ops[-1].operands, op.results)
    # Apart where that needs no instruction on the other path, which may have no block of its own.
    apart = [v in e.parts for v in others]
    before = e.branch(e.ref(op.operands[0]), yes, end if skip else no)
    e.start(yes)
    last = e.seen(e.ops(then).operands, op.results)
    if not skip:
        apart = [v in e.parts for v in last]
    first = _Carried(e, last, apart)
    edges = [(first, e.jump(end))]
    if skip:
        edges.append((_Carried(e, others, apart), before))
    else:
        e.start(no)
        e.ops(orelse)
        values = _Carried(e, others, apart)
        edges.append((values, e.jump(end)))
    e.start(end)
    first.name(e, targets)
    e.lines += _phis(e, targets, edges)


def _for(e: Emitter, op: Op) -> None:
    """A loop that tests at its end, behind a guard that skips it when it has no iteration."""
    lower, upper, step, *inits = op.operands
    body = op.regions[0].block
    head, end = e.label("loop"), e.label("end")
    type = llvm_type(lower.type)
    guard = e.assign(f"icmp slt {type} {e.ref(lower)}, {e.ref(upper)}")
    start, first = e.ref(lower), _Carried(e, e.seen(inits, op.results))
    results = e.seen(op.results, op.results)
    before = e.branch(guard, head, end)
    e.start(head)
    slot = len(e.lines)
    counter, *args = body.args
    args = e.seen(args, args)
    e.names[counter] = e.fresh()
    first.name(e, args)
    last = e.ops(body)
    carried = _Carried(e, e.seen(last.operands, op.results), first.split)
    e.locate(op.loc)
    following = e.assign(f"add {type} {e.names[counter]}, {e.ref(step)}")
    again = e.assign(f"icmp slt {type} {following}, {e.ref(upper)}")
    latch = e.branch(again, head, end)
    edges = [(first, before), (carried, latch)]
    e.lines[slot:slot] = [
        e.phi(e.names[counter], counter.type, [(start, before), (following, latch)]),
        *_phis(e, args, edges),
    ]
    e.start(end)
    first.name(e, results)
    e.lines += _phis(e, results, edges)


def _while(e: Emitter, op: Op) -> None:
    test, body = op.regions[0].block, op.regions[1].block
    head, inside, end = e.label("while"), e.label("do"), e.label("end")
    first = _Carried(e, op.operands)
    before = e.jump(head)
    e.start(head)
    slot = len(e.lines)
    first.name(e, test.args)
    condition = e.ops(test)
    for arg, r, value in zip(body.args, op.results, condition.operands[1:], strict=True):
        if value in e.parts:
            e.parts[arg] = e.parts[r] = e.parts[value]
        else:
            e.names[arg] = e.names[r] = e.ref(value)
    e.branch(e.ref(condition.operands[0]), inside, end)
    e.start(inside)
    carried = _Carried(e, e.ops(body).operands, first.split)
    latch = e.jump(head)
    e.lines[slot:slot] = _phis(e, test.args, [(first, before), (carried, latch)])
    e.start(end)


_CONTROL: dict[str, Callable[[Emitter, Op], None]] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
}
