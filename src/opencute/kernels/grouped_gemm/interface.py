# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of groups of torch or NumPy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    contiguous,
    element_name,
    host_values,
    item_bits,
    row_major,
    strides,
    zeros,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.interface import gemm, separate_epilogue
from opencute.kernels.gemm.sm90_interface import have_hopper, type_of
from opencute.kernels.gemm.visitors import Operand, Visitor, add, chain, scale
from opencute.kernels.grouped_gemm.arguments import (
    check_out,
    check_types,
    maps_in,
    need_hopper,
    new_result,
    plan_of,
    readable,
    refuse_lists,
    room_for,
    tensor_of,
)
from opencute.kernels.grouped_gemm.config import GroupedConfig, heuristic, heuristic_of_sums
from opencute.kernels.grouped_gemm.epilogues import (
    columns_of,
    operands,
    refuse_in_place,
    shapes_of_rows,
    shapes_of_sums,
    vectors_of,
    visitor_of,
)
from opencute.kernels.grouped_gemm.lists import multiply_lists, refuse_shared
from opencute.kernels.grouped_gemm.sm90 import row_gemm, sum_gemm
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["grouped_gemm", "moe_gemm", "moe_gemm_weights"]


@tuned("moe_gemm", "a b out")
@checked(arrays="a b offsets", optional="bias out", numbers="alpha")
@repeated
@separate()
def moe_gemm(
    a: Any,
    b: Any,
    offsets: Any,
    *,
    alpha: float = 1.0,
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    epilogue: Visitor | Callable[..., Any] | None = None,
    out: Any = None,
    config: GroupedConfig | None = None,
) -> Any:
    """``activation(alpha * a[start:end] @ b[g] + bias[g])`` for each group of rows: what the
    experts of a layer do.

    Args:
        a: array (S, K) of f16, bf16, e4m3 or e5m2.
        b: array (G, K, N) of the same type, contiguous along N or along K; along K where elements
            have 8 bits.
        offsets: array (G,) of int32: the row of `a` behind the last one of each group, so that
            group `g` is ``a[offsets[g - 1] : offsets[g]]``. Groups may be empty. The host does not
            read those of a GPU: there, an end below 0 counts as 0, and one past the rows as S; one
            below the end before it leaves its group empty, but the next group begins at it, and
            of a row that two groups have the result is that of either.
        bias: array (G, N), or (N,) for all groups, or None.
        activation: "relu", "gelu", "silu", or a function on vectors of Float32.
        epilogue: what becomes of the sums, instead of `alpha`, `bias` and `activation`: a function
            on vectors of Float32, ``fn(x, tile)``, or a `Visitor` (see `gemm.visitors`). Its rows
            are (S,), its columns (N,) or (G, N), its matrices (S, N); ``chain(gated=silu)`` is
            SwiGLU of pairs of columns, the result of which is (S, N / 2).
        out: where the result goes, with rows of a multiple of 16 bytes; a new array of the type of
            `a`, of bf16 where that has 8 bits, when omitted. It may be of f16, bf16 or f32.
        config: how the work is shared; a good choice when omitted.

    What TMA cannot read is copied first: an `a` that is not row-major, and rows (of a column-major
    `b`, columns) that do not start at multiples of 16 bytes. The gradient of `a` is
    ``moe_gemm(grad, b.mT, offsets)``, that of `b` is `moe_gemm_weights`.

    Returns:
        The result (S, N). Sums are taken in f32. Rows behind the last group's are not written.

    Raises:
        ArgumentError: shapes or types do not fit, offsets in the host's memory descend or lie
            outside of 0 to S, or the processor is none of Hopper's.
    """
    shape = _row_shape(a, b, offsets)
    need_hopper()
    visitor = visitor_of("moe_gemm", epilogue, alpha=alpha, bias=bias, activation=activation)
    groups, k, (rows, n) = int(b.shape[0]), int(b.shape[1]), shape
    shape = (rows, columns_of(visitor, n))
    if out is None:
        out = new_result(a, shape)
    check_out("out", out, shape)
    given = operands(visitor, shapes_of_rows(rows, groups, n))
    separate_epilogue(visitor, a, b, out)
    refuse_in_place(visitor, out)
    if 0 in shape or groups == 0:
        return out
    if k == 0:
        a, b = zeros(a, (rows, 16), a.dtype), zeros(b, (groups, n, 16), b.dtype).swapaxes(1, 2)
    narrow = item_bits(a) == 8
    config = (config or heuristic(rows, groups, n, twice=narrow)).check()
    a = a if row_major(a) else contiguous(a)
    left, right = a[None], b.swapaxes(1, 2)
    if narrow and not row_major(right):
        raise ArgumentError(
            "elements of 8 bits are multiplied along what is contiguous", code="OC2582",
            expected="b contiguous along K", found=strides(b),
            hint="b.mT.contiguous().mT, once",
        )  # fmt: skip
    if not row_major(right) and strides(right)[1] != 1:
        right = contiguous(right)
    left, right = (readable(t) for t in (left, right))
    types = type_of(left), type_of(right), type_of(out)
    majors = row_major(left), row_major(right)
    plan = plan_of(config, types, majors, visitor.plan(), given.aux)
    row_gemm(
        tensor_of(left, 2), tensor_of(right, 2 if majors[1] else 1), tensor_of(out[None], 2),
        from_dlpack(offsets).mark_layout_dynamic(), given.extra, plan,
    )  # fmt: skip
    return out


@tuned("moe_gemm_weights", "a b out")
@checked(arrays="a b offsets", optional="out", numbers="alpha")
@repeated
@separate()
def moe_gemm_weights(
    a: Any,
    b: Any,
    offsets: Any,
    *,
    alpha: float = 1.0,
    accumulate: bool = False,
    out: Any = None,
    config: GroupedConfig | None = None,
) -> Any:
    """``alpha * a[start:end].T @ b[start:end]`` for each group of rows: the gradient of the
    experts' weights, where `a` are the inputs of a layer and `b` the gradients of its outputs.

    Args:
        a, b: arrays (S, K) and (S, N) of f16 or bf16.
        offsets: as of `moe_gemm`. The result of an empty group is 0.
        accumulate: whether the result is added to what is in `out`.
        out: array (G, K, N) of f16, bf16 or f32 where the result goes, with rows of a multiple of
            16 bytes; a new one of the type of `a` when omitted.
        config: how the work is shared; a good choice when omitted.

    Returns:
        The result. Sums are taken in f32.

    Raises:
        ArgumentError: shapes or types do not fit, offsets in the host's memory descend or lie
            outside of 0 to S, or the processor is none of Hopper's.
    """
    shape = _sum_shape(a, b, offsets)
    need_hopper()
    if out is None:
        if accumulate:
            raise ArgumentError(
                "there is nothing to add to",
                code="OC2582",
                expected="out=..., with accumulate=True",
            )
        out = new_result(a, shape)
    check_out("out", out, shape)
    if 0 in shape:
        return out
    visitor = chain(*([scale(alpha)] if alpha != 1.0 else []), *([add(out)] if accumulate else []))
    if a.shape[0] == 0:
        a, b = zeros(a, (1, shape[1]), a.dtype), zeros(b, (1, shape[2]), b.dtype)
    given = operands(visitor, shapes_of_sums(*shape))
    config = (config or heuristic_of_sums(*shape)).check()
    left, right = (readable((x if row_major(x) else contiguous(x))[None], 2) for x in (a, b))
    types = type_of(left), type_of(right), type_of(out)
    plan = plan_of(config, types, (False, False), visitor.plan(), given.aux)
    sum_gemm(
        tensor_of(left.swapaxes(1, 2), 1), tensor_of(right.swapaxes(1, 2), 1), tensor_of(out, 2),
        from_dlpack(offsets).mark_layout_dynamic(), given.extra, maps_in(room_for(a, plan)), plan,
    )  # fmt: skip
    return out


def _sum_shape(a: Any, b: Any, offsets: Any) -> tuple[int, int, int]:
    """The shape of a batch of sums.

    Raises:
        ArgumentError: these arrays are no grouped product.
    """
    shapes = [tuple(int(n) for n in t.shape) for t in (a, b, offsets)]
    if [len(s) for s in shapes] != [2, 2, 1] or shapes[0][0] != shapes[1][0]:
        raise ArgumentError(
            "these shapes are no sums over groups of rows", code="OC2580", found=shapes,
            expected="a of (S, K), b of (S, N), offsets of (G,)",
        )  # fmt: skip
    check_types([a, b])
    _check_ends(offsets, shapes[0][0])
    return shapes[2][0], shapes[0][1], shapes[1][1]


def _check_ends(offsets: Any, rows: int) -> None:
    """Check the ends of groups, as far as the host may read them.

    Raises:
        ArgumentError: they are of another type, descend, or lie outside of the rows.
    """
    if element_name(offsets) != "int32":
        raise ArgumentError(
            "offsets are of int32", code="OC2581", found=element_name(offsets),
            hint="offsets.to(torch.int32), which needs no look at them",
        )  # fmt: skip
    numbers = host_values(offsets)
    if numbers is None:
        return
    values = numbers.tolist()
    for g, (before, end) in enumerate(itertools.pairwise(values), 1):
        if end < before:
            raise ArgumentError(
                f"offsets descend at group {g}", code="OC2584", found=f"{end} after {before}",
                expected="the end of each group, not below that of the one before",
                hint="are these counts of rows? Their ends are their sums so far: "
                "counts.cumsum(0), as int32",
            )  # fmt: skip
    for g, end in enumerate(values):
        if not 0 <= end <= rows:
            raise ArgumentError(
                f"group {g} ends outside of a", code="OC2584", found=end,
                expected=f"0 to {rows}, the rows of a",
            )  # fmt: skip


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
    check_types([a, b], narrow=True)
    _check_ends(offsets, shapes[0][0])
    return shapes[0][0], shapes[1][2]


@checked(numbers="alpha")
def grouped_gemm(
    a: Sequence[Any],
    b: Sequence[Any],
    *,
    alpha: float = 1.0,
    bias: Sequence[Any] | None = None,
    activation: str | Callable[[Any], Any] | None = None,
    epilogue: Visitor | Callable[..., Any] | None = None,
    out: Sequence[Any] | None = None,
    config: GroupedConfig | None = None,
) -> list[Any]:
    """``[activation(alpha * x @ y + v) for x, y, v in zip(a, b, bias)]``, in one launch on Hopper.

    Args:
        a: arrays (M, K) of f16 or bf16, each with its own M and K.
        b: as many arrays (K, N) of the same type.
        bias: as many arrays (N,), all of one type, or None.
        activation: as of `moe_gemm`.
        epilogue: what becomes of the sums, instead of `alpha`, `bias` and `activation`; rows and
            columns of a `Visitor` are lists: ``chain(scale_rows([s0, s1]), gated=silu)``. For
            Hopper only, but functions of the sums.
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
        ArgumentError: shapes or types do not fit, or results share memory with other arrays.
    """
    given = None if bias is None else list(bias)
    visitor = visitor_of("grouped_gemm", epilogue, alpha=alpha, bias=given, activation=activation)
    if have_hopper():
        results = multiply_lists(a, b, out, visitor, config)
        if results is not None:
            return results
    elif config is not None:
        need_hopper()
    shapes = refuse_lists(a, b, out, gated=visitor.gated is not None)
    vectors_of(visitor, [(int(x.shape[0]), int(y.shape[1])) for x, y in zip(a, b, strict=True)])
    results = out or [new_result(x, s) for x, s in zip(a, shapes, strict=True)]
    refuse_shared(a, b, results)
    for i, (x, y, d) in enumerate(zip(a, b, results, strict=True)):
        if epilogue is None:
            v = None if given is None else given[i]
            gemm(x, y, alpha=alpha, bias=v, activation=activation, out=d)
        elif isinstance(epilogue, Visitor):
            gemm(x, y, epilogue=_of_product(epilogue, i), out=d)
        else:
            gemm(x, y, epilogue=epilogue, out=d)
    return list(results)


def _of_product(visitor: Visitor, i: int) -> Visitor:
    """The visitor of one product of a list."""
    own = {
        name: o if o.kind == "scalar" else Operand(o.kind, o.value[i])
        for name, o in visitor.operands.items()
    }
    return visitor.given(own)
