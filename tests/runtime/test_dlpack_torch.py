# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""torch tensors, on the CPU."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.dlpack import export
from opencute.runtime.dltypes import TYPES

pytestmark = pytest.mark.t0

torch = pytest.importorskip("torch")

BYTE_TYPES = [n for n, t in TYPES.items() if t.bits >= 8 and hasattr(torch, n)]


@pytest.mark.parametrize("name", BYTE_TYPES)
def test_every_type(name):
    dtype = getattr(torch, name)
    t = torch.zeros(4 * 16, dtype=torch.uint8).view(dtype)
    a = export(t)
    assert a.dtype == TYPES[name]
    assert a.address == t.data_ptr()
    assert a.framework == "torch"
    assert a.shape == tuple(t.shape)
    if name != "complex32" or hasattr(ml_dtypes, name):
        assert a.numpy().nbytes == 64


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (3, 4), (2, 3, 4)])
def test_shapes_agree_with_the_capsule(shape):
    class Capsule:
        """The same tensor through the protocol."""

        def __init__(self, t):
            self.__dlpack__, self.__dlpack_device__ = t.__dlpack__, t.__dlpack_device__

    t = torch.zeros(shape).permute(tuple(reversed(range(len(shape)))))
    direct, through = export(t), export(Capsule(t))
    for fact in ("address", "dtype", "device", "read_only", "padded"):
        assert getattr(direct, fact) == getattr(through, fact)
    assert tuple(direct.shape) == through.shape
    if direct.size:
        assert all(
            n < 2 or s == p
            for n, s, p in zip(direct.shape, direct.strides, through.strides, strict=True)
        )


def test_views_and_writes():
    t = torch.arange(24, dtype=torch.float32).reshape(4, 6)[1:, ::2].T
    a = export(t)
    assert (tuple(a.shape), tuple(a.strides)) == ((3, 3), (2, 6))
    seen = a.numpy()
    assert np.array_equal(seen, t.numpy())
    seen[0, 0] = -1
    assert t[0, 0] == -1


def test_bfloat16_values():
    t = torch.tensor([1.5, -2.0, 3.25], dtype=torch.bfloat16)
    assert export(t).numpy().astype(np.float32).tolist() == [1.5, -2.0, 3.25]


def test_the_description_keeps_the_tensor():
    t = torch.zeros(3)
    watch = weakref.ref(t)
    a = export(t)
    del t
    gc.collect()
    assert watch() is not None
    del a
    gc.collect()
    assert watch() is None


def test_tensors_that_require_grad():
    t = torch.zeros(3, requires_grad=True)
    for bad in (t, torch.nn.Parameter(torch.zeros(3)), t * 2):
        with pytest.raises(ArgumentError, match="requires grad") as caught:
            export(bad)
        assert caught.value.code == "OC2013"
        assert "detach" in (caught.value.hint or "")
    assert export(t.detach()).address == t.data_ptr()
    with torch.no_grad():
        assert export(t).address == t.data_ptr()


def test_subclasses():
    class Mine(torch.Tensor):
        pass

    t = torch.zeros(3).as_subclass(Mine)
    assert export(t).address == t.data_ptr()


def test_lazy_views_are_refused():
    c = torch.ones(3, dtype=torch.complex64)
    for lazy in (c.conj(), c.conj().imag):
        with pytest.raises(ArgumentError, match="negated or conjugated") as caught:
            export(lazy)
        assert "resolve" in (caught.value.hint or "")
    assert export(c.conj().resolve_conj()).size == 3


def test_tensors_without_memory_are_refused():
    sparse = torch.zeros(3, 3).to_sparse()
    for bad in (sparse, torch.zeros(3, device="meta")):
        with pytest.raises(ArgumentError) as caught:
            export(bad)
        assert caught.value.code == "OC2010"


def test_sub_byte_types():
    packed = torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    a = export(packed)
    assert (a.dtype.name, a.bits_per_element, a.padded) == ("float4_e2m1fn_x2", 8, False)
    with pytest.raises(ArgumentError, match="no element type") as caught:
        export(torch.empty(3, dtype=torch.uint4))
    assert caught.value.code == "OC2011"


def test_torch_takes_external_arrays():
    t = torch.arange(6.0)
    a = export(t)
    a.owner = (t,)
    seen = torch.from_dlpack(a)
    seen[0] = 9
    assert t[0] == 9
