# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`vector`: moving elements between registers."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.ir.attributes import DenseI32Attr, DialectAttr
from opencute.ir.core import Op
from opencute.ir.types import FloatType, VectorType, element_type
from opencute.sim.numbers.packing import bit_width, from_bytes, to_bytes
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.arith import float_binary, int_binary, uniform
from opencute.sim.values import Array, dtype_of, wrap_array

__all__: list[str] = []

nd = np.ndarray
BOOL = np.dtype(np.bool_)


def _scalar(x: Any, dtype: np.dtype[Any]) -> Array:
    """A scalar as an array with a third axis of one element."""
    return x[..., None] if type(x) is nd else np.array([[[x]]], dtype)


def _out(x: Array, dtype: np.dtype[Any]) -> Any:
    """An array of scalars; a plain scalar when one element is all there is."""
    return uniform(x, dtype) if x.shape == (1, 1) else x


def _positions(op: Op, key: str = "static_position") -> tuple[int, ...]:
    value = op.attributes[key]
    assert isinstance(value, DenseI32Attr)
    return value.values


def _with(make: Callable[[Op, np.dtype[Any], bool], Function]) -> tuple[Any, Any]:
    """A factory for values and one for masks from a function of (op, dtype, is a mask)."""
    return (
        lambda op: make(op, dtype_of(op.results[0].type, op.loc), False),
        lambda op: make(op, BOOL, True),
    )


def _broadcast(op: Op, dtype: np.dtype[Any], mask: bool) -> Function:
    result = op.results[0].type
    assert isinstance(result, VectorType)
    n = result.length
    if isinstance(op.operands[0].type, VectorType):
        return lambda x: x

    def run(x: Any) -> Array:
        x = _scalar(x, dtype)
        return np.broadcast_to(x, (*x.shape[:2], n))

    return run


def _extract(op: Op, dtype: np.dtype[Any], mask: bool) -> Function:
    (k,) = _positions(op)
    if mask:
        return lambda x: x[:, :, k] if x.shape[2] > 1 else x[:, :, 0]
    return lambda x: _out(x[:, :, k], dtype)


def _insert(op: Op, dtype: np.dtype[Any], mask: bool) -> Function:
    (k,) = _positions(op)
    result = op.results[0].type
    assert isinstance(result, VectorType)
    n = result.length

    def run(value: Any, dest: Any) -> Array:
        value = _scalar(value, dtype)
        dest = dest if type(dest) is nd else np.array([[[dest]]], dtype)
        grid = np.broadcast_shapes(value.shape[:2], dest.shape[:2])
        out = np.empty((*grid, n), dtype)
        out[...] = dest
        out[:, :, k : k + 1] = value
        return out

    return run


def _from_elements(op: Op, dtype: np.dtype[Any], mask: bool) -> Function:
    def run(*items: Any) -> Array:
        items = tuple(_scalar(x, dtype) for x in items)
        grid = np.broadcast_shapes(*(x.shape[:2] for x in items))
        return np.concatenate([np.broadcast_to(x, (*grid, 1)) for x in items], axis=2)

    return run


def _shuffle(op: Op, dtype: np.dtype[Any], mask: bool) -> Function:
    picks = np.array(_positions(op, "mask"))
    a, b = op.operands[0].type, op.operands[1].type
    assert isinstance(a, VectorType) and isinstance(b, VectorType)
    n, m = a.length, b.length
    free = picks < 0
    index = np.where(free, 0, picks)
    first_only = bool((picks < n).all())

    def spread(x: Any, length: int) -> Array:
        x = x if type(x) is nd else np.array([[[x]]], dtype)
        return x if x.shape[2] == length else np.broadcast_to(x, (*x.shape[:2], length))

    def run(x: Any, y: Any) -> Array:
        x = spread(x, n)
        if first_only:
            out = x[:, :, index]
        else:
            y = spread(y, m)
            grid = np.broadcast_shapes(x.shape[:2], y.shape[:2])
            both = [np.broadcast_to(v, (*grid, v.shape[2])) for v in (x, y)]
            out = np.concatenate(both, axis=2)[:, :, index]
        if free.any():
            # An element that is left undefined is garbage, and a zero as far as numbers go.
            out = np.where(free, np.ones((), dtype) if mask else np.zeros((), dtype), out)
        return out

    return run


for _name, _make in (
    ("broadcast", _broadcast),
    ("extract", _extract),
    ("insert", _insert),
    ("from_elements", _from_elements),
    ("shuffle", _shuffle),
):
    _values, _masks = _with(_make)
    semantics(f"vector.{_name}", taint=_masks)(_values)


_KINDS = {
    "add": ("addi", "addf"), "mul": ("muli", "mulf"), "minsi": ("minsi", ""),
    "minui": ("minui", ""), "minnumf": ("", "minnumf"), "maxsi": ("maxsi", ""),
    "maxui": ("maxui", ""), "maxnumf": ("", "maxnumf"), "and": ("andi", ""), "or": ("ori", ""),
    "xor": ("xori", ""), "minimumf": ("", "minimumf"), "maximumf": ("", "maximumf"),
}  # fmt: skip


def _any_element(op: Op) -> Function:
    def run(*masks: Any) -> Any:
        out: Any = masks[0].any(axis=2) if type(masks[0]) is nd else masks[0]
        for m in masks[1:]:
            out = out | m
        return out

    return run


@semantics("vector.reduction", taint=_any_element)
def reduction(op: Op) -> Function:
    """Elements combined one after the other from the first, after `acc` if there is one."""
    kind = op.attributes["kind"]
    assert isinstance(kind, DialectAttr)
    element = element_type(op.operands[0].type)
    names = _KINDS[kind.body.removeprefix("kind<").removesuffix(">")]
    dtype = dtype_of(element, op.loc)
    if isinstance(element, FloatType):
        fn = float_binary(names[1], dtype)
    else:
        fn = int_binary(names[0], element)

    def run(vector: Array, *acc: Any) -> Any:
        parts = [vector[:, :, k] for k in range(vector.shape[2])]
        if acc:
            parts.insert(0, acc[0])
        out = parts[0]
        for part in parts[1:]:
            out = fn(out, part)
        return _out(out, dtype) if type(out) is nd else out

    return run


def _bitcast_mask(op: Op) -> Function:
    source, target = op.operands[0].type, op.results[0].type
    assert isinstance(source, VectorType) and isinstance(target, VectorType)
    n, m = source.length, target.length

    def run(mask: Array) -> Array:
        mask = np.broadcast_to(mask, (*mask.shape[:2], n))
        if m >= n:
            return np.repeat(mask, m // n, axis=2)
        return np.any(mask.reshape(*mask.shape[:2], m, n // m), axis=3)

    return run


@semantics("vector.bitcast", taint=_bitcast_mask)
def bitcast(op: Op) -> Function:
    """The bytes of a vector as elements of another width."""
    source, target = op.operands[0].type, op.results[0].type
    dtype, before = dtype_of(target, op.loc), dtype_of(source, op.loc)
    width, old = bit_width(target), bit_width(source)
    if dtype == before and width == old:
        return lambda x: x
    if (width, old) == (dtype.itemsize * 8, before.itemsize * 8):
        return lambda x: np.ascontiguousarray(x).view(dtype)
    if width == old:  # narrower than a byte, one element in each
        view = np.ascontiguousarray
        return lambda x: (
            wrap_array(view(x).view(dtype), width) if dtype.kind == "i" else view(x).view(dtype)
        )
    if width == dtype.itemsize * 8:
        return lambda x: to_bytes(x, old).view(dtype)
    if old == before.itemsize * 8:
        return lambda x: from_bytes(np.ascontiguousarray(x).view(np.uint8), target)
    return lambda x: from_bytes(to_bytes(x, old), target)
