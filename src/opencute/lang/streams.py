# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A CUDA stream or event inside compiled code: what `launch` takes."""

from __future__ import annotations

from opencute.ir.core import Value

__all__ = ["Event", "Stream"]


class Stream:
    """A stream handle as an SSA value (an i64)."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __str__(self) -> str:
        return "stream"


class Event:
    """An event handle as an SSA value (an i64)."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __str__(self) -> str:
        return "event"
