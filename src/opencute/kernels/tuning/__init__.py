# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning of the operators: what each can be told, and a search among that.

In: an operator's name, extents, a type. Out: what was found, which calls of the operator then use::

    found = tune("gemm", m=4096, n=4096, k=4096, dtype="f16")     # opencute tune gemm --m 4096 ...
    found.configuration, found.us, found.default_us
    gemm(a, b)          # for these extents and near ones: with what was found

Without a GPU everything is compiled and what cannot be good is ruled out; nothing is timed or kept.
"""

from __future__ import annotations

from opencute.kernels.tuning.operators import Case, Operator, operator, operators
from opencute.kernels.tuning.searches import Tuned, tune

__all__ = ["Case", "Operator", "Tuned", "operator", "operators", "tune"]
