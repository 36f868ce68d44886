# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a function of the host would launch, without launching it.

In: a block of code that calls jit functions. Out: the calls, for `compile_many`::

    with recorded_calls() as calls:
        softmax(x, out=y)               # nothing runs, y stays as it is
    compile_many(calls)

Nothing is recorded where native code has learnt a call before: it is compiled then, and runs.

A `Watcher` sees the calls of a block that are made, to make the same ones again without Python::

    with watched_calls(watcher):
        softmax(x, out=y)               # runs, and watcher.launched(...) is told how
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Generator, Iterator
from contextvars import ContextVar
from typing import Any, Protocol

from opencute.frontend.tracing import calls_in_python

__all__ = [
    "RECORDING", "WATCHED", "WATCHER", "Call", "Watcher", "fresh", "once_only", "recorded_calls",
    "watched_calls",
]  # fmt: skip

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
RECORDING: ContextVar[list[Call] | None] = ContextVar("recording", default=None)
"""Where calls of jit functions go instead of being made; None: they are made."""

WATCHED = ctypes.c_int64(0)
"""How many blocks of all threads are recorded or watched, for native code: not 0 sends calls to
Python, which asks the two above."""
_watched_lock = threading.Lock()


@contextlib.contextmanager
def _in_python() -> Generator[None, None, None]:
    with _watched_lock:
        WATCHED.value += 1
    try:
        yield
    finally:
        with _watched_lock:
            WATCHED.value -= 1


@contextlib.contextmanager
def recorded_calls() -> Generator[list[Call], None, None]:
    """Collect the calls of jit functions in a block, as ``(fn, args, kwargs)``; none is made."""
    calls: list[Call] = []
    token = RECORDING.set(calls)
    try:
        with _in_python():
            yield calls
    finally:
        RECORDING.reset(token)


class Watcher(Protocol):
    """Who sees what a block does on a GPU."""

    def launched(self, call: Any, values: list[Any], guard: Any) -> None:
        """A jit function was called: `call` is what was prepared for `values`, None if it ran
        elsewhere, and `guard` tells whether its trace holds, None if nothing does."""

    def fresh(self, number: int, numbers: Iterator[int]) -> None:
        """A call takes the next one of some numbers."""

    def once_only(self, why: str) -> None:
        """The block does something that depends on more than its arguments' descriptions."""


WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
"""Who sees calls of jit functions in this context; None: nobody."""


@contextlib.contextmanager
def watched_calls(watcher: Watcher) -> Generator[None, None, None]:
    """Tell a watcher of the calls of jit functions in a block, which Python makes."""
    token = WATCHER.set(watcher)
    try:
        with calls_in_python(), _in_python():
            yield
    finally:
        WATCHER.reset(token)


def fresh(numbers: Iterator[int]) -> int:
    """The next one of some numbers, no two calls of which are equal: each call gets its own, also
    one that is made again without Python. They have more than 48 bits."""
    number = next(numbers)
    watcher = WATCHER.get()
    if watcher is not None:
        watcher.fresh(number, numbers)
    return number


def once_only(why: str) -> None:
    """Say that what is done now depends on more than types, extents, strides and alignment."""
    watcher = WATCHER.get()
    if watcher is not None:
        watcher.once_only(why)
