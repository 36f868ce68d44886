# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Process-wide counts of what OpenCuTe did, read by the verify and benchmark tools.

`wrong_framework` and "compilations in the timed loop" are decided from these, never from source
text.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

__all__ = ["COUNTERS", "LAUNCHES", "Counters", "Counts"]


LAUNCHES = ctypes.c_int64(0)
"""Kernels launched by this process; a C integer, because native code counts too."""


@dataclass
class Counts:
    """What happened.

    Args:
        compilations: kernels or host functions traced and compiled.
        launches: kernels of ours that were launched, on a GPU or in the simulator.
        cache_hits: compilations answered from the disk cache.
    """

    compilations: int = 0
    launches: int = 0
    cache_hits: int = 0

    def since(self, before: Counts) -> Counts:
        """The difference to an earlier count."""
        return Counts(
            self.compilations - before.compilations,
            self.launches - before.launches,
            self.cache_hits - before.cache_hits,
        )


class Counters:
    """What happened in this process so far; the attributes are those of `Counts`."""

    def __init__(self) -> None:
        self.compilations = 0
        self.cache_hits = 0

    @property
    def launches(self) -> int:
        """Kernels of ours that were launched."""
        return LAUNCHES.value

    @launches.setter
    def launches(self, value: int) -> None:
        LAUNCHES.value = value

    def snapshot(self) -> Counts:
        """A copy to subtract from later."""
        return Counts(self.compilations, self.launches, self.cache_hits)

    def since(self, before: Counts) -> Counts:
        """The difference between now and an earlier snapshot."""
        return self.snapshot().since(before)


COUNTERS = Counters()
