# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing`: assertions, and benchmarks of compiled functions."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "CantImplementError": "opencute.jit.bench",
        "JitArguments": "opencute.jit.bench",
        "assert_": "opencute.lang.values.assertion",
        "benchmark": "opencute.jit.bench",
        "get_workspace_count": "opencute.jit.bench",
    },
)
