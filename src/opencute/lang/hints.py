# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Marks in source that say when something is decided, and the decorator of helper operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from opencute.base.errors import LanguageError
from opencute.lang.numbers import Numeric
from opencute.lang.vectors import TensorSSA

__all__ = ["const_expr", "dsl_user_op", "dynamic_expr"]

F = TypeVar("F", bound=Callable[..., Any])


def const_expr(value: Any) -> Any:
    """A value that must be known at compile time.

    Raises:
        LanguageError: it is only known at run time.
    """
    if isinstance(value, TensorSSA) or (isinstance(value, Numeric) and value.is_dynamic):
        raise LanguageError(
            "const_expr needs a value known at compile time", code="OC1114", found=str(value),
            hint="leave const_expr out to decide at run time",
        )  # fmt: skip
    return value.value if isinstance(value, Numeric) else value


def dynamic_expr(value: Any) -> Any:
    """A condition decided at run time, which is also what happens without the mark.

    Args:
        value: the condition.
    """
    return value


def dsl_user_op(fn: F) -> F:
    """Decorate a helper that takes `loc` and `ip`; both are optional and only passed on.

    Args:
        fn: the helper.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]
