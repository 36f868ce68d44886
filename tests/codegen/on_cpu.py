# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lowered kernels on the host's CPU: the LLVM IR that a GPU would get, without a GPU.

Only kernels of one thread whose text has no inline assembly and no special registers can run here;
that is what conversions for sm_80 are::

    kernel = CpuKernel(module, "sm_80")
    kernel(a, b)                    # arrays are changed in place
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np

from opencute.arch.target import target
from opencute.codegen.llvm_text import device_module_text
from opencute.ir.core import Op
from opencute.native.jit import compile_host
from opencute.passes.pipelines import kernels, run_device_passes

__all__ = ["CpuKernel"]


class CpuKernel:
    """One kernel, compiled for this machine.

    Args:
        module: at the cute level; it is lowered in place.
        name: the processor that it is lowered for.
    """

    def __init__(self, module: Op, name: str = "sm_80") -> None:
        run_device_passes(module, target(name))
        (kernel,) = kernels(module)
        text = device_module_text(module)
        assert " asm " not in text, "inline assembly does not run on a CPU"
        text = re.sub(r"target triple = .*", "", text)
        text = text.replace("ptx_kernel ", "").replace(" addrspace(1)", "")
        text = re.sub(r'"nvvm\.\w+"="[^"]*"', "", text)
        self.host = compile_host(text)
        types = [ctypes.c_void_p] * len(kernel.regions[0].block.args)
        self.call: Any = ctypes.CFUNCTYPE(None, *types)(self.host.address(str(kernel.symbol)))

    def __call__(self, *arrays: np.ndarray[Any, Any]) -> None:
        """Run it once."""
        self.call(*(a.ctypes.data for a in arrays))
