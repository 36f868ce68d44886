# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Source in which runs of elementwise operations are groups.

In: lines of source, among them `Fusable` ones. Out: lines in which each run of these is::

    w = g7(L, v1, v2) if L.n >= 4096 else None
    if w is None:
        v3 = f3(v1, v2)
        v4 = f4(v3)
    else:
        v4, = w
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.ir.core import Op, Value
from opencute.ir.types import VectorType
from opencute.sim.fused.emit import divisor, fusable, vector_length
from opencute.sim.fused.group import FEWEST, Group
from opencute.sim.values import constant_value

__all__ = ["Fusable", "Fuser", "may_fuse"]


@dataclass
class Fusable:
    """One elementwise operation in the source.

    Args:
        op: the operation.
        function: its rule.
        lanes: whether the rule takes the lanes first.
        line: the source that calls the rule.
        after: source for the result's taint.
    """

    op: Op
    function: Callable[..., Any]
    lanes: bool
    line: str
    after: list[str]


def may_fuse(op: Op) -> bool:
    """Whether an operation can be part of a group."""
    return fusable(op) and all(
        v.op is None or v.op.name != "arith.constant" or _splat(v) for v in op.operands
    )


def _constant(value: Value) -> Any:
    assert value.op is not None
    return constant_value(value.op.attributes["value"], value.type)


def _splat(value: Value) -> bool:
    if not isinstance(value.type, VectorType):
        return True
    row = np.ascontiguousarray(_constant(value)).reshape(-1)
    return len({x.tobytes() for x in row}) == 1


class Fuser:
    """Makes groups of the operations of one function.

    Args:
        op: the function; None: there is nothing to fuse.
        aliases: values that are another value, filled as the source is written.
        name_of: the source's name for a value.
        bind: gives an object a name in the source.
    """

    def __init__(
        self, op: Op | None, aliases: dict[Value, Value], name_of: Callable[[Value], str],
        bind: Callable[[Any, str], str],
    ) -> None:  # fmt: skip
        self.aliases, self.name_of, self.bind = aliases, name_of, bind
        self.users: dict[Value, list[Op]] = {}
        self.same: dict[Value, list[Value]] = {}
        """The aliases of a value."""
        for inner in op.walk() if op is not None else ():
            for value in inner.operands:
                self.users.setdefault(value, []).append(inner)

    def fuse(self, lines: Iterable[str | Fusable]) -> list[str]:
        """The lines, with groups in place of runs."""
        out: list[str] = []
        run: list[Fusable] = []
        for line in lines:
            if isinstance(line, Fusable):
                if run and vector_length(run[0].op) != vector_length(line.op):
                    self._group(run, out)
                    run = []
                run.append(line)
                continue
            self._group(run, out)
            run = []
            out.append(line)
        self._group(run, out)
        return out

    def resolve(self, value: Value) -> Value:
        """The value that stands for a value."""
        return self.aliases.get(value, value)

    def _outputs(self, run: Sequence[Fusable]) -> list[Value]:
        """Results that are used elsewhere."""
        inside = {f.op for f in run}
        out: list[Value] = []
        for f in run:
            (result,) = f.op.results
            everyone = (result, *self.same.get(result, ()))
            if any(user not in inside for v in everyone for user in self.users.get(v, ())):
                out.append(result)
        return out

    def _group(self, run: list[Fusable], out: list[str]) -> None:
        if not run:
            return
        outputs = self._outputs(run)
        after = [line for f in run for line in f.after]
        if not outputs or not _worth(run):
            out += [f.line for f in run] + after
            return
        inside = {f.op.results[0] for f in run}
        inputs: dict[Value, None] = {}
        constants: dict[Value, Any] = {}
        for f in run:
            for value in map(self.resolve, f.op.operands):
                if value.op is not None and value.op.name == "arith.constant":
                    constants[value] = _constant(value)
                elif value not in inside:
                    inputs[value] = None
        group = Group(
            [f.op for f in run], [(f.function, f.lanes) for f in run], list(inputs), outputs,
            constants, self.resolve,
        )  # fmt: skip
        name = self.bind(group, "g")
        indent = run[0].line[: len(run[0].line) - len(run[0].line.lstrip())]
        args = "".join(f", {self.name_of(v)}" for v in inputs)
        targets = ", ".join(self.name_of(v) for v in outputs)
        out.append(f"{indent}w = {name}(L{args}) if L.n >= {FEWEST} else None")
        out.append(f"{indent}if w is None:")
        out += ["    " + f.line for f in run]
        out += [f"{indent}else:", f"{indent}    {targets}, = w", *after]


def _worth(run: Sequence[Fusable]) -> bool:
    """Whether one loop does better than a pass for each operation."""
    return len(run) > 1 or any(
        f.op.name in ("math.fma", "cute.ptr_add") or divisor(f.op) is not None for f in run
    )
