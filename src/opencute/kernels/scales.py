# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What elements of eight bits are multiplied with: one rule for all operators that take scales.

A scale is a number, or an array of f32: positive and below 2**127. Numbers go into the factor of
the scores or of the result; kernels read arrays. With the factor of the scores, those of queries
and keys stay in its bounds (`check_scale`); elements on a GPU are not looked at. In: a scale as it
was given. Out: the number, 1 for an array, and the array, None for a number::

    number, array = split_scale("k_scale", k_scale, k)
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.kernels.arrays import element_name, host_values

__all__ = ["check_elements", "check_products", "check_scale", "no_scales", "split_scale"]

_BELOW = 2.0**127
_LEAST, _MOST = 2.0**-126, 2.0**20


def check_scale(scale: float) -> None:
    """Check the scale of the scores.

    Weights are 2 to the power of ``score * c - level``, one instruction whose `level`, the largest
    score times `c`, is a rounded f32. So a weight is wrong by a factor of 2 where scaled scores
    reach 2**24: with the largest scale that is allowed, at scores of 16. A scale that is no normal
    f32 would be 0, and 0 times the -inf of a hidden key NaN.

    Raises:
        ArgumentError: it is not positive, or too small or large for f32.
    """
    if not scale > 0.0:
        raise ArgumentError("the scale is not positive", code="OC2522", found=scale)
    if not _LEAST <= scale <= _MOST:
        raise ArgumentError(
            "the scale is too small or too large for f32", code="OC2522",
            expected="from 2**-126 to 2**20", found=scale,
            hint="for the value of the key with the largest score, a smaller scale is enough",
        )  # fmt: skip


def no_scales(scales: tuple[Any, ...], dtype: Any, types: list[str]) -> None:
    """Refuse scales of elements that have not eight bits.

    Args:
        dtype: of the elements.
        types: that have scales.

    Raises:
        ArgumentError: there is one.
    """
    if any(x is not None for x in scales):
        raise ArgumentError(
            "only types of eight bits have scales", code="OC2525", expected=" or ".join(types),
            found=str(dtype),
            hint="omit q_scale, k_scale and v_scale; scale the queries, or the result",
        )  # fmt: skip


def split_scale(name: str, scale: Any, like: Any) -> tuple[float, Any]:
    """A scale as a number and an array, of which one says nothing.

    Args:
        name: of the argument.
        scale: a number, an array, or None.
        like: an array on the device where the kernel runs.

    Raises:
        ArgumentError: a number is not positive and finite.
        ArgumentTypeError: neither a number nor an array.
    """
    if _on_device(scale, like):
        return 1.0, scale
    if scale is not None and not hasattr(scale, "__float__"):
        raise ArgumentTypeError(
            f"{name} is no number and no array", code="OC2531", found=repr(scale)[:80]
        )
    number = 1.0 if scale is None else float(scale)
    if not 0.0 < number < _BELOW:
        raise ArgumentError(f"{name} is not positive and finite", code="OC2522", found=number)
    return number, None


def _on_device(scale: Any, like: Any) -> bool:
    """Whether a scale is an array that the kernel reads; one number in the host's memory is not."""
    if not (hasattr(scale, "data_ptr") or hasattr(scale, "ctypes")):
        return False
    if isinstance(scale, float):  # a number of NumPy
        return False
    here = getattr(scale, "device", None) == getattr(like, "device", None)
    return here or tuple(scale.shape) not in ((), (1,))


def check_elements(name: str, scale: Any, fits: bool, expected: str) -> None:
    """Check what an array of scales has.

    Args:
        name: of the argument.
        scale: the array.
        fits: whether it has a shape that the operator takes.
        expected: those shapes, for the message.

    Raises:
        ArgumentError: its shape or type is another one, or an element is not positive and finite.
    """
    if not fits or element_name(scale) != "float32":
        raise ArgumentError(
            f"{name} does not fit", code="OC2528", found=(tuple(scale.shape), str(scale.dtype)),
            expected=f"a number, or float32 with the shape {expected}",
        )  # fmt: skip
    values = host_values(scale)
    if values is not None and not ((values > 0.0) & (values < _BELOW)).all():
        raise ArgumentError(
            f"{name} is not positive and finite", code="OC2522", found=values.tolist()
        )


def check_products(scale: float, of_q: Any, of_k: Any) -> None:
    """Check the scale of the scores with the arrays of scales that the host can see.

    Args:
        scale: with the numbers among them.
        of_q: (batches, heads, heads of queries to each), or None.
        of_k: (..., heads), or None.

    Raises:
        ArgumentError: a product is too small or too large for f32.
    """
    q, k = (None if a is None else host_values(a) for a in (of_q, of_k))
    if k is not None and of_q is not None:
        k = k[..., None]
    given = [of for of in (of_q, of_k) if of is not None]
    seen = [values for values in (q, k) if values is not None]
    if not seen or len(seen) < len(given):
        check_scale(scale)
        return
    product = scale * seen[0].astype("float64")
    for values in seen[1:]:
        product = product * values
    for value in (product.min(), product.max()) if product.size else (scale,):
        check_scale(float(value))
