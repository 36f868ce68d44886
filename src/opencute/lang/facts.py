# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of a run-time integer: a number that divides it, and that it is not negative.

In: the operands of an operator. Out: the facts of its result::

    i.div, i.nonneg = 8, True
    (i * 4 + 16).div          # 16

`div` divides the value. `nonneg` says that the value's top bit is clear, so that an unsigned number
with it is the same number when it is taken as signed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from opencute.numeric.dtypes import DType

if TYPE_CHECKING:
    from opencute.lang.numbers import Numeric

__all__ = ["bound_div", "nonneg", "of_binary", "pow2"]

# A static operand beyond these makes a sum or product count as hashing, not as index arithmetic.
_INDEX_LIMIT = {32: 1 << 20, 64: 1 << 40}


def _may_wrap(name: str, a: Numeric, b: Numeric, dtype: DType) -> bool:
    """Whether wrapping must be reckoned with.

    Index arithmetic is taken not to overflow, as in CUDA C++: signed, at least 32 bits wide, and
    without large constants, which hashes and random number generators have.
    """
    if name not in ("add", "sub", "mul", "shl"):
        return False
    limit = _INDEX_LIMIT.get(dtype.width, 0) if dtype.signed else 0
    scale = 1 << min(b.value, 64) if name == "shl" and not b.is_dynamic else 0
    known = [x.div if x.is_dynamic else abs(x.value) for x in (a, b)]
    return any(v > limit for v in (*known, scale)) or not limit


def pow2(n: int) -> int:
    """The largest power of two that divides n; it survives wrapping."""
    return n & -n


def of_binary(name: str, a: Numeric, b: Numeric, out: Numeric) -> None:
    """Divisibility and sign of a result."""
    da, db = (x.div if x.is_dynamic else abs(x.value) for x in (a, b))
    na, nb = nonneg(a), nonneg(b)
    unsigned = not out.dtype.signed
    if name in ("add", "sub"):
        out.div = math.gcd(da, db) or 1
        out.nonneg = name == "add" and na and nb
    elif name == "mul":
        out.div = max(da * db, 1)
        out.nonneg = na and nb
    elif name == "floordiv":
        if not b.is_dynamic and b.value > 0 and da % b.value == 0:
            out.div = max(da // b.value, 1)
        out.nonneg = na and (nb or unsigned)
    elif name == "mod":
        out.div = math.gcd(da, db) or 1
        out.nonneg = nb or (unsigned and na)
    elif name == "shl" and not b.is_dynamic and b.value < 63:
        out.div, out.nonneg = max(da << b.value, 1), na
    elif name == "shr":
        out.nonneg = na or (unsigned and not b.is_dynamic and b.value > 0)
    elif name == "and":
        out.nonneg = na or nb
    elif name in ("or", "xor"):
        out.nonneg = na and nb
    if _may_wrap(name, a, b, out.dtype):
        out.div, out.nonneg = pow2(out.div), False
    bound_div(out)


def bound_div(x: Numeric) -> None:
    """Keep a divisor below 2^31, as the layout algebra computes with it."""
    if x.div >= 1 << 31:
        x.div = min(pow2(x.div), 1 << 30)


def nonneg(x: Numeric) -> bool:
    """Whether the top bit of a number is known to be clear."""
    if x.is_dynamic:
        return x.nonneg
    return bool(x.dtype.is_bool or 0 <= x.value < 1 << (x.dtype.width - 1))
