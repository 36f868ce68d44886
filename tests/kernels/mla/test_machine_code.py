# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of attention with a latent cache: nothing serialised, spilled or moved."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen.sass import read_sass
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.kernels.mla.config import MlaConfig
from opencute.kernels.mla.sm90 import mla_forward
from opencute.kernels.mla.sm90_plan import MlaPlan

pytestmark = pytest.mark.t1


def compiled(queries: int, page: int | None, splits: int, cluster: int) -> Any:
    plan = MlaPlan(cutlass.BFloat16, MlaConfig(3, splits, cluster), queries, 128, True, page)
    shapes = [(1, queries, 128, d) for d in (512, 64)]
    arrays = [
        from_dlpack(np.zeros(s, ml_dtypes.bfloat16)).mark_layout_dynamic(leading_dim=len(s) - 1)
        for s in (*shapes, (1, 64, 576), shapes[0])
    ]
    logs, lengths = np.zeros((1, 128, queries), np.float32), np.zeros(1, np.int32)
    table = None if page is None else np.zeros((1, 1), np.int32)
    parts = part_logs = None
    if splits > 1:
        parts = np.zeros((splits, *shapes[0]), np.float32)
        part_logs = np.zeros((splits, *logs.shape), np.float32)
    args = (*arrays, logs, lengths, table, parts, part_logs, 1.0, plan)
    with KNOBS.override(target="sim"):
        return cute.compile[cute.GPUArch("sm_90a")](mla_forward, *args).artefacts


@pytest.mark.parametrize(("queries", "page", "splits", "cluster"), [(1, None, 1, 1), (2, 64, 2, 2)])
def test_products_run_beside_the_rest(
    queries: int, page: int | None, splits: int, cluster: int
) -> None:
    made = compiled(queries, page, splits, cluster)
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    for report in made.device.report.functions:
        assert report.spill_loads == report.spill_stores == report.stack == 0
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    sass = read_sass(made.cubin)
    assert sass.count("HGMMA.64x64x16.F32.BF16") == 36
    assert sass.count("HGMMA.64x256x16.F32.BF16") == 4
    assert not sass.local_memory
