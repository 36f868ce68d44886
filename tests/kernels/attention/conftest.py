# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of attention share: the kernels for warpgroups with one thing left out, forward and
backward."""

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
from opencute.kernels.attention import reference, sm90_backward, sm90_persistent
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan


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
    want, _ = reference.attention(*(x.astype(np.float32) for x in (q, k, v)), 64**-0.5)
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


def run_backward(module: Any, tiles: int, d: int) -> None:
    """The derivatives by the kernels of a module: a block of keys, some tiles of 64 queries."""
    rng = np.random.default_rng(0)
    q, g = (rng.standard_normal((1, 64 * tiles, 1, d)).astype(np.float16) for _ in range(2))
    k, v = (rng.standard_normal((1, 128, 1, d)).astype(np.float16) for _ in range(2))
    out, lse = reference.attention(q, k, v, 0.125)
    arrays = (q, k, v, out.astype(q.dtype), g, *(np.empty_like(x) for x in (q, k, v)))
    stages = 1 if d > 128 else 2
    plan = WarpgroupBackwardPlan(cutlass.Float16, d, 64, stages, 1, True, None, None, 1)
    module.attention_backward(
        *(from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in arrays),
        lse.astype(np.float32), np.empty((tiles, 1, 2, 64), np.float32),
        np.empty((tiles, 1, 64 * d), np.float32), None, None, None, 0, 0, 0.125, plan,
    )  # fmt: skip
    for got, want in zip(arrays[5:], reference.attention_backward(g, q, k, v, 0.125), strict=True):
        np.testing.assert_allclose(got.astype(np.float64), want, atol=2e-3 * abs(want).max())


FROM = {
    "worker": ["Worker", "start_next", "weigh_tile"], "sums": ["add_to_dq"],
    "wide": ["visit_keys", "visit_values"],
}  # fmt: skip


@pytest.fixture
def backward_report_of(
    checked: None, planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., OpenCuTeError | None]:
    """What the checking simulator reports of the derivatives with another text, or None.

    Called with the text, the other one, how many tiles of queries there are, what the text is of
    (nothing: the kernel itself), and how many elements heads have.
    """

    def report(
        text: str, other: str, tiles: int, of: str = "", d: int = 64
    ) -> OpenCuTeError | None:
        module: Any = sm90_backward
        if of:
            changed: Any = planted(f"opencute.kernels.attention.sm90_backward_{of}", text, other, 1)
            for name in FROM[of]:
                monkeypatch.setattr(module, name, getattr(changed, name))
        else:
            module = planted("opencute.kernels.attention.sm90_backward", text, other, 1)
        try:
            run_backward(module, tiles, d)
        except OpenCuTeError as e:
            return e
        return None

    return report
