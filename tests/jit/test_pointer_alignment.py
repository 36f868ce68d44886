# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bare addresses: a pointer argument may promise less than the compiled function counts on, if its
address keeps that anyway; the memory behind it may lie in several mappings."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack, make_ptr

pytestmark = pytest.mark.t0


@cute.kernel
def fill(p: cute.Pointer, n: cutlass.Int32):
    cute.make_tensor(p, 4).fill(n.to(cutlass.Float32))


@cute.jit
def host(x: cute.Tensor, p: cute.Pointer, n: cutlass.Int32):
    fill(p, n).launch(grid=1, block=1)


def test_what_an_address_keeps_counts():
    data = np.zeros(16, np.float32)
    first = -data.ctypes.data % 16 // 4
    address = data.ctypes.data + 4 * first
    with KNOBS.override(target="sim"):
        x = from_dlpack(data)  # by which the simulator knows the array
        wide = make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem, assumed_align=16)
        compiled = cute.compile(host, x, wide, 1)
        compiled(x, make_ptr(cutlass.Float32, address), 2)  # generic, aligned to an element
        assert data.tolist() == [2 * (first <= i < first + 4) for i in range(16)]
        odd = make_ptr(cutlass.Float32, address + 4, cute.AddressSpace.gmem)
        with pytest.raises(ArgumentError) as e:
            compiled(x, odd, 3)
        assert e.value.code == "OC2131"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/maps and MADV_DONTDUMP")
def test_memory_goes_on_in_the_next_mapping():
    """The system splits an array's mapping where pages are treated differently."""
    pages = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    pages.madvise(mmap.MADV_DONTDUMP, 2 * mmap.PAGESIZE)  # from here on
    data = np.frombuffer(pages, np.float32)
    middle = data.size // 2
    with KNOBS.override(target="sim"):
        x = from_dlpack(np.zeros(4, np.float32))
        p = make_ptr(cutlass.Float32, data.ctypes.data + 4 * middle - 8, cute.AddressSpace.gmem)
        host(x, p, 7)
    assert data[middle - 3 : middle + 3].tolist() == [0, 7, 7, 7, 7, 0]
