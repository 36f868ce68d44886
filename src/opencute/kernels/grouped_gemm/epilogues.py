# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the sums of grouped products: visitors, and what they are given.

In: what an operator was asked for. Out: a visitor, and its operands as the kernel takes them::

    visitor = visitor_of("moe_gemm", epilogue, alpha=1.0, bias=bias, activation="silu")
    given = operands(visitor, shapes_of_rows(rows, groups, n))
    row_gemm(..., given.extra, plan)
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import opencute as cutlass
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import contiguous, element_name, row_major, share_memory
from opencute.kernels.gemm.activations import activation_of
from opencute.kernels.gemm.interface import alone, writable
from opencute.kernels.gemm.sm90_interface import for_tma, type_of
from opencute.kernels.gemm.visitors import (
    Operand,
    Visitor,
    apply,
    asked_for,
    chain,
    check_operand,
    check_pairs,
    usual,
)
from opencute.kernels.grouped_gemm.arguments import readable, tensor_of

__all__ = [
    "Given", "columns_of", "operands", "refuse_in_place", "shapes_of_rows", "shapes_of_sums",
    "vectors_of", "visitor_of",
]  # fmt: skip

Shapes = dict[str, tuple[tuple[int, ...], ...]]
_MATRICES = ("load", "store")
_TYPES = ("float16", "bfloat16", "float32")


def visitor_of(name: str, epilogue: Any, *, alpha: float, bias: Any, activation: Any) -> Visitor:
    """The visitor that is asked for.

    Args:
        name: of the operator.
        epilogue: a visitor, a function of the sums (and the tile), or None.
        alpha, bias, activation: instead of it.

    Raises:
        ArgumentError: there are both, or it is no visitor.
    """
    if epilogue is None:
        return usual(
            alpha=alpha, beta=1.0, c=None, bias=bias, activation=activation_of(activation),
            residual=None,
        )  # fmt: skip
    alone({"alpha": None if alpha == 1.0 else alpha, "bias": bias, "activation": activation})
    visitor = asked_for(name, epilogue)
    return chain(apply(epilogue)) if visitor is None else visitor


def columns_of(visitor: Visitor, n: int) -> int:
    """Columns of the result of products with so many.

    Raises:
        ArgumentError: a gate has no pairs of columns.
    """
    if visitor.gated is None:
        return n
    check_pairs(n)
    return n // 2


def shapes_of_rows(rows: int, groups: int, n: int) -> Shapes:
    """Shapes of what visitors are given where groups are rows."""
    whole = ((rows, n),)
    return {"row": ((rows,),), "column": ((n,), (groups, n)), "load": whole, "store": whole,
            "amax": ((1,),)}  # fmt: skip


def shapes_of_sums(groups: int, m: int, n: int) -> Shapes:
    """Shapes of what visitors are given where groups are sums."""
    whole = ((groups, m, n),)
    return {"row": ((m,), (groups, m)), "column": ((n,), (groups, n)), "load": whole,
            "store": whole, "amax": ((1,),)}  # fmt: skip


class Given(NamedTuple):
    """Operands of a visitor for a kernel.

    Args:
        extra: they, or None if there are none.
        aux: types of the matrices among them.
    """

    extra: tuple[Any, ...] | None
    aux: tuple[Any, ...]


def operands(visitor: Visitor, shapes: Shapes) -> Given:
    """What a visitor is given, as arguments.

    Args:
        visitor: the visitor.
        shapes: that operands of each kind may have.

    Raises:
        ArgumentError: one of them does not fit.
    """
    extra: list[Any] = []
    aux: list[Any] = []
    for name, operand in visitor.operands.items():
        value = operand.value
        if operand.kind == "scalar":
            extra.append(cutlass.Float32(float(value)))
            continue
        _fits(name, operand, shapes[operand.kind])
        if operand.kind not in _MATRICES:
            lead = len(value.shape) - 1
            extra.append(
                from_dlpack(value).mark_layout_dynamic(leading_dim=lead)
                if row_major(value)
                else from_dlpack(value).mark_layout_dynamic()
            )
            continue
        matrix = value if len(value.shape) == 3 else value[None]
        if operand.kind == "store":
            writable(name, matrix, value)
            if not for_tma(matrix, 2):
                raise ArgumentError(
                    f"rows of {name} do not start at multiples of 16 bytes", code="OC2540",
                    expected="an aligned address and stride", found=tuple(value.shape),
                )  # fmt: skip
        else:
            matrix = readable(matrix if row_major(matrix) else contiguous(matrix), 2)
        aux.append(type_of(matrix))
        extra.append(tensor_of(matrix, 2))
    return Given(tuple(extra) or None, tuple(aux))


def refuse_in_place(visitor: Visitor, out: Any) -> None:
    """Refuse a matrix that is read where results of other groups are written: parts that reach
    behind a group's end are loaded whole.

    Raises:
        ArgumentError: there is one.
    """
    written = [out, *(o.value for o in visitor.operands.values() if o.kind == "store")]
    for name, operand in visitor.operands.items():
        if operand.kind == "load" and any(
            share_memory(operand.value, t) is not False for t in written
        ):
            raise ArgumentError(
                f"{name} is read while rows of other groups are written to it", code="OC2542",
                expected="other memory", hint="leave out=... away",
            )  # fmt: skip


def _fits(name: str, operand: Operand, shapes: tuple[tuple[int, ...], ...]) -> None:
    value, words = operand.value, " or ".join(map(str, shapes))
    check_operand(name, operand, words)
    _addable(name, value)
    if tuple(value.shape) not in shapes:
        raise ArgumentError(
            f"{name} does not fit the products", code="OC2540", expected=words,
            found=tuple(value.shape),
        )  # fmt: skip


def _addable(name: str, value: Any) -> None:
    if element_name(value) not in _TYPES:
        raise ArgumentError(
            f"{name} is of a type that is not added to products", code="OC2533",
            expected=" or ".join(_TYPES), found=element_name(value),
        )  # fmt: skip


def vectors_of(visitor: Visitor, shapes: Sequence[tuple[int, int]]) -> list[Sequence[Any]]:
    """The lists of vectors that a visitor of lists is given.

    Args:
        visitor: the visitor.
        shapes: (M, N) of each product.

    Raises:
        ArgumentError: something is no list of vectors that fit, or a matrix.
    """
    out: list[Sequence[Any]] = []
    for name, operand in visitor.operands.items():
        if operand.kind == "scalar":
            continue
        if operand.kind not in ("row", "column"):
            raise ArgumentError(
                f"{name}: grouped_gemm takes no {operand.kind}(x)", code="OC2540",
                expected="row([...]), column([...]) or scalar(x)",
                hint="moe_gemm takes matrices that are as large as its result",
            )  # fmt: skip
        at, vectors = ("row", "column").index(operand.kind), operand.value
        several = isinstance(vectors, (list, tuple)) and all(hasattr(v, "dtype") for v in vectors)
        found = [tuple(int(n) for n in v.shape) for v in vectors] if several else type(vectors)
        wanted = [(shape[at],) for shape in shapes]
        kinds = {element_name(v) for v in vectors} if several else set[str]()
        for vector in vectors if several else ():
            _addable(name, vector)
        if found != wanted or len(kinds) > 1:
            raise ArgumentError(
                f"{name} does not fit the products", code="OC2540", expected=wanted, found=found,
                hint="a list of vectors of one type, one for each product",
            )  # fmt: skip
        out.append(vectors)
    return out
