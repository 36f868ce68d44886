# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline PTX replaced by operations that the simulator has.

IR before::

    %d = llvm.inline_asm "{ .reg .pred p; setp.ne.b32 p, $1, 0; selp.b32 $0, 1, 0, p; }", "=r,r" %a

IR after::

    %p = ptx.compute {instruction = "setp.ne.b32"} (%a, 0)
    %d = ptx.compute {instruction = "selp.b32"} (1, 0, %p)

An instruction under a predicate that only computes becomes a choice between its result and what the
register held; one with effects an `scf.if`. Text with labels becomes a loop over its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.base.errors import SimulationError
from opencute.dialects import arith, llvm, scf
from opencute.dialects.asm.compute import compute
from opencute.dialects.asm.constraints import parse_constraints
from opencute.ir.attributes import DenseI32Attr, StringAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rules
from opencute.ir.types import I32, IntegerType
from opencute.sim.asm.compute import find
from opencute.sim.asm.hopper import EFFECTS
from opencute.sim.asm.registers import Registers, from_bits, to_bits
from opencute.sim.asm.syntax import (
    AsmError,
    Instruction,
    Listing,
    Operand,
    Pair,
    Register,
    Vector,
    parse_asm,
    type_width,
)

__all__ = ["expand_asm"]

_BRANCHES = ("bra", "bra.uni")
_RULES = Rules()


def expand_asm(function: Op) -> Op:
    """The function itself if it holds no inline assembly, else a copy without.

    Args:
        function: a `func.func` or `gpu.func`.

    Raises:
        SimulationError: OC3090, an instruction that the simulator does not run, on the user's line.
    """
    if not any(op.name == "llvm.inline_asm" for op in function.walk()):
        return function
    copy = function.clone({})
    _RULES.apply(copy)
    return copy


class _Packed(Value):
    """Several values that stand for a struct."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Value]) -> None:
        super().__init__(llvm.LLVMStructType(tuple(v.type for v in parts)))
        self.parts = list(parts)


@_RULES.on("llvm.extractvalue")
def _extract(op: Op, rw: Rewriter) -> Replacement:
    struct, where = op.operands[0], op.attributes["position"]
    assert isinstance(where, DenseI32Attr)
    return struct.parts[where.values[0]] if isinstance(struct, _Packed) else None


@_RULES.on("llvm.inline_asm")
def _inline_asm(op: Op, rw: Rewriter) -> Replacement:
    text, constraints = op.attributes["asm_string"], op.attributes["constraints"]
    assert isinstance(text, StringAttr) and isinstance(constraints, StringAttr)
    signature = parse_constraints(constraints.value)
    types = llvm.asm_results(op)
    widths: dict[str, int] = {}
    values: dict[str, Value] = {}
    for i, slot in enumerate(signature.outputs):
        widths[f"${i}"] = slot.bits
    for i, (slot, value) in enumerate(zip(signature.inputs, op.operands, strict=True)):
        if isinstance(value.type, llvm.LLVMPointerType):
            value = llvm.ptrtoint(value)
        bits = slot.bits or int(getattr(value.type, "width", 32))
        name = f"${len(types) + i}"
        widths[name], values[name] = bits, to_bits(value, bits)
        if slot.tied is not None:
            values[f"${slot.tied}"] = values[name]
    try:
        listing = parse_asm(text.value)
        registers = Registers({**widths, **listing.widths}, values)
        _Expansion(listing, registers).run()
        parts = [from_bits(registers.get(f"${i}"), type) for i, type in enumerate(types)]
    except AsmError as e:
        raise SimulationError(
            f"inline PTX: {e}", code="OC3090", loc=op.loc, found=e.text or None,
            hint="the simulator runs a part of PTX; on a GPU all of it runs",
        ) from None  # fmt: skip
    if len(op.results) == 1 and isinstance(op.results[0].type, llvm.LLVMStructType):
        return _Packed(parts)
    return parts


class _Expansion:
    def __init__(self, listing: Listing, registers: Registers) -> None:
        self.listing = listing
        self.registers = registers

    def run(self) -> None:
        if self.listing.labels or any(i.name in _BRANCHES for i in self.listing.instructions):
            self._blocks()
        else:
            self._straight(self.listing.instructions)

    def _straight(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            try:
                self._instruction(instruction)
            except AsmError as e:
                raise AsmError(str(e), e.text or instruction.text) from None

    # ------------------------------------------------------------------ one instruction
    def _instruction(self, i: Instruction) -> None:
        registers = self.registers
        effect = EFFECTS.get(i.parts[0])
        if i.guard is None:
            if effect is not None:
                effect(registers, i)
            else:
                self._compute(i)
            return
        guard = registers.predicate(i.guard)
        if effect is not None:
            registers.where(guard, i, lambda: effect(registers, i))
            return
        before = dict(registers.values)
        self._compute(i)
        for name, value in list(registers.values.items()):
            old = before.get(name)
            if value is old:
                continue
            if old is None:
                old = arith.constant(0, value.type)
            registers.values[name] = arith.select(guard, value, old)

    def _compute(self, i: Instruction) -> None:
        if i.parts[0] == "mov":
            self._mov(i)
            return
        if i.parts[0] in ("setp", "set"):
            self._setp(i)
            return
        known = find(i.name)
        if known is None:
            raise AsmError(f"the simulator does not run {i.name}")
        if len(i.operands) != 1 + len(known.args):
            raise AsmError(f"{i.name} takes {1 + len(known.args)} operands")
        loose = i.parts[0] == "cvt"
        words = _words(i, len(known.args))
        args = [
            self.registers.read(o, word, loose=loose, width=width)
            for o, word, width in zip(i.operands[1:], words, known.args, strict=True)
        ]
        out = compute(i.name, args, IntegerType(known.result))
        self.registers.write(i.operands[0], out, loose=loose, signed=known.extend)

    def _setp(self, i: Instruction) -> None:
        """``setp.lt.and.s32 p|q, a, b, !c`` and ``set.lt.u32.s32 d, a, b``."""
        parts = i.parts
        combine = parts[2] if len(parts) > 3 and parts[2] in ("and", "or", "xor") else None
        rest = [w for n, w in enumerate(parts) if not (combine and n == 2)]
        to = None
        if parts[0] == "set":
            to = rest[-2] if len(rest) > 3 and type_width(rest[-2]) else None
            if to not in ("u32", "s32", "f32"):
                raise AsmError(f"the simulator does not run {i.name}")
            rest = ["setp", *rest[1:-2], rest[-1]]
        name = ".".join(rest)
        known = find(name)
        if known is None:
            raise AsmError(f"the simulator does not run {i.name}")
        if len(i.operands) != (4 if combine else 3):
            raise AsmError(f"{i.name} takes {4 if combine else 3} operands")
        a, b = (self.registers.read(o, rest[-1], width=known.args[0]) for o in i.operands[1:3])
        first: Value = compute(name, (a, b), IntegerType(1))
        second: Value = compute("not.pred", (first,), IntegerType(1))
        if combine:
            other = self.registers.predicate(i.operands[3])
            first = compute(f"{combine}.pred", (first, other), IntegerType(1))
            second = compute(f"{combine}.pred", (second, other), IntegerType(1))
        if to is not None:
            true = arith.constant(0x3F800000 if to == "f32" else -1, I32)
            first = arith.select(first, true, arith.constant(0, I32))
        target = i.operands[0]
        if isinstance(target, Pair):
            self.registers.write(target.first, first)
            self.registers.write(target.second, second)
        else:
            self.registers.write(target, first)

    def _mov(self, i: Instruction) -> None:
        if len(i.operands) != 2 or len(i.parts) != 2 or (width := type_width(i.parts[1])) is None:
            raise AsmError(f"{i.name} takes 2 operands and a type")
        target, source = i.operands
        registers = self.registers
        if isinstance(source, Vector):
            size = width // len(source.items)
            whole = IntegerType(width)
            out: Value = arith.constant(0, whole)
            for n, item in enumerate(source.items):
                part = arith.cast("extui", registers.read(item, f"b{size}", width=size), whole)
                shifted = arith.binary("shli", part, arith.constant(n * size, whole))
                out = arith.binary("ori", out, shifted)
            registers.write(target, out)
        elif isinstance(target, Vector):
            value = registers.read(source, i.parts[1])
            size = width // len(target.items)
            for n, item in enumerate(target.items):
                shifted = arith.binary("shrui", value, arith.constant(n * size, value.type))
                registers.write(item, arith.cast("trunci", shifted, IntegerType(size)))
        else:
            registers.write(target, registers.read(source, i.parts[1]))

    # ------------------------------------------------------------------ labels
    def _blocks(self) -> None:
        """A loop whose turns run the blocks of the text, each where the counter says so."""
        listing, registers = self.listing, self.registers
        starts = {0, *listing.labels.values()}
        starts |= {n + 1 for n, i in enumerate(listing.instructions) if i.name in _BRANCHES}
        order = sorted(s for s in starts if s < len(listing.instructions))
        number = {start: k for k, start in enumerate(order)}
        end = len(order)
        number[len(listing.instructions)] = end
        names = [n for n in registers.widths if n in registers.values or _written(listing, n)]
        inits: list[Value] = [arith.constant(0, I32), *(registers.get(n) for n in names)]
        types = [v.type for v in inits]
        before, test = new_block(types)
        with insert_at(test):
            more = arith.cmpi("ne", test.args[0], arith.constant(end, I32))
            scf.condition(more, test.args)
        after, body = new_block(types)
        with insert_at(body):
            counter: Value = body.args[0]
            registers.values = dict[str, Value](zip(names, body.args[1:], strict=True))
            for k, start in enumerate(order):
                stop = order[k + 1] if k + 1 < end else len(listing.instructions)
                counter = self._block(counter, k, listing.instructions[start:stop], number, names)
            scf.yield_([counter, *(registers.get(n) for n in names)])
        loop = scf.while_(inits, types, before, after)
        registers.values = dict[str, Value](zip(names, loop.results[1:], strict=True))

    def _block(
        self,
        counter: Value,
        k: int,
        instructions: Sequence[Instruction],
        number: dict[int, int],
        names: Sequence[str],
    ) -> Value:
        """One block of the text, where the counter is `k`; the counter after it."""
        registers = self.registers
        here = arith.cmpi("eq", counter, arith.constant(k, I32))
        olds = [counter, *(registers.get(n) for n in names)]
        kept = dict(registers.values)
        then, block = new_block()
        with insert_at(block):
            last = instructions[-1] if instructions and instructions[-1].name in _BRANCHES else None
            self._straight(instructions[:-1] if last else instructions)
            following: Value = arith.constant(k + 1, I32)
            if last is not None:
                following = self._branch(last, following, number)
            scf.yield_([following, *(registers.get(n) for n in names)])
        registers.values = kept
        orelse, other = new_block()
        with insert_at(other):
            scf.yield_(olds)
        made = scf.if_(here, [v.type for v in olds], then, orelse)
        registers.values.update(zip(names, made.results[1:], strict=True))
        return made.results[0]

    def _branch(self, i: Instruction, following: Value, number: dict[int, int]) -> Value:
        (label,) = i.operands if len(i.operands) == 1 else (None,)
        if not isinstance(label, Register) or label.name not in self.listing.labels:
            raise AsmError("there is no such label", i.text)
        target = arith.constant(number[self.listing.labels[label.name]], I32)
        if i.guard is None:
            return target
        return arith.select(self.registers.predicate(i.guard), target, following)


def _written(listing: Listing, name: str) -> bool:
    def names(operand: Operand) -> bool:
        if isinstance(operand, Register):
            return operand.name == name
        if isinstance(operand, Vector):
            return any(map(names, operand.items))
        return isinstance(operand, Pair) and (names(operand.first) or names(operand.second))

    return any(i.operands and names(i.operands[0]) for i in listing.instructions)


def _words(i: Instruction, count: int) -> list[str]:
    """The type of each operand, which says how its constants are written."""
    word = i.parts[-1]
    return ["pred" if i.parts[0] == "selp" and n == 2 else word for n in range(count)]
