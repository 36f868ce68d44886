# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a loop is thought to carry saves traces of its body, and shows nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.compiler.options import Options
from opencute.cute.runtime import from_dlpack
from opencute.frontend.state import guesses
from opencute.frontend.state.turns import Loop
from opencute.ir.printer import print_op
from opencute.jit.functions import JitFunction
from opencute.jit.request import Request

pytestmark = pytest.mark.t0


class State:
    def __init__(self, count: Any) -> None:
        self.count = count
        self.other = count

    def advance(self) -> None:
        self.count += 1


class Reset(State):
    def advance(self) -> None:
        self.other = self.other * 2


class Flag:
    def __init__(self, first: bool) -> None:
        self.first = first


def request(fn: JitFunction, *args: Any) -> Request:
    out = np.zeros(1, np.int32)
    return Request(fn, (from_dlpack(out), *args), {}, Options())


def traced(fn: JitFunction, *args: Any) -> tuple[str, int]:
    """The text of a function, and how many bodies of loops were traced for it."""
    leave, count = Loop._leave, 0

    def counted(loop: Loop, row: Any) -> Any:
        nonlocal count
        count += 1
        return leave(loop, row)

    Loop._leave = counted
    try:
        return print_op(request(fn, *args).trace()), count
    finally:
        Loop._leave = leave


@cute.jit
def advances(out: cute.Tensor, n: cutlass.Int32):
    state = State(n)
    for _ in range(n):
        for _ in range(n):
            state.advance()
    out[0] = state.count + state.other


@cute.jit
def chosen(out: cute.Tensor, n: cutlass.Int32, kind: cutlass.Constexpr):
    state = kind(n)
    for _ in range(n):
        state.advance()
    out[0] = state.count + state.other


@cute.jit
def rebinds(out: cute.Tensor, n: cutlass.Int32):
    state = State(n)
    while state.count < 9:
        state = State(state.count + 2)
    out[0] = state.count


@cute.jit
def binds(out: cute.Tensor, n: cutlass.Int32):
    for i in range(3):
        late = n + i
    out[0] = late + i


@cute.jit
def flagged(out: cute.Tensor, n: cutlass.Int32, first: cutlass.Constexpr):
    flag = Flag(first)
    for i in range(n):
        if flag.first:
            out[0] = i
        flag.first = False


@pytest.fixture(autouse=True)
def _nothing_known():
    guesses._SETTLED.clear()
    yield
    guesses._SETTLED.clear()


def test_a_called_method_tells_what_it_changes():
    text, turns = traced(advances, 3)
    assert turns == 2  # of two loops
    assert traced(advances, 3) == (text, turns)


def test_the_outcome_is_that_without_guesses(monkeypatch):
    cases = [(advances, 3), (chosen, 3, State), (rebinds, 1), (binds, 2), (flagged, 3, True)]
    with_guesses = [traced(*case)[0] for case in cases]
    again = [traced(*case)[0] for case in cases]
    monkeypatch.setattr(
        "opencute.frontend.state.turns.guessed", lambda parts, watch: guesses.Guess()
    )
    without = [traced(*case) for case in cases]
    assert [text for text, _ in without] == with_guesses == again
    assert without[0][1] > 2


def test_a_wrong_guess_is_found_out():
    # The code of the loop is the same, what it changes is not.
    alone = traced(chosen, 3, Reset)[0]
    guesses._SETTLED.clear()
    assert traced(chosen, 3, State)[1] == 1
    text, turns = traced(chosen, 3, Reset)
    assert text == alone
    assert turns > 1
    assert traced(chosen, 3, Reset) == (text, 1)


def test_an_object_in_place_of_another():
    assert traced(rebinds, 1)[1] == 1


def test_a_variable_that_each_turn_binds_needs_no_trace_of_its_own():
    assert traced(binds, 2)[1] == 1


def test_a_flag_changes_once_more_from_the_same_value():
    cold, turns = traced(flagged, 3, True)
    assert turns == 2
    assert traced(flagged, 3, True) == (cold, 1)
    # From another value it may not change.
    known = traced(flagged, 3, False)[0]
    guesses._SETTLED.clear()
    assert traced(flagged, 3, False)[0] == known


def test_errors_are_those_without_guesses():
    @cute.jit
    def needs_static(out: cute.Tensor, n: cutlass.Int32, kind: cutlass.Constexpr):
        state = kind(n)
        for _ in range(n):
            state.advance()
            if kind is Reset:
                out[0] = state.missing

    traced(needs_static, 3, State)
    with pytest.raises(AttributeError, match="missing"):
        traced(needs_static, 3, Reset)


@cute.jit
def asks_of_an_item(out: cute.Tensor, n: cutlass.Int32):
    held = [1, 2]
    for _ in range(n):
        if not isinstance(held[0], int):
            held = [x * 10 for x in held]
        out[0] += held[0]


@cute.jit
def asks_by_an_error(out: cute.Tensor, n: cutlass.Int32):
    table, held = (10, 20, 30), [1, 2]
    for _ in range(n):
        try:
            out[0] += table[held[0]]
        except Exception:
            out[0] += 1000
            held = [held[0], held[1]]


@cute.jit
def asks_in_a_match(out: cute.Tensor, n: cutlass.Int32):
    held = [1, 2]
    for _ in range(n):
        match held[0]:
            case int():
                out[0] += held[0]
            case _:
                held = [x * 10 for x in held]
                out[0] += 1000


@cute.jit
def is_plain(held: Any) -> bool:
    return type(held[0]) is int


@cute.jit
def asks_in_a_call(out: cute.Tensor, n: cutlass.Int32):
    held = [1, 2]
    for _ in range(n):
        if not is_plain(held):
            held = [x * 10 for x in held]
        out[0] += held[0]


@pytest.mark.parametrize(
    ("fn", "each"),
    [(asks_of_an_item, 1), (asks_by_an_error, 20), (asks_in_a_match, 1), (asks_in_a_call, 1)],
)
def test_a_guess_does_not_come_true_by_itself(fn: Any, each: int):
    """What is carried is no number of Python's: code that asks for one would change it then."""
    out = np.zeros(1, np.int32)
    with KNOBS.override(target="sim"):
        fn(from_dlpack(out), 5)
    assert out[0] == 5 * each
