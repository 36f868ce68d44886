# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of grouped products: spills, advice of ptxas, what makes tensor maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts
from opencute.kernels.gemm import visitors
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.grouped_gemm import GroupedConfig
from opencute.kernels.grouped_gemm.sm90 import DRAFTS, list_gemm, map_slots, row_gemm

pytestmark = pytest.mark.t1

HALF = cutlass.Float16


def tensor(*shape: int, dtype: Any = np.float16) -> Any:
    x = from_dlpack(np.zeros(shape, dtype))
    return x.mark_layout_dynamic(leading_dim=len(shape) - 1)


def compiled(listed: bool) -> Any:
    plan = HopperPlan(
        GroupedConfig((128, 256)).check().hopper, (HALF,) * 3, (True, not listed),
        visitors.chain().plan(), (), (False, False), 132, 232448 - DRAFTS,
    )  # fmt: skip
    room = from_dlpack(np.zeros((132, map_slots(plan), 16), np.int64), assumed_align=16)
    a, d = tensor(1, 256, 64), tensor(1, 256, 256)
    with KNOBS.override(target="sim:sm_90a"):
        if listed:
            b = from_dlpack(np.zeros((1, 64, 256), np.float16).swapaxes(1, 2))
            b = b.mark_layout_dynamic(leading_dim=1)
            table = tensor(3, 9, dtype=np.int64)
            cute.compile(list_gemm, a, b, d, table, 6, None, room, None, plan)
        else:
            b, ends = tensor(3, 256, 64), tensor(3, dtype=np.int32)
            cute.compile(row_gemm, a, b, d, ends, None, room, plan)
    return compiled_artefacts()[-1].device


@pytest.mark.parametrize("listed", [False, True], ids=["rows", "lists"])
def test_neither_spills_nor_waits_of_ptxas(listed: bool) -> None:
    code = compiled(listed)
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers == 168  # at the start; setmaxnreg shares them out
    assert not code.report.diagnostics  # none of C75xx: products are not serialised
    assert code.ptx.count("wgmma.mma_async") and "tensormap.replace" in code.ptx
    maps = 3 if listed else 2
    assert code.ptx.count("tensormap.cp_fenceproxy") == maps
    assert code.ptx.count("fence.proxy.tensormap::generic.acquire.gpu") == maps
