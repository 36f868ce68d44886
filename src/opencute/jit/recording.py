# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a function of the host would launch, without launching it.

In: a block of code that calls jit functions. Out: the calls, for `compile_many`::

    with recorded_calls() as calls:
        softmax(x, out=y)               # nothing runs, y stays as it is
    compile_many(calls)

Nothing is recorded where native code has learnt a call before: it is compiled then, and runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import Any

__all__ = ["RECORDING", "Call", "recorded_calls"]

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
RECORDING: ContextVar[list[Call] | None] = ContextVar("recording", default=None)
"""Where calls of jit functions go instead of being made; None: they are made."""


@contextlib.contextmanager
def recorded_calls() -> Generator[list[Call], None, None]:
    """Collect the calls of jit functions in a block, as ``(fn, args, kwargs)``; none is made."""
    calls: list[Call] = []
    token = RECORDING.set(calls)
    try:
        yield calls
    finally:
        RECORDING.reset(token)
