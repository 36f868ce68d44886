# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function of the IR as a program that the machine runs.

Everything between two operations that may have to wait becomes one Python function of NumPy calls,
generated as source. Control flow with a waiting operation inside is flattened to branches, jumps
and joins between such segments, so that lanes which wait are plain data::

    segment(lanes, registers) · branch(cond) · jump · wait(op) · join(op) · end

Registers are named ``v<number>``; the taint of a value that may be garbage is ``t<number>``.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.cute import PtrType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import Type, element_type, lanes
from opencute.sim.control import run_for, run_if, run_while
from opencute.sim.lanes import Kind
from opencute.sim.nans import OBSERVED, Computed, canonical
from opencute.sim.registry import Rule, is_blocking, rule_of
from opencute.sim.taint import Taint, Tracked, join, report
from opencute.sim.values import constant_value, dtype_of

__all__ = ["Program", "Step", "compile_function", "kind_of"]

CONTROL = ("scf.if", "scf.for", "scf.while")
TERMINATORS = ("scf.yield", "scf.condition", "func.return", "gpu.return")


def kind_of(type: Type) -> Kind:
    """How values of a type merge where lanes come together."""
    return "ptr" if isinstance(type, PtrType | LLVMPointerType) else dtype_of(type)


@dataclass
class Step:
    """One step of a program.

    Args:
        kind: segment, branch, jump, wait, join or end.
        op: the operation it came from.
        run: what a segment or wait calls.
        uses: registers it reads.
        defs: registers it writes.
        to: where a branch goes when its condition is false, or a jump.
        join: where a branch's sides meet.
        live: registers that are needed from here on.
        results: for a join, registers that hold the operation's results, with their kinds.
    """

    kind: str
    op: Op | None = None
    run: Callable[..., Any] | None = None
    uses: list[str] = field(default_factory=list)
    defs: list[str] = field(default_factory=list)
    to: int = -1
    join: int = -1
    live: set[str] = field(default_factory=set)
    results: list[tuple[str, Kind]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    count: int = 0


@dataclass
class Program:
    """A function ready to run.

    Args:
        name: the function's symbol.
        steps: what to do.
        arguments: registers of the arguments.
        returns: registers of the results.
        blocking: whether anything in it may have to wait.
        text: the generated source, for reading.
        widest: bytes of its widest value.
    """

    name: str
    steps: list[Step]
    arguments: list[str]
    returns: list[str]
    blocking: bool
    text: str
    widest: int


def compile_function(op: Op, *, loose_arguments: bool = False) -> Program:
    """The program of a `func.func` or `gpu.func`.

    Args:
        op: the function.
        loose_arguments: whether its arguments may point to memory that is not initialised.

    Raises:
        SimulationError: an operation or type that the simulator does not know.
    """
    return _Compiler(op, loose_arguments).compile()


class _Compiler:
    def __init__(self, op: Op, loose: bool) -> None:
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
        self.steps: list[Step] = []
        self.current = Step("segment")

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
                    if value not in inside and not self._is_constant(value):
                        out[value] = None
                for region in op.regions:
                    visit(region.block)
                inside.update(op.results)

        for block in blocks:
            visit(block)
        return list(out)

    def _is_constant(self, value: Value) -> bool:
        if value in self.constants:
            return True
        op = value.op
        if op is None or op.name != "arith.constant":
            return False
        content = constant_value(op.attributes["value"], value.type)
        self.constants[value] = (
            repr(content) if type(content) in (int, bool) else self.bind(content, "c")
        )
        if type(content) is int and content < 0:
            self.constants[value] = f"({content})"
        return True

    # ------------------------------------------------------------------ straight code
    def sink(self, op: Op, value: Value, what: str, indent: str, out: list[str]) -> None:
        """Report garbage in `value` here."""
        if value in self.tracked:
            name = self.bind(op, "o")
            t = self.t(value)
            out.append(f"{indent}if {t} is not None: report(L, {t}, {name}, {what!r})")

    def plain(self, op: Op, indent: str, out: list[str]) -> None:
        """Source of an operation without regions."""
        if all(self._is_constant(r) for r in op.results) and op.results:
            return
        for value in op.operands:
            self._is_constant(value)
        rule = rule_of(op)
        for index, what in rule.sinks(op):
            self.sink(op, op.operands[index], what, indent, out)
        try:
            fn = self.bind(rule.factory(op), "f")
        except SimulationError as e:
            raise e.at(op.loc) from None
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
        out.append(f"{indent}{', '.join(targets)} = {call}" if targets else indent + call)
        if tracked_result and rule.taint != "memory":
            self._spread(op, rule, indent, out)

    def _spread(self, op: Op, rule: Rule, indent: str, out: list[str]) -> None:
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

    def block(self, block: Block, indent: str, out: list[str]) -> None:
        """Source of all operations of a block but its terminator."""
        start = len(out)
        for op in block.ops:
            if op.name in TERMINATORS:
                for value in op.operands:
                    self._is_constant(value)
            elif op.name in CONTROL:
                self.control(op, indent, out)
            else:
                self.plain(op, indent, out)
        if len(out) > start:
            out.insert(start, f"{indent}L.run.report.lane_ops += {len(block.ops)} * L.n")

    # ------------------------------------------------------------------ control without waiting
    def region(self, block: Block, live: Sequence[Value], results: Sequence[Value]) -> str:
        """Define a function for a region; returns its name."""
        out: list[str] = []
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

    def control(self, op: Op, indent: str, out: list[str]) -> None:
        """Source of an operation with regions in which nothing waits."""
        for value in op.operands:
            self._is_constant(value)
        targets = self.both(op.results)
        left = f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = " if targets else ""
        call = {"scf.if": self._if, "scf.for": self._for, "scf.while": self._while}[op.name]
        out.append(indent + left + call(op, indent, out))

    def _tuple(self, names: Sequence[str]) -> str:
        return f"({''.join(n + ', ' for n in names)})"

    def _if(self, op: Op, indent: str, out: list[str]) -> str:
        cond = op.operands[0]
        self.sink(op, cond, "a branch", indent, out)
        then, orelse = op.regions[0].block, op.regions[1].block
        live = self.free(then, orelse)
        a = self.region(then, live, op.results)
        empty = len(orelse.ops) == 1 and not op.results
        b = "None" if empty else self.region(orelse, live, op.results)
        names = self._tuple(self.both(live))
        return f"run_if(L, {self.v(cond)}, {a}, {b}, {names}, {self.kinds(op.results)})"

    def _for(self, op: Op, indent: str, out: list[str]) -> str:
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

    def _while(self, op: Op, indent: str, out: list[str]) -> str:
        before, after = op.regions[0].block, op.regions[1].block
        live_before, live_after = self.free(before), self.free(after)
        a = self.region(before, live_before, op.results)
        b = self.region(after, live_after, before.args)
        inits = self._tuple(self.both(op.operands, before.args))
        names = ", ".join(self._tuple(self.both(x)) for x in (live_before, live_after))
        return f"run_while(L, {a}, {b}, {inits}, {names}, {self.kinds(op.results)})"

    # ------------------------------------------------------------------ control with waiting
    def emit(self, uses: Sequence[str], defs: Sequence[str], lines: Sequence[str]) -> None:
        """Add source to the current segment."""
        step = self.current
        step.uses += [u for u in uses if u not in step.defs and u not in step.uses]
        step.defs += [d for d in defs if d not in step.defs]
        step.lines += lines

    def flush(self) -> None:
        """Finish the current segment."""
        if self.current.lines:
            self.steps.append(self.current)
        self.current = Step("segment")

    def registers(self, names: Sequence[str]) -> list[str]:
        """Those of some names that are registers."""
        return [n for n in names if n[0] in "vt" and n[1:].isdigit()]

    def assign(self, targets: Sequence[str], sources: Sequence[str]) -> None:
        """Copy registers, all at once."""
        if targets:
            line = f"    {', '.join(targets)} = {', '.join(sources)}"
            self.emit(self.registers(sources), targets, [line])

    def flat(self, block: Block) -> None:
        """Flatten a block, without its terminator."""
        for op in block.ops:
            if op.name in TERMINATORS:
                for value in op.operands:
                    self._is_constant(value)
            elif op.name in CONTROL and is_blocking(op):
                for value in op.operands:
                    self._is_constant(value)
                {"scf.if": self._flat_if, "scf.for": self._flat_for,
                 "scf.while": self._flat_while}[op.name](op)  # fmt: skip
            elif op.name in CONTROL:
                lines: list[str] = []
                self.control(op, "    ", lines)
                inner = self.free(*(r.block for r in op.regions))
                uses = self.both([*op.operands, *inner])
                self.emit(self.registers(uses), self.both(op.results), lines)
            elif rule_of(op).blocking:
                self._wait(op)
            else:
                lines = []
                self.plain(op, "    ", lines)
                if lines:
                    self.current.count += 1
                    uses = self.registers(self.both(op.operands))
                    self.emit(uses, self.both(op.results), lines)

    def _wait(self, op: Op) -> None:
        for value in op.operands:
            self._is_constant(value)
        rule = rule_of(op)
        lines: list[str] = []
        for index, what in rule.sinks(op):
            self.sink(op, op.operands[index], what, "    ", lines)
        if lines:
            self.emit(self.registers(self.both(op.operands)), [], lines)
        self.flush()
        names = [self.v(a) for a in op.operands]
        args = "".join(f", R[{n!r}]" if n[0] == "v" else f", {n}" for n in names)
        source = f"lambda L, R: fn(L{args})"
        run = eval(source, {**self.names, "fn": rule.factory(op)})
        self.steps.append(Step("wait", op, run, self.registers(names)))

    def _branch(self, op: Op, cond: str) -> Step:
        self.flush()
        branch = Step("branch", op, uses=[cond])
        self.steps.append(branch)
        return branch

    def _condition(self, op: Op, cond: Value) -> str:
        """A register that holds a condition, which may be a constant."""
        lines: list[str] = []
        self.sink(op, cond, "a branch", "    ", lines)
        name = self.v(cond)
        if name[0] != "v":
            register = f"v{len(self.numbers)}"
            self.numbers[Value(cond.type)] = len(self.numbers)
            self.assign([register], [name])
            return register
        self.emit(self.registers(self.both([cond])), [], lines)
        return name

    def _join(self, op: Op, branch: Step, results: Sequence[Value]) -> None:
        self.flush()
        branch.join = len(self.steps)
        kinds: list[Kind] = []
        for r in results:
            kinds.append(kind_of(r.type))
            if r in self.tracked:
                kinds.append("taint")
        step = Step("join", op, results=list(zip(self.both(results), kinds, strict=True)))
        self.steps.append(step)

    def _flat_if(self, op: Op) -> None:
        then, orelse = op.regions[0].block, op.regions[1].block
        branch = self._branch(op, self._condition(op, op.operands[0]))
        results = self.both(op.results)
        self.flat(then)
        self.assign(results, self.both(then.terminator.operands, op.results))
        self.flush()
        jump = Step("jump", op)
        self.steps.append(jump)
        branch.to = len(self.steps)
        self.flat(orelse)
        self.assign(results, self.both(orelse.terminator.operands, op.results))
        self.flush()
        jump.to = len(self.steps)
        self._join(op, branch, op.results)

    def _flat_for(self, op: Op) -> None:
        body = op.regions[0].block
        lower, upper, step = op.operands[:3]
        lines: list[str] = []
        for value in op.operands[:3]:
            self.sink(op, value, "a loop bound", "    ", lines)
        carried = self.both(body.args[1:])
        index = self.v(body.args[0])
        self.emit(self.registers(self.both(op.operands[:3])), [], lines)
        self.assign([index, *carried], [self.v(lower), *self.both(op.operands[3:], body.args[1:])])
        more = f"v{len(self.numbers)}"
        self.numbers[Value(lower.type)] = len(self.numbers)
        width = getattr(lower.type, "width", 64)
        advance = self.bind(_advance(op, width), "f")
        self.flush()
        head = len(self.steps)
        self.emit(
            self.registers([index, self.v(upper)]),
            [more],
            [f"    {more} = {index} < {self.v(upper)}"],
        )
        branch = self._branch(op, more)
        self.flat(body)
        self.assign(carried, self.both(body.terminator.operands, body.args[1:]))
        args = f"{index}, {self.v(step)}, {self.v(upper)}"
        self.emit(
            self.registers([index, self.v(step), self.v(upper)]), [index],
            [f"    {index} = {advance}({args})"],
        )  # fmt: skip
        self.flush()
        self.steps.append(Step("jump", op, to=head))
        branch.to = len(self.steps)
        self.assign(self.both(op.results), carried)
        self._join(op, branch, op.results)

    def _flat_while(self, op: Op) -> None:
        before, after = op.regions[0].block, op.regions[1].block
        first, second = self.both(before.args), self.both(after.args)
        self.assign(first, self.both(op.operands, before.args))
        self.flush()
        head = len(self.steps)
        self.flat(before)
        cond, *passed = before.terminator.operands
        name = self._condition(before.terminator, cond)
        results = self.both(op.results)
        self.assign(results, self.both(passed, op.results))
        self.assign(second, self.both(passed, after.args))
        branch = self._branch(op, name)
        self.flat(after)
        self.assign(first, self.both(after.terminator.operands, before.args))
        self.flush()
        self.steps.append(Step("jump", op, to=head))
        branch.to = len(self.steps)
        self._join(op, branch, op.results)

    # ------------------------------------------------------------------ the whole
    def compile(self) -> Program:
        """The finished program."""
        arguments = [self.v(a) for a in self.body.args]
        start: list[str] = [f"    {self.t(a)} = None" for a in self.body.args if a in self.tracked]
        if start:
            self.emit([], [self.t(a) for a in self.body.args if a in self.tracked], start)
        if not self.body.ops or self.body.terminator.name not in TERMINATORS:
            raise SimulationError(
                f"{self.op.symbol}: the function does not end in a return",
                code="OC3001",
                loc=self.op.loc,
            )
        self.flat(self.body)
        terminator = self.body.terminator
        returns = [f"r_{i}" for i in range(len(terminator.operands))]
        if returns:
            sources = [self.v(x) for x in terminator.operands]
            line = f"    {', '.join(returns)}, = {', '.join(sources)},"
            self.emit(self.registers(sources), returns, [line])
        self.flush()
        self.steps.append(Step("end", uses=returns))
        self._liveness()
        text = self._source()
        widest = max((_bytes(r.type) for op in self.op.walk() for r in op.results), default=8)
        return Program(
            self.op.symbol or "", self.steps, arguments, returns, is_blocking(self.op), text, widest
        )

    def _liveness(self) -> None:
        steps = self.steps
        changed = True
        while changed:
            changed = False
            for i in range(len(steps) - 1, -1, -1):
                step = steps[i]
                after: set[str] = set()
                if step.kind not in ("jump", "end"):
                    after |= steps[i + 1].live
                if step.to >= 0:
                    after |= steps[step.to].live
                live = (after - set(step.defs)) | set(step.uses)
                if live != step.live:
                    step.live = live
                    changed = True

    def _source(self) -> str:
        parts = list(self.functions)
        for i, step in enumerate(self.steps):
            if step.kind != "segment":
                continue
            lines = [f"def s{i}(L, R):"]
            lines += [f"    {u} = R[{u!r}]" for u in step.uses]
            lines += step.lines
            if step.count:
                lines.append(f"    L.run.report.lane_ops += {step.count} * L.n")
            after = self.steps[i + 1].live
            lines += [f"    R[{d!r}] = {d}" for d in step.defs if d in after]
            parts.append("\n".join(lines) + "\n")
        text = "\n".join(parts)
        exec(compile(text, f"<simulated {self.op.symbol}>", "exec"), self.names)
        for i, step in enumerate(self.steps):
            if step.kind == "segment":
                step.run = self.names[f"s{i}"]
        return text


def _structural(fn: Callable[..., Any], op: Op) -> Callable[..., Any]:
    """A function of masks as one of taints; a clean operand is a mask of False."""

    def spread(*taints: Any) -> Any:
        known = next((t for t in taints if t is not None), None)
        if known is None:
            return None
        mask = fn(*(False if t is None else t.mask for t in taints))
        return Taint(mask, known.origin)

    return spread


def _bytes(type: Type) -> int:
    width = int(getattr(element_type(type), "width", 64))
    return max(width * (lanes(type) or 1) // 8, 8)


def _advance(op: Op, width: int) -> Callable[[Any, Any, Any], Any]:
    """The next value of an induction variable; one that would overflow ends the loop."""
    top = (1 << (width - 1)) - 1

    def advance(index: Any, step: Any, upper: Any) -> Any:
        if type(index) is np.ndarray or type(step) is np.ndarray:
            over = np.asarray(index) > top - np.asarray(step).astype(np.int64)
            return np.where(over, upper, index + step).astype(f"i{width // 8}")
        if step <= 0:
            raise SimulationError(
                "scf.for: the step is not positive", code="OC3004", loc=op.loc, found=step
            )
        return min(index + step, top) if index + step > top else index + step

    return advance
