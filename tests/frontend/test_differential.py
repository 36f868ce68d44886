# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs: CPython on ints against the same source compiled and simulated."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiled import load_source, on_device
from opencute import cute

pytestmark = pytest.mark.t0

VARS = ["x", "y", "z"]
OUTPUTS = ["x", "y", "z", "i0", "i1", "i2", "items[0]", "items[1]", "state['k']", "obj.n"]
HEADER = """
import types

def program(a, b, c):
    x, y, z = a, b, 1
    i0 = i1 = i2 = -1
    items = [a, 2]
    state = {"k": 3}
    obj = types.SimpleNamespace(n=0)
    def helper(p, q=2):
        if p > q:
            return p - q
        return q * 3 - p
    add = lambda p: p + x
    def bump(p):
        nonlocal y
        y = (y + p) % 90
        return y
"""


class Writer:
    """A program from a seed; values stay small, so that 32 bits never overflow."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.inside = 0

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def atom(self) -> str:
        return self.pick(*VARS, *VARS, "a", "b", "c", str(self.rng.randint(-3, 9)),
                         *(f"i{k}" for k in range(self.loops)), "items[1]", "obj.n",
                         "state['k']")  # fmt: skip

    def value(self, depth: int = 2) -> str:
        if depth == 0:
            return self.atom()
        p, q = self.value(depth - 1), self.value(depth - 1)
        n = self.rng.randint(2, 7)
        return self.pick(
            f"({p} + {q})", f"({p} - {q})", f"({p} * {q}) % 101", f"({p} // {n})", f"({p} % {n})",
            f"(-{p})", f"abs({p})", f"min({p}, {q})", f"max({p}, {q}, {n})",
            f"({p} if {self.test(depth - 1)} else {q})", f"helper({p}) % 100",
            f"helper({p}, q={q}) % 100", f"add({p}) % 100", f"int({self.test(depth - 1)})",
            f"bump({p})", f"({p} or {q})", f"({p} and {q})", self.atom(), f"(x := {p})",
            f"sum([{p}, {q}])", self.atom(),
            f"(({p} >> 1) ^ ({q} & {n}))", f"[{p}, {q}][{n % 2}]",
            f"max(u * 2 for u in [{self.atom()}, {self.atom()}])",
        )  # fmt: skip

    def test(self, depth: int = 1) -> str:
        p, q = self.atom(), self.atom()
        if depth == 0:
            return f"{p} {self.pick('<', '<=', '>', '>=', '==', '!=')} {q}"
        t, u = self.test(depth - 1), self.test(depth - 1)
        return self.pick(
            f"{p} < {q}", f"{p} != {q}", f"{p} < {q} <= {self.atom()}", f"not ({t})",
            f"({t}) and ({u})", f"({t}) or ({u})", f"{p} in ({q}, 3)", f"{p} not in (1, {q})",
            p, f"any([{t}, {u}])", f"all([{t}, {u}])", f"({q} != 0 and 7 // {q} > 1)", "True",
        )  # fmt: skip

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def statement(self, indent: int, depth: int) -> None:
        kind = self.rng.random()
        name = self.pick(*VARS)
        if depth == 0 or kind < 0.35:
            v = self.value()
            self.emit(indent, self.pick(
                f"{name} = ({v}) % 1000", f"{name} = ({v}) % 1000", f"{name} += ({v}) % 50",
                f"x, y = (y) % 500, ({v}) % 500", f"items[0] = ({v}) % 77",
                f"items[1] += ({v}) % 9", f"state['k'] = ({v}) % 55", f"obj.n += ({v}) % 13",
                f"{name} -= ({v}) % 50",
            ))  # fmt: skip
        elif kind < 0.65:
            self.emit(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1)
            if self.rng.random() < 0.4:
                self.emit(indent, f"elif {self.test()}:")
                self.block(indent + 1, depth - 1)
            if self.rng.random() < 0.6:
                self.emit(indent, "else:")
                self.block(indent + 1, depth - 1)
        elif kind < 0.70 and self.inside and self.rng.random() < 0.6:
            self.emit(indent, f"if {self.test()}:")
            if self.rng.random() < 0.3:
                self.block(indent + 1, depth - 1)
            leave = self.pick("break", "continue", "break", f"return ({', '.join(OUTPUTS)})")
            self.emit(indent + 1, leave)
        elif kind < 0.74 and (indent == 1 or self.rng.random() < 0.5):
            self.emit(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1)
            self.emit(indent + 1, f"return ({', '.join(OUTPUTS)})")
        elif kind < 0.9:
            loop = f"i{self.loops}"
            self.loops += 1
            n, m = self.rng.randint(0, 4), self.rng.randint(1, 3)
            bound = self.pick(str(n), f"abs({self.atom()}) % 4")
            ranges = self.pick(
                f"range({bound})", f"range({self.pick('-1', 'b % 3')}, {bound})",
                f"range({bound}, -1, -{m})", f"range({n}, {n + 4}, {m})",
                f"range({bound}, {bound} + 3, c % 2 + 1)",
                f"[{self.atom()}, 2, {self.atom()}]", f"cutlass.range_constexpr({n})",
            )  # fmt: skip
            self.emit(indent, f"for {loop} in {ranges}:")
            self.body(indent, depth)
            self.loops -= 1
        else:
            turn = f"w{indent}"
            self.emit(indent, f"{turn} = 0")
            self.emit(indent, f"while {turn} < {self.rng.randint(0, 4)} and ({self.test()}):")
            self.emit(indent + 1, f"{turn} += 1")
            self.body(indent, depth)

    def body(self, indent: int, depth: int) -> None:
        self.inside += 1
        self.block(indent + 1, depth - 1)
        self.inside -= 1
        if self.rng.random() < 0.3:
            self.emit(indent, "else:")
            self.block(indent + 1, depth - 1)

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 2)):
            self.statement(indent, depth)

    def program(self) -> str:
        for _ in range(self.rng.randint(2, 5)):
            self.statement(1, 2)
        self.emit(1, f"return ({', '.join(OUTPUTS)})")
        return HEADER + "\n".join(self.lines) + "\n"


THREADS = 12


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 32))
def test_a_program_means_what_cpython_says(seed: int, tmp_path_factory: pytest.TempPathFactory):
    check(seed, tmp_path_factory.mktemp("programs"))


def check(seed: int, folder: Path) -> None:
    text = Writer(seed).program()
    program = load_source(text, folder).program
    rng = random.Random(seed)
    inputs = [[rng.randint(-4, 9) for _ in range(3)] for _ in range(THREADS)]
    expected = [[int(v) for v in program(*row)] for row in inputs]
    compiled = cute.jit(program)
    out = np.zeros((THREADS, len(OUTPUTS)), np.int32)

    def body(o, args):
        i, _, _ = cute.arch.thread_idx()
        for k, v in enumerate(compiled(args[i, 0], args[i, 1], args[i, 2])):
            o[i, k] = v

    on_device(body, out, np.array(inputs, np.int32), block=THREADS)
    assert out.tolist() == expected, text
