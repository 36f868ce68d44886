# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses of simulated CUDA tensors that kernels read from arrays."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OutOfBoundsError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.integrations import torch_marks, torch_sim
from opencute.jit.runners import use_memory_marks

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.t0


@cute.kernel
def kernel(addresses: cute.Tensor, out: cute.Tensor, index: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    p = cute.make_ptr(cutlass.Float32, addresses[i], cute.AddressSpace.gmem, assumed_align=4)
    out[i] = cute.make_tensor(p, cute.make_layout(8))[index]


@cute.jit
def gather(addresses: cute.Tensor, out: cute.Tensor, index: cutlass.Constexpr):
    kernel(addresses, out, index).launch(grid=1, block=2)


def test_tensors_are_found_by_their_addresses() -> None:
    with KNOBS.override(target="sim"):
        use_memory_marks(torch_sim)
        try:
            parts = [torch.arange(8, dtype=torch.float32) + 10 * i for i in range(2)]
            for t in parts:
                torch_marks.mark_cuda(t)
            addresses = np.array([t.data_ptr() for t in parts], np.int64)
            out = np.zeros(2, np.float32)
            gather(from_dlpack(addresses), from_dlpack(out), 3)
            assert out.tolist() == [3, 13]
            del parts, t
            gc.collect()  # a caching allocator keeps what is freed
            gather(from_dlpack(addresses), from_dlpack(out), 5)
            assert out.tolist() == [5, 15]
            with pytest.raises(OutOfBoundsError):
                gather(from_dlpack(addresses), from_dlpack(out), 8)
        finally:
            use_memory_marks(None)


def test_other_addresses_are_refused() -> None:
    with KNOBS.override(target="sim"), pytest.raises(OutOfBoundsError) as e:
        gather(from_dlpack(np.array([64, 64])), from_dlpack(np.zeros(2, np.float32)), 0)
    assert e.value.code == "OC3102"


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_marks, "_KEPT_BYTES", 1 << 12)
    monkeypatch.setattr(torch_marks, "_kept", type(torch_marks._kept)())
    monkeypatch.setattr(torch_marks, "_sizes", [0])
    first = torch.zeros(256)
    torch_marks.mark_cuda(first)
    assert torch_marks.memory_at(first.data_ptr() + 1023) is not None
    assert torch_marks.memory_at(first.data_ptr() + 1024) is None
    more = [torch.zeros(256) for _ in range(4)]
    for t in more:
        torch_marks.mark_cuda(t)
    assert torch_marks.memory_at(first.data_ptr()) is None
    assert all(torch_marks.memory_at(t.data_ptr()) for t in more)
