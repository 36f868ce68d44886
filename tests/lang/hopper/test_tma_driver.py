# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a driver is asked for when a function makes tensor maps, at each call anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lang.hopper.tma_kernels import copy, tensor
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import EncodedMap, StubDriver

pytestmark = pytest.mark.t1
TILE = (32, 64)


def layout() -> Any:
    outer = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), TILE, (0, 1))
    return cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, outer)


def test_maps_follow_the_arguments() -> None:
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        x, y = (np.zeros((100, 72), np.float16) for _ in range(2))
        compiled = cute.compile(copy, tensor(x), tensor(y), None, layout(), TILE)
        modes = (0, 3, 2, 0)
        for shape in ((100, 72), (7, 640)):
            stub.maps.clear()
            x, y = (np.zeros(shape, np.float16) for _ in range(2))
            compiled(tensor(x), tensor(y), None)
            rows, columns = shape
            assert stub.maps == [
                EncodedMap(
                    6, a.ctypes.data, (columns, rows), (2 * columns,), (64, 32), (1, 1), modes
                )
                for a in (x, y)
            ]
        assert [launch.grid for launch in stub.launches] == [(4, 2, 1), (1, 10, 1)]


def test_tensors_that_no_map_fits() -> None:
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        x, y = (np.zeros((64, 64), np.float16) for _ in range(2))
        compiled = cute.compile(copy, tensor(x), tensor(y), None, layout(), TILE)
        odd = np.zeros((64, 68), np.float16)
        with pytest.raises(ArgumentError, match="stride of dimension 1") as e:
            compiled(tensor(odd), tensor(y), None)
        assert e.value.code == "OC2931" and "tma_kernels.py" in str(e.value)
        stub.map_status = 1
        with pytest.raises(ArgumentError, match="the driver refuses"):
            compiled(tensor(x), tensor(y), None)
        assert not stub.launches
