# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A run of elementwise operations as one native loop.

In: the operations, their values from outside and those that are needed later. Out: a function that
gives the latter, or None where NumPy has to do the work: for few lanes, until there was enough work
to be worth a compiler, without LLVM, and for a division by zero, which the rules report::

    group = Group(ops, functions, inputs, outputs)
    out = group(lanes, a, b)  # a tuple, or None

What is the same for all lanes, or for all blocks or threads, is computed by the rules as before;
the loop is made anew for each way in which the inputs vary.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.base.errors import MissingPieceError, ToolchainError
from opencute.dialects.cute import PtrType
from opencute.ir.core import Op, Value
from opencute.native.jit import HostModule, compile_host
from opencute.sim.fused.emit import divisor, emit, llvm_type, vector_length
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.values import dtype_of

__all__ = ["FEWEST", "Group", "Patience"]

FEWEST = 4096
"""Lanes below which a call of native code is not worth its price."""
nd = np.ndarray


class Patience:
    """Operations (times lanes) that a group leaves to NumPy before it is compiled."""

    least = 1 << 22


_compiled: dict[str, Any] = {}
_modules: list[HostModule] = []


class Group:
    """See the module.

    Args:
        ops: what is computed, in order.
        functions: the rule of each, and whether it takes the lanes first.
        inputs: values from outside, constants left out.
        outputs: values that are needed later.
        constants: those of the operands that are known.
    """

    def __init__(
        self, ops: Sequence[Op], functions: Sequence[tuple[Callable[..., Any], bool]],
        inputs: Sequence[Value], outputs: Sequence[Value],
        constants: dict[Value, Any], resolve: Callable[[Value], Value],
    ) -> None:  # fmt: skip
        self.ops, self.functions = ops, functions
        self.inputs, self.outputs = inputs, outputs
        self.constants, self.resolve = constants, resolve
        self.length = vector_length(ops[0])
        self.work = 0
        self.plans: dict[Any, _Plan | None] = {}

    def __call__(self, lanes: Lanes, *values: Any) -> tuple[Any, ...] | None:
        """The outputs, None if the rules have to compute them."""
        if self.work < Patience.least:
            self.work += lanes.n * len(self.ops) * (self.length or 1)
            return None
        kinds = tuple([self._kind(lanes, v) for v in values])
        key = (lanes.P == 1, kinds)
        plan = self.plans.get(key, self)
        if plan is self:
            plan = self.plans[key] = self._plan(kinds) if "" not in kinds else None
        return None if plan is None else plan.run(lanes, values)  # type: ignore[union-attr]

    def _kind(self, lanes: Lanes, value: Any) -> str:
        """How a value varies: u(niform), by p (block) or q (thread), f(ully); empty: otherwise."""
        if type(value) is SimPointer:
            value = value.offset
        if type(value) is not nd:
            return "" if value is None or self.length else "u"
        shape = value.shape
        if shape[:2] == (lanes.P, lanes.Q):
            return "f"
        if self.length:
            return ""
        return "q" if shape == (1, lanes.Q) else "p" if shape == (lanes.P, 1) else ""

    def _plan(self, kinds: tuple[str, ...]) -> _Plan | None:
        known = dict(zip(self.inputs, kinds, strict=True))
        early: list[int] = []
        late: list[Op] = []
        divisors: list[Value] = []
        for i, op in enumerate(self.ops):
            operands = [self.resolve(v) for v in op.operands]
            ways = {known.get(v, "u") for v in operands} - {"u"}
            kind = "u" if not ways else ways.pop() if len(ways) == 1 else "f"
            known[op.results[0]] = kind
            if kind != "f":
                if self.length:
                    return None
                early.append(i)
                continue
            late.append(op)
            which = divisor(op)
            if which is not None:
                if known.get(operands[which], "u") != "u" or self.length:
                    return None
                divisors.append(operands[which])
        if not late:
            return None
        plan = _Plan(self, known, early, late, divisors)
        return plan if plan.compile() else None


class _Plan:
    """How to run a group whose inputs vary in one way."""

    def __init__(
        self, group: Group, known: dict[Value, str], early: list[int], late: list[Op],
        divisors: list[Value],
    ) -> None:  # fmt: skip
        self.group, self.known = group, known
        self.early, self.divisors, self.late = early, divisors, late
        inside = {op.results[0] for op in late}
        taken = dict.fromkeys(group.resolve(v) for op in late for v in op.operands)
        self.taken = [v for v in taken if v not in inside]
        self.made = [v for v in group.outputs if v in inside]
        self.dtypes = {v: np.dtype(np.int64) if isinstance(v.type, PtrType) else dtype_of(v.type)
                       for v in (*self.taken, *self.made)}  # fmt: skip
        self.roots = {v: self._root(v) for v in self.made if isinstance(v.type, PtrType)}
        self.native: Any = None

    def _root(self, value: Value) -> Value:
        """The pointer from outside of the loop that a pointer was moved from."""
        while value not in self.taken:
            assert value.op is not None
            value = self.group.resolve(value.op.operands[0])
        return value

    # ------------------------------------------------------------------ the loop
    def compile(self) -> bool:
        """Make the native function; tells whether there is one."""
        text = self._text()
        if text not in _compiled:
            try:
                module = compile_host(text, passes="O3", opt=2)
            except (MissingPieceError, ToolchainError):
                _compiled[text] = None
            else:
                _modules.append(module)
                types = [ctypes.c_int64, ctypes.c_int64]
                for v in self.taken:
                    uniform = self._kind(v) == "u"
                    types.append(ctypes.c_int64 if uniform else ctypes.c_void_p)  # type: ignore[arg-type]
                types += [ctypes.c_void_p] * len(self.made)  # type: ignore[list-item]
                _compiled[text] = ctypes.CFUNCTYPE(None, *types)(module.address("run"))
        self.native = _compiled[text]
        return self.native is not None

    def _kind(self, value: Value) -> str:
        return self.known.get(value, "u")

    def _text(self) -> str:
        params = ["i64 %P", "i64 %Q"]
        head: list[str] = []
        outer: list[str] = []
        inner: list[str] = []
        names: dict[Value, str] = {}
        for i, v in enumerate(self.taken):
            names[v] = f"%x{i}"
            kind, type = self._kind(v), llvm_type(v.type)
            if kind == "u":
                params.append(f"i64 %u{i}")
                head += _from_bits(f"%x{i}", f"%u{i}", type)
                continue
            params.append(f"ptr noalias %a{i}")
            at = {"f": "%i", "q": "%q", "p": "%p"}[kind]
            (outer if kind == "p" else inner).extend(_load(f"%x{i}", f"%a{i}", at, type))
        for i, op in enumerate(self.late):
            names[op.results[0]] = f"%v{i}"
            args = [names[self.group.resolve(v)] for v in op.operands]
            inner += emit(op, f"%v{i}", args)
        for i, v in enumerate(self.made):
            params.append(f"ptr noalias %o{i}")
            inner += _store(names[v], f"%o{i}", f"%s{i}", llvm_type(v.type))
        return _LOOPS.format(
            params=", ".join(params), head="\n".join(head), outer="\n".join(outer),
            inner="\n".join(inner),
        )  # fmt: skip

    # ------------------------------------------------------------------ running
    def run(self, lanes: Lanes, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """The outputs for these inputs."""
        group = self.group
        now: dict[Value, Any] = dict(zip(group.inputs, values, strict=True))
        constants = group.constants
        for i in self.early:
            op = group.ops[i]
            operands = [group.resolve(v) for v in op.operands]
            which = divisor(op)
            args = [now[v] if v in now else constants[v] for v in operands]
            if which is not None and (type(args[which]) is nd or args[which] <= 0):
                return None
            function, takes_lanes = group.functions[i]
            now[op.results[0]] = function(lanes, *args) if takes_lanes else function(*args)
        for v in self.divisors:
            if not 0 < (now[v] if v in now else constants[v]) < 1 << 31:
                return None
        arguments: list[Any] = []
        keep: list[Any] = []
        for v in self.taken:
            value = now[v] if v in now else constants[v]
            if type(value) is SimPointer:
                value = value.offset
            if self._kind(v) == "u":
                arguments.append(_bits(value, self.dtypes[v]))
                continue
            if value.dtype != self.dtypes[v]:
                return None
            value = value if value.flags.c_contiguous else np.ascontiguousarray(value)
            keep.append(value)
            arguments.append(value.ctypes.data)
        shape = (lanes.P, lanes.Q, group.length) if group.length else (lanes.P, lanes.Q)
        for v in self.made:
            out = np.empty(shape, self.dtypes[v])
            arguments.append(out.ctypes.data)
            now[v] = out
        extent = (1, lanes.n * group.length) if group.length else (lanes.P, lanes.Q)
        self.native(*extent, *arguments)
        for v, root in self.roots.items():
            now[v] = SimPointer(now[root].buffer, now[v])
        return tuple([now[v] for v in group.outputs])


def _bits(value: Any, dtype: np.dtype[Any]) -> int:
    """A value that all lanes share, as an integer; of vectors, the element they repeat."""
    if type(value) is nd:
        value = value.reshape(-1)[0]
    if dtype.kind == "f":
        return int(np.asarray(value, dtype).view(f"i{dtype.itemsize}"))
    return int(value)


def _from_bits(out: str, bits: str, type: str) -> list[str]:
    width = {"half": 16, "float": 32, "double": 64}.get(type)
    if width is None:
        how = "bitcast" if type == "i64" else "trunc"
        return [f"{out} = {how} i64 {bits} to {type}"]
    if width == 64:
        return [f"{out} = bitcast i64 {bits} to double"]
    return [f"{out}.b = trunc i64 {bits} to i{width}",
            f"{out} = bitcast i{width} {out}.b to {type}"]  # fmt: skip


def _load(out: str, base: str, at: str, type: str) -> list[str]:
    stored = "i8" if type == "i1" else type
    lines = [f"{out}.p = getelementptr inbounds {stored}, ptr {base}, i64 {at}"]
    if type != "i1":
        return [*lines, f"{out} = load {type}, ptr {out}.p, align 1"]
    return [*lines, f"{out}.l = load i8, ptr {out}.p", f"{out} = icmp ne i8 {out}.l, 0"]


def _store(value: str, base: str, name: str, type: str) -> list[str]:
    stored = "i8" if type == "i1" else type
    lines = [f"{name} = getelementptr inbounds {stored}, ptr {base}, i64 %i"]
    if type == "i1":
        lines.append(f"{name}.z = zext i1 {value} to i8")
        value = f"{name}.z"
    return [*lines, f"store {stored} {value}, ptr {name}, align 1"]


_LOOPS = """
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.floor.f64(double)
define void @run({params}) {{
entry:
{head}
  br label %row
row:
  %p = phi i64 [ 0, %entry ], [ %p1, %last ]
  %base = mul nuw nsw i64 %p, %Q
{outer}
  br label %lane
lane:
  %q = phi i64 [ 0, %row ], [ %q1, %lane ]
  %i = add nuw nsw i64 %base, %q
{inner}
  %q1 = add nuw nsw i64 %q, 1
  %more = icmp slt i64 %q1, %Q
  br i1 %more, label %lane, label %last
last:
  %p1 = add nuw nsw i64 %p, 1
  %rows = icmp slt i64 %p1, %P
  br i1 %rows, label %row, label %done
done:
  ret void
}}
"""
