# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which register tensor a variable names may be decided at run time: by a branch, or by turns of a
loop, each of which makes its own. Simulator and machine code (here the CPU's) agree with CPython.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from codegen.on_cpu import CpuKernel
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.ir.parser import parse

pytestmark = pytest.mark.t1


def filled(value: Any) -> Any:
    t = cute.make_rmem_tensor(4, cutlass.Int32)
    t.fill(value)
    return t


@cute.jit
def chosen_by_a_branch(o: Any, n: Any):
    a, b = filled(1), filled(2)
    c = a
    if n > 2:
        c = b
    c[0] = 5 + n
    o[0] = c[0] + c[1]
    o[1] = a[0]
    o[2] = b[0]


@cute.jit
def made_in_a_branch(o: Any, n: Any):
    a = filled(1)
    if n > 2:
        a = filled(n)
    else:
        a[1] = 7
    o[0] = a[0]
    o[1] = a[1]


@cute.jit
def carried_to_the_next_turn(o: Any, n: Any):
    a = filled(0)
    for i in range(n):
        b = filled(1 + i)
        o[i] = a[0] * 10 + b[1]
        a = b
    o[6] = a[2]


@cute.jit
def kept_from_some_turn(o: Any, n: Any):
    a = filled(0)
    for i in range(n):
        b = filled(1 + i)
        if i % 3 == 1:
            a = b
        o[i] = a[0] * 10 + b[1]
    o[6] = a[2]


@cute.jit
def carried_two_turns(o: Any, n: Any):
    first, second = filled(100), filled(200)
    for i in range(n):
        now = filled(1 + i)
        o[i] = first[0] + second[1] * 10 + now[3] * 1000
        first, second = second, now
    o[6] = first[0] + second[0]


@cute.jit
def carried_by_a_while(o: Any, n: Any):
    a = filled(0)
    i = cutlass.Int32(0)
    while i < n:
        b = filled(1 + i)
        for j in range(2):
            c = filled(i * 10 + j)
            c[0] = c[0] + b[0] + a[0]
            b = c
        o[i] = a[1] * 100 + b[0]
        a = b
        i += 1
    o[6] = a[0]


@cute.jit
def swapped(o: Any, n: Any):
    a, b = filled(1), filled(2)
    for _ in range(n):
        a, b = b, a
        a[0] = a[0] + 1
    o[0] = a[0]
    o[1] = b[0]


def lists(body: Callable[..., None], n: int) -> list[int]:
    """What CPython makes of it, with lists for tensors."""
    text: dict[str, Any] = {
        "filled": lambda value: [value] * 4,
        "cutlass": cutlass,
    }
    import types

    plain = types.FunctionType(body.__wrapped__.__code__, text)  # type: ignore[attr-defined]
    o = [0] * 8
    plain(o, n)
    return [int(x) for x in o]


BODIES = (
    chosen_by_a_branch, made_in_a_branch, carried_to_the_next_turn, kept_from_some_turn,
    carried_two_turns, carried_by_a_while, swapped,
)  # fmt: skip


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("body", BODIES, ids=lambda b: b.__name__)
def test_each_tensor_is_its_own(body: Any, n: int) -> None:
    @cute.kernel
    def kernel(o: cute.Tensor, count: cute.Tensor):
        body(o, count[0])

    @cute.jit
    def host(o: cute.Tensor, count: cute.Tensor):
        kernel(o, count).launch(grid=1, block=1)

    with KNOBS.override(target="sim:sm_80"):
        expected = lists(body, n)
        o, count = np.zeros(8, np.int32), np.array([n], np.int32)
        compiled = cute.compile(host, from_dlpack(o), from_dlpack(count))
        compiled(from_dlpack(o), from_dlpack(count))
        assert o.tolist() == expected
        o[:] = 0
        CpuKernel(parse(str(compiled.__mlir__)))(o, count)
        assert o.tolist() == expected
        assert compiled.__cubin__


def test_threads_choose_apart() -> None:
    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        a, b = filled(1), filled(2)
        c = a
        if i < n:
            c = b
        c[0] = 10 + i
        o[i, 0], o[i, 1], o[i, 2] = a[0], b[0], c[1]

    @cute.jit
    def host(o: cute.Tensor, n: cutlass.Int32):
        kernel(o, n).launch(grid=1, block=4)

    o = np.zeros((4, 3), np.int32)
    with KNOBS.override(target="sim"):
        host(from_dlpack(o), 3)
    assert o.tolist() == [[1, 10, 2], [1, 11, 2], [1, 12, 2], [13, 2, 1]]
