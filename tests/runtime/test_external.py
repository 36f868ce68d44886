# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""External arrays as NumPy and DLPack consumers see them."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.capsule import READ_ONLY, SUBBYTE_PADDED, take
from opencute.runtime.dlpack import export
from opencute.runtime.dltypes import TYPES, DLType
from opencute.runtime.external import CPU, CUDA, CUDA_HOST, ExternalArray

pytestmark = pytest.mark.t0


def describe(array, **changes):
    """The array's facts, with somebody else as the owner."""
    a = export(array)
    a.owner = (array,)
    for name, value in changes.items():
        setattr(a, name, value)
    return a


@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 3)])
def test_dlpack_out_to_numpy(shape):
    array = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    seen = np.from_dlpack(describe(array))
    assert np.array_equal(seen, array)
    assert seen.shape == shape


def test_dlpack_out_shares_memory_and_keeps_it():
    array = np.zeros((3, 4), np.float32)
    seen = np.from_dlpack(describe(array.T))
    array[1, 2] = 5
    assert seen[2, 1] == 5
    del array
    gc.collect()
    assert seen.sum() == 5


def test_read_only_needs_a_version():
    a = describe(np.zeros(3), read_only=True)
    assert take(a.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()
    assert not np.from_dlpack(a).flags.writeable


def test_narrow_types_are_marked_as_padded():
    a = export(np.zeros(3, ml_dtypes.int4))
    taken = take(a.__dlpack__(max_version=(1, 1)))
    assert taken.flags == SUBBYTE_PADDED
    assert taken.dtype == TYPES["int4"]
    again = export(a)
    assert again.padded


def test_copies_and_other_devices_are_refused():
    a = describe(np.zeros(3))
    assert a.__dlpack_device__() == (CPU, 0)
    take(a.__dlpack__(copy=False, dl_device=(CPU, 0)))
    with pytest.raises(BufferError):
        a.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(CUDA, 0))


def test_places():
    def a(kind):
        return ExternalArray(0, (2,), (1,), TYPES["int8"], (kind, 0))

    assert [(a(k).is_cpu, a(k).is_cuda) for k in (CPU, CUDA, CUDA_HOST)] == [
        (True, False),
        (False, True),
        (True, True),
    ]


def test_span_of_packed_and_empty_arrays():
    packed = ExternalArray(100, (3, 5), (8, 1), TYPES["int4"])
    assert packed.bits_per_element == 4
    assert packed.span == (100, 100 + 11)  # the last element is the 20th: 21 * 4 bits
    assert ExternalArray(100, (3, 0), (0, 1), TYPES["int8"]).span == (100, 100)
    assert ExternalArray(100, (), (), TYPES["int32"]).span == (100, 104)
    assert ExternalArray(100, (2,), (1,), DLType(17, 4, 2)).span == (100, 102)


@pytest.mark.parametrize("dtype", [TYPES["int4"], DLType(17, 4, 2), DLType(2, 32, 4)])
def test_packed_arrays_have_no_numpy_view(dtype):
    with pytest.raises(ArgumentError):
        ExternalArray(4096, (2,), (1,), dtype).numpy()


def test_empty_arrays_need_no_memory():
    a = ExternalArray(0, (0, 3), (3, 1), TYPES["bfloat16"], read_only=True).numpy()
    assert (a.shape, a.dtype, a.flags.writeable) == ((0, 3), ml_dtypes.bfloat16, False)


def test_repr_names_the_facts():
    text = repr(describe(np.zeros((2, 3)), read_only=True))
    assert "float64, shape=(2, 3), strides=(3, 1), cpu:0, read-only" in text
    assert "cuda:1" in repr(ExternalArray(0, (), (), TYPES["bool"], (CUDA, 1)))
