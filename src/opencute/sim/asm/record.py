# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a PTX instruction computes, as a function of bits.

A `Compute` maps arrays of unsigned integers (bool for predicates) to one such array. A *family* is
a function from an instruction's parts to a `Compute`, or None if the parts mean nothing::

    >>> FAMILIES["add"](["add", "u32"]).args
    (32, 32)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.sim.values import Array

__all__ = ["FAMILIES", "Compute", "Family", "family", "lanewise", "signed", "uint"]


@dataclass(frozen=True)
class Compute:
    """What an instruction computes.

    Args:
        args: bits of each operand; 1 for predicates.
        result: bits of the result.
        fn: arrays of unsigned integers (or bools) in, one out.
        extend: whether a result that goes to a wider register is sign-extended.
    """

    args: tuple[int, ...]
    result: int
    fn: Callable[..., Array]
    extend: bool = False


Family = Callable[[list[str]], "Compute | None"]
FAMILIES: dict[str, Family] = {}


def family(*names: str) -> Callable[[Family], Family]:
    """Decorator: the function describes the instructions that begin with these words."""

    def decorate(fn: Family) -> Family:
        for name in names:
            assert name not in FAMILIES, name
            FAMILIES[name] = fn
        return fn

    return decorate


def uint(width: int) -> np.dtype[Any]:
    """The unsigned type of a register."""
    return np.dtype(np.bool_) if width == 1 else np.dtype(f"u{width // 8}")


def signed(x: Array) -> Array:
    """Bits as a signed integer."""
    return x.view(f"i{x.dtype.itemsize}")


def lanewise(one: Compute, lanes: int) -> Compute:
    """The packed form of an instruction: the same on each of `lanes` parts of the registers."""
    assert one.result > 1

    def split(x: Array, width: int) -> list[Array]:
        small = uint(width)
        return [(x >> x.dtype.type(i * width)).astype(small) for i in range(lanes)]

    def fn(*args: Array) -> Array:
        parts = [split(x, w) for x, w in zip(args, one.args, strict=True)]
        wide = uint(one.result * lanes)
        out = np.zeros((), wide)
        for i in range(lanes):
            out = out | (one.fn(*(p[i] for p in parts)).astype(wide) << wide.type(i * one.result))
        return out

    return Compute(tuple(w * lanes for w in one.args), one.result * lanes, fn)
