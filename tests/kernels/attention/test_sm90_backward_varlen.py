# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives with warpgroups of sequences end to end: checked in the simulator against NumPy, with
what is left out reported, their code, and on a GPU.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention import (
    WarpgroupBackwardConfig,
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
    interface,
    reference,
    sm90_backward,
)
from opencute.kernels.attention.config import warpgroup_backward_heuristic
from opencute.kernels.attention.sm90_backward import attention_backward as launch
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan

BRIEF = WarpgroupBackwardConfig(2, 1)
LATE = WarpgroupBackwardConfig(2, 2, early=False, atomics=True)
# One without queries, one without keys, one of a whole block of keys; all others are ragged.
STARTS = ((0, 20, 20, 45, 61), (0, 12, 30, 30, 158))


def operands(random: Any, starts: Any, heads: tuple[int, int], d: int, dtype: Any) -> list[Any]:
    """Gradients, queries, keys and values; rows of no sequence, at the end, are no numbers."""
    totals = [s[-1] + 3 for s in starts]
    arrays = [random((totals[i > 1], heads[i > 1], d), dtype) for i in range(4)]
    for x in arrays:
        x[-3:] = np.nan
    return arrays


def near(got: Any, want: Any) -> None:
    """Within two roundings of the largest element."""
    step = 2.0**-10 if got.dtype == np.float16 else 2.0**-7
    np.testing.assert_allclose(got.astype(np.float64), want, atol=2 * step * abs(want).max())


def gradients(arrays: list[Any], starts: Any, window: Any, config: Any, **options: Any) -> Any:
    """Of what attention is by NumPy, so that only derivatives are simulated; and what is right."""
    g, q, k, v = arrays
    scale = q.shape[-1] ** -0.5
    parts = reference.varlen(reference.attention, (q,), (k, v), *starts, scale, window=window)
    out, lse = np.full_like(q, np.nan), np.full((q.shape[1], len(q)), np.nan, np.float32)
    out[: starts[0][-1]] = np.concatenate([p[0][0] for p in parts])
    lse[:, : starts[0][-1]] = np.concatenate([p[1][0] for p in parts], 1)
    sizes = [np.array(s, np.int32) for s in starts]
    longest = [int(np.diff(s).max()) for s in starts]
    got = attention_varlen_backward(
        g, q, k, v, out, lse, *sizes, *longest, window=window, config=config, **options
    )
    want = reference.varlen(
        reference.attention_backward, (g, q), (k, v), *starts, scale, window=window
    )
    return got, [np.concatenate([w[i][0] for w in want]) for i in range(3)]


CASES = [
    # starts, heads, d, window, config, dtype, in order
    (STARTS, (1, 1), 64, (None, 0), None, ml_dtypes.bfloat16, True),
    (((0, 70, 90), (0, 40, 60)), (2, 1), 128, (9, 4), LATE, np.float16, False),
    (((0, 70, 90), (0, 40, 60)), (1, 1), 192, (None, 0), None, np.float16, False),
]


@pytest.mark.t0
@pytest.mark.parametrize(("starts", "heads", "d", "window", "config", "dtype", "ordered"), CASES)
def test_simulated(
    checked: None, random: Any, starts: Any, heads: Any, d: int, window: Any, config: Any,
    dtype: Any, ordered: bool,
) -> None:  # fmt: skip
    arrays = operands(random, starts, heads, d, dtype)
    got, want = gradients(arrays, starts, window, config, deterministic=ordered)
    for x, right in zip(got, want, strict=True):
        near(x[: len(right)], right)
        assert not x[len(right) :].any()


FAULTS = [
    # what is wrong, the text, what stands there instead, the report; nan: the numbers show it
    ("K keeps a neighbour's rows",
     "            clear(worker, 0, 0, worker.reach.keys_left, plan.n)\n", "", "nan"),
    ("no fence behind cleared rows", """at % across, stage))
        cute.arch.fence_proxy("async.shared", space="cta")
""", "at % across, stage))\n", "OC3406"),
    ("nobody waits for cleared rows", """space="cta")
        worker.meet()
""", 'space="cta")\n', "OC3401"),
    ("rows are stored before they are there",
     "        worker.meet()\n        store_rows(worker, into)\n",
     "        store_rows(worker, into)\n", "OC3401"),
]  # fmt: skip


@pytest.mark.t0
@pytest.mark.parametrize(("text", "other", "code"), [f[1:] for f in FAULTS],
                         ids=[f[0] for f in FAULTS])  # fmt: skip
def test_what_is_left_out_is_reported(
    checked: None, random: Any, planted: Any, monkeypatch: Any, text: str, other: str, code: str
) -> None:
    if "clear" in text or "store" in text:
        module = planted("opencute.kernels.attention.sm90_backward", text, other, 1)
        monkeypatch.setattr(interface, "launch_warpgroups_back", module.attention_backward)
    else:
        module = planted("opencute.kernels.attention.sm90_backward_worker", text, other, 1)
        for name in ("clear", "start_next", "weigh_tile"):
            monkeypatch.setattr(sm90_backward, name, getattr(module, name))
    starts = ((0, 70), (0, 40))
    arrays = operands(random, starts, (1, 1), 128, np.float16)
    try:
        got, _ = gradients(arrays, starts, (None, None), BRIEF)
    except OpenCuTeError as e:
        assert e.code == code
    else:
        assert code == "nan" and any(np.isnan(x.astype(np.float32)).any() for x in got)


@pytest.mark.t1
def test_code() -> None:
    head_dim, after = 64, 0  # of all, the one with the fewest registers left
    config = warpgroup_backward_heuristic(head_dim)
    plan = WarpgroupBackwardPlan(
        cutlass.BFloat16, head_dim, config.queries(head_dim), config.stages, config.grads,
        config.early, None, after, 1, ragged=True,
    )  # fmt: skip
    x = np.zeros((1, 8, 1, head_dim), ml_dtypes.bfloat16)
    arrays = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(8)]
    logs, starts = np.zeros((1, 1, 8), np.float32), np.zeros(2, np.int32)
    stats, sums = (np.zeros((1, 1, *s), np.float32) for s in ((2, plan.m), (8192,)))
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            launch, *arrays, logs, stats, sums, None, starts, starts, 8, 8, 1.0, plan
        ).artefacts
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    for report in made.device.report.functions:
        assert report.spill_loads == report.spill_stores == report.stack == 0


@pytest.mark.t2
@pytest.mark.parametrize("d", [64, 96, 128, 192, 256])
@pytest.mark.parametrize("window", [None, (None, 0), (200, 100)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_on_a_gpu(d: int, window: Any, deterministic: bool) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    lengths = ([700, 1, 0, 333, 1024], [650, 40, 7, 0, 1100])
    starts = [torch.tensor([0, *n], device="cuda").cumsum(0).int() for n in lengths]
    q, g = (torch.randn(sum(lengths[0]), 8, d, device="cuda").half() for _ in range(2))
    k, v = (torch.randn(sum(lengths[1]), 2, d, device="cuda").half() for _ in range(2))
    sizes, options = (*starts, 1024, 1100), {"window": window}
    out, lse = attention_varlen(q, k, v, *sizes, return_lse=True, **options)
    options["deterministic"] = deterministic
    got, again = (
        attention_varlen_backward(g, q, k, v, out, lse, *sizes, **options) for _ in range(2)
    )
    for x, y in zip(got, again, strict=True):
        assert not deterministic or torch.equal(x, y)
    for i in range(len(lengths[0])):
        at_q, at_k = (slice(int(s[i]), int(s[i + 1])) for s in starts)
        if not lengths[0][i] or not lengths[1][i]:
            assert not any(x[at].any() for x, at in zip(got, (at_q, at_k, at_k), strict=True))
            continue
        one = [x[None, at] for x, at in ((q, at_q), (k, at_k), (v, at_k))]
        part, logs = attention(*one, window=window, return_lse=True)
        want = attention_backward(g[None, at_q], *one, part, logs, window=window)
        for x, at, right in zip(got, (at_q, at_k, at_k), want, strict=True):
            bound = 4e-3 * float(right.abs().max())
            torch.testing.assert_close(x[None, at], right, rtol=0, atol=bound)
