# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The 16 barriers of a block as objects.

epilogue = pipeline.NamedBarrier(barrier_id=1, num_threads=128)
epilogue.arrive_and_wait()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute.lang.block import barriers

__all__ = ["NamedBarrier", "arrive", "arrive_and_wait", "sync"]


@dataclass(frozen=True)
class NamedBarrier:
    """A barrier that some warps of a block meet at.

    Args:
        barrier_id: 0 to 15; 0 is also that of `sync_threads`.
        num_threads: how many threads meet, those that only arrive included; a multiple of 32.

    Raises:
        ArgumentError: there is no such barrier, or the threads are no whole warps.
    """

    barrier_id: Any
    num_threads: Any

    def __post_init__(self) -> None:
        barriers.check_barrier(self.barrier_id, self.num_threads)

    def arrive(self, *, loc: Any = None, ip: Any = None) -> None:
        """Count as one that has come, and go on."""
        barriers.barrier_arrive(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    arrive_unaligned = arrive

    def wait(self, *, loc: Any = None, ip: Any = None) -> None:
        """Come, and wait for the others: threads that wait at a named barrier count, too."""
        barriers.barrier(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    wait_unaligned = wait

    def arrive_and_wait(self, *, loc: Any = None, ip: Any = None) -> None:
        """Come, and wait for the others."""
        self.wait()

    def sync(self, *, loc: Any = None, ip: Any = None) -> None:
        """Come, and wait for the others."""
        self.wait()


def arrive(barrier_id: Any, num_threads: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Arrive at a named barrier without waiting.

    Args:
        barrier_id: 0 to 15; 0 is also that of `sync_threads`.
        num_threads: how many threads meet, those that only arrive included; a multiple of 32.
    """
    NamedBarrier(barrier_id, num_threads).arrive()


def arrive_and_wait(barrier_id: Any, num_threads: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Meet at a named barrier.

    Args:
        barrier_id: 0 to 15; 0 is also that of `sync_threads`.
        num_threads: how many threads meet, those that only arrive included; a multiple of 32.
    """
    NamedBarrier(barrier_id, num_threads).arrive_and_wait()


def sync(barrier_id: Any = 0, *, loc: Any = None, ip: Any = None) -> None:
    """Meet with all threads of the block at a barrier.

    Args:
        barrier_id: 0 to 15; 0 is also that of `sync_threads`.
    """
    barriers.barrier(barrier_id=barrier_id)
