# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of groups of torch or NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import contiguous, empty, fill, item_bits, row_major, strides
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.sm90_interface import for_tma, have_hopper, padded, type_of
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.gemm.visitors import VisitorPlan, chain, scale
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic
from opencute.kernels.grouped_gemm.sm90 import DRAFTS, map_slots, row_gemm
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["moe_gemm"]

_TYPES = ("float16", "bfloat16")
_RESULTS = (*_TYPES, "float32")


@tuned("moe_gemm", "a b out")
@checked(arrays="a b offsets", optional="out", numbers="alpha")
@repeated
@separate()
def moe_gemm(
    a: Any,
    b: Any,
    offsets: Any,
    *,
    alpha: float = 1.0,
    out: Any = None,
    config: GroupedConfig | None = None,
) -> Any:
    """``alpha * a[start:end] @ b[g]`` for each group of rows: what the experts of a layer do.

    Args:
        a: array (S, K) of f16 or bf16.
        b: array (G, K, N) of the same type, contiguous along N or along K.
        offsets: array (G,) of int32: the row of `a` behind the last one of each group, so that
            group `g` is ``a[offsets[g - 1] : offsets[g]]``. The host does not read them. A group
            may be empty; one that ends before it starts is, and rows that `a` has not are none.
        out: where the result goes, with rows of a multiple of 16 bytes; a new array of the type of
            `a` when omitted. It may be of f16, bf16 or f32.
        config: how the work is shared; a good choice when omitted.

    What TMA cannot read is copied first: an `a` that is not row-major, and rows (of a column-major
    `b`, columns) that do not start at multiples of 16 bytes.

    Returns:
        The result (S, N). Sums are taken in f32. Rows behind the last group's are not written.

    Raises:
        ArgumentError: shapes or types do not fit, or the processor is none of Hopper's.
    """
    shape = _row_shape(a, b, offsets)
    _need_hopper()
    groups, k = int(b.shape[0]), int(b.shape[1])
    if out is None:
        out = _result(a, shape)
    _check_out("out", out, shape)
    if 0 in shape or groups == 0:
        return out
    if k == 0:
        fill(out, 0)
        return out
    config = (config or heuristic(shape[0], groups, shape[1])).check()
    a = a if row_major(a) else contiguous(a)
    left, right, result = a[None], b.swapaxes(1, 2), out[None]
    if not row_major(right) and strides(right)[1] != 1:
        right = contiguous(right)
    left, right = (t if for_tma(t) else padded(t) for t in (left, right))
    plan, extra = _plan(config, (left, right, result), alpha)
    row_gemm(
        _tensor(left, 2), _tensor(right, 2 if plan.k_major[1] else 1), _tensor(result, 2),
        from_dlpack(offsets).mark_layout_dynamic(), extra, _room(a, plan), plan,
    )  # fmt: skip
    return out


def _row_shape(a: Any, b: Any, offsets: Any) -> tuple[int, int]:
    """The shape of the result.

    Raises:
        ArgumentError: these arrays are no grouped product.
    """
    shapes = [tuple(int(n) for n in t.shape) for t in (a, b, offsets)]
    good = [len(s) for s in shapes] == [2, 3, 1]
    if not good or shapes[0][1] != shapes[1][1] or shapes[1][0] != shapes[2][0]:
        raise ArgumentError(
            "these shapes are no product of groups of rows", code="OC2580", found=shapes,
            expected="a of (S, K), b of (G, K, N), offsets of (G,)",
        )  # fmt: skip
    _check_types([a, b])
    if _name(offsets) != "int32":
        raise ArgumentError(
            "offsets are of int32", code="OC2581", found=_name(offsets),
            hint="offsets.to(torch.int32), which needs no look at them",
        )  # fmt: skip
    return shapes[0][0], shapes[1][2]


def _check_types(arrays: Sequence[Any]) -> None:
    names = sorted({_name(t) for t in arrays})
    if len(names) > 1 or names[0] not in _TYPES:
        raise ArgumentError(
            "no grouped product of these types", code="OC2581", found=names,
            expected=f"all of {' or of '.join(_TYPES)}",
        )  # fmt: skip


def _need_hopper() -> None:
    """Raise if groups whose extents the host does not know cannot be multiplied."""
    if not have_hopper():
        raise ArgumentError(
            "groups whose ends only the device knows need a kernel for Hopper", code="OC2539",
            expected="compute capability 9.0", found=run_target().arch,
            hint="grouped_gemm takes lists of matrices on every processor",
        )  # fmt: skip


def _result(like: Any, shape: tuple[int, int]) -> Any:
    """A new result whose rows TMA can store."""
    vec = 128 // item_bits(like)
    room = empty(like, (shape[0], -(-shape[1] // vec) * vec), like.dtype)
    return room if room.shape[1] == shape[1] else room[:, : shape[1]]


def _check_out(name: str, out: Any, shape: tuple[int, ...]) -> None:
    """Check that a result is one that TMA can store.

    Raises:
        ArgumentError: it is not.
    """
    if not hasattr(out, "dtype") or not hasattr(out, "shape"):
        raise ArgumentTypeError(
            f"{name} is no array", code="OC2582", found=type(out).__name__, expected="an array"
        )
    if tuple(out.shape) != shape or _name(out) not in _RESULTS:
        raise ArgumentError(
            f"{name} does not fit the product", code="OC2582",
            expected=f"{shape} of {', '.join(_RESULTS)}", found=(tuple(out.shape), _name(out)),
        )  # fmt: skip
    if 0 not in shape and not (row_major(out) and for_tma(out[None], 2)):
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2582",
            expected="contiguous rows, an aligned address and stride", found=strides(out),
            hint="leave out=... away, and a result with room at the end of rows is made",
        )  # fmt: skip


def _plan(
    config: GroupedConfig, arrays: tuple[Any, Any, Any], alpha: float
) -> tuple[HopperPlan, Any]:
    """The configuration applied to arrays, and what the epilogue needs besides."""
    visitor, extra = chain(), None
    if alpha != 1.0:
        visitor, extra = chain(scale(alpha)), (cutlass.Float32(alpha),)
    clusters = max(1, int(utils.HardwareInfo().get_max_active_clusters(1)))
    a, b, d = arrays
    return _made(
        config, (type_of(a), type_of(b), type_of(d)), (row_major(a), row_major(b)),
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


def _room(like: Any, plan: HopperPlan) -> Any:
    """Memory for the tensor maps of all blocks."""
    words = plan.clusters * map_slots(plan) * 16
    if hasattr(like, "ctypes"):
        room = empty(like, (words + 16,), "int64")
        first = -room.ctypes.data % 128 // 8  # others are aligned
        room = room[first : first + words]
    else:
        room = empty(like, (words,), "int64")
    return from_dlpack(room.reshape(plan.clusters, map_slots(plan), 16), assumed_align=128)


def _name(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


def _tensor(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)
