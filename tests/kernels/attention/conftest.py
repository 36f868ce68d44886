# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of attention share: the kernels for warpgroups with one thing left out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention import sm90_persistent
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.sm90 import WarpgroupPlan


def run(launch: Any, queries: int, blocks: int, narrow: bool) -> None:
    """Four tiles of keys through two stages, with one launch."""
    rng = np.random.default_rng(0)
    dtype = ml_dtypes.float8_e4m3fn if narrow else np.float16
    sizes = (queries, *[128 if narrow else 64] * 2)
    q, k, v = (rng.standard_normal((1, n, 1, 64)).astype(dtype) for n in sizes)
    out = np.zeros(q.shape, np.float16)
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
    of = cutlass.Float8E4M3FN if narrow else cutlass.Float16
    plan = WarpgroupPlan(
        of, 64, 2, 32 if narrow else 16, 2, None, None, 1, blocks=blocks, out=cutlass.Float16
    )
    more = (None, None, queries) if blocks else ()
    launch(*tensors, None, *more, 64**-0.5 * np.log2(np.e), plan)
    want, _ = reference(*(x.astype(np.float32) for x in (q, k, v)), 64**-0.5)
    step = 2e-2 if narrow else 1e-3
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2 * step, atol=step)


def reported(launch: Any, queries: int, blocks: int, narrow: bool = False) -> OpenCuTeError | None:
    """What the checking simulator reports of a launch, or None."""
    try:
        run(launch, queries, blocks, narrow)
    except OpenCuTeError as e:
        return e
    return None


@pytest.fixture
def report_of(
    checked: None, planted: Callable[..., ModuleType]
) -> Callable[[str, str], OpenCuTeError | None]:
    """What the checking simulator reports of the kernels with another text, or None."""

    def report(text: str, other: str) -> OpenCuTeError | None:
        module = planted("opencute.kernels.attention.sm90", text, other, 1)
        return reported(module.attention_forward, 128, 0)

    return report


@pytest.fixture
def persistent_report_of(
    checked: None, planted: Callable[..., ModuleType]
) -> Callable[[str, str], OpenCuTeError | None]:
    """The same of kernels whose blocks stay, for two tiles of queries."""

    def report(text: str, other: str) -> OpenCuTeError | None:
        module = planted("opencute.kernels.attention.sm90_persistent", text, other, 1)
        return reported(module.attention_persistent, 256, 1)

    return report


@pytest.fixture
def narrow_report_of(
    checked: None, planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], OpenCuTeError | None]:
    """The same of what turns values of eight bits, with another text there."""

    def report(text: str, other: str) -> OpenCuTeError | None:
        module = planted("opencute.kernels.attention.sm90_narrow", text, other, 1)
        monkeypatch.setattr(sm90_persistent, "turn_values", module.turn_values)
        return reported(sm90_persistent.attention_persistent, 128, 1, True)

    return report
