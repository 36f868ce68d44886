# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A pointer argument may promise less than the compiled function counts on, if its address keeps
that anyway."""

from __future__ import annotations

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
