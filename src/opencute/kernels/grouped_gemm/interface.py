# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of groups of torch or NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opencute as cutlass
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import contiguous, element_name, fill, row_major, strides
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.interface import gemm
from opencute.kernels.gemm.sm90_interface import for_tma, have_hopper, padded, type_of
from opencute.kernels.gemm.visitors import chain, scale
from opencute.kernels.grouped_gemm.arguments import (
    check_out,
    check_types,
    maps_in,
    need_hopper,
    new_result,
    plan_of,
    refuse_lists,
    room_for,
    tensor_of,
)
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic
from opencute.kernels.grouped_gemm.lists import multiply_lists, refuse_shared
from opencute.kernels.grouped_gemm.sm90 import row_gemm
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["grouped_gemm", "moe_gemm"]


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
            group `g` is ``a[offsets[g - 1] : offsets[g]]``. The host does not read them. Groups may
            be empty; ends outside of `a` are taken to be its first or last row.
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
    need_hopper()
    groups, k = int(b.shape[0]), int(b.shape[1])
    if out is None:
        out = new_result(a, shape)
    check_out("out", out, shape)
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
    visitor, extra = chain(), None
    if alpha != 1.0:
        visitor, extra = chain(scale(alpha)), (cutlass.Float32(alpha),)
    types = type_of(left), type_of(right), type_of(result)
    majors = row_major(left), row_major(right)
    plan = plan_of(config, types, majors, visitor.plan())
    row_gemm(
        tensor_of(left, 2), tensor_of(right, 2 if plan.k_major[1] else 1), tensor_of(result, 2),
        from_dlpack(offsets).mark_layout_dynamic(), extra,
        maps_in(room_for(a, plan)), plan,
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
    check_types([a, b])
    if element_name(offsets) != "int32":
        raise ArgumentError(
            "offsets are of int32", code="OC2581", found=element_name(offsets),
            hint="offsets.to(torch.int32), which needs no look at them",
        )  # fmt: skip
    return shapes[0][0], shapes[1][2]


@checked(numbers="alpha")
def grouped_gemm(
    a: Sequence[Any],
    b: Sequence[Any],
    *,
    alpha: float = 1.0,
    out: Sequence[Any] | None = None,
    config: GroupedConfig | None = None,
) -> list[Any]:
    """``[alpha * x @ y for x, y in zip(a, b)]``, in one launch on Hopper.

    Args:
        a: arrays (M, K) of f16 or bf16, each with its own M and K.
        b: as many arrays (K, N) of the same type.
        out: arrays for the results, row-major, with rows of a multiple of 16 bytes; new ones when
            omitted.
        config: how the work is shared; a good choice when omitted. For Hopper only.

    What TMA cannot read is copied first, and so are arrays of `a`, or of `b`, that lie in memory
    in another order than most of them, by rows or by columns. Where arrays are is copied to the
    device when it differs from what is there already, without waiting. A CUDA graph that captures a
    call reads a copy of its own, which stays. Other processors, and NumPy's arrays on a GPU, take
    one product after another.

    Returns:
        The results (M, N). Sums are taken in f32.

    Raises:
        ArgumentError: shapes, types or majors do not fit.
    """
    if have_hopper():
        results = multiply_lists(a, b, out, alpha=alpha, config=config)
        if results is not None:
            return results
    elif config is not None:
        need_hopper()
    shapes = refuse_lists(a, b, out)
    results = out or [new_result(x, s) for x, s in zip(a, shapes, strict=True)]
    refuse_shared(a, b, results)
    for x, y, d in zip(a, b, results, strict=True):
        gemm(x, y, alpha=alpha, out=d)
    return list(results)
