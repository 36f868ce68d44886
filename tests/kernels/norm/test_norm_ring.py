# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms by clusters that stay, against NumPy, in the checking simulator, with planted faults."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.jit.calls import compiled_artefacts
from opencute.kernels import norm
from opencute.kernels.norm import interface, reference, sm90_ring
from opencute.kernels.norm.config import ClusterRows, ring_choice

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on which few clusters run at a time, so that each takes several rows."""
    monkeypatch.setattr(interface, "_clusters", lambda blocks: 1)


@t0
@pytest.mark.parametrize(
    ("dtype", "n", "config"),
    [
        (np.float16, 512, ClusterRows(32, 8, 2, 2)),
        (ml_dtypes.bfloat16, 1056, ClusterRows(32, 8, 4, 1)),  # parts of 264: a warp has some less
        (np.float32, 400, ClusterRows(64, 4, 2, 3)),  # parts of 200: a warp has none of the last
        (np.float16, 1000, ClusterRows(64, 8, 1, 2)),  # a block by itself
    ],
)
def test_forward(checked, clusters, random, close, dtype: Any, n: int, config: Any) -> None:
    x, r, w, b = random((7, n), dtype), random((7, n), dtype), random(n, dtype), random(n, dtype)
    x += np.asarray(4.0, dtype)  # a mean that squares must not be summed about zero with
    close(norm.layer_norm(x, w, b, config=config), reference.layer_norm(x, w, b), 8)
    got, total = norm.rms_norm(x, residual=r, prenorm=True, config=config)
    both = x.astype(np.float32) + r.astype(np.float32)
    close(got, reference.rms_norm(both), 16)
    np.testing.assert_array_equal(total, both.astype(dtype))


RING, EXCHANGE = "opencute.kernels.norm.sm90_ring", "opencute.lib.hopper.exchange"
TOLD = "        told = exchange.wait(turn)\n"
NEXT = """        # All warps of the block have told theirs, after they had read their parts.
        if thread == 0:
            if row + plan.stages * step < count:
                ring.start(row + plan.stages * step, stage)
"""
FAULTS = {  # where; what is left out or changed; what is reported then
    "wait for a part": (
        RING, "        cute.arch.mbarrier_wait(ring.bars + stage, phase)\n", "", "OC3402",
    ),
    "bytes of a part": (RING, "self.plan.rows.n * t.element", "8 * t.element", "OC3034|OC3402"),
    "meeting": (
        RING, "    cute.arch.cluster_arrive_relaxed()\n    cute.arch.cluster_wait()\n", "",
        "OC3404",
    ),
    "fence": (RING, "        cute.arch.mbarrier_init_fence()\n", "", "OC3404"),
    "the next part too early": (RING, TOLD + NEXT, NEXT + TOLD, "OC3401"),
    "wait for numbers": (
        EXCHANGE, "        cute.arch.mbarrier_wait(self.bars + at, turn // self.sets % 2)\n", "",
        "OC3402",
    ),
    "lanes of a warp together": (EXCHANGE, "    cute.arch.sync_warp()", "    pass", "OC3401"),
    "the second set": (EXCHANGE, "sets: int = 2", "sets: int = 1", "OC3034|OC3401"),
    "bytes of numbers": (EXCHANGE, "size = 4 *", "size = 8 *", "OC3501"),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(
    checked, clusters, random, planted: Any, monkeypatch: Any, fault: str
) -> None:
    where, text, other, says = FAULTS[fault]
    module = planted(where, text, other, 1)
    if where == RING:
        monkeypatch.setattr(interface, "ring_norm", module.ring_norm)
    else:
        monkeypatch.setattr(sm90_ring, "Exchange", module.Exchange)
    with pytest.raises(OpenCuTeError, match=says):
        norm.layer_norm(random((6, 512), np.float32), config=ClusterRows(64, 4, 2, 1, 1))


@t0
def test_choices() -> None:
    def choice(n: int, vec: int, dtype: Any, centred: bool = True) -> ClusterRows | None:
        return ring_choice(n, vec, (np.zeros((1, n), dtype),), centred=centred)

    half = np.float16
    assert choice(8192, 8, half) is None
    assert choice(65536, 8, half) == ClusterRows(256, 8, 8, 2, 2)
    assert choice(65536, 4, np.float32) == ClusterRows(256, 4, 8, 2, 2)
    assert choice(131072, 8, half) == ClusterRows(512, 8, 8, 2, 1)
    assert choice(65537, 1, half) is None and choice(1 << 20, 8, half) is None
    for n in (12288, 16384, 24576, 40000, 65536, 102400, 262144):
        config = choice(n, 8, half)
        assert config is not None and config.part(n).n * config.blocks == n
    shifted = np.zeros((1, 65544), half)[:, 4:65540]
    assert ring_choice(65536, 4, (shifted,), centred=True) is None  # not at multiples of 16 bytes
    with pytest.raises(ArgumentError, match="OC2503"):
        norm.rms_norm(shifted, config=ClusterRows(512, 4, 8, 2, 2))


@t1
@pytest.mark.parametrize(
    ("n", "config", "centred"),
    [(65536, ClusterRows(256, 8, 8, 3, 3), True), (65536, ClusterRows(256, 8, 8, 2, 4), False)],
)
def test_no_spills(n: int, config: ClusterRows, centred: bool) -> None:
    from opencute import cute
    from opencute.cute.runtime import from_dlpack
    from opencute.kernels.norm.sm90_ring import RingPlan, ring_norm

    x, w = np.zeros((2, n), np.float16), np.zeros(n, np.float16)
    matrix = lambda: from_dlpack(x).mark_layout_dynamic(leading_dim=1)  # noqa: E731
    plan = RingPlan(config.part(n), config.blocks, config.stages, config.beside, centred)
    assert plan.keeps(*(from_dlpack(w),) * (2 if centred else 1))
    with KNOBS.override(target="sim:sm_90a"):
        cute.compile(
            ring_norm, matrix(), None, from_dlpack(w), from_dlpack(w) if centred else None, None,
            matrix(), 1e-5, 32, plan,
        )  # fmt: skip
    (report,) = compiled_artefacts()[-1].device.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= 65536 // (config.threads * config.beside)


@t2
@pytest.mark.parametrize("n", [32768, 65536])
@pytest.mark.parametrize("rows", [1, 37, 200])
def test_on_a_gpu(n: int, rows: int) -> None:
    torch = pytest.importorskip("torch")
    x, r, w, b = (
        torch.randn(s, device="cuda").to(torch.bfloat16) for s in ((rows, n), (rows, n), (n,), (n,))
    )
    config = ClusterRows(256, 8, n // 8192, 3, 2)
    want = torch.nn.functional.layer_norm(x.float(), (n,), w.float(), b.float())
    near = {"rtol": 2.0**-8, "atol": 1e-3}  # rounding to bf16
    torch.testing.assert_close(norm.layer_norm(x, w, b, config=config).float(), want, **near)
    want = torch.nn.functional.rms_norm(x.float() + r.float(), (n,), w.float(), 1e-6)
    got, total = norm.rms_norm(x, w, residual=r, prenorm=True, config=config)
    torch.testing.assert_close(got.float(), want, **{**near, "atol": 2e-2})  # of a rounded sum
    assert torch.equal(total, x + r)
