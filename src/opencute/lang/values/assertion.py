# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.testing.assert_`: a condition that must hold at run time.

In: a truth value of the running kernel or host function. Out: nothing, or the end of the program,
with the message and its line::

    cute.testing.assert_(n % 8 == 0, "n is a multiple of 8")
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

from typing import Any

from opencute.dialects import cf
from opencute.lang.fills import all_
from opencute.lang.numbers import Boolean, Numeric, as_numeric
from opencute.lang.vectors import TensorSSA

__all__ = ["assert_"]


def assert_(cond: Any, msg: Any = None, *, loc: Any = None, ip: Any = None) -> None:
    """Stop where a condition does not hold.

    Args:
        cond: a number, or a vector, of which all elements must be true.
        msg: what to say.

    The simulator always checks. Machine code does with ``--enable-assertions``
    (`cute.EnableAssertions`, OPENCUTE_ASSERTIONS); without it the condition costs nothing.

    Raises:
        AssertionError: the condition is known while tracing, and false.
    """
    text = "the condition holds" if msg is None else str(msg)
    if isinstance(cond, TensorSSA):
        cond = all_(cond)
    number = cond if isinstance(cond, Numeric) else as_numeric(cond)
    if number.is_dynamic:
        cf.assert_(number.to(Boolean).ir_value(), text)
    elif not number.value:
        raise AssertionError(text)
