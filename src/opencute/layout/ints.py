# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The integer protocol: what a leaf of a shape, stride or coordinate may be.

In: Python ints (static) and *dynamic integers*, objects whose class has
``__opencute_dynamic_int__ = True``. Out: arithmetic that folds what is known and asks the dynamic
objects for the rest, so that the algebra never branches on a value it does not know::

    mul(0, n)           # 0, whatever n is
    ceil_div_int(n, 8)  # n.__ceil_div__(8), or (n + 7) // 8
    divides(4, n)       # True only when n's divisibility says so

A dynamic integer supports ``+ - * // %`` with ints and its own kind, has ``divisibility`` (an int
>= 1 that divides every value it can take) and ``width`` (32 or 64). Its comparisons return
booleans of its own, which combine with ``&``. It may define ``__ceil_div__``, ``__rceil_div__``,
``__shape_div__``, ``__rshape_div__``, ``__min__`` (each taking the other operand) and
``__known_equal__`` (a Python bool: certainly the same value), and ``__offset_int__`` (itself wide
enough for an offset: what its product with a stride is taken of).

Dynamic sizes are taken to be at least 1 where a fact would otherwise be lost:
``ceil_div_int(1, n)`` is 1, and ``min_int(n, 8)`` is 8 for an ``n`` that 8 divides.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn, Protocol, TypeAlias, TypeGuard, cast

from opencute.base.errors import LayoutError

__all__ = [
    "Coord",
    "DynamicInt",
    "IntTuple",
    "Shape",
    "Stride",
    "Tiler",
    "add",
    "ceil_div_int",
    "divides",
    "divisibility",
    "exact_div",
    "fail",
    "floor_div",
    "is_dynamic_int",
    "is_int",
    "is_sequence",
    "is_static",
    "is_static_int",
    "is_tuple",
    "known_equal",
    "min_int",
    "mod",
    "mul",
    "normalize",
    "shape_div_int",
    "to_str",
    "width",
]

# Nested tuples of leaves. Python cannot spell "an int, a dynamic integer, or a tuple of these"
# without naming every class that follows the protocol, so the aliases only document intent.
IntTuple: TypeAlias = Any
Shape: TypeAlias = Any
Stride: TypeAlias = Any
Coord: TypeAlias = Any
Tiler: TypeAlias = Any


class DynamicInt(Protocol):
    """What the algebra needs of an integer whose value is not known yet."""

    __opencute_dynamic_int__: bool

    @property
    def divisibility(self) -> int: ...
    @property
    def width(self) -> int: ...


def fail(
    code: str,
    message: str,
    *,
    expected: object = None,
    found: object = None,
    hint: str | None = None,
) -> NoReturn:
    """Raise LayoutError; every refusal of the algebra goes through here."""
    raise LayoutError(message, code=code, expected=expected, found=found, hint=hint)


def is_tuple(x: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether `x` is an inner node of an IntTuple."""
    return isinstance(x, tuple)


def is_sequence(x: object) -> TypeGuard[tuple[Any, ...] | list[Any]]:
    """Whether `x` is a tuple, or a list that a user wrote for one."""
    return isinstance(x, (tuple, list))


def is_dynamic_int(x: object) -> bool:
    """Whether `x` is an integer of unknown value.

    Law: exactly one of this and ``is_static_int`` holds for an integer leaf.
    """
    kind = type(x)
    return kind is not int and getattr(kind, "__opencute_dynamic_int__", False) is True


def is_static_int(x: object) -> TypeGuard[int]:
    """Whether `x` is a Python int (a bool is not).

    Law: exactly one of this and ``is_dynamic_int`` holds for an integer leaf.
    """
    return type(x) is int or (isinstance(x, int) and not isinstance(x, bool))


def is_int(x: object) -> bool:
    """Whether `x` is an integer leaf, static or dynamic.

    Law: ``is_static_int(x) or is_dynamic_int(x)``.
    """
    return is_static_int(x) or is_dynamic_int(x)


def is_static(x: object) -> bool:
    """Whether every leaf of `x` (an int, tuple, layout, tiler, swizzle, ...) is known.

    Args:
        x: what is asked about; a tensor's layout counts.

    Law: everything printed by a static value is free of ``?``.

    Example:
        >>> cute.is_static(cute.make_layout(8))
        True
    """
    if isinstance(x, tuple):
        for i in cast("tuple[Any, ...]", x):
            if type(i) is not int and not is_static(i):
                return False
        return True
    parts = getattr(x, "static_parts", None)
    if parts is not None:
        return is_static(parts())
    return not is_dynamic_int(x)


def normalize(x: Any) -> Any:
    """`x` with lists as tuples and foreign integers (NumPy's, say) as Python ints.

    Raises:
        LayoutError: a leaf that is no integer.
    """
    if type(x) is int:
        return x
    if is_sequence(x):
        return tuple(normalize(i) for i in x)
    if is_dynamic_int(x) or getattr(x, "is_scaled_basis", False):
        return x
    if isinstance(x, bool) or not hasattr(x, "__index__"):
        fail("OC1301", f"{x!r} cannot be part of a shape or stride", expected="an integer",
             found=type(x).__name__)  # fmt: skip
    return operator.index(x)


def divisibility(x: Any) -> int:
    """The largest known divisor of `x`: its magnitude if static, 0 for 0 (anything divides it).

    Law: ``x % d == 0`` for the returned ``d`` unless it is 0, and then ``x == 0``.
    """
    if is_static_int(x):
        return abs(x)
    if is_dynamic_int(x):
        return max(int(x.divisibility), 1)
    value: Any = getattr(x, "value", None)
    if value is not None:
        return divisibility(value)
    return math.gcd(*(divisibility(i) for i in x)) if is_tuple(x) else 1


def width(x: Any) -> int:
    """Bits that `x` needs: a dynamic integer's own width; 32, or 64 for a large static one.

    Law: 32 exactly for the static integers that 32 bits with sign can hold.
    """
    if is_dynamic_int(x):
        return int(x.width)
    return 32 if -(1 << 31) <= x < (1 << 31) else 64


def divides(n: int, x: Any) -> bool:
    """Whether the static `n` certainly divides `x`.

    Law: ``n`` divides the value whenever it says so; of a static value exactly then.
    """
    return n != 0 and divisibility(x) % n == 0


def known_equal(a: Any, b: Any) -> bool:
    """Whether `a` and `b` are certainly the same value.

    Law: never True for two leaves that can differ.
    """
    if a is b:
        return True
    if is_static_int(a):
        return is_static_int(b) and a == b
    if is_tuple(a):
        return is_tuple(b) and len(a) == len(b) and all(map(known_equal, a, b))
    ask = getattr(a, "__known_equal__", None)
    return bool(ask(b)) if ask is not None else False


def add(a: Any, b: Any) -> Any:
    """`a + b` of two integer leaves."""
    if type(a) is int and type(b) is int:
        return a + b
    if is_static_int(a) and a == 0:
        return b
    if is_static_int(b) and b == 0:
        return a
    return a + b


def mul(a: Any, b: Any) -> Any:
    """`a * b`; one side may be a scaled basis."""
    if type(a) is int and type(b) is int:
        return a * b
    if is_static_int(a):
        if a == 1:
            return b
        if a == 0 and is_int(b):
            return 0
    if is_static_int(b):
        if b == 1:
            return a
        if b == 0 and is_int(a):
            return 0
    return a * b


def _check_divisor(a: Any, b: Any) -> None:
    if is_static_int(b) and b == 0:
        fail("OC1302", f"division of {to_str(a)} by zero")


def floor_div(a: Any, b: Any) -> Any:
    """`a // b` as in Python."""
    _check_divisor(a, b)
    if is_static_int(b) and b == 1:
        return a
    if is_static_int(a) and a == 0:
        return 0
    return a // b


def mod(a: Any, b: Any) -> Any:
    """`a % b` as in Python."""
    _check_divisor(a, b)
    if (is_static_int(b) and divides(b, a)) or (is_static_int(a) and a == 0):
        return 0
    return a % b


def exact_div(a: Any, b: Any) -> Any:
    """`a / b` where `b` divides `a`.

    Raises:
        LayoutError: both are static and it does not.
    """
    if is_static_int(a) and is_static_int(b) and b != 0 and a % b != 0:
        fail("OC1303", f"{b} does not divide {a}")
    return floor_div(a, b)


def ceil_div_int(a: Any, b: Any) -> Any:
    """`a / b` rounded up.

    Law: the least ``q`` with ``q * b >= a``, for positive ``b``.
    """
    _check_divisor(a, b)
    if is_static_int(a):
        if is_static_int(b):
            return -(-a // b)
        if a in (0, 1):
            return a
        ask = getattr(b, "__rceil_div__", None)
        return ask(a) if ask is not None else (b + (a - 1)) // b
    if is_static_int(b) and divides(b, a):
        return floor_div(a, b)
    ask = getattr(a, "__ceil_div__", None)
    return ask(b) if ask is not None else (a + (b - 1)) // b


def shape_div_int(a: Any, b: Any) -> Any:
    """Quotient of two extents of which one divides the other; rounds up.

    Raises:
        LayoutError: both are static and neither divides the other.
    """
    _check_divisor(a, b)
    if is_static_int(a) and is_static_int(b):
        if a % b != 0 and (a == 0 or b % a != 0):
            fail("OC1303", f"shape_div: neither of {a} and {b} divides the other")
        quotient = -(-abs(a) // abs(b))
        return quotient if (a < 0) == (b < 0) else -quotient
    name, this, other = ("__rshape_div__", b, a) if is_static_int(a) else ("__shape_div__", a, b)
    ask = getattr(this, name, None)
    return ask(other) if ask is not None else ceil_div_int(a, b)


def min_int(a: Any, b: Any) -> Any:
    """The lesser of two positive extents.

    Law: one of the two, and neither is less.
    """
    if is_static_int(a) and is_static_int(b):
        return min(a, b)
    if known_equal(a, b):
        return a
    n, s = (b, a) if is_static_int(a) else (a, b)
    # A positive multiple of d is at least d.
    if is_static_int(s) and 0 <= s <= divisibility(n):
        return s
    ask = getattr(n, "__min__", None)
    if ask is not None:
        return ask(s)
    # The quotient is -1 where n < s, else 0.
    return s - ((n - s) // (n + s)) * (n - s)


def to_str(x: Any) -> str:
    """`x` as CuTe prints it: ``(4,(?,3))``, ``?{i64 div=8}``, ``_`` for None.

    Law: a static tuple prints as Python prints it, without spaces; a tuple of one without comma.
    """
    if is_tuple(x):
        return f"({','.join(to_str(i) for i in x)})"
    if x is None:
        return "_"
    if is_dynamic_int(x):
        facts = ["i64"] if x.width == 64 else []
        if x.divisibility > 1:
            facts.append(f"div={x.divisibility}")
        return f"?{{{' '.join(facts)}}}" if facts else "?"
    return str(x)
