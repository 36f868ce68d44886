# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays from NumPy, ml_dtypes and the protocols."""

from __future__ import annotations

import array as stdlib_array
import gc
import os
import subprocess
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError
from opencute.runtime.dlpack import export

pytestmark = pytest.mark.t0


class DLPackOnly:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array, device=(1, 0), versions=True):
        self.array, self.device, self.versions = array, device, versions
        self.seen = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **arguments):
        self.seen.append(dict(arguments))
        if not self.versions and "max_version" in arguments:
            raise TypeError("unexpected keyword argument 'max_version'")
        arguments.pop("stream", None)
        return self.array.__dlpack__(**arguments)


class InterfaceOnly:
    """An array that speaks the array interface and nothing else."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


class CudaInterface:
    """An array with a CUDA array interface, in made-up memory."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (4, 6),
            "typestr": "<f4",
            "data": (0, False),
            "version": 3,
            **changes,
        }


def test_importing_takes_no_framework_along():
    code = (
        "import sys, opencute.runtime.dlpack, opencute.runtime.driver;"
        "assert not {'torch', 'jax', 'cuda'} & set(sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 4), (2, 0, 5), (2, 3, 4, 5)])
def test_numpy_arrays(shape):
    array = np.zeros(shape, np.int16)
    a = export(array)
    assert (a.shape, a.dtype.name, a.device) == (shape, "int16", (1, 0))
    assert a.strides == tuple(s // 2 for s in array.strides) or not array.size
    assert a.address == array.ctypes.data
    assert (a.ndim, a.size) == (array.ndim, array.size)
    assert not a.read_only
    assert a.framework == "numpy"
    assert a.numpy() is array


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_views_are_described_exactly(data):
    """Every element is where address and strides say, for any slicing and transposition."""
    base = np.arange(5 * 6 * 7, dtype=np.int32).reshape(5, 6, 7)
    slices = tuple(
        slice(data.draw(st.integers(0, n - 1)), None, data.draw(st.integers(1, 3)))
        for n in base.shape
    )
    view = base[slices].transpose(data.draw(st.permutations(range(3))))
    a = export(view)
    offsets = []
    for where in np.ndindex(*view.shape):
        offset = (
            a.address
            - base.ctypes.data
            + 4 * sum(i * s for i, s in zip(where, a.strides, strict=True))
        )
        assert base.reshape(-1)[offset // 4] == view[where]
        offsets.append(offset)
    start = base.ctypes.data
    assert a.span == (start + min(offsets), start + max(offsets) + 4)


@pytest.mark.parametrize(
    "dtype",
    [
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "int4",
        "uint2",
    ],
)
def test_ml_dtypes_arrays(dtype):
    """NumPy will not export these through DLPack."""
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(getattr(ml_dtypes, dtype))
    a = export(array)
    assert a.dtype.name == dtype
    assert a.padded == (a.dtype.bits < 8)
    assert a.bits_per_element == array.itemsize * 8
    assert a.address == array.ctypes.data
    a.owner = None
    back = a.numpy()
    assert back.dtype == array.dtype
    assert np.array_equal(back.view(np.uint8), array.view(np.uint8))


def test_read_only_arrays_are_inputs():
    array = np.arange(3.0)
    array.setflags(write=False)
    for source in (array, DLPackOnly(array), InterfaceOnly(array), memoryview(b"abc")):
        a = export(source)
        assert a.read_only
        assert not a.numpy().flags.writeable


@pytest.mark.parametrize("versions", [True, False])
def test_dlpack_producers(versions):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)[:, 1:]
    producer = DLPackOnly(array, versions=versions)
    a = export(producer)
    assert (a.address, a.shape, a.strides) == (array.ctypes.data, (3, 3), (4, 1))
    assert producer.seen[0] == {"max_version": (1, 1)}
    assert np.array_equal(a.numpy(), array)
    assert a.stream is None


@pytest.mark.parametrize(("asked", "told"), [(None, 1), (0, 1), (2, 2), (77, 77)])
def test_cuda_producers_are_told_the_stream(asked, told):
    producer = DLPackOnly(np.zeros(3), device=(2, 0))
    assert export(producer, stream=asked).stream == told
    assert producer.seen[0]["stream"] == told


def test_the_array_lives_as_long_as_its_description(young_heap):
    class Watched(np.ndarray):
        """np.ndarray itself cannot be watched from here."""

    for wrap in (lambda x: x, DLPackOnly, InterfaceOnly):
        array = np.zeros(5).view(Watched)
        watch = weakref.ref(array)
        a = export(wrap(array))
        del array
        gc.collect()
        assert watch() is not None
        del a
        gc.collect()
        assert watch() is None


def test_the_numpy_view_keeps_the_memory():
    a = export(DLPackOnly(np.arange(1000.0)))
    view = a.numpy()
    del a
    gc.collect()
    assert view.sum() == 499500
    view[0] = 1


def test_buffers():
    a = export(stdlib_array.array("h", [1, 2, 3]))
    assert (a.shape, a.dtype.name, a.read_only) == ((3,), "int16", False)
    assert list(a.numpy()) == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        3,
        None,
        "text",
        [1, 2],
        np.float32(3),
        np.ndarray,
        np.ma.masked_array([1.0, 2.0], [True, False]),
        CudaInterface(mask=CudaInterface()),
        DLPackOnly(np.zeros(3), device=(8, 0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_not_an_array_is_refused(bad):
    with pytest.raises(ArgumentError) as caught:
        export(bad)
    assert caught.value.code == "OC2010"


@pytest.mark.parametrize("source", [lambda x: x, DLPackOnly, InterfaceOnly])
def test_backward_arrays_are_refused(source):
    with pytest.raises(ArgumentError, match="backwards") as caught:
        export(source(np.arange(6.0)[::-1]))
    assert caught.value.code == "OC2015"
    assert caught.value.hint is not None
    assert export(source(np.arange(1.0)[::-1])).size == 1


def test_odd_byte_strides_are_refused():
    records = np.zeros(4, np.dtype([("a", "u1"), ("b", "<u4")]))
    with pytest.raises(ArgumentError, match="not aligned") as caught:
        export(records["b"])
    assert caught.value.code == "OC2016"
    assert export(records["a"]).strides == (5,)


@pytest.mark.parametrize("dtype", [">f4", "O", "M8[s]", [("a", "f4")]])
def test_elements_without_a_number_are_refused(dtype):
    with pytest.raises(ArgumentError) as caught:
        export(np.zeros(3, dtype))
    assert caught.value.code == "OC2011"


def test_a_producer_that_refuses_is_quoted():
    class Refuses(DLPackOnly):
        def __dlpack__(self, **_):
            raise BufferError("not today")

    with pytest.raises(ArgumentError, match="not today"):
        export(Refuses(np.zeros(3)))


def test_cuda_array_interface():
    a = export(CudaInterface(strides=(4, 16), stream=7))
    assert (a.shape, a.strides, a.dtype.name) == ((4, 6), (1, 4), "float32")
    assert (a.device, a.stream, a.is_cuda, a.is_cpu) == ((2, 0), 7, True, False)
    assert export(CudaInterface(shape=())).strides == ()
    with pytest.raises(ArgumentError, match="GPU memory"):
        a.numpy()


def test_an_external_array_is_taken_as_it_is():
    a = export(np.zeros(3))
    assert export(a) is a
