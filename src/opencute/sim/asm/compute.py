# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx.compute`: what one PTX instruction computes, for all lanes at once."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.asm import bitwise, conversions, floats, integers
from opencute.sim.asm.record import FAMILIES, Compute, uint
from opencute.sim.registry import Function, semantics
from opencute.sim.values import Array, dtype_of, scalar_of

__all__ = ["find"]

# Importing them is what makes their instructions known.
assert all(m.__name__ for m in (bitwise, conversions, floats, integers))


@lru_cache(maxsize=1024)
def find(name: str) -> Compute | None:
    """What an instruction computes; None if it is not one that only computes."""
    parts = name.split(".")
    family = FAMILIES.get(parts[0])
    return family(parts) if family is not None else None


def _unsigned(value: Any, width: int) -> Array:
    if type(value) is np.ndarray:
        return value if width == 1 else value.view(uint(width))
    if width == 1:
        return np.array([[value]], np.bool_)
    return np.array([[value & ((1 << width) - 1)]], uint(width))


@semantics("ptx.compute")
def compute(op: Op) -> Function:
    """Registers are read as bits of their width."""
    name = op.attributes["instruction"]
    assert isinstance(name, StringAttr)
    known = find(name.value)
    if known is None:
        raise SimulationError(f"the simulator does not run {name.value}", code="OC3090", loc=op.loc)
    dtype = dtype_of(op.results[0].type, op.loc)
    widths, fn = known.args, known.fn

    def run(*args: Any) -> Any:
        bits = [_unsigned(a, w) for a, w in zip(args, widths, strict=True)]
        # NumPy's scalars would warn where arrays wrap.
        out = np.asarray(fn(*bits))
        out = out if dtype.kind == "b" else np.ascontiguousarray(out).view(dtype)
        if all(type(a) is not np.ndarray for a in args):
            return scalar_of(out.reshape(-1)[0], dtype)
        return out

    return run
