# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of a run-time integer: a number that divides it, and that it is not negative.

In: the operands of an operator. Out: the facts of its result::

    i.div, i.nonneg = 8, True
    (i * 4 + 16).div          # 16
    (i * 4 + 5).rest          # (32, 5)

`div` divides the value. `rest`, of a sum with a constant, is another number and what division by
it leaves: so the buffer that a written out turn of a loop takes is known, ``(tiles * 8 + 3) % 4``.
`nonneg` says that the value's top bit is clear, so that an unsigned number with it is the same
number when it is taken as signed. `is_index` says that the value is made of hardware indices,
extents and strides, loop counters and small constants only: sums, differences and products of such
values, signed and at least 32 bits wide, are taken not to overflow, as in CUDA C++. All other
values wrap, and what is known of them survives wrapping.
"""

from __future__ import annotations

import math

from opencute.lang.values.number import Number
from opencute.numeric.dtypes import DType

__all__ = ["bound_div", "is_index", "nonneg", "of_binary", "pow2", "remainder"]

# A constant beyond these counts as one of a hash or random number generator, not as an index.
_INDEX_LIMIT = {32: 1 << 20, 64: 1 << 40}


def _limit(dtype: DType) -> int:
    return _INDEX_LIMIT.get(dtype.width, -1) if dtype.signed else -1


def is_index(x: Number) -> bool:
    """Whether a number is an operand of index arithmetic."""
    limit = _limit(x.dtype)
    if x.is_dynamic:
        return x.is_index and x.div <= limit
    return bool(abs(x.value) <= limit)


def _no_overflow(name: str, a: Number, b: Number) -> bool:
    """Whether a sum, difference, product or left shift is index arithmetic."""
    if name == "shl" and (b.is_dynamic or 1 << min(b.value, 64) > _limit(a.dtype)):
        return False
    return is_index(a) and is_index(b)


def pow2(n: int) -> int:
    """The largest power of two that divides n; it survives wrapping."""
    return n & -n


def of_binary(name: str, a: Number, b: Number, out: Number) -> None:
    """Divisibility and sign of a result."""
    da, db = (x.div if x.is_dynamic else abs(x.value) for x in (a, b))
    na, nb = nonneg(a), nonneg(b)
    unsigned = not out.dtype.signed
    ia, ib = is_index(a), is_index(b)
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
        out.is_index = ia and nb
    elif name == "mod":
        out.div = math.gcd(da, db) or 1
        out.nonneg = nb or (unsigned and na)
        out.is_index = ib or (ia and na and nb)
    elif name == "shl" and not b.is_dynamic and b.value < 63:
        out.div, out.nonneg = max(da << b.value, 1), na
    elif name == "shr":
        out.nonneg = na or (unsigned and not b.is_dynamic and b.value > 0)
        out.is_index = ia
    elif name == "and":
        out.nonneg = na or nb
        out.is_index = (ia and na) or (ib and nb)
    elif name in ("or", "xor"):
        out.nonneg = na and nb
        out.is_index = ia and ib
    if name in ("add", "sub", "mul", "shl"):
        out.is_index = _no_overflow(name, a, b)
        if not out.is_index:
            out.div, out.nonneg = pow2(out.div), False
        if name in ("add", "sub"):
            _set_rest(name, a, b, out)
    bound_div(out)


def _set_rest(name: str, a: Number, b: Number, out: Number) -> None:
    """What division leaves of a sum or difference."""
    (m, r), (n, s) = _rest(a), _rest(b)
    step = math.gcd(m, n)
    if not out.is_index:
        step = pow2(step)
    if 1 < step < 1 << 31 and step != out.div:
        out.rest = (step, (r + s if name == "add" else r - s) % step)


def _rest(x: Number) -> tuple[int, int]:
    """A number, and what division of `x` by it leaves; 0 and the value itself if that is known."""
    return (x.rest or (x.div, 0)) if x.is_dynamic else (0, int(x.value))


def remainder(a: Number, b: Number) -> int | None:
    """``a % b`` if that is known of a run-time number and a constant, else None."""
    if b.is_dynamic or b.value <= 0 or not a.is_dynamic:
        return None
    step, rest = _rest(a)
    return rest % int(b.value) if step % int(b.value) == 0 else None


def bound_div(x: Number) -> None:
    """Keep a divisor below 2^31, as the layout algebra computes with it."""
    if x.div >= 1 << 31:
        x.div = min(pow2(x.div), 1 << 30)


def nonneg(x: Number) -> bool:
    """Whether the top bit of a number is known to be clear."""
    if x.is_dynamic:
        return x.nonneg
    return bool(x.dtype.is_bool or 0 <= x.value < 1 << (x.dtype.width - 1))
