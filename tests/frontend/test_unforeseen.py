# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody writes on purpose: each has a meaning, or an error with a code."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError, LayoutError, TypeMismatchError
from opencute.cute.runtime import from_dlpack
from opencute.frontend.locations import without_end
from opencute.lang.numbers import Int32

pytestmark = pytest.mark.t0


class Both:
    """Decorators of Python's own on either side."""

    offset = 7

    @cute.jit
    @staticmethod
    def first(o: Any) -> None:
        o[0] = 5

    @cute.jit(preprocess=True)
    @classmethod
    def second(cls, o: Any) -> None:
        o[1] = cls.offset

    @classmethod
    @cute.jit
    def third(cls, o: Any) -> None:
        o[2] = cls.offset + 1


def test_static_and_class_methods_in_either_order() -> None:
    out = np.zeros(3, np.int32)
    o = from_dlpack(out)
    Both.first(o)
    Both().second(o)
    Both.third(o)
    assert out.tolist() == [5, 7, 8]


def test_no_elements() -> None:
    def load(o: Any) -> None:
        o.store(o.load() + 1)

    def fill(o: Any) -> None:
        o.fill(1.0)

    empty = np.zeros((0, 4), np.float32)
    with pytest.raises(LayoutError, match="OC1367"):
        on_device(load, empty)
    on_device(fill, empty)


@pytest.mark.parametrize(("verbose", "end"), [(False, "data=\n       [])\n"),
                                              (True, "data= (\n)\n")])  # fmt: skip
def test_no_elements_printed(capfd: Any, verbose: bool, end: str) -> None:
    def show(o: Any) -> None:
        cute.print_tensor(o, verbose=verbose)

    on_device(show, np.zeros((0, 4), np.float32))
    assert capfd.readouterr().out.endswith(end)


def test_a_format_with_width(capsys: Any) -> None:
    def show(o: Any) -> None:
        print(f"[{o[0]:>4}|{o[0]:05.2f}]")

    on_device(show, np.zeros(1, np.int32))
    assert "[   ?|?]" in capsys.readouterr().out
    assert f"{Int32(7):03d}" == "007"


@pytest.mark.parametrize("text", ["{} {q}", "{} {:>6}", "{:,} {}", "{!r} {}"])
def test_places_that_printf_does_not_have(text: str) -> None:
    def show(o: Any) -> None:
        cute.printf(text, o[0])

    with pytest.raises(TypeMismatchError, match="cannot be printed"):
        on_device(show, np.zeros(1, np.int32))


@pytest.mark.parametrize("divby", [0, -4, 2.0, "8", True])
def test_divisors_of_assume(divby: Any) -> None:
    def body(o: Any) -> None:
        o[0] = cute.assume(o[0], divby=divby)

    with pytest.raises(TypeMismatchError, match="OC1235"):
        on_device(body, np.zeros(1, np.int32))


def test_compile_time_numbers_that_are_equal_and_differ() -> None:
    @cute.jit
    def host(o: cute.Tensor, c: cutlass.Constexpr) -> None:
        o[0] = int(str(c)[0] == "-") + 10 * (type(c) is bool) + 100 * (type(c) is float)

    out, seen = np.zeros(1, np.int32), []
    for c in (0.0, -0.0, 0, False):
        host(from_dlpack(out), c)
        seen.append(int(out[0]))
    assert seen == [100, 101, 0, 10]


def test_an_expression_that_is_too_long() -> None:
    tree: ast.expr = ast.Name("o")
    for _ in range(20000):
        tree = ast.UnaryOp(ast.USub(), tree)
    with pytest.raises(RecursionError) as e:
        ast.NodeVisitor().visit(tree)
    error = without_end(e.value)
    assert error.code == "OC1123"
    assert "nested too deeply" in str(error)
    while isinstance(tree, ast.UnaryOp):  # Python frees a deep tree by recursion
        tree = tree.operand


class Cell:
    """True while its number is not zero, which the running kernel knows."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def __bool__(self) -> Any:
        return self.n != 0


def test_truth_that_an_object_computes() -> None:
    @cute.jit
    def body(o: Any) -> None:
        cell, turns = Cell(o[0]), 0
        while cell:
            cell.n -= 1
            turns += 1
            if turns > 4:
                break
        o[1] = turns
        if not cell:
            o[2] = 1
        o[3] = 5 if turns > 1 and cell else 6
        o[4] = bool(cell)

    for n, want in ((0, [0, 0, 1, 6, 0]), (3, [3, 3, 1, 6, 0]), (9, [9, 5, 0, 5, 1])):
        out = np.array([n, 0, 0, 0, 0], np.int32)
        on_device(body, out)
        assert out.tolist() == want


def test_objects_beside_flags_in_conditions() -> None:
    """Only their truth counts, so they need not be of one kind."""
    names: list[str] = ["one"]
    empty: dict[str, int] = {}

    @cute.jit
    def body(o: Any) -> None:
        x, turns = o[0], 0
        while x < 5 and names:
            x += 1
            turns += 1
        o[1] = turns
        if turns > 2 and body:
            o[2] = 1
        if not ((turns > 2 and empty) or names):
            o[2] = 9
        o[3] = 1 if turns > 2 or empty else 2
        o[4] = any(y for y in (turns > 2, names)) and not all([turns > 2, empty])

    out = np.zeros(5, np.int32)
    on_device(body, out)
    assert out.tolist() == [0, 5, 1, 1, 1]


def test_a_tuple_with_a_variable_that_is_not_bound() -> None:
    @cute.jit
    def last(n: Any) -> Any:
        for i in range(n):
            cute.printf("{}", i)
        return 1, i  # here

    @cute.jit
    def body(o: Any) -> None:
        o[0], o[1] = last(o[0])

    with pytest.raises(LanguageError, match="'i' is not bound") as e:
        on_device(body, np.zeros(2, np.int32))
    assert e.value.loc is not None and e.value.loc.line == next(
        i for i, s in enumerate(Path(__file__).read_text().splitlines(), 1) if "# here" in s
    )


@dataclasses.dataclass
class Pair:
    x: Any
    rest: Any = None
    note: Any = dataclasses.field(default=0, compare=False)


def test_records_are_compared_by_their_fields() -> None:
    @cute.jit
    def body(o: Any) -> None:
        a, b = o[0], o[1]
        o[2] = Pair(a, [b]) == Pair(b, [b])
        o[3] = Pair(Pair(a), note=1) != Pair(Pair(b), note=2)
        o[4] = Pair(a) in [Pair(7), Pair(b)]
        o[5] = Pair(a) == a

    for a, b in ((3, 3), (3, 4)):
        out = np.array([a, b, 9, 9, 9, 9], np.int32)
        on_device(body, out)
        assert out[2:].tolist() == [a == b, a != b, a == b, 0]
