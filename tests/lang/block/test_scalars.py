# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are members of a struct in memory: they read as numbers, and have a pointer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1


@cute.struct
class State:
    n: cutlass.Int32
    x: cutlass.Float32
    flag: cutlass.Boolean
    values: cute.struct.MemRange[cutlass.Int32, 4]
    inner: cute.struct.Align[cutlass.Int32, 16]


def run(body: Callable[[Any, Any], None], *, build: bool = False) -> list[int]:
    @cute.kernel
    def kernel(o: cute.Tensor):
        s = utils.SmemAllocator().allocate(State)
        s.n, s.x, s.flag, s.inner = 3, 2.5, True, 1
        for i in cutlass.range_constexpr(4):
            s.values[i] = i
        body(s, o)

    @cute.jit
    def host(o: cute.Tensor):
        kernel(o).launch(grid=1, block=1)

    o = np.zeros(8, np.int32)
    with KNOBS.override(target="sim"):
        host(from_dlpack(o))
        if build:
            assert cute.compile(host, from_dlpack(o)).__cubin__
    return o.tolist()


@cute.jit
def doubled(x: cutlass.Int32):
    return x * 2


@cute.jit
def pointer(s: Any, o: Any):
    o[0] = s.n.ptr.load()
    s.n.ptr.store(9)
    o[1] = s.n.load()


@cute.jit
def arithmetic(s: Any, o: Any):
    o[0] = s.n + 1
    o[1] = 10 - s.n
    o[2] = cutlass.Int32(4) * s.n
    o[3] = s.n + s.inner
    o[4] = -s.n // 2
    o[5] = (s.n == 3).to(cutlass.Int32) + (s.n > 2).to(cutlass.Int32)
    o[6] = s.x.to(cutlass.Int32) + cutlass.Int32(s.n)
    o[7] = cutlass.max(s.n, 2) + cute.math.exp2(s.x).to(cutlass.Int32)


@cute.jit
def assignment(s: Any, o: Any):
    before = s.n
    s.n += 4
    o[0] = before
    o[1] = s.n
    s.n = s.inner
    o[2] = s.n
    s.values[2] = s.n
    o[3] = s.values[2]
    o[s.n + 3] = before  # 3, as it was when it was read


@cute.jit
def control(s: Any, o: Any):
    if s.n > 2:
        o[0] = 1
    if s.flag:
        o[1] = 1
    s.flag = False
    if s.flag:
        o[2] = 1
    if not s.flag and s.n > 1:
        o[3] = 1
    for _ in range(s.n):
        o[4] = o[4] + 1
    while s.n < 10:
        s.n += 1
    o[5] = s.n
    o[6] = s.n if s.n > 20 else s.inner
    chosen = 7
    if o[0] == 1:
        chosen = s.n
    o[7] = chosen


@cute.jit
def places(s: Any, o: Any):
    o[s.n] = doubled(s.n)
    o[0] = cute.size(cute.make_layout((s.n, 4)))
    o[1] = (s.values.data_ptr() + s.n).load()
    r = cute.make_rmem_tensor(4, cutlass.Int32)
    r.fill(s.n)
    r.store(r.load() + s.n)
    o[2] = r[1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (pointer, [3, 9, 0, 0, 0, 0, 0, 0]),
        (arithmetic, [4, 7, 12, 4, -2, 2, 5, 8]),
        (assignment, [3, 7, 1, 1, 3, 0, 0, 0]),
        (control, [1, 1, 0, 1, 3, 10, 1, 10]),
        (places, [12, 3, 6, 6, 0, 0, 0, 0]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_members_read_as_numbers(body: Any, expected: list[int]) -> None:
    assert run(body, build=True) == expected


def test_naming_a_member_for_its_pointer_reads_nothing() -> None:
    @cute.kernel
    def kernel(o: cute.Tensor):
        s = utils.SmemAllocator().allocate(State)  # nothing wrote to it
        s.n.ptr.store(5)
        o[0] = s.n

    @cute.jit
    def host(o: cute.Tensor):
        kernel(o).launch(grid=1, block=1)

    o = np.zeros(8, np.int32)
    with KNOBS.override(target="sim"):
        text = str(cute.compile(host, from_dlpack(o)).__mlir__)
        host(from_dlpack(o))
    assert text.count("cute.load") == 1
    assert o[0] == 5


def test_printing(capfd: pytest.CaptureFixture[str]) -> None:
    run(lambda s, o: cute.printf("{} {}", s.n, s.x))
    assert capfd.readouterr().out == "3 2.500000\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (lambda s, o: s.values + 1, "OC1299"),
        (lambda s, o: 1 * s, "OC1299"),
        (lambda s, o: setattr(s, "values", 3), "OC1299"),
        (lambda s, o: setattr(s, "n", "x"), "OC1204"),
        (lambda s, o: o.__setitem__(0, s.values), "OC1205"),
    ],
)
def test_what_is_no_number_says_so(body: Any, code: str) -> None:
    with pytest.raises(TypeMismatchError, match=code) as e:
        run(body)
    assert e.value.loc is not None
