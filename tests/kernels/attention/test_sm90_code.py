# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of attention with warpgroups: nothing serialised, spilled or moved."""

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
from opencute.kernels.attention.config import warpgroup_heuristic
from opencute.kernels.attention.sm90 import WarpgroupPlan, attention_forward
from opencute.kernels.attention.sm90_persistent import attention_persistent

pytestmark = pytest.mark.t1


def compiled(
    head_dim: int, before: int | None, after: int | None, stay: bool, ragged: bool = False
) -> tuple[Any, WarpgroupPlan]:
    config = warpgroup_heuristic(head_dim, after is not None)
    plan = WarpgroupPlan(
        cutlass.BFloat16, head_dim, config.groups, config.n, config.stages, before, after, 1,
        config.queries if stay else 1, 132 if stay else 0, config.slack,
    )  # fmt: skip
    x = np.zeros((1, 8, 1, head_dim), ml_dtypes.bfloat16)
    heads = (from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(4))
    logs = np.zeros((1, 1, 8), np.float32)
    with KNOBS.override(target="sim"):
        compiler = cute.compile[cute.GPUArch("sm_90a")]
        if stay:
            starts = (np.zeros(3, np.int32),) * 2 if ragged else (None, None)
            made = compiler(attention_persistent, *heads, logs, *starts, 8, 1.0, plan)
        else:
            made = compiler(attention_forward, *heads, logs, 1.0, plan)
    return made.artefacts, plan


@pytest.mark.parametrize(
    ("head_dim", "after", "ragged"), [(192, None, False), (256, 0, False), (128, 0, True)]
)
def test_nothing_is_spilled(head_dim: int, after: Any, ragged: bool) -> None:
    made, _ = compiled(head_dim, None, after, True, ragged)
    assert made.device.report.diagnostics == ()
    (report,) = made.device.report.functions
    assert report.spill_loads == report.spill_stores == report.stack == 0


@pytest.mark.parametrize(
    ("head_dim", "before", "after", "stay"),
    [(64, 500, 0, False), (128, None, None, True)],
    ids=["window", "blocks that stay"],
)
def test_products_run_beside_the_rest(head_dim: int, before: Any, after: Any, stay: bool) -> None:
    made, plan = compiled(head_dim, before, after, stay)
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    (report,) = made.device.report.functions
    assert report.spill_loads == report.spill_stores == report.stack == 0
    assert report.registers == (168 if plan.groups == 2 else 128)  # before the warps share them out
    try:
        find_disassembler()
    except MissingPieceError:
        pytest.skip("no disassembler")
    text = list(read_sass(made.cubin).instructions)
    at = [i for i, x in enumerate(text) if "HGMMA" in x]
    first, second = head_dim // 16, plan.n // 16
    # In the loop are the next scores and O += P V; products outside may be loops of one.
    ends = [at.index(i) + 1 for i in at if "gsb0" in text[i]]
    sizes = [b - a for a, b in itertools.pairwise([0, *ends])]
    begin = next(i for i in range(len(sizes)) if sizes[i : i + 2] == [first, second])
    loop = text[at[ends[begin] - first] : at[ends[begin + 1]]]
    names = [x.split()[x.startswith("@")].split(".") for x in loop if x.strip()]
    count = {n: sum(x[0] == n for x in names) for n in ("MOV", "MUFU", "F2FP", "STL", "LDL")}
    scores = plan.n // 2
    assert count == {"MOV": 0, "MUFU": scores + 2, "F2FP": scores // 2, "STL": 0, "LDL": 0}
    assert not any(x[:2] == ["IMAD", "MOV"] for x in names[: first + second])
    waits = [i for i, x in enumerate(loop) if "WARPGROUP.DEPBAR" in x]
    beside = loop[waits[0] : waits[1]]  # exponentials run while O += P V does
    assert sum("MUFU.EX2" in x for x in beside) >= 0.9 * scores
