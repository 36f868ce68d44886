# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reductions in memory by bulk copies: lane after lane, element by element.

>>> dtype, change = map_reduction(None, "add", "f16")
>>> change(np.float16([1]), np.float16([2]))
array([3.], dtype=float16)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opencute.arch.tma import reductions_of
from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import I8
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.values import Array

__all__ = ["Reduction", "map_reduction"]

_DTYPES: dict[str, Any] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64,
    "s64": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64, "b32": np.uint32, "b64": np.uint64,
}  # fmt: skip
_CHANGES: dict[str, Callable[..., Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, top: np.where(old >= top, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, top: np.where((old == 0) | (old > top), top, old - old.dtype.type(1)),
}  # fmt: skip


def map_reduction(op: Op | None, word: str, element: str) -> tuple[Any, Callable[..., Any]]:
    """The NumPy type of elements, and new elements from old ones and those of the copy.

    Raises:
        SimulationError: the hardware does not combine such elements so.
    """
    element = {"f32_ftz": "f32", "tf32": "f32", "tf32_ftz": "f32"}.get(element, element)
    allowed = reductions_of(element)
    if word not in allowed:
        raise SimulationError(
            f"there is no reduction {word!r} of {element} in memory", code="OC3065",
            loc=None if op is None else op.loc, expected=", ".join(allowed) or "none", found=word,
        )  # fmt: skip
    return np.dtype(_DTYPES[element]), _CHANGES[word]


class Reduction:
    """Combines memory with what a copy brings.

    Args:
        op: the operation.
        dtype: of the elements.
        change: new elements from old ones and those of the copy.
    """

    def __init__(self, op: Op, dtype: Any, change: Callable[..., Any]) -> None:
        self.op, self.dtype, self.change = op, dtype, change
        self.known: dict[int, Access] = {}

    def _access(self, width: int) -> Access:
        access = self.known.get(width)
        if access is None:
            access = Access(self.op, I8, vector=True, run=width, align=width, unit=True)
            access.order = ("relaxed", "gpu")
            self.known[width] = access
        return access

    def __call__(self, lanes: Lanes, ptr: SimPointer, runs: Any, value: Array) -> None:
        """Combine; lanes take turns, for they may reach the same elements."""
        access = self._access(runs.width)
        starts = lanes.full(runs.starts)
        inside = runs.inside if runs.inside is not None else np.ones((1, 1, 1), np.bool_)
        inside = lanes.full(np.broadcast_to(inside, (*inside.shape[:2], starts.shape[2])))
        for p in range(lanes.P):
            for q in range(lanes.Q):
                if not inside[p, q].any():
                    continue
                only = np.zeros((lanes.P, lanes.Q), np.bool_)
                only[p, q] = True
                one, pick, _ = lanes.sub(only) if lanes.n > 1 else (lanes, lambda v: v, None)
                at, ok = starts[p, q][None, None], inside[p, q][None, None]
                where = pick(ptr)
                old = one.full(access.read_where(one, where, at, ok)).copy().view(self.dtype)
                new = np.ascontiguousarray(value[p, q][None, None]).view(self.dtype)
                out = np.asarray(self.change(old, new)).astype(self.dtype)
                access.write_where(one, out.view(np.int8), where, at, ok)
