# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.math`: elementary functions."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        **{
            name: "opencute.lang.values.activations"
            for name in ("abs", "gelu", "relu", "sigmoid", "silu", "sincos")
        },
        **{
            name: "opencute.lang.mathfns"
            for name in (
                "absf",
                "acos",
                "acosh",
                "asin",
                "asinh",
                "atan",
                "atan2",
                "atanh",
                "cbrt",
                "ceil",
                "copysign",
                "cos",
                "cosh",
                "erf",
                "erfc",
                "exp",
                "exp2",
                "expm1",
                "floor",
                "fabs",
                "fma",
                "fmod",
                "isfinite",
                "isinf",
                "isnan",
                "log",
                "log10",
                "log1p",
                "log2",
                "max",
                "min",
                "pow",
                "powi",
                "rcp",
                "rint",
                "round",
                "roundeven",
                "rsqrt",
                "sin",
                "sinh",
                "sqrt",
                "tan",
                "tanh",
                "trunc",
            )
        },
    },
    {
        "clamp": "cute.math.min(cute.math.max(x, low), high)",
        "maximum": "cute.math.max",
        "minimum": "cute.math.min",
    },
)
