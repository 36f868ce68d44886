# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What both forms of grouped products ask of their arguments, and make of them.

In: arrays and a configuration. Out: errors, results, the plan, memory for tensor maps::

    plan, extra = plan_of(config, (left, right, result), alpha)
    row_gemm(*tensors, ends, extra, room_for(a, plan), plan)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import element_name, empty, item_bits, row_major, strides
from opencute.kernels.gemm.sm90_interface import address, for_tma, have_hopper, type_of
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.gemm.visitors import VisitorPlan, chain, scale
from opencute.kernels.grouped_gemm.config import GroupedConfig
from opencute.kernels.grouped_gemm.sm90 import DRAFTS, map_slots

__all__ = [
    "check_out", "check_types", "need_hopper", "new_result", "plan_of", "room_for", "tensor_of",
]  # fmt: skip

_TYPES = ("float16", "bfloat16")
_RESULTS = (*_TYPES, "float32")


def check_types(arrays: Sequence[Any]) -> None:
    names = sorted({element_name(t) for t in arrays})
    if len(names) > 1 or names[0] not in _TYPES:
        raise ArgumentError(
            "no grouped product of these types", code="OC2581", found=names,
            expected=f"all of {' or of '.join(_TYPES)}",
        )  # fmt: skip


def need_hopper() -> None:
    """Raise if groups whose extents the host does not know cannot be multiplied."""
    if not have_hopper():
        raise ArgumentError(
            "groups whose ends only the device knows need a kernel for Hopper", code="OC2539",
            expected="compute capability 9.0", found=run_target().arch,
            hint="grouped_gemm takes lists of matrices on every processor",
        )  # fmt: skip


def new_result(like: Any, shape: tuple[int, int]) -> Any:
    """A new result whose rows TMA can store."""
    vec = 128 // item_bits(like)
    room = empty(like, (shape[0], -(-shape[1] // vec) * vec), like.dtype)
    return room if room.shape[1] == shape[1] else room[:, : shape[1]]


def check_out(name: str, out: Any, shape: tuple[int, ...]) -> None:
    """Check that a result is one that TMA can store.

    Raises:
        ArgumentError: it is not.
    """
    if not hasattr(out, "dtype") or not hasattr(out, "shape"):
        raise ArgumentTypeError(
            f"{name} is no array", code="OC2582", found=type(out).__name__, expected="an array"
        )
    if tuple(out.shape) != shape or element_name(out) not in _RESULTS:
        raise ArgumentError(
            f"{name} does not fit the product", code="OC2582",
            expected=f"{shape} of {', '.join(_RESULTS)}",
            found=f"{tuple(out.shape)} of {element_name(out)}",
        )  # fmt: skip
    if 0 not in shape and not (row_major(out) and for_tma(out[None], 2)):
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2582",
            expected="contiguous rows, an aligned address and stride", found=strides(out),
            hint="leave out=... away, and a result with room at the end of rows is made",
        )  # fmt: skip


def plan_of(
    config: GroupedConfig, arrays: tuple[Any, Any, Any], alpha: float,
    majors: tuple[bool, bool] | None = None,
) -> tuple[HopperPlan, Any]:  # fmt: skip
    """The configuration applied to arrays, and what the epilogue needs besides.

    Args:
        arrays: A, B as (N, K), and the result; maybe with a batch before.
        majors: whether A and B are contiguous along k, if their strides do not say it.
    """
    visitor, extra = chain(), None
    if alpha != 1.0:
        visitor, extra = chain(scale(alpha)), (cutlass.Float32(alpha),)
    clusters = max(1, int(utils.HardwareInfo().get_max_active_clusters(1)))
    a, b, d = arrays
    return _made(
        config, (type_of(a), type_of(b), type_of(d)), majors or (row_major(a), row_major(b)),
        visitor.plan(False), min(config.most or clusters, clusters),
    ), extra  # fmt: skip


def _made(
    config: GroupedConfig, types: Any, majors: tuple[bool, bool], visitor: VisitorPlan, blocks: int
) -> HopperPlan:  # fmt: skip
    """What the kernel is compiled for."""
    return interned(HopperPlan(
        config.hopper, types, majors, visitor, (), (False, False), blocks,
        utils.get_smem_capacity_in_bytes() - DRAFTS,
    ))  # fmt: skip


def room_for(like: Any, plan: HopperPlan) -> Any:
    """Memory for the tensor maps of all blocks."""
    words = plan.clusters * map_slots(plan) * 16
    if run_target().kind != "sim":
        room = empty(like, (words,), "int64")
    else:  # memory of the host is aligned to less
        room = empty(like, (words + 16,), "int64")
        first = -address(room) % 128 // 8
        room = room[first : first + words]
    return from_dlpack(room.reshape(plan.clusters, map_slots(plan), 16), assumed_align=128)


def tensor_of(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)
