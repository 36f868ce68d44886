# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text to a verified module; what LLVM rejects becomes an error that shows the line.

In: IR text and the target machine that will emit it. Out: an llvmlite ModuleRef whose data layout
and triple are the machine's. A parse error reads::

    [OC1510] LLVM cannot parse the IR it was given: expected value token
      found:    line 2:   %a = add i32 1, foo
"""

from __future__ import annotations

import re
import time
from typing import Any

from opencute.base.errors import ToolchainError
from opencute.native.target import initialize

__all__ = ["parse_module"]

_POSITION = re.compile(r"<string>:(\d+):(\d+): error: (.*)")


def parse_module(ir_text: str, machine: Any, timings: dict[str, float] | None = None) -> Any:
    """Parse and verify IR text.

    Args:
        ir_text: the module.
        machine: target machine whose data layout and triple the module gets.
        timings: gets the milliseconds of "parse" and "verify".

    Raises:
        ToolchainError: OC1510 for text that does not parse, OC1511 if it does not verify.
    """
    llvm = initialize()
    start = time.perf_counter()
    try:
        module = llvm.parse_assembly(ir_text)
    except RuntimeError as e:
        raise _parse_error(ir_text, str(e)) from None
    parsed = time.perf_counter()
    module.triple = str(machine.triple)
    module.data_layout = str(machine.target_data)
    try:
        module.verify()
    except RuntimeError as e:
        raise _verify_error(ir_text, str(e)) from None
    if timings is not None:
        timings["parse"] = (parsed - start) * 1e3
        timings["verify"] = (time.perf_counter() - parsed) * 1e3
    return module


def _parse_error(ir_text: str, message: str) -> ToolchainError:
    match = _POSITION.search(message)
    if match is None:
        return ToolchainError(
            f"LLVM cannot parse the IR it was given: {message.strip()}", code="OC1510"
        )
    lines = ir_text.split("\n")
    number = int(match[1])
    shown = lines[number - 1] if number <= len(lines) else ""
    return ToolchainError(
        f"LLVM cannot parse the IR it was given: {match[3]}",
        code="OC1510",
        found=f"line {number}: {shown}",
    )


def _verify_error(ir_text: str, message: str) -> ToolchainError:
    """LLVM's verifier quotes instructions, not positions: look the first quoted one up."""
    lines = [line.strip() for line in ir_text.split("\n")]
    complaint, *quoted = [line for line in message.split("\n") if line.strip()]
    found = quoted[0] if quoted else None
    for quote in quoted:
        # LLVM may print attributes and alignments that the text left out.
        for number, line in enumerate(lines, 1):
            if line and quote.strip().startswith(line.split(" ;")[0].rstrip()):
                found = f"line {number}: {line}"
                break
        else:
            continue
        break
    return ToolchainError(
        f"LLVM's verifier rejects the IR it was given: {complaint.strip()}",
        code="OC1511",
        found=found,
    )
