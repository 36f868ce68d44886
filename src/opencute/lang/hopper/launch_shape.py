# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How a kernel that is traced will be launched, as far as that is known at compile time.

In: nothing. Out: numbers, or None where one is not known::

    threads_of_block()      # 128
"""

from __future__ import annotations

import math

from opencute.ir.attributes import DenseI32Attr
from opencute.ir.builder import current_block

__all__ = ["threads_of_block"]


def _dims(name: str) -> tuple[int, ...] | None:
    block = current_block()
    op = block.parent.parent if block is not None and block.parent is not None else None
    while op is not None and op.parent is not None:
        dims = op.attributes.get(name)
        if isinstance(dims, DenseI32Attr):
            return dims.values
        op = op.parent.parent.parent if op.parent.parent is not None else None
    return None


def threads_of_block() -> int | None:
    """Threads of each block of the kernel, where the launch names them."""
    dims = _dims("cute.reqntid")
    return None if dims is None else math.prod(dims)
