# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 9: choosing among configurations of a kernel by measuring them.

In: a function and the values that its parameters may take. Out: the fastest configuration::

    @autotune_jit(params_dict={"copy_bits": [64, 128]}, update_on_change=["M", "N"])
    @cute.jit
    def add(a, b, c, M, N, copy_bits: cutlass.Constexpr = 128): ...

`search` compiles all configurations at once, without a GPU, and leaves out what cannot win::

    search(lambda c: (gemm, (a, b, d, c["tile"])), [{"tile": t} for t in tiles], name="gemm")
"""

from __future__ import annotations

from opencute.tune.cold import cold_us
from opencute.tune.decorator import Autotuned, autotune_jit, tune
from opencute.tune.resources import Resources, Roofline, resources_of
from opencute.tune.searching import Outcome, bucket, search
from opencute.tune.trials import Trial, TuningError, configurations

__all__ = [
    "Autotuned", "Outcome", "Resources", "Roofline", "Trial", "TuningError", "autotune_jit",
    "bucket", "cold_us", "configurations", "resources_of", "search", "tune",
]  # fmt: skip
