# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of attention share: the kernels for warpgroups with one thing left out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention.reference import attention as reference


def run(module: Any) -> None:
    """Four tiles of keys through two stages, by the kernels of a module."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, n, 1, 64)).astype(np.float16) for n in (128, 64, 64))
    out = np.zeros_like(q)
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
    plan = module.WarpgroupPlan(cutlass.Float16, 64, 2, 16, 2, None, None, 1)
    module.attention_forward(*tensors, None, 64**-0.5 * np.log2(np.e), plan)
    want, _ = reference(q, k, v, 64**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


@pytest.fixture
def report_of(
    checked: None, planted: Callable[..., ModuleType]
) -> Callable[[str, str], OpenCuTeError | None]:
    """What the checking simulator reports of the kernels with another text, or None."""

    def report(text: str, other: str) -> OpenCuTeError | None:
        try:
            run(planted("opencute.kernels.attention.sm90", text, other, 1))
        except OpenCuTeError as e:
            return e
        return None

    return report
