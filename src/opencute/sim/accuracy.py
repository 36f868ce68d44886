# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How far a GPU may be from the simulator, for each `math` function.

The simulator computes in f64 and rounds once, which is within half an ulp of the true value plus
f64's own error. The bounds of the exact functions are those of the CUDA C++ Programming Guide
("Mathematical Functions", single and double precision), and of the fast ones those of the same
guide ("Intrinsic Functions") and of the PTX ISA (``ex2.approx``, ``lg2.approx``, ``tanh.approx``,
``rsqrt.approx``). Two values agree if they differ by no more than `ulp` units in the last place, or
by no more than `absolute`. f16 and bf16 are computed in f32 and rounded: one ulp.

>>> bound("sin", F32).ulp, bound("sqrt", F32).ulp
(2.0, 0.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opencute.ir.types import F32, F64, FloatType, Type, element_type

__all__ = ["Bound", "bound", "distance_in_ulp"]


@dataclass(frozen=True)
class Bound:
    """An error bound.

    Args:
        ulp: units in the last place of the result's type; 0 means the same bits.
        absolute: an absolute error that is fine too.
        relative: a relative error that is fine too.
        note: where the bound holds, if not everywhere.
    """

    ulp: float
    absolute: float = 0.0
    relative: float = 0.0
    note: str = ""


EXACT = Bound(0.0)

# name: (f32, f64)
_FULL: dict[str, tuple[float, float]] = {
    "exp": (2, 1), "exp2": (2, 1), "expm1": (1, 1), "log": (1, 1), "log2": (1, 1),
    "log10": (2, 1), "log1p": (1, 1), "sqrt": (0, 0), "rsqrt": (2, 1), "sin": (2, 2),
    "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2), "sinh": (3, 2),
    "cosh": (2, 1), "tanh": (2, 1), "erf": (2, 2), "erfc": (4, 5), "atan2": (3, 2), "powf": (4, 2),
    "absf": (0, 0), "floor": (0, 0), "ceil": (0, 0), "trunc": (0, 0), "round": (0, 0),
    "roundeven": (0, 0), "copysign": (0, 0), "fma": (0, 0),
}  # fmt: skip

_FAST: dict[str, Bound] = {
    "exp": Bound(2.0, relative=2.0**-21, note="plus |1.173 x| ulp"),
    "exp2": Bound(2.0),
    "log": Bound(3.0, absolute=2.0**-21.41),
    "log2": Bound(2.0, absolute=2.0**-22),
    "log10": Bound(3.0, absolute=2.0**-24),
    "sin": Bound(0.0, absolute=2.0**-20.9, note="-pi <= x <= pi"),
    "cos": Bound(0.0, absolute=2.0**-20.9, note="-pi <= x <= pi"),
    "tan": Bound(0.0, relative=2.0**-19, absolute=2.0**-19, note="away from the poles"),
    "tanh": Bound(0.0, relative=2.0**-10.98),
    "rsqrt": Bound(2.0, relative=2.0**-22.9),
    "sqrt": Bound(1.0, relative=2.0**-23),
    "powf": Bound(8.0, relative=2.0**-18, note="small exponents of logarithms"),
}


def bound(name: str, type: Type, *, fast: bool = False) -> Bound:
    """The bound of `math.<name>` on a type, with or without fast math.

    Raises:
        KeyError: no such function.
    """
    element = element_type(type)
    single, double = _FULL[name]
    if single == 0 and not (fast and name in _FAST):
        return EXACT
    assert isinstance(element, FloatType)
    if element == F64:
        return Bound(float(double))
    narrow = element != F32
    if fast and name in _FAST:
        known = _FAST[name]
        if not narrow:
            return known
        # Rounding to fewer bits leaves little of the error, but for coarse approximations.
        return Bound(1.0, known.absolute, known.relative, known.note)
    return Bound(1.0 if narrow else float(single))


def distance_in_ulp(value: float, reference: float, type: FloatType) -> float:
    """How many units in the last place of the reference two finite values are apart."""
    precision, low = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}[
        type.name
    ]
    if value == reference:
        return 0.0
    exponent = max(math.frexp(reference)[1] - 1, low) if reference else low
    return abs(value - reference) / 2.0 ** (exponent - precision + 1)
