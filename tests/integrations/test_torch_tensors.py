# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Example tensors made with torch: shapes, numbers of every type, memory at an address."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

torch = pytest.importorskip("torch")
from opencute import torch as ct  # noqa: E402 - after the check

pytestmark = pytest.mark.t0

TYPES = [
    cutlass.Float32, cutlass.Float16, cutlass.BFloat16, cutlass.TFloat32, cutlass.Float8E4M3FN,
    cutlass.Float8E5M2, cutlass.Float8E8M0FNU, cutlass.Float6E2M3FN, cutlass.Float4E2M1FN,
    cutlass.Int8, cutlass.Uint8, cutlass.Int4, cutlass.Int32, cutlass.Boolean,
]  # fmt: skip


@pytest.fixture(autouse=True)
def simulated() -> Any:
    with KNOBS.override(target="sim"):
        yield


@pytest.mark.parametrize("mode0_major", [False, True])
@pytest.mark.parametrize("cls", TYPES, ids=str)
def test_matrices_of_every_type(cls: Any, mode0_major: bool) -> None:
    """What is written as a type and converted back is what was drawn."""
    torch.manual_seed(0)
    drawn = ct.matrix(2, 16, 8, mode0_major, cls)
    assert drawn.shape == (16, 8, 2) and drawn.stride().index(1) == (0 if mode0_major else 1)
    tensor, memory = ct.cute_tensor_like(drawn, cls, is_dynamic_layout=True, assumed_align=16)
    assert tensor.element_type is cls and tensor.shape == (16, 8, 2)
    assert memory.shape == drawn.shape and memory.stride() == drawn.stride()
    back = torch.zeros(16, 8, 2)
    cute.testing.convert(tensor, from_dlpack(back))
    assert torch.equal(back, drawn.float()) and len(drawn.float().unique()) > 1


@cute.kernel
def double_kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < cute.size(t):
        t[i] = t[i] * 2


@cute.jit
def double(t: cute.Tensor):
    double_kernel(t).launch(grid=1, block=256)


def test_memory_and_tensor_are_the_same() -> None:
    numbers = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    tensor, memory = ct.cute_tensor_like(numbers, cutlass.Float16, is_dynamic_layout=True)
    double(tensor)
    assert torch.equal(memory.float(), numbers * 2)
    assert ct.convert_cute_tensor(numbers, tensor, cutlass.Float16) is tensor
    assert torch.equal(memory.float(), numbers)


def test_how_tensors_are_filled() -> None:
    kinds = ct.TensorInitType
    make = ct.create_and_permute_torch_tensor
    x = make((3, 4, 5), torch.float16, (2, 1, 0), kinds.RANDOM, ct.RandomInitConfig(1, 3))
    assert x.shape == (5, 4, 3) and x.stride() == (1, 5, 20) and set(x.unique().tolist()) == {1, 2}
    one = make((4,), torch.int32, None, kinds.RANDOM, ct.RandomInitConfig(min_val=10, max_val=11))
    assert one.tolist() == [10] * 4
    full = make((2, 2), torch.bfloat16, init_type=kinds.SCALAR, init_config=ct.ScalarInitConfig(3))
    assert full.dtype is torch.bfloat16 and full.tolist() == [[3, 3], [3, 3]]
    config = ct.GaussianInitConfig(mean=4, std=0.5, scale=2)
    drawn = make((4096,), torch.float32, init_type=kinds.GAUSSIAN, init_config=config)
    assert abs(drawn.mean() - 8) < 0.2 and abs(drawn.std() - 1) < 0.2
    assert make((7,), torch.uint8, init_type=kinds.SKIP).shape == (7,)
    assert make((0, 3), torch.float32).shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: ct.create_and_permute_torch_tensor((2, 3), torch.float32, (0, 0)), "OC2233"),
        (lambda: ct.create_and_permute_torch_tensor((2, 3), torch.float32, (0,)), "OC2233"),
        (lambda: ct.matrix(1, 2, 2, False, cutlass.Float32, "random"), "OC1610"),
        (
            lambda: ct.matrix(
                1, 2, 2, False, cutlass.Float32, init_config=ct.ScalarInitConfig(1.0)
            ),
            "OC1610",
        ),
        (lambda: ct.as_tensor(0, (2,), torch.float32), "OC2234"),
        (lambda: ct.as_tensor(64, (-2,), torch.float32), "OC2234"),
    ],
)
def test_wrong_arguments(make: Any, code: str) -> None:
    with pytest.raises((ArgumentError, TypeMismatchError)) as e:
        make()
    assert e.value.code == code


def test_memory_at_an_address() -> None:
    x = np.arange(6, dtype=np.float32)
    seen = ct.as_tensor(x.ctypes.data, (2, 3), torch.float32)
    seen[1, 2] = 50
    assert x[5] == 50 and seen.tolist()[0] == [0, 1, 2]
    assert ct.as_tensor(x.ctypes.data, [0, 3], torch.int8).shape == (0, 3)


def test_on_the_simulated_device() -> None:
    from opencute.integrations import torch_sim
    from opencute.integrations.torch_sim import simulated_cuda
    from opencute.jit import runners

    before = runners._marks[:]
    runners.use_memory_marks(torch_sim)
    try:
        _convert_there(simulated_cuda)
    finally:
        runners.use_memory_marks(before[0] if before else None)


def _convert_there(simulated_cuda: Any) -> None:
    with simulated_cuda():
        drawn = ct.matrix(1, 8, 8, False, cutlass.Float8E4M3FN)
        tensor, memory = ct.cute_tensor_like(drawn, cutlass.Float8E4M3FN, True, assumed_align=16)
        assert memory.is_cuda
        back = torch.zeros(8, 8, 1, device="cuda")
        cute.testing.convert(tensor, from_dlpack(back))
        assert torch.equal(back.cpu(), drawn)
