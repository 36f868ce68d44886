# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Values that are used where they do not exist.

In: a traced module. Out: nothing, or an error on the line of the use. A value of a branch or loop
body can get out through a Python object that tracing does not see change; a value of the host
function can get into a kernel through a closure::

    n = cute.size(t)                # of the host function

    @cute.kernel
    def k(t):
        t[0] = n                    # OC1118: not an argument of the kernel
"""

from __future__ import annotations

from opencute.base.errors import LanguageError
from opencute.ir.core import Block, BlockArgument, Op, Value

__all__ = ["check_escapes"]


def check_escapes(module: Op) -> None:
    """Refuse uses of values outside of where they are computed.

    Raises:
        LanguageError: OC1116 for a value of another branch or loop, OC1118 for one of the host
            function in a kernel.
    """
    _walk(module, set(), None)


def _walk(op: Op, visible: set[Value], kernel: Op | None) -> None:
    if op.ISOLATED:
        visible = set()
        kernel = op if op.name == "gpu.func" else None
    for region in op.regions:
        for block in region.blocks:
            _block(block, visible, kernel)


def _block(block: Block, visible: set[Value], kernel: Op | None) -> None:
    inside: list[Value] = list(block.args)
    visible.update(inside)
    for op in block.ops:
        if not visible.issuperset(op.operands):
            raise _error(op, next(v for v in op.operands if v not in visible), kernel)
        if op.regions:
            _walk(op, visible, kernel)
        inside += op.results
        visible.update(op.results)
    visible.difference_update(inside)


def _error(use: Op, value: Value, kernel: Op | None) -> LanguageError:
    home = _function(value)
    if kernel is not None and home is not kernel:
        return LanguageError(
            "a kernel uses a run-time value that is not among its arguments", code="OC1118",
            loc=use.loc, found=f"a value of type {value.type}, {_where(value)}",
            hint="pass it to the kernel as an argument",
        )  # fmt: skip
    return LanguageError(
        "a run-time value is used outside of the branch or loop that computes it", code="OC1116",
        loc=use.loc, found=f"a value of type {value.type}, {_where(value)}",
        hint="assign it to a variable in the branch or loop, and use the variable",
    )  # fmt: skip


def _where(value: Value) -> str:
    op = value.op
    return f"computed at {op.loc}" if op is not None and op.loc is not None else "an argument"


def _function(value: Value) -> Op | None:
    block = value.block if isinstance(value, BlockArgument) else None
    if value.op is not None:
        block = value.op.parent
    while block is not None and block.parent is not None:
        op = block.parent.parent
        if op is None or op.ISOLATED:
            return op
        block = op.parent
    return None
