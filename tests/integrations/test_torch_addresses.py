# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that get addresses of tensors in a table."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import cutlass
import cutlass.cute as cute
from opencute.integrations import torch_addresses as addresses

pytestmark = pytest.mark.t0

torch = pytest.importorskip("torch")


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`data_ptr` as the simulated device has it, with nothing noted yet."""
    monkeypatch.setattr(addresses, "_sizes", {})
    monkeypatch.setattr(addresses, "_kept", type(addresses._kept)())
    monkeypatch.setattr(torch.Tensor, "data_ptr", addresses.noting(torch.Tensor.data_ptr))


@pytest.mark.usefixtures("noted")
def test_memory_is_that_of_the_whole_storage() -> None:
    x = torch.zeros(16, dtype=torch.int32)
    assert addresses.memory() == []
    start = x[4:].data_ptr()
    assert addresses.memory() == [(start - 16, 64)]


@pytest.mark.usefixtures("noted")
def test_the_last_pieces_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_KEPT_BYTES", 4096)
    first = torch.zeros(2048, dtype=torch.uint8).data_ptr()
    gc.collect()
    assert addresses.memory() == [(first, 2048)]
    second = torch.zeros(4096, dtype=torch.uint8).data_ptr()
    gc.collect()
    assert addresses.memory() == [(second, 4096)]


@cute.kernel
def _read(table: cute.Tensor, out: cute.Tensor) -> None:
    for i in cutlass.range_constexpr(2):
        ptr = cute.make_ptr(cutlass.Int32, table[i], cute.AddressSpace.gmem, assumed_align=4)
        out[i] = cute.make_tensor(ptr, cute.make_layout(4))[3]


@cute.jit
def _launch(table: cute.Tensor, out: cute.Tensor) -> None:
    _read(table, out).launch(grid=[1, 1, 1], block=[1, 1, 1])


def test_kernels_read_tables_of_addresses() -> None:
    from opencute.base.knobs import KNOBS
    from opencute.integrations import torch_sim
    from opencute.jit import runners

    before = list(runners._marks)
    try:
        runners.use_memory_marks(torch_sim)
        with torch_sim.simulated_cuda(), KNOBS.override(target="sim"):
            a = torch.arange(4, dtype=torch.int32, device="cuda")
            b = torch.arange(4, 8, dtype=torch.int32, device="cuda")
            table = torch.tensor([a.data_ptr(), b.data_ptr()], device="cuda")
            out = torch.zeros(2, dtype=torch.int32, device="cuda")
            _launch(table, out)
            assert out.tolist() == [3, 7]
    finally:
        runners._marks[:] = before
