# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing`: assertions, benchmarks of compiled functions, the choice of parameters."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "CantImplementError": "opencute.jit.bench",
        "JitArguments": "opencute.jit.bench",
        "add_tensor_init_args": "opencute.lib.init_arguments",
        "assert_": "opencute.lang.values.assertion",
        "autotune_jit": "opencute.tune",
        "benchmark": "opencute.jit.bench",
        "convert": "opencute.lib.convert",
        "get_workspace_count": "opencute.jit.bench",
        "tune": "opencute.tune",
        "validate_tensor_init_args": "opencute.lib.init_arguments",
    },
)
