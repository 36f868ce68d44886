# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What ptxas advises about code that works and is slow, with the kernel's position.

In: ptxas's report and the module as it was traced. Out: sentences for the user: registers that were
spilled, and matrix instructions that were serialised (C7510 and its kin), each with the line of the
first such instruction or of the kernel's launch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opencute.base.location import Location
from opencute.codegen.ptxas import AsmReport
from opencute.ir.core import Op

__all__ = ["Advisory", "advisories"]

_CODE = re.compile(r"\((C7\d{3})\)")
_FUNCTION = re.compile(r"in (?:the )?function '([^']+)'")
_HINTS = {
    "C7511": "make the tile smaller, spread it over more warpgroups, or give them more registers",
    "C7513": "make the next operand A after the wait_group that ends those that read the old one",
    "C7514": "read accumulators after the wait_group that ends their products",
    "C7517": "read accumulators after the wait_group that ends their products",
}
# A wgmma.fence was put before products in a loop: CUDA 13.0 says so, later ones do it silently. The
# instruction costs one issue slot, so that nobody has to act.
_HARMLESS = ("C7519",)
_MATRIX = ("cute.wgmma", "ptx.mma", "cute.gemm", "ptx.tcgen05")


@dataclass(frozen=True)
class Advisory:
    """One piece of advice.

    Args:
        kernel: the kernel it is about, empty if ptxas does not say.
        message: what is slow and why.
        loc: where in the user's source.
    """

    kernel: str
    message: str
    loc: Location | None = None

    def __str__(self) -> str:
        text = f"{self.kernel}: {self.message}" if self.kernel else self.message
        return f"{text}\n{self.loc.render()}" if self.loc is not None else text


def _kernels(module: Op) -> dict[str, Op]:
    return {op.symbol: op for op in module.walk() if op.name == "gpu.func" and op.symbol}


def _matrix_line(kernel: Op | None) -> Location | None:
    if kernel is None:
        return None
    for op in kernel.walk():
        if op.name.startswith(_MATRIX):
            return op.loc
    return kernel.loc


def advisories(report: AsmReport, module: Op) -> list[Advisory]:
    """What ptxas advises.

    Args:
        report: its report.
        module: the traced module.
    """
    kernels = _kernels(module)
    out: list[Advisory] = []
    for f in report.functions:
        if f.spill_stores or f.spill_loads:
            kernel = kernels.get(f.name)
            out.append(
                Advisory(
                    f.name,
                    f"registers do not suffice: {f.spill_stores} bytes are spilled to local memory "
                    f"and {f.spill_loads} loaded back ({f.registers} registers are used)",
                    kernel.loc if kernel is not None else None,
                )
            )
    for line in report.diagnostics:
        code = _CODE.search(line)
        if code and code[1] not in _HARMLESS:
            function = _FUNCTION.search(line)
            name = function[1] if function else ""
            text = line.split(":", 1)[-1].strip()
            hint = next((h for code, h in _HINTS.items() if code in text), "")
            message = f"ptxas: {text}" + (f"; {hint}" if hint else "")
            out.append(Advisory(name, message, _matrix_line(kernels.get(name))))
    return out
