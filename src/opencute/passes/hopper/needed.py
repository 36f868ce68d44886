# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which processors have an operation: the one place that says so, for the compiler and simulator.

In: an operation of a kernel. Out: nothing, or an error at the user's line::

    "ptx.mbarrier_init"(%bar, %one)   on sm_80   ->   OC1067

What has a meaning of its own on older processors is not named here: a cluster is one block there,
a kernel starts when the one before has ended, and a lane is elected with other instructions.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.ir.core import Op
from opencute.ir.types import BF16, element_type

__all__ = ["check_instruction"]

_SINCE_HOPPER = {
    "ptx.mapa": "another block's shared memory",
    "ptx.cp_async_mbarrier_arrive": "an mbarrier",
    "ptx.st_async": "st.async",
    "ptx.red_async": "red.async",
    "ptx.setmaxnreg": "setmaxnreg",
    **{
        f"ptx.{name}": name
        for name in (
            "mbarrier_init", "mbarrier_inval", "fence_mbarrier_init", "mbarrier_arrive",
            "mbarrier_arrive_token", "mbarrier_pending_count", "mbarrier_tx",
            "mbarrier_test_wait", "mbarrier_try_wait", "mbarrier_wait",
        )
    },
}  # fmt: skip
"""How a message names what sm_90 brought."""

_TMA = frozenset(
    f"ptx.{name}"
    for name in (
        "tma_load", "tma_store", "tma_reduce", "tma_prefetch", "bulk_copy", "bulk_reduce",
        "bulk_prefetch", "bulk_commit", "bulk_wait", "prefetch_tensormap", "tensormap_replace",
        "tensormap_copy_fence",
    )
)  # fmt: skip


def check_instruction(op: Op, target: Target) -> None:
    """Check one operation.

    Raises:
        CompileError: OC1067 or OC1068, if the target does not have it.
    """
    what = _SINCE_HOPPER.get(op.name)
    if op.name in ("ptx.atomic", "ptx.red") and element_type(op.operands[1].type) == BF16:
        what = "an atomic operation on bfloat16"
    if what is not None and target.number < 90:
        raise CompileError(
            f"{what} needs sm_90 or newer", code="OC1067", loc=op.loc,
            expected="sm_90", found=target.name,
        )  # fmt: skip
    if op.name == "ptx.setmaxnreg" and not target.arch_specific:
        raise CompileError(
            f"{target} has no setmaxnreg", code="OC1067", loc=op.loc,
            expected="sm_90a, or a newer processor by its name with a or f", found=target.name,
        )  # fmt: skip
    if op.name in _TMA and not target.has_tma:
        raise CompileError(
            f"{op.name}: {target} has no tensor memory accelerator", code="OC1068",
            loc=op.loc, expected="sm_90 or newer", found=target.name,
        )  # fmt: skip
    if op.name == "ptx.tensormap_replace" and not target.suffix:
        raise CompileError(
            f"{op.name}: only code for one architecture can change tensor maps", code="OC1068",
            loc=op.loc, expected=f"{target.name}a", found=target.name,
        )  # fmt: skip
