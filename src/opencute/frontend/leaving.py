# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Leaving loops and functions early, and `raise`: the run-time half of `rewrite.leaving`.

In: flags, which are Python's bools as far as tracing knows them. Out: whether to go on::

    if go_on(broken, returned): ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.frontend.locations import is_internal
from opencute.lang.numbers import Boolean

__all__ = ["at_run_time", "caught", "go_on", "raised", "unrolled"]


def go_on(*flags: Any) -> Any:
    """Whether none of the flags is set by which code leaves a loop or function."""
    left: Any = None
    for flag in flags:
        if flag is True:
            return False
        if flag is not False:
            left = flag.to(Boolean) if left is None else left | flag.to(Boolean)
    return True if left is None else ~left


def raised(error: Any) -> Any:
    """What a `raise` statement raises: `error`, unless a run-time value decides about it."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way to the callers
    while frame is not None and (is_internal(frame.f_code) or frame.f_code.co_name[:5] == "__oc_"):
        if frame.f_code is at_run_time.__code__:
            return LanguageError(
                "a 'raise' under a run-time condition cannot be compiled: there are no exceptions "
                "on a GPU", code="OC1119",
                hint="raise under const_expr() conditions, or report with cute.printf",
            )  # fmt: skip
        frame = frame.f_back
    return error


def caught(error: BaseException) -> None:
    """What a handler does first.

    Raises:
        LanguageError: a run-time value decides whether the error is raised, or it is one that
            cannot be handled.
    """
    tb = error.__traceback__
    here = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way to the callers
    while tb is not None and tb.tb_frame is here:
        tb = tb.tb_next
    if isinstance(error, LanguageError) and error.code in ("OC1119", "OC1115"):
        raise error
    while tb is not None:
        if tb.tb_frame.f_code is at_run_time.__code__:
            raise LanguageError(
                "an exception under a run-time condition cannot be handled: there are no "
                "exceptions on a GPU", code="OC1115", found=f"{type(error).__name__}: {error}",
                hint="let the 'try' stand inside of the run-time branch",
            ) from error  # fmt: skip
        tb = tb.tb_next


def at_run_time(part: Callable[..., Any], *variables: Any) -> Any:
    """Trace a part of a statement that a run-time value decides about; see `raised`."""
    return part(*variables)


def unrolled(iterable: Any) -> Any:
    """The items of a loop that code leaves under `const_expr`: it runs while tracing."""
    return iter(iterable)
