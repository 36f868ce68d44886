# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of Python numbers, where a kernel's source is run by Python.

In: a function's name and floats. Out: a float, before it is rounded to its type::

    eager("rsqrt", [4.0])        # 0.5
"""

# pyright: reportUnknownMemberType=false
# NumPy's own annotations have unknown parameters.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["eager"]

_NUMPY: dict[str, Any] = {
    "absf": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "cbrt": np.cbrt, "ceil": np.ceil, "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "fmod": np.fmod,
    "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "powf": np.power,
    "roundeven": np.rint, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
_OTHER: dict[str, Callable[..., Any]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "rcp": lambda x: np.float64(1) / np.float64(x),
    "rsqrt": lambda x: np.float64(1) / np.sqrt(np.float64(x)),
}


def eager(name: str, operands: list[float]) -> float:
    """The value of a function, computed in f64; NaN and infinity where C gives them."""
    fn = _NUMPY.get(name) or _OTHER[name]
    with np.errstate(all="ignore"):
        return float(fn(*(np.float64(x) for x in operands)))
