# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs in the accepted part of Python.

In: a seed. Out: the source of `program(a, b, c, *numbers)`, which returns integers and floats::

    Writer(7).program()

Values of `a`, `b` and `c` stay small, so that 32 bits never overflow where CPython counts with its
own integers; numbers of the widths of `NUMBERS` are the language's, which wrap in CPython too.
"""

from __future__ import annotations

import random

__all__ = ["FLOATS", "INTS", "NUMBERS", "Writer"]

VARS = ["x", "y", "z"]
INTS = [
    "x", "y", "z", "i0", "i1", "i2", "items[0]", "items[1]", "items[-1]", "len(items)",
    "state['k']", "state['j'][0]", "obj.n", "box.n", "box.kids[0].n", "acc.hi", "acc.log[0]",
    "sub.hi", "sub.extra", "slot.a", "slot.b", "point.a", "point.b", "nest[1][0]", "twin[0]",
    "n8", "u8", "n16", "u16", "n32", "u32", "n64", "u64", "pair.lo", "pair.hi", "cell.k",
    "cell.pair.lo", "cell.pair.hi",
]  # fmt: skip
FLOATS = ["f32", "f16", "f64", "pair.w", "cell.pair.w"]
NUMBERS = {
    "n8": "Int8", "u8": "Uint8", "n16": "Int16", "u16": "Uint16", "n32": "Int32", "u32": "Uint32",
    "n64": "Int64", "u64": "Uint64", "f32": "Float32", "f16": "Float16", "f64": "Float64",
}  # fmt: skip

HEADER = """
import contextlib, dataclasses, functools, types
from typing import Any, NamedTuple

SCALE = 3

class Point(NamedTuple):
    a: Any
    b: Any

@dataclasses.dataclass
class Box:
    n: Any
    kids: Any = None
    @cute.jit
    def up(self, by):
        self.n = (self.n + by) % 97
        if self.n > 40:
            self.n -= 30
        return self.n

class Acc:
    count = 2
    def __init__(self, n):
        self.hi = n
        self.log = [n, 1]
    @cute.jit
    def push(self, v):
        if v > self.hi:
            self.hi = v
            return 1
        self.deep(v)
        return self.hi
    @cute.jit
    def deep(self, v):
        for k in range(self.count):
            if v < k:
                break
            self.log[0] = (self.log[0] + v * SCALE) % 50
    @property
    def both(self):
        return self.hi + self.log[0]
    @classmethod
    def make(cls, n):
        return cls(n)
    @staticmethod
    def half(v):
        return v // 2

class Sub(Acc):
    def __init__(self, n):
        super().__init__(n)
        self.extra = 1
    @cute.jit
    def push(self, v):
        if v % 2 == 0:
            self.extra = (self.extra + super().push(v)) % 60
        return self.extra

class Slot:
    __slots__ = ("a", "b")
    def __init__(self, a):
        self.a, self.b = a, 0

@cute.native_struct
class Pair:
    lo: cutlass.Int32
    hi: cutlass.Uint8
    w: cutlass.Float32 = 1.5
    @cute.jit
    def turn(self, v):
        if self.lo > v:
            self.lo, self.hi = self.hi, self.lo
            return v
        self.w = self.w * 0.5 + v
        return self.hi

@cute.native_struct
class Cell:
    k: cutlass.Int16
    pair: Pair

class Scope:
    def __init__(self, box):
        self.box = box
    def __enter__(self):
        self.box.n = (self.box.n + 1) % 91
        return self.box
    def __exit__(self, *args):
        self.box.n = (self.box.n * 2) % 89

@contextlib.contextmanager
def region(log, v):
    log[0] = (log[0] + v) % 71
    yield v + 1
    log[1] = (log[1] + 1) % 73

@cute.jit
def twist(o, v):
    for k in range(v % 4):
        if o.n > 60:
            return k
        o.n = (o.n + k + 1) % 88
    return o.n

@cute.jit
def swap(pair, when):
    if when:
        pair[0], pair[1] = pair[1], pair[0]

def program(a, b, c, n8, u8, n16, u16, n32, u32, n64, u64, f32, f16, f64):
    x, y, z = a, b, 1
    i0 = i1 = i2 = -1
    items = [a, 2, c]
    twin = [b, 5]
    nest = (1, [c, 2])
    state = {"k": 3, "j": [b]}
    obj = types.SimpleNamespace(n=0)
    box = Box(a % 7, [Box(1), Box(c)])
    acc, sub = Acc(a), Sub.make(b)
    slot = Slot(2)
    point = Point(a, 4)
    pair, cell = Pair(a, 7), Cell(pair=Pair(hi=b))
    def helper(p, q=2):
        if p > q:
            return p - q
        return q * 3 - p
    add = lambda p: p + x
    def bump(p):
        nonlocal y
        y = (y + p) % 90
        return y
    def outer(p):
        def inner(q):
            nonlocal z
            z = (z + q) % 60
            if z > 30:
                return z - q
            return q
        return inner(p) + inner(1)
    def search(p, limit):
        k = p
        for k in range(limit % 5):
            if k * p > 6:
                return k, p
            obj.n = (obj.n + 1) % 44
        return -1, k
    def walk(o, by):
        o.n = (o.n + by) % 83
        return o
    twice = functools.partial(helper, q=4)
"""


def cls_of(name: str, cls: str) -> str:
    """A number as one of another class."""
    return f"{name}.to(cutlass.{cls})"


class Writer:
    """A program from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.inside = 0
        self.fresh = 0
        self.static = 0

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def atom(self) -> str:
        return self.pick(
            *VARS, *VARS, "a", "b", "c", str(self.rng.randint(-3, 9)), str(self.rng.randint(-3, 9)),
            *(f"i{k}" for k in range(self.loops)), "items[1]", "obj.n", "state['k']", "box.n",
            "acc.both", "point.a", "slot.b", "SCALE", "int(n8)", "int(u8)", "items[-1]",
            "sub.extra", "twin[0]", "int(pair.hi)", "int(cell.k) % 77",
            "nest[1][0]", "box.kids[1].n", "state['j'][0]",
        )  # fmt: skip

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
            f"sum([{p}, {q}])", self.atom(), f"divmod({p}, {n})[{n % 2}]", f"round({p})",
            f"(({p} >> 1) ^ ({q} & {n}))", f"[{p}, {q}][{n % 2}]", f"pow({self.atom()} % 5, 2)",
            f"max(u * 2 for u in [{self.atom()}, {self.atom()}])", f"acc.push({p})",
            f"sub.push({p})", f"twist(box, {self.atom()})", f"box.up({p})", f"outer({p} % 20)",
            f"search({p} % 9, {self.atom()})[{n % 2}]", f"walk(obj, {p}).n", f"twice({p}) % 70",
            f"(lambda q: q + 1 if q > {n} else q - y)({p})", f"Acc.half({p})", f"round(f32) % {n}",
            f"sum(u * v for u in (1, {self.atom()}) for v in range(2) if v)",
            f"max([{p}, {q}, 4], key=lambda u: (u - 3) * (u - 3))", f"bool({p}) * {n}",
            f"walk(walk(box.kids[0], 2), {self.atom()}).n", f"(*{[n, 1]}, {p})[-1]",
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
            f"({p}, 1) == ({q}, 1)", f"f32 > {q}", f"n8 > cutlass.Int8({p} % 100)",
            f"{p} in range(-2, {q})", f"(x := {p}) > 2", f"acc.push({p}) > 3", "box is not None",
            f"cutlass.const_expr({self.pick('True', 'False')}) and {t}", f"({p}, {q}) < (2, 3)",
        )  # fmt: skip

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def number(self) -> str:
        """An assignment to a number of some width."""
        v = self.atom()
        op = self.pick("+", "-", "*", "^", "&", "|")
        shift = self.pick("<<", ">>")
        n = self.rng.randint(0, 9)
        names = [k for k in NUMBERS if k[0] != "f"]
        p, q = self.pick(*names), self.pick(*names)
        cls, wide = NUMBERS[p], self.pick(*(c for k, c in NUMBERS.items() if k[0] != "f"))
        narrow = self.pick("n8", "u8", "n16", "u16")
        return self.pick(
            *(f"{name} = {name} {op} cutlass.{NUMBERS[name]}({v})" for name in names),
            f"{p} = cutlass.{cls}({q})", f"{p} = cutlass.{cls}({p} {op} {q})",
            f"{p} = {p} if {p} < cutlass.{cls}({v}) else {cls_of(q, cls)}",
            f"{p} = cutlass.{cls}(cutlass.{wide}({q}) {shift} cutlass.{wide}({n % 7}))",
            f"{p} = {p} // cutlass.{cls}({n + 1})", f"{p} = cutlass.{cls}({p} % {n + 1})",
            f"{p} = max({p}, cutlass.{cls}({n}))", f"{p} = {p} {op} {n}", f"{p} += {n}",
            f"{p} = cutlass.{cls}({narrow} {op} {narrow})", f"f32 = cutlass.Float32({narrow}) / 2",
            f"{p} = cutlass.{cls}(bool({q}))", f"x = int({q} % 13)", f"x = int({q} > {p})",
            f"y = int({q} == cutlass.{NUMBERS[q]}({v})) + 1", f"z = int({narrow}) % 100",
            f"pair.lo = {p}", f"pair.hi = {q}", f"pair.hi += {v}", f"pair.w = f32 + {v}",
            f"cell.pair = Pair({v}, {q}, f32)", f"cell.pair.lo {op}= {v}", f"cell.k = {p}",
            f"cell = Cell({v}, pair)", "pair = cell.pair", f"cell.k += {v}",
            f"pair, cell = cell.pair, Cell({v}, pair)", f"x = int(pair.turn({v})) % 99",
            f"y = int(cell.pair.turn({v})) % 99", f"pair = Pair(lo={v}, w=f16)",
            f"n16 = n16 {shift} cutlass.Int16({n % 5})", f"u32 = u32 {shift} cutlass.Uint32({n})",
            f"u8 = u8 // cutlass.Uint8({n + 1})", f"n8 = n8 % cutlass.Int8({n + 1})",
            f"n64 = n64 * cutlass.Int64({v}) + n64", "n8 = cutlass.Int8(n16)", "n64 = -n64",
            "n16 = cutlass.Int16(u32)", "u16 = ~u16", f"n64 = n64.to(cutlass.Int64) - {n}",
            f"f32 = f32 + cutlass.Float32({v})", f"f32 = f32 * 0.5 - {n}", "f32 = -f32 / 4",
            f"f16 = f16 * 0.25 + cutlass.Float16({v})", f"f64 = f64 - cutlass.Float64({v}) / 8",
            f"f32 = abs(f32) if f32 < {v} else f32 + 1", "f32 = cutlass.Float32(n8)",
            f"f32 = max(f32, {n} * 0.5)", "f64 = cutlass.Float64(f32) * 3",
            "f32 = f16.to(cutlass.Float32)",
        )  # fmt: skip

    def assignment(self) -> str:
        name, v = self.pick(*VARS), self.value()
        return self.pick(
            f"{name} = ({v}) % 1000", f"{name} = ({v}) % 1000", f"{name} += ({v}) % 50",
            f"x, y = (y) % 500, ({v}) % 500", f"items[0] = ({v}) % 77",
            f"items[1] += ({v}) % 9", f"state['k'] = ({v}) % 55", f"obj.n += ({v}) % 13",
            f"{name} -= ({v}) % 50", self.number(), self.number(), self.number(),
            f"point = Point(({v}) % 40, point.a)", f"point = point._replace(b=({v}) % 31)",
            f"slot.a = ({v}) % 33", f"slot.b += ({v}) % 7", f"box.kids[0].n = ({v}) % 21",
            f"state['j'][0] += ({v}) % 5", f"nest[1][1] = ({v}) % 12", f"nest[1][0] -= ({v}) % 3",
            f"nest = (2, [({v}) % 15, nest[1][0]])", f"items = [({v}) % 20, y % 9, 1]",
            "items.append(items.pop(0))", "items[:] = items[::-1]", f"twin = [({v}) % 10, 1]",
            f"swap(twin, {self.test(0)})", f"items, twin = [*twin, 1], [items[0], ({v}) % 6]",
            f"box = Box(({v}) % 17, box.kids)", f"box.kids = [Box(({v}) % 8), box.kids[1]]",
            f"obj = types.SimpleNamespace(n=({v}) % 14)", f"acc = Acc(({v}) % 25)",
            f"acc.log[1] = ({v}) % 19", "box.kids[0], box.kids[1] = box.kids[1], box.kids[0]",
            f"state = {{'k': ({v}) % 11, 'j': [z]}}", f"[x, *twin] = [({v}) % 99, *twin]",
            "twin = items[:2]", f"{name} = sum(items) % 90", f"bump(({v}) % 30)",
            f"alias = twin; alias[1] = ({v}) % 16", "sub.log = acc.log[:]",
        )  # fmt: skip

    def statement(self, indent: int, depth: int) -> None:
        kind = self.rng.random()
        if depth == 0 or kind < 0.33:
            self.emit(indent, self.assignment())
        elif kind < 0.56:
            self.branch(indent, depth)
        elif kind < 0.60 and self.inside and self.rng.random() < 0.7:
            self.emit(indent, f"if {self.test()}:")
            if self.rng.random() < 0.3:
                self.block(indent + 1, depth - 1)
            self.emit(indent + 1, self.pick("break", "continue", "break", self.leave()))
        elif kind < 0.64 and (indent == 1 or self.rng.random() < 0.5):
            self.emit(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1)
            self.emit(indent + 1, self.leave())
        elif kind < 0.72:
            self.other(indent, depth)
        elif kind < 0.88:
            self.loop(indent, depth)
        else:
            self.while_(indent, depth)

    def branch(self, indent: int, depth: int) -> None:
        self.emit(indent, f"if {self.test()}:")
        grows = self.rng.random() < 0.06
        if grows:
            self.emit(indent + 1, f"items.append({self.atom()})")
        self.block(indent + 1, depth - 1)
        if self.rng.random() < 0.4 and not grows:
            self.emit(indent, f"elif {self.test()}:")
            self.block(indent + 1, depth - 1)
        if grows or self.rng.random() < 0.6:
            self.emit(indent, "else:")
            if grows:
                self.emit(indent + 1, f"items.insert(0, {self.atom()})")
            self.block(indent + 1, depth - 1)

    def other(self, indent: int, depth: int) -> None:
        kind = self.rng.randint(0, 5)
        if kind == 0:
            subject = self.pick(self.atom(), f"({self.atom()}, {self.atom()})", "point", "2",
                                f"[{self.atom()}, 1, *twin]")  # fmt: skip
            self.emit(indent, f"match {subject}:")
            for case in self.rng.sample([
                "0", "1 | 2", "(0, q)", "Point(a=1, b=q)", "Point(q, 4)",
                f"q if q == {self.atom()}",
                "[q, 1, *_]", "(1 | 3 as q, _)", "str(q)",
            ], 2):  # fmt: skip
                self.emit(indent + 1, f"case {case}:")
                self.block(indent + 2, depth - 1)
            self.emit(indent + 1, "case _:")
            self.block(indent + 2, depth - 1)
        elif kind == 1:
            cm = self.pick("Scope(box)", f"region(twin, {self.atom()})",
                           "contextlib.nullcontext()",
                           "Scope(obj), Scope(box.kids[0])")  # fmt: skip
            self.emit(indent, f"with {cm}:")
            self.block(indent + 1, depth - 1)
        elif kind == 2:
            self.emit(indent, "try:")
            self.block(indent + 1, depth - 1)
            self.emit(indent, "finally:")
            self.emit(indent + 1, self.assignment())
        elif kind == 3:
            name = self.name()
            self.emit(indent, f"def {name}(p, q={self.atom()}):")
            self.emit(indent + 1, f"nonlocal {self.pick(*VARS)}")
            loops, inside, self.inside = self.loops, self.inside, 0
            self.emit(indent + 1, f"if {self.test()}:")
            self.emit(indent + 2, f"return (p + {self.atom()}) % 40")
            self.emit(indent + 1, f"return {self.value(1)}")
            self.loops, self.inside = loops, inside
            self.emit(indent, f"x = {name}({self.value(1)}) % 120")
        elif kind == 4:
            self.emit(indent, f"if cutlass.const_expr({self.pick('SCALE == 3', 'False')}):")
            self.block(indent + 1, depth - 1)
            self.emit(indent, "else:")
            self.block(indent + 1, depth - 1)
        else:
            self.emit(indent, "assert SCALE == 3, f'{SCALE}'")
            self.emit(indent, f"y = [(w := u) * 2 for u in (1, {self.atom()})][1] % 70 + w % 3")

    def name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def leave(self) -> str:
        return f"return ({', '.join([*INTS, *FLOATS])})"

    def loop(self, indent: int, depth: int) -> None:
        loop = f"i{self.loops}"
        self.loops += 1
        n, m = self.rng.randint(0, 4), self.rng.randint(1, 3)
        bound = self.pick(str(n), f"abs({self.atom()}) % 4")
        target, items = self.rng.choice([
            (loop, f"range({bound})"), (loop, f"range({self.pick('-1', 'b % 3')}, {bound})"),
            (loop, f"range({bound}, -1, -{m})"), (loop, f"range({n}, {n + 4}, {m})"),
            (loop, f"range({bound}, {bound} + 3, c % 2 + 1)"),
            (loop, f"[{self.atom()}, 2, {self.atom()}]"), (loop, f"cutlass.range_constexpr({n})"),
            (loop, f"cutlass.range({bound}, unroll={m})"), (loop, "items"), (loop, "list(twin)"),
            (loop, f"cutlass.range({n}, unroll_full=True)"), (loop, f"reversed(range({bound}))"),
            (loop, f"cutlass.range({bound}, prefetch_stages={m}, vectorize=True)"),
            (f"{loop}, x", f"enumerate(range({bound}, {bound} + {n}))"),
            (f"{loop}, x", f"zip(range({bound}), range(9, 0, -{m}))"),
            (f"{loop}, y", f"zip(range({bound}), [{self.atom()}, 1, 4])"),
            (f"{loop}, x", f"enumerate(({self.atom()}, 2), {n})"),
        ])  # fmt: skip
        self.emit(indent, f"for {target} in {items}:")
        self.body(indent, depth)
        self.loops -= 1

    def while_(self, indent: int, depth: int) -> None:
        turn = f"w{indent}"
        self.emit(indent, f"{turn} = 0")
        n = self.rng.randint(0, 4)
        test = self.pick(
            f"{turn} < {n} and ({self.test()})", f"{turn} < {n} and ({self.test()})",
            f"{turn} < abs({self.atom()}) % 5", "True", f"cutlass.const_expr({turn} < {n})",
            f"({turn} := {turn} + 1) < {n}",
        )  # fmt: skip
        self.emit(indent, f"while {test}:")
        self.emit(indent + 1, f"{turn} += 1")
        if test == "True":
            self.emit(indent + 1, f"if {turn} > {n} or {self.test(0)}:")
            self.emit(indent + 2, "break")
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
        """The source."""
        for _ in range(self.rng.randint(2, 5)):
            self.statement(1, 2)
        self.emit(1, self.leave())
        return HEADER + "\n".join(self.lines) + "\n"
