# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the driver: in place, counting, and gone again."""

from __future__ import annotations

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import DeviceError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.integrations.driver_stub import StubDriver
from opencute.runtime import device, driver

pytestmark = pytest.mark.t1


@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    x[0] = n


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=3, block=32, smem=512)


def test_launches_are_recorded_or_counted() -> None:
    before = driver.available()
    x = from_dlpack(np.zeros(4, np.int32))
    with StubDriver() as stub, KNOBS.override(target="cuda"):
        assert device.properties().name == "stand-in" and device.count() == 1
        compiled = cute.compile(host, x, 1)
        compiled(x, 41)
        (launch,) = stub.launches
        assert (launch.kernel, launch.grid, launch.smem) == ("kernel_0", (3, 1, 1), 512)
        assert stub.count == 1 and launch.values[0] == x.data_ptr
        stub.status = 9
        with pytest.raises(DeviceError, match="STUB"):
            compiled(x, 1)
    with StubDriver(record=False) as counting, KNOBS.override(target="cuda"):
        compiled(x, 41)  # compiled under the other one
        assert counting.count == 1 and not counting.launches
    assert driver.available() == before
