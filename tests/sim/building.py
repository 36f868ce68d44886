# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Small modules for the simulator's tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.base.location import Location
from opencute.dialects import arith, builtin, cute, func, gpu, ptx
from opencute.ir.builder import at_loc, insert_at
from opencute.ir.core import Op, Value
from opencute.ir.types import I32, Type
from opencute.sim import Buffer, Simulator


def line(n: int) -> Any:
    """Give operations built inside the location kernel.py:n."""
    return at_loc(Location("kernel.py", n, 0))


def kernel_module(inputs: Sequence[Type], body: Callable[..., None], name: str = "kernel") -> Op:
    """A module with one kernel, whose body is built by `body(*arguments)`."""
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
    with insert_at(kernels):
        _, entry = gpu.gpu_func(name, inputs)
    with insert_at(entry), line(1):
        body(*entry.args)
        gpu.return_()
    return module


def function_module(
    inputs: Sequence[Type], results: Sequence[Type], body: Callable[..., Sequence[Value]]
) -> Op:
    """A module with one host function `f`."""
    module, top = builtin.module()
    with insert_at(top):
        _, entry = func.func("f", inputs, results)
    with insert_at(entry), line(1):
        func.return_(body(*entry.args))
    return module


def const(value: int | float, type: Type = I32) -> Value:
    return arith.constant(value, type)


def add(a: Value, b: Value) -> Value:
    return arith.binary("addi", a, b)


def mul(a: Value, b: Value) -> Value:
    return arith.binary("muli", a, b)


def thread() -> Value:
    """The thread's index in the grid, of one-dimensional blocks."""
    return add(mul(ptx.sreg("ctaid.x"), ptx.sreg("ntid.x")), ptx.sreg("tid.x"))


def ptr(element: Type, align: int = 16) -> cute.PtrType:
    return cute.PtrType(element, "gmem", align)


def launch(
    module: Op, grid: int, block: int, *args: Any, sim: Simulator | None = None
) -> Simulator:
    """Run the module's kernel; arrays go in as pointers to their memory."""
    sim = sim or Simulator()
    values = [
        Buffer.from_numpy(a, f"arg{i}").pointer() if isinstance(a, np.ndarray) else a
        for i, a in enumerate(args)
    ]
    sim.run_kernel(module, "kernel", (grid, 1, 1), (block, 1, 1), values)
    return sim
