# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the driver: in place, counting, and gone again."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import DeviceError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.integrations.driver_stub import StubDriver
from opencute.runtime import device, driver
from opencute.runtime.memory import DeviceBuffer
from opencute.runtime.module import Module

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


def test_code_is_loaded_and_memory_taken_in_spite_of_a_capture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a library does for itself is no part of a graph, and must not break it."""
    modes = [0]  # of this thread, global at first
    unsafe: list[tuple[str, int]] = []

    def exchange(mode: int) -> None:
        place = ctypes.c_int.from_address(mode)
        place.value, modes[0] = modes[0], place.value

    def noted(name: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            unsafe.append((name, modes[0]))
            return answer(*arguments) if answer is not None else 0

        return call

    def answers(self: StubDriver) -> dict[str, Any]:
        own = known(self)
        names = ("cuModuleLoadDataEx", "cuModuleGetFunction", "cuModuleUnload", "cuMemAlloc",
                 "cuMemFree")  # fmt: skip
        return {**own, "cuThreadExchangeStreamCaptureMode": exchange,
                **{n: noted(n, own.get(n)) for n in names}}  # fmt: skip

    known = StubDriver.answers
    monkeypatch.setattr(StubDriver, "answers", answers)
    with StubDriver(), KNOBS.override(target="cuda"):
        DeviceBuffer(64).close()
        host(from_dlpack(np.zeros(9, np.int32)), 1)
        module = Module("code")
        module.close()
        assert {name for name, _ in unsafe} >= {"cuModuleLoadDataEx", "cuModuleUnload"}
        assert all(mode == 2 for _, mode in unsafe) and modes == [0]
