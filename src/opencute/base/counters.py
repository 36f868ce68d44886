# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Process-wide counts of what OpenCuTe did, read by the verify and benchmark tools.

`wrong_framework` and "compilations in the timed loop" are decided from these, never from source
text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["COUNTERS", "Counters"]


@dataclass
class Counters:
    """What happened in this process so far.

    Args:
        compilations: kernels or host functions traced and compiled.
        launches: kernels of ours that were launched, on a GPU or in the simulator.
        cache_hits: compilations answered from the disk cache.
    """

    compilations: int = 0
    launches: int = 0
    cache_hits: int = 0

    def snapshot(self) -> Counters:
        """A copy to subtract from later."""
        return replace(self)

    def since(self, before: Counters) -> Counters:
        """The difference between now and an earlier snapshot."""
        return Counters(
            self.compilations - before.compilations,
            self.launches - before.launches,
            self.cache_hits - before.cache_hits,
        )


COUNTERS = Counters()
