# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cf`: assertions. The simulator always checks them."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import FailedAssertionError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics

__all__: list[str] = []


@semantics("cf.assert", lanes=True, sinks=((0, "an assertion"),))
def assert_(op: Op) -> Function:
    """Stop with the message and the first thread for which it does not hold."""
    message = op.attributes["msg"]
    assert isinstance(message, StringAttr)
    text = message.value

    def run(lanes: Lanes, condition: Any) -> None:
        if condition.all() if type(condition) is np.ndarray else condition:
            return
        where = (0, 0)
        if type(condition) is np.ndarray:
            where = tuple(np.argwhere(~lanes.full(condition))[0])
        raise FailedAssertionError(
            f"an assertion does not hold: {text}, {lanes.name(where)}", code="OC3013", loc=op.loc
        )

    return run
