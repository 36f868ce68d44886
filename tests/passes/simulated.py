# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Running a kernel on the simulator before and after passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.arch.target import target
from opencute.ir.core import Op
from opencute.ir.passes import Listener, PassRecord, listening
from opencute.ir.verifier import verify
from opencute.passes.pipelines import kernels, run_cute_passes, run_device_passes
from opencute.sim import Buffer, Simulator

__all__ = ["apply", "check_pipeline", "run"]

Args = Sequence[Any]


def run(module: Op, grid: int, block: int, args: Args) -> list[Any]:
    """The arrays among `args` as a simulated launch leaves them; `args` stay as they are."""
    (kernel,) = kernels(module)
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    values = [
        Buffer.from_numpy(a, f"arg{i}").pointer() if isinstance(a, np.ndarray) else a
        for i, a in enumerate(copies)
    ]
    Simulator().run_kernel(module, str(kernel.symbol), (grid, 1, 1), (block, 1, 1), values)
    return [a for a in copies if isinstance(a, np.ndarray)]


def apply(module: Op, *passes: Callable[..., None], name: str = "sm_90a") -> Op:
    """`module` after some passes, verified."""
    for pass_ in passes:
        for kernel in kernels(module):
            pass_(kernel, target(name))
    verify(module)
    return module


def check_pipeline(module: Op, grid: int, block: int, args: Args, name: str = "sm_90a") -> Op:
    """The module after all passes; after each of them it computes the same, bit for bit.

    What it is compared with is the module after the passes that decide on fma.
    """
    lowered = module.clone({})
    run_cute_passes(lowered, target(name))
    before = run(lowered, grid, block, args)

    class Same(Listener):
        def after_pass(self, record: PassRecord, module: Op) -> None:
            verify(module)
            after = run(module.clone({}), grid, block, args)
            for i, (a, b) in enumerate(zip(before, after, strict=True)):
                assert a.tobytes() == b.tobytes(), f"array {i} differs after {record}"

    with listening(Same()):
        run_device_passes(lowered, target(name))
    return lowered
