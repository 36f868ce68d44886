# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of calls, for flags in memory that nobody has set before.

In: nothing. Out: a number that no other call has, and no memory anything like::

    tag = call_tag()     # a flag is up while it is this number
"""

from __future__ import annotations

from itertools import count
from os import urandom

import opencute as cutlass
from opencute.jit.recording import fresh

__all__ = ["call_tag"]

# No memory has anything like these, though the first is not the same each time.
_TAGS = count(int.from_bytes(urandom(7), "little") | 1 << 48)


def call_tag() -> cutlass.Int64:
    """The number of a call, also of one that is made again without Python; not 0."""
    return cutlass.Int64(fresh(_TAGS))
