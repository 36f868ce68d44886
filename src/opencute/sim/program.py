# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function of the IR as a program that the machine runs.

Everything between two operations that may have to wait becomes one Python function of NumPy calls,
generated as source. Control flow with a waiting operation inside is flattened to branches, jumps
and joins between such segments, so that lanes which wait are plain data::

    segment(lanes, registers) · branch(cond) · jump · wait(op) · join(op) · end

`source` writes the segments.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import Type, element_type, lanes
from opencute.sim.lanes import Kind
from opencute.sim.registry import is_blocking, rule_of, spins
from opencute.sim.source import CONTROL, TERMINATORS, SourceWriter, kind_of
from opencute.sim.sync.guards import products_once
from opencute.sim.sync.spinning import counts_in_registers, deciding

__all__ = ["Program", "Step", "compile_function"]


@dataclass
class Step:
    """One step of a program.

    Args:
        kind: segment, branch, jump, spin (a jump that lets others run first), wait, join or end.
        op: the operation it came from.
        run: what a segment or wait calls.
        uses: registers it reads.
        defs: registers it writes.
        to: where a branch goes when its condition is false, or a jump.
        join: where a branch's sides meet.
        live: registers that are needed from here on.
        results: for a join, registers that hold the operation's results, with their kinds.
        lines: source of a segment; for a wait, the name of what it calls.
        counts: for a spin, whether its turns may differ in what register tensors hold.
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
    lines: list[Any] = field(default_factory=list)
    count: int = 0
    counts: bool = False


@dataclass
class Program:
    """A function ready to run.

    Args:
        name: the function's symbol.
        steps: what to do.
        arguments: registers of the arguments.
        returns: registers of the results.
        blocking: whether anything in it may have to wait.
        spins: whether it has loops that wait for what other threads write to memory.
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
    spins: bool = False


def compile_function(op: Op, *, loose_arguments: bool = False, many: bool = True) -> Program:
    """The program of a `func.func` or `gpu.func`.

    Args:
        op: the function.
        loose_arguments: whether its arguments may point to memory that is not initialised.
        many: whether enough lanes may run together for native loops to be worth their price.

    Raises:
        SimulationError: an operation or type that the simulator does not know.
    """
    with products_once():
        return _Compiler(op, loose_arguments, many).compile()


class _Compiler(SourceWriter):
    def __init__(self, op: Op, loose: bool, many: bool) -> None:
        super().__init__(op, loose, many)
        self.steps: list[Step] = []
        self.start()

    # ------------------------------------------------------------------ control with waiting
    def start(self) -> None:
        """Begin a segment."""
        self.current = Step("segment")
        self.uses: dict[str, None] = {}  # in order, and quick to look up
        self.defs: dict[str, None] = {}

    def emit(self, uses: Sequence[str], defs: Sequence[str], lines: Sequence[Any]) -> None:
        """Add source to the current segment."""
        for name in uses:
            if name not in self.defs:
                self.uses[name] = None
        for name in defs:
            self.defs[name] = None
        self.current.lines += lines

    def flush(self) -> None:
        """Finish the current segment."""
        step = self.current
        if step.lines:
            step.uses, step.defs = [*self.uses], [*self.defs]
            self.steps.append(step)
        self.start()

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
                    self.is_constant(value)
            elif op.name in CONTROL and is_blocking(op):
                for value in op.operands:
                    self.is_constant(value)
                {"scf.if": self._flat_if, "scf.for": self._flat_for,
                 "scf.while": self._flat_while}[op.name](op)  # fmt: skip
            elif op.name in CONTROL:
                lines: list[Any] = []
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
            self.is_constant(value)
        rule = rule_of(op)
        lines: list[Any] = []
        for index, what in rule.sinks(op):
            self.sink(op, op.operands[index], what, "    ", lines)
        if lines:
            self.emit(self.registers(self.both(op.operands)), [], lines)
        self.flush()
        names = [self.v(a) for a in op.operands]
        args = "".join(f", {self._read(n)}" for n in names)
        defs = [self.v(r) for r in op.results]
        uses = self.registers(names)
        if rule.taint == "memory" and any(v in self.tracked for v in (*op.operands, *op.results)):
            taints = [self.t(a) for a in op.operands]
            args += f", taints=({''.join(self._read(t) + ', ' for t in taints)})"
            uses += self.registers(taints)
            if any(r in self.tracked for r in op.results):
                args += ", track=True"
                defs = [n for r in op.results for n in (self.v(r), self.t(r))]
        fn, name = self.bind(rule.factory(op), "f"), f"w{len(self.functions)}"
        self.functions.append(f"def {name}(L, R):\n    return {fn}(L{args})\n")
        self.steps.append(Step("wait", op, None, uses, defs, lines=[name]))
        if rule.taint != "memory":  # what came in was checked, so what comes out is initialised
            clean = [self.t(r) for r in op.results if r in self.tracked]
            self.assign(clean, ["None"] * len(clean))

    def _read(self, name: str) -> str:
        """Source of what a register or constant holds, outside of a segment."""
        return f"R[{name!r}]" if self.registers([name]) else name

    def _branch(self, op: Op, cond: str) -> Step:
        self.flush()
        branch = Step("branch", op, uses=[cond])
        self.steps.append(branch)
        return branch

    def _condition(self, op: Op, cond: Value) -> str:
        """A register that holds a condition, which may be a constant."""
        lines: list[Any] = []
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
        lines: list[Any] = []
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
        if spins(op):
            decide = self.both([before.args[i] for i in deciding(op)])
            spin = Step("spin", op, to=head, uses=self.registers(decide))
            spin.counts = counts_in_registers(op)
            self.steps.append(spin)
        else:
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
            self.op.symbol or "", self.steps, arguments, returns, is_blocking(self.op), text,
            widest, any(s.kind == "spin" and s.op and spins(s.op, memory=True) for s in self.steps),
        )  # fmt: skip

    def _liveness(self) -> None:
        steps = self.steps
        changed = True
        while changed:
            changed = False
            for i in range(len(steps) - 1, -1, -1):
                step = steps[i]
                after: set[str] = set()
                if step.kind not in ("jump", "spin", "end"):
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
            lines += self.fuser.fuse(step.lines)
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
            elif step.kind == "wait":
                step.run = self.names[step.lines[0]]
        return text


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
