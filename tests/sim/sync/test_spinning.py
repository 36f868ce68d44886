# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loops that wait for memory: a deadlock if nobody writes it, whatever else their bodies count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import DeadlockError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@cute.jit
def counting(o: Any):
    i = cutlass.Int32(0)
    while o[0] == 0:
        i += 1
    o[1] = i


@cute.jit
def doing_nothing(o: Any):
    while o[0] == 0:
        pass
    o[1] = 1


@cute.jit
def backing_off(o: Any):
    wait, i = cutlass.Int32(1), cutlass.Int32(0)
    while o[0] == 0:
        for _ in range(wait):
            i += 1
        wait = wait * 2 if wait < 64 else wait
    o[1] = i


@cute.jit
def left_by_break(o: Any):
    i = cutlass.Int32(0)
    while True:
        if o[0] != 0:
            break
        i += 1
    o[1] = i


SPINS = (counting, doing_nothing, backing_off, left_by_break)


@cute.jit
def that_gives_up(o: Any):
    i = cutlass.Int32(0)
    while o[0] == 0 and i < 300:
        i += 1
    o[1] = i


@cute.jit
def that_gives_up_by_break(o: Any):
    i = cutlass.Int32(0)
    while o[0] == 0:
        i += 3
        if i >= 300:
            break
    o[1] = i


@cute.jit
def that_counts_in_a_register_tensor(o: Any):
    r = cute.make_rmem_tensor(1, cutlass.Int32)
    r[0] = 0
    while o[0] == 0 and r[0] < 300:
        r[0] = r[0] + 1
    o[1] = r[0]


@cute.jit
def that_looks_elsewhere(o: Any):
    i = cutlass.Int32(2)
    while o[i] == 0:
        i += 1
    o[1] = i + 296


ENDING = (
    that_gives_up, that_gives_up_by_break, that_counts_in_a_register_tensor, that_looks_elsewhere,
)  # fmt: skip


def run(body: Any, check: bool) -> Any:
    @cute.kernel
    def kernel(o: cute.Tensor):
        body(o)

    @cute.jit
    def host(o: cute.Tensor):
        kernel(o).launch(grid=1, block=1)

    o = np.zeros(8, np.int32)
    o[4] = 1
    with KNOBS.override(target="sim", sim_check=check):
        host(from_dlpack(o))
    return o


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("body", SPINS, ids=lambda b: b.__name__)
def test_nobody_ends_it(body: Any, check: bool) -> None:
    with pytest.raises(DeadlockError, match="OC3501") as e:
        run(body, check)
    assert "while" in str(e.value) and e.value.loc is not None


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("body", ENDING, ids=lambda b: b.__name__)
def test_it_ends_by_itself(body: Any, check: bool) -> None:
    assert run(body, check)[1] == 300


@pytest.mark.parametrize("body", SPINS, ids=lambda b: b.__name__)
def test_a_later_block_ends_it(body: Any) -> None:
    @cute.kernel
    def kernel(o: cute.Tensor):
        if cute.arch.block_idx()[0] == 0:
            body(o)
            o[2] = 1
        else:
            o[0] = 1

    @cute.jit
    def host(o: cute.Tensor):
        kernel(o).launch(grid=3, block=1)

    o = np.zeros(8, np.int32)
    with KNOBS.override(target="sim", sim_check=False):
        host(from_dlpack(o))
    assert o[2] == 1


def test_a_later_block_ends_it_in_order() -> None:
    """With the order that the race checker asks for."""

    @cute.kernel
    def kernel(o: cute.Tensor):
        i = cutlass.Int32(0)
        if cute.arch.block_idx()[0] == 0:
            while cute.arch.atomic_add(o.iterator, cutlass.Int32(0), sem="acquire") == 0:
                i += 1
            o[2] = o[3]
        else:
            o[3] = 5
            cute.arch.atomic_add(o.iterator, cutlass.Int32(1), sem="release")

    @cute.jit
    def host(o: cute.Tensor):
        kernel(o).launch(grid=2, block=1)

    o = np.zeros(8, np.int32)
    with KNOBS.override(target="sim", sim_check=True):
        host(from_dlpack(o))
    assert o[2] == 5
