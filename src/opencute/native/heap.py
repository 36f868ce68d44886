# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Freed memory stays in the process, so that large temporary arrays cost no page faults.

The C library gives arrays of some hundred kilobytes back to the system when they are freed and asks
for new, empty pages a moment later; in a program that makes one for each operation this is up to
half of the time. In: nothing. Out: a setting of the C library, where it is one that has it::

    keep_freed_memory()
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_KEPT = 256 << 20
_MAPPED = 32 << 20  # the most that the C library takes


@lru_cache(maxsize=1)
def keep_freed_memory() -> bool:
    """Keep up to 256 MiB of freed memory for later arrays; tells whether that worked."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _KEPT)) and bool(mallopt(_MMAP_THRESHOLD, _MAPPED))
