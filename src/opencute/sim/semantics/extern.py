# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx.extern`: a device function's stand-in, computed with NumPy arrays of all lanes."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# NumPy's stubs leave much of what arrays of unknown types do unknown.

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.base.stand_ins import STAND_INS
from opencute.dialects.cute import PtrType
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.registry import Function, semantics
from opencute.sim.values import as_array, dtype_of, scalar_of

__all__: list[str] = []


@semantics("ptx.extern")
def extern(op: Op) -> Function:
    """Call the stand-in with arrays of the operands' types."""
    name = op.attributes["callee"]
    assert isinstance(name, StringAttr)
    fn = STAND_INS.get(name.value)
    if fn is None or any(isinstance(v.type, PtrType) for v in op.operands):
        raise SimulationError(
            f"the simulator cannot run the device function {name.value!r}", code="OC3025",
            loc=op.loc,
            hint="decorate a function that computes the same with NumPy; memory behind pointers is "
            "out of its reach",
        )  # fmt: skip
    dtypes = [dtype_of(v.type, op.loc) for v in op.operands]
    target = dtype_of(op.results[0].type, op.loc) if op.results else None

    def run(*values: Any) -> Any:
        arrays = [as_array(v, t) for v, t in zip(values, dtypes, strict=True)]
        out = fn(*arrays)
        if target is None:
            return None
        shape = np.broadcast_shapes(*(a.shape for a in arrays)) if arrays else (1, 1)
        out = np.broadcast_to(np.asarray(out), shape).astype(target)
        many = any(type(v) is np.ndarray for v in values)
        return out if many else scalar_of(out.reshape(-1)[0], target)

    return run
