# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of norms by clusters that stay, in the checking simulator, with planted faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.jit.calls import compiled_artefacts
from opencute.kernels import norm
from opencute.kernels.norm import interface, reference
from opencute.kernels.norm.config import ClusterRows, cluster_backward_choice

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on which few clusters run at a time, so that each takes several rows."""
    monkeypatch.setattr(interface, "_clusters", lambda blocks: 2)


def agrees(got: Any, want: Any, bits: int) -> None:
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2.0**-bits, atol=8 * 2.0**-bits)


@t0
@pytest.mark.parametrize("blocks", [1, 2])
def test_layer_norm(checked, clusters, random, blocks: int) -> None:
    """Parts of 264: the last warp's are uneven. One block tells its warps without a cluster."""
    grad, x, w = (
        random((11, 528), np.float16),
        random((11, 528), np.float16),
        random(528, np.float16),
    )
    x += np.float16(4.0)
    got = norm.layer_norm_backward(grad, x, w, config=ClusterRows(64 // blocks, 8, blocks, 4, 1))
    for a, b in zip(got, reference.layer_norm_backward(grad, x, w), strict=True):
        agrees(a, b, 10)


@t0
def test_rms_norm_with_a_gradient_from_elsewhere(checked, clusters, random) -> None:
    grad, x, other = (random((5, 512), np.float32) for _ in range(3))
    w = random(512, np.float32)
    dx, dw = norm.rms_norm_backward(
        grad, x, w, prenorm_grad=other, config=ClusterRows(64, 4, 2, 5, 1)
    )
    want, want_w = reference.rms_norm_backward(grad, x, w)
    agrees(dx, want + other, 18)
    agrees(dw, want_w, 18)


BACKWARD = "opencute.kernels.norm.sm90_backward"
AHEAD = """            ahead = row + (plan.stages - 2) * step
            if (turn >= 2) & (ahead < count):
                ring.start(ahead, (turn + plan.stages - 2) % plan.stages)
"""
FAULTS = {
    "sets of numbers": ("_SETS = 4", "_SETS = 2", "OC3034|OC3401"),
    "the next part too early": (AHEAD, AHEAD.replace("2", "1"), "OC3401"),
    "wait for a part": (
        "    cute.arch.mbarrier_wait(ring.bars + stage, turn // plan.stages % 2)\n", "", "OC3402",
    ),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(
    checked, clusters, random, planted: Any, monkeypatch: Any, fault: str
) -> None:
    text, other, says = FAULTS[fault]
    monkeypatch.setattr(interface, "ring_backward", planted(BACKWARD, text, other).ring_backward)
    x = random((14, 512), np.float32)
    with pytest.raises(OpenCuTeError, match=says):
        norm.rms_norm_backward(x, x, config=ClusterRows(64, 4, 2, 4, 1))


@t0
def test_choices() -> None:
    def choice(n: int, vec: int, *arrays: Any) -> ClusterRows | None:
        return cluster_backward_choice(n, vec, arrays)

    half, single = np.zeros((1, 65536), np.float16), np.zeros((1, 65536), np.float32)
    assert choice(2048, 8, half, half) is None
    assert choice(8192, 8, half[:, :8192], half[:, :8192]) == ClusterRows(512, 8, 1, 6, 1)
    assert choice(65536, 8, half, half) == ClusterRows(512, 8, 8, 6, 1)
    assert choice(65536, 8, half, half, half) == ClusterRows(512, 8, 8, 4, 1)
    assert choice(12288, 8, half[:, :12288], half[:, :12288]) == ClusterRows(384, 8, 2, 6, 1)
    assert choice(65536, 4, single, single) is None  # too few stages
    assert choice(65536, 8, half[:, 1:], half) is None  # not at multiples of 16 bytes
    with pytest.raises(ArgumentError, match="OC2503"):
        norm.rms_norm_backward(half, half, config=ClusterRows(512, 8, 8, 3, 1))


@t1
@pytest.mark.parametrize("centred", [True, False])
def test_no_spills(centred: bool) -> None:
    from opencute import cute
    from opencute.cute.runtime import from_dlpack
    from opencute.kernels.norm.sm90_backward import ring_backward
    from opencute.kernels.norm.sm90_ring import RingPlan

    n = 65536
    x, w, sums = np.zeros((2, n), np.float16), np.zeros(n, np.float16), np.zeros((2, n), np.float32)
    matrix = lambda t=x: from_dlpack(t).mark_layout_dynamic(leading_dim=1)  # noqa: E731
    config = cluster_backward_choice(n, 8, (x, x))
    assert config is not None
    plan = RingPlan(config.part(n), config.blocks, config.stages, config.beside, centred)
    with KNOBS.override(target="sim:sm_90a"):
        cute.compile(
            ring_backward, matrix(), matrix(), from_dlpack(w), None, matrix(), matrix(sums),
            matrix(sums) if centred else None, 1e-5, 16, plan,
        )  # fmt: skip
    (report,) = compiled_artefacts()[-1].device.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@t2
@pytest.mark.parametrize("n", [16384, 65536])
@pytest.mark.parametrize("rows", [1, 150])
def test_on_a_gpu(n: int, rows: int) -> None:
    torch = pytest.importorskip("torch")
    x, grad = (torch.randn(rows, n, device="cuda").to(torch.bfloat16) for _ in range(2))
    w, b = (torch.randn(n, device="cuda").to(torch.bfloat16) for _ in range(2))
    needs = [t.float().requires_grad_() for t in (x, w, b)]
    out = torch.nn.functional.layer_norm(needs[0], (n,), *needs[1:])
    want = torch.autograd.grad(out, needs, grad.float())
    for got, expected in zip(norm.layer_norm_backward(grad, x, w), want, strict=True):
        torch.testing.assert_close(got.float(), expected, rtol=2e-2, atol=5e-2)
