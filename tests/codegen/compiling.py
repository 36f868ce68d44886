# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cute-level modules to PTX and machine code in one call."""

from __future__ import annotations

from opencute.arch.target import target
from opencute.codegen import device
from opencute.codegen.device import DeviceCode
from opencute.ir.core import Op
from opencute.passes.pipelines import run_device_passes

__all__ = ["assemble", "to_ptx"]


def to_ptx(module: Op, name: str = "sm_90a", *, line_info: bool = False) -> DeviceCode:
    """Lower `module` in place and emit PTX."""
    run_device_passes(module, target(name))
    return device.compile_to_ptx(module, target(name), line_info=line_info)


def assemble(module: Op, name: str = "sm_90a") -> DeviceCode:
    """Lower `module` in place and assemble it."""
    sm = target(name)
    return device.compile_device(module, sm, lower=lambda m: run_device_passes(m, sm))
