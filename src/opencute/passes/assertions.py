# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Assertions out of a module that is compiled without them.

Before::

    cf.assert %c, "n is not negative"

After: nothing. The simulator keeps them; machine code has them with ``--enable-assertions``.
"""

from __future__ import annotations

from opencute.ir.core import Block, Op

__all__ = ["drop_assertions"]


def drop_assertions(module: Op) -> None:
    """Remove all ``cf.assert`` in place."""
    for region in module.regions:
        _block(region.block)


def _block(block: Block) -> None:
    if any(op.name == "cf.assert" for op in block.ops):
        block.ops[:] = [op for op in block.ops if op.name != "cf.assert"]
    for op in block.ops:
        for region in op.regions:
            _block(region.block)
