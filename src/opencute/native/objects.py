# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text to an object file, for this machine's processor or another one.

emit_object("define i32 @one() {\\n ret i32 1\\n}")                      # this machine
emit_object(text, HostTarget("aarch64-unknown-linux-gnu"))             # cross-compiled
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from opencute.base.errors import ArgumentError
from opencute.native.target import LOCK, initialize, run_passes
from opencute.native.text import parse_module

__all__ = ["HostTarget", "emit_object", "host_target"]

_PRESETS = {
    "linux-aarch64": "aarch64-unknown-linux-gnu",
    "linux-x86_64": "x86_64-unknown-linux-gnu",
}


@dataclass(frozen=True)
class HostTarget:
    """A processor that host code is for.

    Args:
        triple: LLVM's name of architecture and system; this machine's when empty.
        cpu: the processor; any of the architecture when empty.
        features: ``+name,-name``.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""


def host_target(text: str) -> HostTarget:
    """The target that ``--host-target`` names.

    Args:
        text: empty for this machine, a preset such as ``linux-aarch64``, or
            ``llvm -mtriple=<triple> [-mcpu=<cpu>] [-mattr=<features>]``.

    Raises:
        ArgumentError: OC2149, neither of these, or an architecture that LLVM lacks here.
    """
    words = shlex.split(text)
    if not words:
        return HostTarget()
    if len(words) == 1 and words[0] in _PRESETS:
        return HostTarget(_PRESETS[words[0]])
    known = {"-mtriple": "triple", "-mcpu": "cpu", "-mattr": "features"}
    found: dict[str, str] = {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key not in known or not value:
            break
        found[known[key]] = value
    else:
        if words[0] == "llvm" and found.get("triple", "").split("-")[0] in ("aarch64", "x86_64"):
            return HostTarget(**found)
    raise ArgumentError(
        "no such host target", code="OC2149", found=text,
        expected=f"{', '.join(_PRESETS)}, or 'llvm -mtriple=... [-mcpu=...] [-mattr=...]'",
    )  # fmt: skip


def emit_object(ir_text: str, target: HostTarget | None = None) -> bytes:
    """Compile IR to a relocatable object file.

    Args:
        ir_text: the module.
        target: the processor; any of this machine's architecture when omitted.

    Raises:
        ToolchainError: LLVM rejects the IR.
    """
    target = target or HostTarget()
    llvm = initialize()
    with LOCK:
        if target.triple.startswith("aarch64"):
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        triple = target.triple or llvm.get_process_triple()
        machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=2, reloc="pic"
        )
        module = parse_module(ir_text, machine)
        run_passes(module, machine, "small")
        return bytes(machine.emit_object(module))
