# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which loads and stores of registers are built, and that what stands for them is the same."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencute as cutlass
from opencute import cute

pytestmark = pytest.mark.t0

SIZE = 4
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
_program: list[tuple[Any, ...]] = []


@cute.jit
def _branch(t: Any, i: cutlass.Constexpr, v: Any, n: Any) -> None:
    if n > 1:
        t[i] = v


@cute.jit
def _either(a: Any, b: Any, n: Any) -> Any:
    chosen = a
    if n > 1:
        chosen = b
    return chosen


@cute.jit
def _turns(a: Any, b: Any, i: cutlass.Constexpr, j: cutlass.Constexpr, n: Any) -> Any:
    """A loop that carries two tensors, which change places in each turn."""
    for _ in range(n):
        a[i] = a[i] + 1
        b[j] = a[i] + b[j]
        a[i] = a[i] + b[j]
        a, b = b, a
    return a, b


@cute.jit
def _inside(chosen: Any, t: Any, i: cutlass.Constexpr, v: Any, n: Any) -> None:
    """A branch in which one of two tensors, from before it, may be either of them."""
    if n > 0:
        t[i] = v
        chosen[i] = chosen[i] + 1
        t[i] = t[i] + chosen[i]
        chosen[i] = t[i] + 1


@cute.kernel
def _kernel(out: cute.Tensor, n: cutlass.Int32) -> None:
    a, b = (cute.make_rmem_tensor(SIZE, cutlass.Int32) for _ in range(2))
    for k in cutlass.range_constexpr(SIZE):
        a[k] = k
        b[k] = 10 + k
    acc = cutlass.Int32(0)
    for name, which, i, v in cutlass.const_expr(_program):
        t, other = (a, b) if cutlass.const_expr(which) else (b, a)
        if cutlass.const_expr(name == "set"):
            t[i] = acc + v
        elif cutlass.const_expr(name == "at"):
            t[n] = v
        elif cutlass.const_expr(name == "get"):
            acc = acc * 3 + t[i]
        elif cutlass.const_expr(name == "got"):
            acc = acc * 3 + t[n]
        elif cutlass.const_expr(name == "all"):
            acc = acc * 3 + t.load().reduce(cute.ReductionOp.ADD, 0, 0)
        elif cutlass.const_expr(name == "fill"):
            t.fill(v)
        elif cutlass.const_expr(name == "bytes"):
            cute.recast_tensor(t, cutlass.Int8)[4 * i] = cutlass.Int8(v)
        elif cutlass.const_expr(name == "if"):
            _branch(t, i, v, n)
        elif cutlass.const_expr(name == "either"):
            _either(t, other, n)[i] = acc + v
        elif cutlass.const_expr(name == "inside"):
            _inside(_either(t, other, n), t, i, v, n)
        else:
            a, b = _turns(t, other, i, v % SIZE, n)
    out[0] = acc
    for k in cutlass.range_constexpr(SIZE):
        out[1 + k] = a[k]
        out[1 + SIZE + k] = b[k]


@cute.jit
def _run(out: cute.Tensor, n: cutlass.Int32) -> None:
    _kernel(out, n).launch(grid=1, block=1)


def _by_hand(n: int) -> list[int]:
    a, b, acc = list(range(SIZE)), [10 + k for k in range(SIZE)], 0
    for name, which, i, v in _program:
        t, other = (a, b) if which else (b, a)
        if name == "set":
            t[i] = acc + v
        elif name == "at":
            t[n] = v
        elif name == "get":
            acc = acc * 3 + t[i]
        elif name == "got":
            acc = acc * 3 + t[n]
        elif name == "all":
            acc = acc * 3 + sum(t)
        elif name == "fill":
            t[:] = [v] * SIZE
        elif name == "bytes":
            t[i] = t[i] & ~0xFF | v
        elif name == "if":
            t[i] = v if n > 1 else t[i]
        elif name == "either":
            (other if n > 1 else t)[i] = acc + v
        elif name == "inside":
            if n > 0:
                chosen = other if n > 1 else t
                t[i] = v
                chosen[i] += 1
                t[i] += chosen[i]
                chosen[i] = t[i] + 1
        else:
            a, b = t, other
            for _ in range(n):
                a[i] += 1
                b[v % SIZE] += a[i]
                a[i] += b[v % SIZE]
                a, b = b, a
    wrapped = np.array([acc, *a, *b], object) & 0xFFFFFFFF
    return wrapped.astype(np.uint32).view(np.int32).tolist()


NAMES = (
    "set", "at", "get", "got", "all", "fill", "bytes", "if", "either", "inside", "turns",
)  # fmt: skip
STEP = st.tuples(st.sampled_from(NAMES), st.booleans(), st.integers(0, 3), st.integers(0, 99))


@QUICK
@given(program=st.lists(STEP, min_size=1, max_size=8), n=st.integers(0, 3))
def test_programs(program: list[tuple[Any, ...]], n: int) -> None:
    _program[:] = program
    out = np.zeros(1 + 2 * SIZE, np.int32)
    _run(out, n)
    assert out.tolist() == _by_hand(n)


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_each_step(name: str, n: int) -> None:
    _program[:] = [
        ("set", True, 1, 3),
        (name, True, 1, 7),
        ("get", True, 1, 0),
        (name, False, 1, 9),
    ]
    out = np.zeros(1 + 2 * SIZE, np.int32)
    _run(out, n)
    assert out.tolist() == _by_hand(n)


def counts(program: list[tuple[Any, ...]]) -> collections.Counter[str]:
    """The operations of a program's kernel."""
    _program[:] = program
    compiled: Any = cute.compile(_run, np.zeros(1 + 2 * SIZE, np.int32), 1)
    return collections.Counter(op.name for op in compiled.artefacts.module.walk())


def test_what_was_stored_is_not_loaded_and_overwritten_unread_not_stored() -> None:
    none = counts([])
    assert none["cute.load"] == 0 and none["cute.store"] == 2 * SIZE + 1 + 2 * SIZE
    again = counts([("set", True, 0, 5), ("get", True, 0, 0), ("set", True, 0, 6)])
    assert (again["cute.load"], again["cute.store"]) == (0, none["cute.store"])
    tile = counts([("all", True, 0, 0)])
    assert tile["cute.tile_load"] == 0 and tile["vector.extract"] == 0


def test_what_may_be_another_element_is_loaded_and_stored() -> None:
    plain = counts([])
    stores = plain["cute.store"]
    # An index that the run decides about: it may be any element, and only of that tensor.
    dynamic = counts([("at", True, 0, 5)])
    assert (dynamic["cute.load"], dynamic["cute.store"]) == (SIZE, stores + 1)
    # It is read: what is stored before stays.
    read = counts([("got", True, 0, 0), ("set", True, 0, 1)])
    assert (read["cute.load"], read["cute.store"]) == (1, stores + 1)
    # So it is as part of a tile of which not all is known.
    tile = counts(
        [("at", True, 0, 5), ("set", True, 0, 1), ("all", True, 0, 0), ("set", True, 0, 2)]
    )
    assert (tile["cute.tile_load"], tile["cute.store"]) == (1, stores + 3)
    # A branch that stores; one of two tensors.
    assert counts([("if", True, 0, 5)])["cute.load"] == 2 * SIZE
    assert counts([("either", True, 0, 5)])["cute.load"] == 2 * SIZE
