# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of `cute.math` that are made of its elementary ones.

In: a number or vector. Out: the same type; f16, bf16 and narrower floats are computed in f32 and
rounded once, integers are taken as Float32::

    y = cute.math.gelu(x)                     # x Phi(x), by erfc
    y = cute.math.gelu(x, approximate="tanh")
"""

# pyright: reportUnknownMemberType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.base.suggest import did_you_mean
from opencute.lang import mathfns
from opencute.lang.numbers import as_numeric
from opencute.lang.vectors import TensorSSA, where

__all__ = ["abs", "gelu", "relu", "sigmoid", "silu", "sincos"]

_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654


def _in_f32(a: Any, fn: Callable[[Any], Any]) -> Any:
    """A function of a float of at least 32 bits, and its result in the type of `a`."""
    x = a if isinstance(a, TensorSSA) else as_numeric(a)
    cls: Any = x.dtype if isinstance(x, TensorSSA) else type(x)
    if not cls.dtype.is_float:
        return fn(x.to(float))
    return fn(x.to(float)).to(cls) if cls.width < 32 else fn(x)


def abs(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The magnitude, in the type of `a`; `fabs` gives floats."""
    x = a if isinstance(a, TensorSSA) else as_numeric(a)
    return x.__abs__()


def relu(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The value where it is positive, else 0; NaN stays NaN.

    Args:
        a: a number or vector.
    """
    x = a if isinstance(a, TensorSSA) else as_numeric(a)
    return where(x < 0, 0, x)


def sigmoid(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """``1 / (1 + exp(-a))``

    Args:
        a: a number or vector.
        fastmath: take the hardware's approximations.
    """
    return _in_f32(
        a, lambda x: mathfns.rcp(1.0 + mathfns.exp(-x, fastmath=fastmath), approx=fastmath)
    )


def silu(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """``a sigmoid(a)``, also called swish.

    Args:
        a: a number or vector.
        fastmath: take the hardware's approximations.
    """

    def apply(x: Any) -> Any:
        below = 1.0 + mathfns.exp(-x, fastmath=fastmath)
        # Where exp() overflows the quotient is 0; a product with the reciprocal could be NaN.
        return x * mathfns.rcp(below, approx=True) if fastmath else x / below

    return _in_f32(a, apply)


def gelu(
    a: Any, approximate: str = "none", fastmath: bool = False, *, loc: Any = None, ip: Any = None
) -> Any:
    """``a Phi(a)``, Phi being the normal distribution's.

    Args:
        a: a number or vector.
        approximate: ``"none"``, or ``"tanh"`` for the formula by tanh, which is 5e-4 off at most.
        fastmath: with ``"tanh"``, the hardware's approximation of it.

    Raises:
        TypeMismatchError: OC1604, no such approximation.
    """
    if approximate not in ("none", "tanh"):
        raise TypeMismatchError(
            "gelu() has no such approximation", code="OC1604", found=repr(approximate),
            expected="'none' or 'tanh'",
            hint=did_you_mean(str(approximate), ("none", "tanh")) or None,
        )  # fmt: skip

    def exact(x: Any) -> Any:
        return x * 0.5 * mathfns.erfc(x * -_SQRT_HALF)

    def by_tanh(x: Any) -> Any:
        inner = (x * x * 0.044715 + 1.0) * x * _SQRT_2_OVER_PI
        return x * 0.5 * (mathfns.tanh(inner, fastmath=fastmath) + 1.0)

    return _in_f32(a, exact if approximate == "none" else by_tanh)


def sincos(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> tuple[Any, Any]:
    """Sine and cosine.

    Args:
        a: a number or vector, in radians.
        fastmath: take the hardware's approximations.
    """
    return mathfns.sin(a, fastmath=fastmath), mathfns.cos(a, fastmath=fastmath)
