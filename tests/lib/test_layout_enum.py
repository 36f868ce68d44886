# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Row and column major matrices, also with batch modes and modes of extent 1."""

from __future__ import annotations

from typing import Any

import pytest

from opencute import cute
from opencute.base.errors import LayoutError
from opencute.utils import LayoutEnum

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("shape", "stride", "row"),
    [
        ((8, 4), (4, 1), True),
        ((8, 4), (1, 8), False),
        ((8, 4, 2), (4, 1, 32), True),
        ((8, 4, 2), (1, 8, 32), False),
        ((1, 4), (1, 1), True),
        ((8, 1), (1, 1), False),
        (((2, 4), 4), ((4, 8), 1), True),
        ((1, 1), (1, 1), True),
    ],
)
def test_from_tensor(shape: Any, stride: Any, row: bool):
    found = LayoutEnum.from_tensor(cute.make_layout(shape, stride=stride))
    assert found is (LayoutEnum.ROW_MAJOR if row else LayoutEnum.COL_MAJOR)
    assert found.is_k_major_a() == found.is_k_major_b() == found.is_n_major_c() == row
    assert found.is_m_major_a() == found.is_n_major_b() == found.is_m_major_c() == (not row)
    mode = cute.nvgpu.OperandMajorMode
    assert found.mma_major_mode() is found.sm90_mma_major_mode()
    assert found.mma_major_mode() is (mode.K if row else mode.MN)


def test_neither_is_an_error():
    with pytest.raises(LayoutError, match="neither row nor column major"):
        LayoutEnum.from_tensor(cute.make_layout((4, 4), stride=(2, 8)))
