# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions on the accumulators of a product, as vectors of Float32.

Any function like these can be an epilogue::

    gemm(a, b, activation=lambda x: x * x)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.kernels.functions import refuse_function

__all__ = ["ACTIVATIONS", "activation_of", "gelu", "relu", "silu"]


_ROOT = 0.7978845608028654  # of 2 / pi


def relu(x: Any) -> Any:
    """max(x, 0); NaN stays NaN"""
    return cute.math.relu(x)


def silu(x: Any) -> Any:
    """x sigmoid(x), with a reciprocal of one instruction: a division takes a branch for each value,
    and many more where exp(-x) overflows."""
    return x * cute.math.rcp(cute.math.exp(-x, fastmath=True) + 1.0, fastmath=True)


def gelu(x: Any) -> Any:
    """x Phi(x), by tanh.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.
    """
    inner = x * (x * x * (0.044715 * _ROOT) + _ROOT)
    half = x * 0.5
    return half * cute.math.tanh(inner, fastmath=True) + half


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"gelu": gelu, "relu": relu, "silu": silu}
"""By name."""


def activation_of(asked: Any) -> Callable[[Any], Any] | None:
    """The function that an activation is.

    Raises:
        ArgumentError: there is none of this name, or it is none for vectors.
    """
    if asked is None or callable(asked):
        if asked is not None:
            refuse_function("the activation", asked)
        return asked
    if not isinstance(asked, str) or asked not in ACTIVATIONS:
        raise ArgumentError(
            "there is no such activation", code="OC2512", found=asked,
            expected=", ".join(sorted(ACTIVATIONS)) + ", or a function",
        )  # fmt: skip
    return ACTIVATIONS[asked]
