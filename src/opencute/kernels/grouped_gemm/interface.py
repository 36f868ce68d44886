# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of groups of torch or NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    apart,
    contiguous,
    element_name,
    fill,
    row_major,
    share_memory,
    strides,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.interface import gemm
from opencute.kernels.gemm.sm90_interface import for_tma, have_hopper, padded
from opencute.kernels.grouped_gemm.arguments import (
    check_out,
    check_types,
    need_hopper,
    new_result,
    plan_of,
    room_for,
    tensor_of,
)
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic
from opencute.kernels.grouped_gemm.lists import multiply_lists
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
    plan, extra = plan_of(config, (left, right, result), alpha)
    row_gemm(
        tensor_of(left, 2), tensor_of(right, 2 if plan.k_major[1] else 1), tensor_of(result, 2),
        from_dlpack(offsets).mark_layout_dynamic(), extra, room_for(a, plan), plan,
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

    All arrays of `a` are contiguous along rows, or all along columns; so are those of `b`. What
    TMA cannot read is copied first. Where the arrays are is copied to the device by the first call
    with them; a CUDA graph can capture later ones only. Other processors do one product after
    another.

    Returns:
        The results (M, N). Sums are taken in f32.

    Raises:
        ArgumentError: shapes, types or majors do not fit.
    """
    shapes = _shapes(a, b)
    if not a:
        return []
    check_types([*a, *b])
    made = out is None
    results = [new_result(x, s) for x, s in zip(a, shapes, strict=True)] if made else list(out)
    types = {element_name(d) for d in results if hasattr(d, "dtype")}
    if len(results) != len(shapes) or len(types) > 1:
        raise ArgumentError(
            "out does not fit the products", code="OC2582", found=len(results),
            expected=f"{len(shapes)} arrays of one type",
        )  # fmt: skip
    for i, (d, shape) in enumerate(zip(results, shapes, strict=True)):
        check_out(f"out[{i}]", d, shape)
        if not made:
            _check_separate(i, d, a[i], b[i])
    if have_hopper():
        multiply_lists(a, b, results, alpha=alpha, config=config)
        return results
    if config is not None:
        need_hopper()
    for x, y, d in zip(a, b, results, strict=True):
        gemm(x, y, alpha=alpha, out=d)
    return results


def _check_separate(i: int, d: Any, x: Any, y: Any) -> None:
    """Refuse a result whose elements share memory with each other, or with what it is made of."""
    apart(f"out[{i}]", d)
    for name, t in (("a", x), ("b", y)):
        if share_memory(d, t) is not False:
            raise ArgumentError(
                f"out[{i}] shares memory with {name}[{i}], which is read while it is written",
                code="OC2542", expected="other memory",
            )  # fmt: skip


def _shapes(a: Any, b: Any) -> list[tuple[int, int]]:
    """The shapes of the results.

    Raises:
        ArgumentError: these lists are no products.
    """
    for name, arrays in (("a", a), ("b", b)):
        if not isinstance(arrays, (list, tuple)) or not all(hasattr(t, "dtype") for t in arrays):
            raise ArgumentTypeError(
                f"grouped_gemm: {name} is no list of arrays", code="OC2583",
                found=type(arrays).__name__, expected="a list of arrays",
                hint="moe_gemm(a, b, offsets) takes groups that are rows of one array",
            )  # fmt: skip
    pairs = [[tuple(int(n) for n in t.shape) for t in two] for two in zip(a, b, strict=False)]
    good = all(len(x) == 2 == len(y) and x[1] == y[0] for x, y in pairs)
    if len(a) != len(b) or not good:
        raise ArgumentError(
            "these lists are no matrices to multiply", code="OC2580",
            found=pairs if len(a) == len(b) else f"{len(a)} and {len(b)} arrays",
            expected="as many (M, K) as (K, N)",
        )  # fmt: skip
    return [(x[0], y[1]) for x, y in pairs]
