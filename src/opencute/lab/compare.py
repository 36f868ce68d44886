# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compare what a kernel gave with what the reference gave: structure first, then values.

In: two frozen trees (see `arrays`) and a `Tolerance`. Out: a `Comparison` with every difference::

    compare(freeze(out), freeze(expected), Tolerance(rtol=1e-3, atol=1e-3)).ok

Containers, array library, device, shape and dtype must be the same; nothing is broadcast or
converted. An element is right when `|kernel - reference| <= atol + rtol * |reference|`. An infinity
equals only the same infinity. NaN equals nothing, or with `equal_nan` NaN in the same place.
Integers are subtracted exactly; bool, strings and objects must be equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from opencute.base.words import singular
from opencute.lab.arrays import Frozen, Opaque
from opencute.lab.rules import RELATIVE_FLOOR, Tolerance

__all__ = ["Comparison", "category", "compare"]

_CHUNK = 1 << 21

Array: TypeAlias = Any


@dataclass
class Comparison:
    """The differences between two trees.

    Args:
        problems: what is wrong, one sentence each; empty when all is right.
        leaves: one record for each pair of arrays or numbers that was compared.
    """

    problems: list[str] = field(default_factory=list[str])
    leaves: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def ok(self) -> bool:
        return not self.problems

    def largest(self, key: str) -> float | None:
        """The largest `max_abs_diff` or `max_rel_diff`; NaN if any is; None if nothing compares."""
        values = [leaf[key] for leaf in self.leaves if leaf.get(key) is not None]
        if any(math.isnan(v) for v in values):
            return math.nan
        return max(values, default=None)

    def add(self, other: Comparison) -> None:
        """Take over the findings of another comparison."""
        self.problems += other.problems
        self.leaves += other.leaves


def compare(kernel: Any, reference: Any, tolerance: Tolerance, path: str = "output") -> Comparison:
    """Compare two frozen trees; the second is the one that is right."""
    out = Comparison()
    _compare(kernel, reference, tolerance, path, out)
    return out


def _kind(value: Any) -> str:
    if isinstance(value, Frozen):
        return {"torch": "torch.Tensor", "numpy": "numpy array"}.get(value.library, value.library)
    if isinstance(value, Opaque):
        return value.type
    return type(value).__name__


def _compare(a: Any, b: Any, tolerance: Tolerance, path: str, out: Comparison) -> None:
    if _kind(a) != _kind(b):
        out.problems.append(f"{path}: the kernel gives {_kind(a)}, the reference {_kind(b)}")
    elif isinstance(a, Frozen):
        _compare_arrays(a, b, tolerance, path, out)
    elif isinstance(a, dict):
        ours, theirs = cast("dict[Any, Any]", a), cast("dict[Any, Any]", b)
        if ours.keys() != theirs.keys():
            out.problems.append(
                f"{path}: the kernel gives keys {list(ours)}, the reference {list(theirs)}"
            )
            return
        for key in theirs:
            _compare(ours[key], theirs[key], tolerance, f"{path}[{key!r}]", out)
    elif isinstance(a, (list, tuple)):
        mine, right = cast("list[Any]", a), cast("list[Any]", b)
        if len(mine) != len(right):
            said = f"{path}: the kernel gives {len(mine)} values, the reference {len(right)}"
            out.problems.append(singular(said))
            return
        for i, (x, y) in enumerate(zip(mine, right, strict=True)):
            _compare(x, y, tolerance, f"{path}[{i}]", out)
    elif isinstance(a, (bool, int, float, complex)):
        _compare_values(np.array(a), np.array(b), tolerance, path, out)
    elif isinstance(a, Opaque):
        out.problems.append(f"{path}: values of type {a.type} cannot be compared")
    elif a != b:
        out.problems.append(f"{path}: the kernel gives {a!r:.80}, the reference {b!r:.80}")


def _compare_arrays(a: Frozen, b: Frozen, tolerance: Tolerance, path: str, out: Comparison) -> None:
    for what in ("shape", "dtype", "device"):
        mine, right = getattr(a, what), getattr(b, what)
        if mine != right:
            out.problems.append(f"{path}: {what} is {mine}, the reference has {right}")
            return
    _compare_values(a.data, b.data, tolerance, path, out, dtype=a.dtype)


def category(dtype: Any) -> str:
    """int, float, complex, bool or other: how elements of `dtype` are compared."""
    if dtype.kind in "iufcb":
        return {"i": "int", "u": "int", "f": "float", "c": "complex", "b": "bool"}[dtype.kind]
    if dtype.name.startswith(("int", "uint")):  # ml_dtypes' narrow types have no kind of their own
        return "int"
    return "float" if dtype.name.startswith(("float", "bfloat")) else "other"


@dataclass
class _Chunk:
    """Element-wise findings: which are right, and the differences where both are numbers."""

    right: Array
    diff: Array
    magnitude: Array


def _integers(a: Array, b: Array) -> _Chunk:
    unsigned = a.dtype == np.uint64
    wide: Any = np.uint64 if unsigned else np.int64
    a, b = a.astype(wide), b.astype(wide)
    # Modular subtraction of the smaller from the larger is exact even where int64 overflows.
    x: Array = a.view(np.uint64)
    y: Array = b.view(np.uint64)
    diff = cast("Array", np.where(a > b, x - y, y - x))
    negated: Array = (~b).view(np.uint64) + np.uint64(1)
    size = b if unsigned else cast("Array", np.where(b < 0, negated, y))
    return _Chunk(diff == 0, diff.astype(np.float64), size.astype(np.float64))


def _floats(a: Array, b: Array, equal_nan: bool) -> _Chunk:
    if a.dtype.kind == "c":
        kind: Any = np.complex128 if a.dtype.itemsize <= 16 else a.dtype
    else:
        wider = a.dtype.kind == "f" and a.dtype.itemsize > 8
        kind = a.dtype if wider else np.float64
    a, b = a.astype(kind), b.astype(kind)
    right = a == b
    if equal_nan:
        right = right | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    diff = np.where(finite, np.abs(a - b), np.where(right, 0.0, np.inf))
    diff = np.where(~right & (np.isnan(a) | np.isnan(b)), np.nan, diff)
    return _Chunk(right, diff, np.abs(b))


def _chunk(a: Array, b: Array, kind: str, tolerance: Tolerance) -> _Chunk:
    with np.errstate(all="ignore"):
        if kind in ("bool", "other"):
            right = np.asarray(a == b, dtype=bool)
            found = _Chunk(right, (~right).astype(np.float64), np.ones(right.shape))
            return found
        found = _integers(a, b) if kind == "int" else _floats(a, b, tolerance.equal_nan)
        bound = tolerance.atol + tolerance.rtol * found.magnitude
        within = np.isfinite(found.diff) & (found.diff <= bound)
        return _Chunk(found.right | within, found.diff, found.magnitude)


def _largest(values: Array) -> float:
    if not values.size:
        return 0.0
    return float(np.max(values))  # NaN wins, as it should


def _compare_values(
    a: Array, b: Array, tolerance: Tolerance, path: str, out: Comparison, dtype: str = ""
) -> None:
    kind = category(b.dtype)
    shape = b.shape
    a, b = a.reshape(-1), b.reshape(-1)
    wrong, first = 0, -1
    max_abs, max_rel = 0.0, 0.0
    for start in range(0, a.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        found = _chunk(a[part], b[part], kind, tolerance)
        bad = np.flatnonzero(~found.right)
        if bad.size and first < 0:
            first = start + int(bad[0])
        wrong += int(bad.size)
        with np.errstate(all="ignore"):
            relative = found.diff / np.maximum(found.magnitude, RELATIVE_FLOOR)
            relative = np.where(found.diff == 0, 0.0, relative)
            relative = np.where(np.isinf(found.diff), np.inf, relative)
        max_abs = float(np.maximum(max_abs, _largest(found.diff)))
        max_rel = float(np.maximum(max_rel, _largest(relative)))
    leaf: dict[str, Any] = {
        "path": path, "shape": list(shape), "dtype": dtype or b.dtype.name, "elements": a.size,
        "wrong_elements": wrong, "max_abs_diff": max_abs, "max_rel_diff": max_rel,
    }  # fmt: skip
    if wrong:
        index = [int(i) for i in np.unravel_index(first, shape)]
        leaf["first_wrong"] = {"index": index, "kernel": str(a[first]), "reference": str(b[first])}
        are = "is" if wrong == 1 else "are"
        out.problems.append(
            f"{path}: {wrong} of {a.size} elements {are} wrong; the first is {index}: the kernel "
            f"gives {a[first]}, the reference {b[first]}{_nan_hint(a, b, kind, tolerance)}"
        )
    out.leaves.append(leaf)


def _nan_hint(a: Array, b: Array, kind: str, tolerance: Tolerance) -> str:
    if kind not in ("float", "complex"):
        return ""
    ours, theirs = int(np.isnan(a).sum()), int(np.isnan(b).sum())
    if not ours and not theirs:
        return ""
    return f" ({ours} NaN from the kernel, {theirs} from the reference; {tolerance.nan_policy()})"
