# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How products of warpgroups are printed: inline assembly whose accumulators are tied operands.

Tied, because the instruction changes its registers in place, and while it runs no move of them is
allowed; several products on one accumulator are one piece of assembly. Accumulators in registers
that PTX declares (`accumulators`) are no operands at all::

    call { float, ... } asm sideeffect "{ wgmma.mma_async... {$0,$1,...}, $8, $9, 1, 1, 1, 0, 0; }",
        "=f,...,0,1,...,l,l"(float %d0, ..., i64 %a, i64 %b) #1
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.wgmma import WgmmaAtom, wgmma_atom
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.hopper.wgmma import WgmmaOp, WgmmaWaitOp
from opencute.ir.attributes import DenseI32Attr, IntAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Op, Value
from opencute.ir.types import VectorType

__all__ = ["WGMMA"]

_LETTER = {"float": "f", "i32": "r"}
_COMMIT = "wgmma.commit_group.sync.aligned;"


class _Assembly:
    """One piece of assembly: its tied registers, further inputs, and text."""

    def __init__(self, e: Emitter, tied: Sequence[Value]) -> None:
        self.e = e
        self.tied = tied
        self.registers: list[tuple[str, str]] = []
        for value in tied:
            if value in e.banks:
                continue
            assert isinstance(value.type, VectorType)
            type = llvm_type(value.type.element)
            self.registers += [(type, part) for part in e.elements(value)]
        self.inputs: list[tuple[str, str, str]] = []  # constraint, type, operand

    def input(self, constraint: str, type: str, operand: str) -> str:
        """A further operand; how the text names it."""
        self.inputs.append((constraint, type, operand))
        return f"${2 * len(self.registers) + len(self.inputs) - 1}"

    def call(self, text: str, results: Sequence[Value], *, memory: bool) -> None:
        """Print the call; `results` are the tied values as it leaves them."""
        e, n = self.e, len(self.registers)
        constraints = [f"={_LETTER[t]}" for t, _ in self.registers]
        constraints += [str(i) for i in range(n)]
        constraints += [c for c, _, _ in self.inputs] + ["~{memory}"] * memory
        args = [f"{t} {v}" for t, v in self.registers] + [f"{t} {v}" for _, t, v in self.inputs]
        types = [t for t, _ in self.registers]
        struct = e.module.struct(types)
        ret = "void" if n == 0 else types[0] if n == 1 else struct
        group = e.module.attribute_group("convergent nounwind")
        call = f'call {ret} asm sideeffect "{text}", "{",".join(constraints)}"({", ".join(args)})'
        call = f"{call} {group}"
        if n == 0:
            e.void(call)
            return
        whole = e.assign(call)
        parts = [whole] if n == 1 else [
            e.assign(f"extractvalue {struct} {whole}, {i}") for i in range(n)
        ]  # fmt: skip
        for value in results:
            if value in e.banks:
                continue
            assert isinstance(value.type, VectorType)
            e.parts[value], parts = parts[: value.type.length], parts[value.type.length :]


def _wgmma(e: Emitter, op: Op) -> None:
    assert isinstance(op, WgmmaOp)
    atom = wgmma_atom(op.atom.value)
    bank = e.banks.get(op.results[0])
    asm = _Assembly(e, [op.accumulator] if bank is None else [])
    names = [f"${i}" for i in range(len(asm.registers))] if bank is None else bank.registers()
    tile = "{" + ",".join(names) + "}"
    tail = "".join(f", {m}" for m in _modifiers(op, atom))
    lines: list[str] = []
    each = 3 + atom.sparse
    turns = op.attributes.get("turns")
    repeats = turns.values if isinstance(turns, DenseI32Attr) else (1, 0, 0) * len(op.steps)
    known = constant_of(op.steps[2])
    if isinstance(known, IntAttr) and not known.value & 1:
        # Nothing reads what was there. Values put there would be instructions among products that
        # are under way, for which ptxas serialises them all.
        asm.registers = [(t, "poison") for t, _ in asm.registers]
    for first in range(0, len(op.steps), each):
        a, b, accumulate, *meta = op.steps[first : first + each]
        if atom.a_in_registers:
            left = "{" + ",".join(asm.input("r", "i32", x) for x in e.elements(a)) + "}"
        else:
            left = asm.input("l", "i64", e.ref(a))
        right = asm.input("l", "i64", e.ref(b))
        for word in meta:
            assert isinstance(op.selector, IntAttr)
            right += f", {asm.input('r', 'i32', e.ref(word))}, {op.selector.value}"
        known = constant_of(accumulate)
        if isinstance(known, IntAttr):
            adds = str(known.value & 1)
        else:
            adds = asm.input("b", "i1", e.ref(accumulate))
        count, *steps = repeats[first : first + 3] if each == 3 else (1, 0, 0)
        if count == 1:
            lines.append(f"{atom.instruction} {tile}, {left}, {right}, {adds}{tail};")
        else:
            product = f"{atom.instruction} {tile}, a, b, {adds}{tail};"
            lines.append(_repeated(product, left, right, count, steps))
    wait = op.attributes.get("wait")
    if isinstance(wait, IntAttr):
        lines += [_COMMIT, _wait_text(wait.value)]
    asm.call("\\0A".join(lines), op.results, memory=wait is not None)


def _repeated(product: str, a: str, b: str, count: int, steps: Sequence[int]) -> str:
    """A loop around a product of descriptors called a and b. ptxas is told to leave it one: it
    takes as long for a product that it has copied as for one that it was given."""
    return "\\0A".join([
        "{", ".reg .pred more;", ".reg .b32 turn;", ".reg .b64 a, b;",
        f"mov.b64 a, {a};", f"mov.b64 b, {b};", f"mov.b32 turn, {count};",
        "AGAIN:", '.pragma \\22nounroll\\22;', product,
        f"add.s64 a, a, {steps[0]};", f"add.s64 b, b, {steps[1]};", "add.s32 turn, turn, -1;",
        "setp.ne.s32 more, turn, 0;", "@more bra AGAIN;", "}",
    ])  # fmt: skip


def _modifiers(op: WgmmaOp, atom: WgmmaAtom) -> tuple[str, ...]:
    return atom.modifiers(op.a_major.value == "mn", op.b_major.value == "mn")


def _fence(e: Emitter, op: Op) -> None:
    _Assembly(e, op.operands).call("wgmma.fence.sync.aligned;", op.results, memory=True)


def _commit(e: Emitter, op: Op) -> None:
    _Assembly(e, ()).call(_COMMIT, (), memory=True)


def _wait(e: Emitter, op: Op) -> None:
    assert isinstance(op, WgmmaWaitOp)
    _Assembly(e, op.operands).call(_wait_text(op.count.value), op.results, memory=True)


def _wait_text(count: int) -> str:
    return f"wgmma.wait_group.sync.aligned {count};"


WGMMA: dict[str, OpPrinter] = {
    "ptx.wgmma": _wgmma,
    "ptx.wgmma_commit": _commit,
    "ptx.wgmma_fence": _fence,
    "ptx.wgmma_wait": _wait,
}
