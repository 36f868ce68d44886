# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of neighbours behind a pointer: with a promise of alignment, with a mask, as
volatile or read-only data.

In: a pointer and a count. Out: a number, or a vector::

    load_run(pointer, 4, alignment=16)
    masked_load(pointer, mask, default=0.0)      # nothing is read where the mask is False
"""

from __future__ import annotations

from typing import Any

from opencute.arch.hints import AccessHints
from opencute.base.errors import TypeMismatchError
from opencute.dialects import cute
from opencute.lang.numbers import Boolean, as_numeric
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import TracedTensor, grouped, make_rmem_tensor, make_tensor, tile
from opencute.lang.tiled.operations import CopyUniversalOp
from opencute.lang.vectors import TensorSSA
from opencute.layout import size

__all__ = ["load_run", "masked_load", "masked_store", "promised", "store_run"]


def promised(pointer: Pointer, alignment: int | None) -> Pointer:
    """The plain pointer, aligned as the user says."""
    plain = Pointer(pointer.value, pointer.dtype)
    if alignment is None or alignment <= plain.alignment or alignment & (alignment - 1):
        return plain
    return plain.align(alignment)


def _hints(is_volatile: bool, is_invariant: bool) -> AccessHints:
    return AccessHints("volatile" if is_volatile else "", invariant=is_invariant)


def _move(
    src: TracedTensor, dst: TracedTensor, hints: AccessHints, pred: TracedTensor | None = None
) -> None:
    s, d = tile(grouped(src)), tile(grouped(dst))
    cute.copy(CopyUniversalOp.name, 0, s, d, None if pred is None else tile(grouped(pred)), hints)


def load_run(
    pointer: Pointer, count: int = 1, *, alignment: int | None = None, is_volatile: bool = False,
    is_invariant: bool = False,
) -> Any:  # fmt: skip
    """The element pointed to, or a vector of `count` neighbours.

    Args:
        pointer: the first of them.
        count: how many.
        alignment: of the address, in bytes, as the user promises.
        is_volatile: neither left out nor moved.
        is_invariant: nobody writes them while the kernel runs.
    """
    where = promised(pointer, alignment)
    if not is_volatile and not is_invariant:
        return where.load() if count == 1 else make_tensor(where, count).load()
    held = make_rmem_tensor(count, where.dtype)
    _move(make_tensor(where, count), held, _hints(is_volatile, is_invariant))
    return held[0] if count == 1 else held.load()


def store_run(
    pointer: Pointer, value: Any, *, alignment: int | None = None, is_volatile: bool = False
) -> None:
    """Write an element, or all elements of a vector to neighbours; as `load_run`."""
    where = promised(pointer, alignment)
    vector = isinstance(value, TensorSSA)
    count: int = size(value.shape) if vector else 1
    if not is_volatile:
        if vector:
            make_tensor(where, count).store(value)
        else:
            where.store(value)
        return
    held = make_rmem_tensor(count, where.dtype)
    held.store(value)
    _move(held, make_tensor(where, count), _hints(True, False))


def _mask_of(mask: Any) -> TracedTensor:
    """A mask as a register tensor."""
    if isinstance(mask, TensorSSA) and mask.dtype is Boolean:
        held = make_rmem_tensor(size(mask.shape), Boolean)
        held.store(mask)
        return held
    if isinstance(mask, TracedTensor) and mask.element_type is Boolean:
        return mask
    raise TypeMismatchError(
        "a mask has a Boolean for each element", code="OC1261", found=str(mask),
        expected="a vector or a register tensor of Boolean",
    )  # fmt: skip


def masked_load(
    pointer: Pointer, mask: Any, default: Any = None, *, alignment: int | None = None
) -> TensorSSA:
    """Neighbours where a mask holds, and `default` (0 if not given) where it does not.

    Args:
        pointer: the first element.
        mask: a Boolean for each element.
        default: a number.
        alignment: of the address, in bytes, as the user promises.
    """
    pred, where = _mask_of(mask), promised(pointer, alignment)
    count = size(pred.layout)
    held = make_rmem_tensor(count, where.dtype)
    held.fill(as_numeric(0 if default is None else default).to(where.dtype))
    _move(make_tensor(where, count), held, AccessHints(), pred)
    return held.load()


def masked_store(pointer: Pointer, value: Any, mask: Any, *, alignment: int | None = None) -> None:
    """Write neighbours where a mask holds; as `masked_load`."""
    pred, where = _mask_of(mask), promised(pointer, alignment)
    count = size(pred.layout)
    held = make_rmem_tensor(count, where.dtype)
    held.store(value)
    _move(held, make_tensor(where, count), AccessHints(), pred)
