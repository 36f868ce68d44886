# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What one kernel wrote to memory of `torch.empty` the next one may read, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import cutlass
import cutlass.cute as cute
from opencute.base.errors import UninitializedError
from opencute.base.knobs import KNOBS
from opencute.integrations import torch_sim
from opencute.jit import runners

pytestmark = pytest.mark.t0

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    before = list(runners._marks)
    runners.use_memory_marks(torch_sim)
    try:
        with torch_sim.simulated_cuda(), KNOBS.override(target="sim"):
            yield
    finally:
        runners._marks[:] = before


@cute.kernel
def _fill(o: cute.Tensor, n: cutlass.Int32) -> None:
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        o[i] = 1.0


@cute.kernel
def _copy(o: cute.Tensor, z: cute.Tensor, n: cutlass.Int32) -> None:
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        z[i] = o[i]


@cute.jit
def fill(o: cute.Tensor, n: cutlass.Int32) -> None:
    _fill(o, n).launch(grid=1, block=128)


@cute.jit
def copy(o: cute.Tensor, z: cute.Tensor, n: cutlass.Int32) -> None:
    _copy(o, z, n).launch(grid=1, block=128)


def test_a_part_that_was_written_can_be_read() -> None:
    o, z = torch.empty(100, device="cuda"), torch.zeros(100, device="cuda")
    fill(o, 50)
    copy(o, z, 50)
    assert z.sum() == 50
    with pytest.raises(UninitializedError, match="OC3301"):
        copy(o, z, 51)


def test_a_view_that_was_written_says_nothing_of_the_rest() -> None:
    o, z = torch.empty(100, device="cuda"), torch.zeros(100, device="cuda")
    fill(o[20:40], 20)
    copy(o[20:40], z, 20)
    assert z.sum() == 20
    with pytest.raises(UninitializedError, match="OC3301"):
        copy(o[39:], z, 2)
    fill(o[:20], 20)
    fill(o[40:], 60)
    assert not torch_sim.is_uninitialized(o)
    copy(o, z, 100)
    assert z.sum() == 100


def test_what_torch_writes_counts_as_all() -> None:
    o, z = torch.empty(100, device="cuda"), torch.zeros(100, device="cuda")
    fill(o, 50)
    o.zero_()
    copy(o, z, 100)
    assert z.sum() == 0
    assert torch_sim.written_bytes(o) is None
