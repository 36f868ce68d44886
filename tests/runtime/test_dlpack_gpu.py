# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in GPU memory."""

from __future__ import annotations

import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.dlpack import export
from opencute.runtime.dltypes import TYPES
from opencute.runtime.memory import DeviceBuffer

pytestmark = pytest.mark.t2

torch = pytest.importorskip("torch")


class Capsule:
    """A tensor through DLPack only."""

    def __init__(self, t):
        self.__dlpack__, self.__dlpack_device__ = t.__dlpack__, t.__dlpack_device__


class Cuda:
    """A tensor through the CUDA array interface only."""

    def __init__(self, t):
        self.__cuda_array_interface__ = t.__cuda_array_interface__


@pytest.mark.parametrize("wrap", [lambda t: t, Capsule, Cuda])
def test_every_way_in_tells_the_same(wrap):
    t = torch.zeros(3, 4, 5, dtype=torch.float32, device="cuda")[:, 1:].transpose(0, 2)
    a = export(wrap(t))
    assert (a.address, tuple(a.shape), tuple(a.strides)) == (t.data_ptr(), (5, 3, 3), t.stride())
    assert (a.device, a.dtype) == ((2, t.device.index), TYPES["float32"])
    assert (a.is_cuda, a.is_cpu) == (True, False)
    with pytest.raises(ArgumentError):
        a.numpy()


def test_types():
    for name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "bool"):
        t = torch.zeros(16, dtype=torch.uint8, device="cuda").view(getattr(torch, name))
        assert export(t).dtype == TYPES[name]


def test_managed_by_us_seen_by_torch():
    from opencute.runtime.external import CUDA, ExternalArray

    buffer = DeviceBuffer.of(np.arange(6, dtype=np.float32))
    a = ExternalArray(buffer.address, (2, 3), (3, 1), TYPES["float32"], (CUDA, buffer.device))
    a.owner = buffer
    t = torch.from_dlpack(a)
    assert t.is_cuda
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
    t += 1
    torch.cuda.synchronize()
    assert buffer.numpy(np.float32).tolist() == [1, 2, 3, 4, 5, 6]


def test_pinned_memory_is_the_cpus():
    a = export(torch.zeros(3).pin_memory())
    assert a.is_cpu
