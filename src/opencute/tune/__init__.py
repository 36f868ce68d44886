# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Choosing among configurations of a kernel by measuring them.

In: a function and the values that its parameters may take. Out: the fastest configuration::

    @autotune_jit(params_dict={"copy_bits": [64, 128]}, update_on_change=["M", "N"])
    @cute.jit
    def add(a, b, c, M, N, copy_bits: cutlass.Constexpr = 128): ...
"""

from __future__ import annotations

from opencute.tune.decorator import Autotuned, autotune_jit, tune
from opencute.tune.trials import Trial, TuningError, configurations

__all__ = ["Autotuned", "Trial", "TuningError", "autotune_jit", "configurations", "tune"]
