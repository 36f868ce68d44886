# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of the derivatives with warpgroups: nothing serialised, spilled or moved."""

from __future__ import annotations

import itertools
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
from opencute.kernels.attention.config import warpgroup_backward_heuristic
from opencute.kernels.attention.sm90_backward import attention_backward
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan

pytestmark = pytest.mark.t1


def compiled(head_dim: int, before: int | None, after: int | None, group: int) -> Any:
    config = warpgroup_backward_heuristic(head_dim)
    plan = WarpgroupBackwardPlan(
        cutlass.BFloat16, head_dim, config.queries(head_dim), config.stages, config.grads,
        config.early, before, after, group,
    )  # fmt: skip
    x = np.zeros((1, 8, group, head_dim), ml_dtypes.bfloat16)
    arrays = tuple(from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(8))
    logs = np.zeros((1, group, 8), np.float32)
    stats, sums = (np.zeros((1, group, *s), np.float32) for s in ((2, plan.m), (8192,)))
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            attention_backward, *arrays, logs, stats, sums, None, None, None, 0, 0, 1.0, plan
        )
    return made.artefacts, plan


@pytest.mark.parametrize(
    ("head_dim", "before", "after", "group"),
    [(128, None, None, 1), (128, None, 0, 4), (64, 500, 0, 1), (64, 200, 100, 4)],
    ids=["whole", "grouped", "window", "grouped window"],
)
def test_products_run_beside_the_rest(head_dim: int, before: Any, after: Any, group: int) -> None:
    made, plan = compiled(head_dim, before, after, group)
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    for report in made.device.report.functions:
        assert report.spill_loads == report.spill_stores == report.stack == 0
    (report,) = (f for f in made.device.report.functions if f.name.startswith("backward"))
    assert report.registers == 168  # before the warps share them out
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    text = [x for x in read_sass(made.cubin).instructions if x.strip()]
    names = [x.split()[x.startswith("@")].split(".") for x in text]
    at = [i for i, x in enumerate(names) if x[0] == "HGMMA"]
    # In the loop are slopes, dV, dQ, dK and the next scores; products outside may be loops of one.
    scores, queries, keys = head_dim // 16, plan.m // 16, plan.n // 16
    wanted = [scores, queries, keys, queries, scores]
    ends = [i for i in at if "gsb0" in text[i]]
    sizes = [sum(a < i <= b for i in at) for a, b in itertools.pairwise([0, *ends])]
    first = next(i for i in range(len(sizes)) if sizes[i : i + 5] == wanted)
    loop = names[ends[first - 1] + 1 : ends[first + 4] + 1]
    count = {n: sum(x[0] == n for x in loop) for n in ("STSM", "STL", "LDL")}
    weights = plan.m // 2
    assert count == {"STSM": weights // 8, "STL": 0, "LDL": 0}
    assert sum(x[:2] == ["MUFU", "EX2"] for x in loop) == weights
    assert sum(x[:2] == ["WARPGROUP", "ARRIVE"] for x in loop) == 4  # of the loop's five products
