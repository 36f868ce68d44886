# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operations in which nothing waits, as Python source.

Registers are named ``v<number>``; the taint of a value that may be garbage is ``t<number>``. Rules,
constants and operations are globals of the source. IR before::

    %2 = arith.addi %0, %1

Source after::

    v2 = f7(v0, v1)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.errors import SimulationError
from opencute.dialects.cute import PtrType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import Type
from opencute.sim.control import run_for, run_if, run_while
from opencute.sim.fused.writer import Fusable, Fuser, may_fuse
from opencute.sim.lanes import Kind
from opencute.sim.numbers.nans import OBSERVED, Computed, canonical
from opencute.sim.registry import Rule, rule_of
from opencute.sim.taint import Taint, Tracked, join, report
from opencute.sim.values import constant_value, dtype_of

__all__ = ["CONTROL", "TERMINATORS", "SourceWriter", "kind_of"]

CONTROL = ("scf.if", "scf.for", "scf.while")
_PURE = ("arith", "math", "vector")
"""Dialects in which an operation's results depend on nothing but its operands."""
TERMINATORS = ("scf.yield", "scf.condition", "func.return", "gpu.return")


def kind_of(type: Type) -> Kind:
    """How values of a type merge where lanes come together."""
    return "ptr" if isinstance(type, PtrType | LLVMPointerType) else dtype_of(type)


class SourceWriter:
    """Writes the source of a function's straight parts.

    Args:
        op: the function.
        loose: whether its arguments may point to memory that is not initialised.
        many: whether there may be enough lanes for native loops to be worth their price.
    """

    def __init__(self, op: Op, loose: bool, many: bool) -> None:
        self.op = op
        self.body = op.regions[0].block
        self.tracked = Tracked(self.body, loose_arguments=loose)
        self.computed = Computed(self.body)
        self.numbers: dict[Value, int] = {}
        self.constants: dict[Value, str] = {}
        self.names: dict[str, Any] = {
            "run_if": run_if, "run_for": run_for, "run_while": run_while, "join": join,
            "report": report,
        }  # fmt: skip
        self.functions: list[str] = []
        self.aliases: dict[Value, Value] = {}
        self.known: dict[Any, Op] = {}
        self.many = many
        self.fuser = Fuser(op if many else None, self.aliases, self.v, self.bind)

    # ------------------------------------------------------------------ names
    def bind(self, value: Any, prefix: str) -> str:
        """A global name of the generated source."""
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def v(self, value: Value) -> str:
        """The register of a value."""
        const = self.constants.get(value)
        if const is not None:
            return const
        value = self.aliases.get(value, value)
        n = self.numbers.get(value)
        if n is None:
            n = self.numbers[value] = len(self.numbers)
        return f"v{n}"

    def t(self, value: Value) -> str:
        """The taint of a value, as source."""
        return "t" + self.v(value)[1:] if value in self.tracked else "None"

    def both(self, values: Sequence[Value], like: Sequence[Value] | None = None) -> list[str]:
        """Registers of values, each followed by its taint if `like` (default: it) has one."""
        out: list[str] = []
        for value, model in zip(values, like or values, strict=True):
            out.append(self.v(value))
            if model in self.tracked:
                out.append(self.t(value))
        return out

    def kinds(self, values: Sequence[Value]) -> str:
        """A name for how values (and their taints) merge."""
        out: list[Kind] = []
        for value in values:
            out.append(kind_of(value.type))
            if value in self.tracked:
                out.append("taint")
        return self.bind(tuple(out), "k") if out else "()"

    def free(self, *blocks: Block) -> list[Value]:
        """Values that blocks use and do not define, constants left out."""
        inside: set[Value] = set()
        out: dict[Value, None] = {}

        def visit(block: Block) -> None:
            inside.update(block.args)
            for op in block.ops:
                for value in op.operands:
                    if value not in inside and not self.is_constant(value):
                        out[self.aliases.get(value, value)] = None
                for region in op.regions:
                    visit(region.block)
                inside.update(op.results)

        for block in blocks:
            visit(block)
        return list(out)

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant; then it has a name in the source from now on."""
        op = value.op
        if op is None or op.name != "arith.constant":
            return False
        if value in self.constants:
            return True
        content = constant_value(op.attributes["value"], value.type)
        self.constants[value] = (
            repr(content) if type(content) in (int, bool) else self.bind(content, "c")
        )
        if type(content) is int and content < 0:
            self.constants[value] = f"({content})"
        return True

    # ------------------------------------------------------------------ straight code
    def sink(self, op: Op, value: Value, what: str, indent: str, out: list[Any]) -> None:
        """Report garbage in `value` here."""
        if value in self.tracked:
            name = self.bind(op, "o")
            t = self.t(value)
            out.append(f"{indent}if {t} is not None: report(L, {t}, {name}, {what!r})")

    def plain(self, op: Op, indent: str, out: list[Any]) -> None:
        """Source of an operation without regions."""
        if op.name == "arith.constant":
            self.is_constant(op.results[0])
            return
        for value in op.operands:
            self.is_constant(value)
        rule = rule_of(op)
        if self._repeats(op):
            return
        for index, what in rule.sinks(op):
            self.sink(op, op.operands[index], what, indent, out)
        try:
            function = rule.factory(op)
        except SimulationError as e:
            raise e.at(op.loc) from None
        fn = self.bind(function, "f")
        args = [self.v(a) for a in op.operands]
        seen = OBSERVED.get(op.name)
        if seen is not None and op.operands[seen] in self.computed:
            args[seen] = f"{self.bind(canonical(op.operands[seen]), 'n')}({args[seen]})"
        if rule.lanes:
            args.insert(0, "L")
        targets = [self.v(r) for r in op.results]
        tracked_result = any(r in self.tracked for r in op.results)
        tracked = tracked_result or any(a in self.tracked for a in op.operands)
        if tracked and rule.taint == "memory":
            taints = "".join(self.t(a) + ", " for a in op.operands)
            args.append(f"taints=({taints})")
            if tracked_result:
                args.append("track=True")
                targets = [n for r in op.results for n in (self.v(r), self.t(r))]
        call = f"{fn}({', '.join(args)})"
        line = f"{indent}{', '.join(targets)} = {call}" if targets else indent + call
        after: list[Any] = []
        if tracked_result and rule.taint != "memory":
            self._spread(op, rule, indent, after)
        if self.many and may_fuse(op) and not (tracked_result and rule.spread is not None):
            out.append(Fusable(op, function, rule.lanes, line, after))
        else:
            out += [line, *after]

    def _repeats(self, op: Op) -> bool:
        """Whether an operation of the same block has computed this already; then that counts."""
        if op.dialect not in _PURE or not op.results:
            return False
        operands = tuple(
            (self.constants.get(v) or self.aliases.get(v, v), v.type) for v in op.operands
        )
        key = (op.parent, op.name, operands, op.results[0].type, tuple(op.attributes.items()))
        before = self.known.setdefault(key, op)
        if before is op:
            return False
        for value, same in zip(op.results, before.results, strict=True):
            self.aliases[value] = same
            self.fuser.same.setdefault(same, []).append(value)
        return True

    def _spread(self, op: Op, rule: Rule, indent: str, out: list[Any]) -> None:
        """Source that computes the taint of the results."""
        target = " = ".join(self.t(r) for r in op.results)
        taints = [self.t(a) for a in op.operands]
        known = [t for t in taints if t != "None"]
        if rule.spread is not None:
            fn = self.bind(rule.spread(op), "g")
            values = self._tuple([self.v(a) for a in op.operands])
            out.append(f"{indent}{target} = {fn}({values}, {self._tuple(taints)})")
        elif callable(rule.taint):
            fn = self.bind(_structural(rule.taint(op), op), "g")
            out.append(f"{indent}{target} = {fn}({', '.join(taints)})")
        elif len(known) == 1:
            out.append(f"{indent}{target} = {known[0]}")
        else:
            out.append(f"{indent}{target} = join({', '.join(known)})")

    def block(self, block: Block, indent: str, out: list[Any]) -> None:
        """Source of all operations of a block but its terminator."""
        start = len(out)
        for op in block.ops:
            if op.name in TERMINATORS:
                for value in op.operands:
                    self.is_constant(value)
            elif op.name in CONTROL:
                self.control(op, indent, out)
            else:
                self.plain(op, indent, out)
        out[start:] = self.fuser.fuse(out[start:])
        if len(out) > start:
            out.insert(start, f"{indent}L.run.report.lane_ops += {len(block.ops)} * L.n")

    # ------------------------------------------------------------------ control without waiting
    def region(self, block: Block, live: Sequence[Value], results: Sequence[Value]) -> str:
        """Define a function for a region; returns its name."""
        out: list[Any] = []
        self.block(block, "    ", out)
        terminator = block.terminator
        if terminator.name == "scf.condition":
            cond, *passed = terminator.operands
            self.sink(terminator, cond, "a branch", "    ", out)
            values = [self.v(cond), *self.both(passed, results)]
        else:
            values = self.both(terminator.operands, results)
        name = f"r{len(self.functions)}"
        params = "".join(f", {n}" for n in (*self.both(block.args), *self.both(live)))
        out.append(f"    return ({''.join(x + ', ' for x in values)})")
        self.functions.append(f"def {name}(L{params}):\n" + "\n".join(out) + "\n")
        return name

    def control(self, op: Op, indent: str, out: list[Any]) -> None:
        """Source of an operation with regions in which nothing waits."""
        for value in op.operands:
            self.is_constant(value)
        targets = self.both(op.results)
        left = f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = " if targets else ""
        call = {"scf.if": self._if, "scf.for": self._for, "scf.while": self._while}[op.name]
        out.append(indent + left + call(op, indent, out))

    def _tuple(self, names: Sequence[str]) -> str:
        return f"({''.join(n + ', ' for n in names)})"

    def _if(self, op: Op, indent: str, out: list[Any]) -> str:
        cond = op.operands[0]
        self.sink(op, cond, "a branch", indent, out)
        then, orelse = op.regions[0].block, op.regions[1].block
        live = self.free(then, orelse)
        a = self.region(then, live, op.results)
        empty = len(orelse.ops) == 1 and not op.results
        b = "None" if empty else self.region(orelse, live, op.results)
        names = self._tuple(self.both(live))
        return f"run_if(L, {self.v(cond)}, {a}, {b}, {names}, {self.kinds(op.results)})"

    def _for(self, op: Op, indent: str, out: list[Any]) -> str:
        for value in op.operands[:3]:
            self.sink(op, value, "a loop bound", indent, out)
        body = op.regions[0].block
        live = self.free(body)
        fn = self.region(body, live, body.args[1:])
        bounds = ", ".join(self.v(a) for a in op.operands[:3])
        inits = self._tuple(self.both(op.operands[3:], body.args[1:]))
        names = self._tuple(self.both(live))
        kinds = self.kinds(op.results)
        return f"run_for(L, {self.bind(op, 'o')}, {fn}, {bounds}, {inits}, {names}, {kinds})"

    def _while(self, op: Op, indent: str, out: list[Any]) -> str:
        before, after = op.regions[0].block, op.regions[1].block
        live_before, live_after = self.free(before), self.free(after)
        a = self.region(before, live_before, op.results)
        b = self.region(after, live_after, before.args)
        inits = self._tuple(self.both(op.operands, before.args))
        names = ", ".join(self._tuple(self.both(x)) for x in (live_before, live_after))
        at = self.bind(op, "o")
        return f"run_while(L, {at}, {a}, {b}, {inits}, {names}, {self.kinds(op.results)})"


def _structural(fn: Callable[..., Any], op: Op) -> Callable[..., Any]:
    """A function of masks as one of taints; a clean operand is a mask of False."""

    def spread(*taints: Any) -> Any:
        known = next((t for t in taints if t is not None), None)
        if known is None:
            return None
        mask = fn(*(False if t is None else t.mask for t in taints))
        return Taint(mask, known.origin)

    return spread
