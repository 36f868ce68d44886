# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms by clusters against NumPy, in the checking simulator, with planted faults; on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.jit.calls import compiled_artefacts
from opencute.kernels import norm
from opencute.kernels.norm import interface, reference
from opencute.kernels.norm.config import ClusterRows, cluster_choice

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2


@t0
@pytest.mark.parametrize(
    ("dtype", "n", "config"),
    [
        (np.float16, 512, ClusterRows(64, 8, 2)),
        (ml_dtypes.bfloat16, 264, ClusterRows(32, 2, 4)),  # parts of 66
        (np.float32, 800, ClusterRows(64, 4, 8)),
    ],
)
def test_forward(checked, random, close, dtype: Any, n: int, config: ClusterRows) -> None:
    x, r, w, b = random((3, n), dtype), random((3, n), dtype), random(n, dtype), random(n, dtype)
    x += np.asarray(4.0, dtype)  # a mean that squares must not be summed about zero with
    close(norm.layer_norm(x, w, b, config=config), reference.layer_norm(x, w, b), 8)
    got, total = norm.rms_norm(x, residual=r, prenorm=True, config=config)
    both = x.astype(np.float32) + r.astype(np.float32)
    close(got, reference.rms_norm(both), 16)
    np.testing.assert_array_equal(total, both.astype(dtype))


# What is left out, and what is reported then.
FAULTS = {
    "wait for the others' beginning": (
        "    cute.arch.cluster_wait()\n    tell", "    tell", "cluster",
    ),
    "telling": (
        "    cute.arch.cluster_arrive()\n", "    cute.arch.cluster_arrive_relaxed()\n", "OC3401",
    ),
    "waiting": ("    cute.arch.cluster_wait()\n    mean", "    mean", "OC3401"),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(
    checked, random, planted: Any, monkeypatch: Any, fault: str
) -> None:
    text, other, says = FAULTS[fault]
    module = planted("opencute.kernels.norm.sm90", text, other, 1)
    monkeypatch.setattr(interface, "cluster_norm", module.cluster_norm)
    with pytest.raises(OpenCuTeError, match=says):
        norm.layer_norm(random((2, 128), np.float32), config=ClusterRows(64, 1, 2))


@t0
def test_choices() -> None:
    assert cluster_choice(32768, 8) is None
    assert cluster_choice(65536, 8) == ClusterRows(256, 8, 8)
    assert cluster_choice(131072, 8) == ClusterRows(512, 8, 8)
    assert cluster_choice(262144, 8) == ClusterRows(512, 8, 8)
    assert cluster_choice(65537, 1) is None and cluster_choice(1 << 20, 8) is None
    for wrong in (ClusterRows(64, 8, 3), ClusterRows(32, 8, 2), ClusterRows(48, 8, 2)):
        with pytest.raises(ArgumentError, match="OC2503"):
            wrong.part(65536)


@t1
@pytest.mark.parametrize("n", [65536, 262144])
def test_no_spills(n: int) -> None:
    from opencute import cute
    from opencute.cute.runtime import from_dlpack
    from opencute.kernels.norm.sm90 import cluster_norm

    config = cluster_choice(n, 8)
    assert config is not None
    x, w = np.zeros((2, n), np.float16), np.zeros(n, np.float16)
    matrix = lambda: from_dlpack(x).mark_layout_dynamic(leading_dim=1)  # noqa: E731
    with KNOBS.override(target="sim:sm_90a"):
        cute.compile(
            cluster_norm, matrix(), None, from_dlpack(w), from_dlpack(w), None, matrix(), 1e-5,
            config.part(n), config.blocks, True,
        )  # fmt: skip
    code = compiled_artefacts()[-1].device
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= 65536 // config.threads // (2 if n == 65536 else 1)


@t2
@pytest.mark.parametrize("n", [65536, 131072, 262144])
def test_on_a_gpu(n: int) -> None:
    torch = pytest.importorskip("torch")
    x, w, b = (torch.randn(s, device="cuda").to(torch.bfloat16) for s in ((37, n), (n,), (n,)))
    # bf16 keeps 8 bits: half a unit in the last place of the result, and the least of sums.
    close = lambda got, want: torch.testing.assert_close(got.float(), want, rtol=2**-8, atol=4e-3)  # noqa: E731
    close(
        norm.layer_norm(x, w, b),
        torch.nn.functional.layer_norm(x.float(), (n,), w.float(), b.float()),
    )
    close(norm.rms_norm(x, w), torch.nn.functional.rms_norm(x.float(), (n,), w.float(), 1e-6))
