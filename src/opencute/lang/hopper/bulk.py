# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of runs of bytes, and the groups of copies to global memory: ``cute.arch.cp_async_bulk_*``.

One thread starts a copy; it is done when an mbarrier has counted its bytes, or when the thread has
waited for its group::

    with elect_one():
        cp_async_bulk_global_shared(gmem_ptr, smem_ptr, 4096)
        cp_async_bulk_commit_group()
        cp_async_bulk_wait_group(0)
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects.hopper import bulk

__all__ = ["cp_async_bulk_commit_group", "cp_async_bulk_wait_group"]


def cp_async_bulk_commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """Make the thread's copies to global memory since the last commit a group."""
    bulk.bulk_commit()


def cp_async_bulk_wait_group(
    group: Any = 0, *, read: Any = None, loc: Any = None, ip: Any = None
) -> None:
    """Wait until at most `group` of the thread's newest groups are under way.

    Args:
        group: how many, a compile-time integer.
        read: wait only until they have read their sources, which may then be written again.

    Raises:
        ArgumentError: no such number.
    """
    if not isinstance(group, int) or group < 0:
        raise ArgumentError(
            "cp_async_bulk_wait_group takes a number of groups", code="OC2932", found=group,
            expected="a compile-time integer, 0 or more",
        )  # fmt: skip
    bulk.bulk_wait(group, read=bool(read))
