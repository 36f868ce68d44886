# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text to PTX text.

In: a module such as ``define ptx_kernel void @k(ptr addrspace(1) %a) { ... }``, the processor
``"sm_90a"`` and a PTX version such as 86 (`ptx_version_for` gives the default). Out: a `PtxResult`.

Floating-point contraction is not LLVM's choice: the target machine's fusion mode is "standard",
so ``fmul`` followed by ``fadd`` stays ``mul.rn`` and ``add.rn`` unless the IR itself says
``contract``, which our code generator never does; an fma is one because ``llvm.fma`` asked for
it. The ``.rn`` also keeps ptxas from fusing; callers pass ``--fmad=false`` to it all the same.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ToolchainError
from opencute.native.target import (
    LOCK,
    Passes,
    initialize,
    llvm_version,
    nvptx_target_machine,
    run_passes,
)
from opencute.native.text import parse_module

__all__ = [
    "LLVM_PTX_VERSIONS",
    "MINIMUM_PTX",
    "PtxResult",
    "bitcode_to_ptx",
    "known_processors",
    "ptx_version_for",
    "to_ptx",
]

# PTX ISA versions that LLVM 22 can be asked for as "+ptxNN" (it has no 8.9).
LLVM_PTX_VERSIONS = (
    60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87,
    88, 90,
)  # fmt: skip

# The lowest PTX version in which LLVM 22 and ptxas 13 take each processor. Below it LLVM aborts.
MINIMUM_PTX: dict[str, int] = {
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_88": 90,
    "sm_89": 78,
    "sm_90": 78,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_100f": 88,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_103f": 88,
    "sm_110": 90,
    "sm_110a": 90,
    "sm_110f": 90,
    "sm_120": 87,
    "sm_120a": 87,
    "sm_120f": 88,
    "sm_121": 88,
    "sm_121a": 88,
    "sm_121f": 88,
}

# What we ask for where the minimum allows it: 8.6 has all of Hopper's instructions and loads on
# every driver since 12.7; Blackwell's 256-bit global accesses and family targets came with 8.8.
_DEFAULT_PTX = 86
_DEFAULT_PTX_BLACKWELL = 88

_probed: set[str] = set()


@dataclass(frozen=True)
class PtxResult:
    """PTX text and what it cost.

    Args:
        ptx: the module as PTX.
        timings: milliseconds of the phases "parse", "verify", "passes" and "emit".
    """

    ptx: str
    timings: dict[str, float]


def known_processors() -> tuple[str, ...]:
    """The processors for which PTX can be made, e.g. ``"sm_90a"``."""
    return tuple(MINIMUM_PTX)


def ptx_version_for(sm: str, at_least: int = 0) -> int:
    """The PTX version to emit for a processor, e.g. 86 for ``"sm_90a"``.

    Args:
        sm: processor name with its suffix, ``"sm_100a"``.
        at_least: the highest version that any instruction of the module needs.

    Raises:
        ToolchainError: the processor is unknown, or no version that LLVM emits is high enough.
    """
    minimum = _minimum(sm)
    generation = int(sm.removeprefix("sm_").rstrip("af")) // 10
    default = _DEFAULT_PTX_BLACKWELL if generation >= 10 else _DEFAULT_PTX
    wanted = max(minimum, default, at_least)
    for version in LLVM_PTX_VERSIONS:
        if version >= wanted:
            return version
    raise ToolchainError(
        f"PTX version {wanted // 10}.{wanted % 10} is newer than LLVM can emit",
        code="OC1513",
        expected=f"at most {LLVM_PTX_VERSIONS[-1]}",
        found=wanted,
    )


def _minimum(sm: str) -> int:
    try:
        return MINIMUM_PTX[sm]
    except KeyError:
        raise ToolchainError(
            f"no PTX can be made for the processor {sm!r}",
            code="OC1512",
            expected=", ".join(MINIMUM_PTX),
            found=sm,
        ) from None


def _check_version(sm: str, ptx_version: int) -> None:
    minimum = _minimum(sm)
    if ptx_version < minimum or ptx_version not in LLVM_PTX_VERSIONS:
        allowed = [v for v in LLVM_PTX_VERSIONS if v >= minimum]
        raise ToolchainError(
            f"PTX version {ptx_version} cannot be emitted for {sm}",
            code="OC1513",
            expected=f"one of {', '.join(map(str, allowed))}",
            found=ptx_version,
        )


def to_ptx(ir_text: str, sm: str, ptx_version: int, passes: Passes = "small") -> PtxResult:
    """Compile LLVM IR text to PTX.

    Args:
        ir_text: the module; its triple and data layout are filled in when absent.
        sm: processor name, ``"sm_90a"``.
        ptx_version: ``.version`` of the result as two digits, 86 for 8.6.
        passes: the pass list; "small" is enough for IR from our code generator.

    Raises:
        ToolchainError: unknown processor or version, or IR that LLVM rejects (with the line).
    """
    _check_version(sm, ptx_version)
    timings: dict[str, float] = {}
    llvm = initialize()
    with LOCK:
        _check_known(llvm, sm)
        machine: Any = nvptx_target_machine(sm, f"+ptx{ptx_version}")
        module = parse_module(ir_text, machine, timings)
        start = time.perf_counter()
        run_passes(module, machine, passes)
        timings["passes"] = (time.perf_counter() - start) * 1e3
        start = time.perf_counter()
        ptx = str(machine.emit_assembly(module))
        timings["emit"] = (time.perf_counter() - start) * 1e3
    return PtxResult(ptx, timings)


def bitcode_to_ptx(bitcode: bytes, sm: str = "sm_80") -> str:
    """LLVM bitcode of device functions as PTX that processors from `sm` on take.

    Raises:
        ToolchainError: OC1518, LLVM cannot read it.
    """
    llvm = initialize()
    with LOCK:
        try:
            text = str(llvm.parse_bitcode(bitcode))
        except RuntimeError as e:
            raise ToolchainError(
                "LLVM cannot read this bitcode", code="OC1518", found=str(e).strip()
            ) from None
    text = re.sub(r"^target (?:triple|datalayout) = .*$", "", text, flags=re.MULTILINE)
    return to_ptx(text, sm, ptx_version_for(sm)).ptx


def _check_known(llvm: Any, sm: str) -> None:
    """Raise for a processor that this LLVM does not know; it would only grumble on stderr.

    Asked for no PTX version, LLVM picks the processor's lowest, or 3.2 for an unknown name.
    """
    if sm in _probed:
        return
    ptx = str(nvptx_target_machine(sm, "").emit_assembly(llvm.parse_assembly("")))
    if ".version 3.2\n" in ptx:
        raise ToolchainError(
            f"LLVM {'.'.join(map(str, llvm_version()))} does not know {sm}",
            code="OC1512",
            hint="pip install -U llvmlite",
        )
    _probed.add(sm)
