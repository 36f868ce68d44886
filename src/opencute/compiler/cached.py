# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code in the disk cache: the same module, target, options and tools are compiled once.

The key is the text of the module (with source lines if the code keeps them), the architecture, the
options, the versions of OpenCuTe, LLVM and ptxas, and the knobs that change code. Values are text,
JSON and the cubin; nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from typing import Any

from opencute import base
from opencute.arch.target import Target
from opencute.base.counters import COUNTERS
from opencute.base.knobs import KNOBS
from opencute.codegen.device import DeviceCode
from opencute.codegen.ptxas import AsmReport, FunctionReport
from opencute.codegen.toolchain import find_ptxas
from opencute.compiler.options import Options
from opencute.ir.core import Op
from opencute.ir.printer import outline, print_op
from opencute.native.target import llvm_version
from opencute.runtime.cache import default_cache

__all__ = ["cache_key", "cached_device_code", "pack", "unpack"]

_KEPT = (
    "keep_ir", "keep_ir_debug", "keep_ptx", "keep_cubin", "keep_sass", "dump_dir", "enable_tvm_ffi",
    "nvdisasm_options", "host_target", "iket", "frontend_next",
)  # fmt: skip


_OUTLINE = 16  # digits


def _source_digest() -> str:
    """A digest of the compiler itself, so that a change in it is a change of the key."""
    global _digest
    if not _digest:
        from pathlib import Path

        root = Path(base.__file__).parents[1]
        state = hashlib.sha256()
        for package in ("arch", "codegen", "dialects", "ir", "native", "passes"):
            for file in sorted((root / package).rglob("*.py")):
                info = file.stat()
                state.update(f"{file.name}:{info.st_size}:{info.st_mtime_ns}\n".encode())
        _digest = state.hexdigest()
    return _digest


_digest = ""


def cache_key(module: Op, target: Target, options: Options, text: str | None = None) -> str:
    """The key of a module's machine code: 64 hex digits, the first ones by its outline.

    Args:
        module, target, options: what decides about the code.
        text: the module as text, with locations if the code keeps lines; printed if omitted.
    """
    ptxas = find_ptxas()
    facts = {
        "module": print_op(module, locations=options.line_info) if text is None else text,
        "target": target.name,
        "options": {k: v for k, v in vars(options).items() if k not in _KEPT},
        "tools": [str(ptxas.path), str(ptxas.version), str(llvm_version())],
        "compiler": _source_digest(),
        "knobs": [str(k) for k in KNOBS.cache_key() if k[0] != "target"],
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    start = outline(module)[:_OUTLINE]
    return start + digest[_OUTLINE:]


def cached_device_code(
    module: Op, target: Target, options: Options, compile_: Callable[[], DeviceCode],
    text: Callable[[], str], known: str | None = None,
) -> DeviceCode:  # fmt: skip
    """The machine code of a module, from the cache or from `compile_`.

    Args:
        module, target, options: see `cache_key`.
        compile_: makes it; the text may be printed on the way.
        text: as of `cache_key`; asked for before compiling only if there is code for a module with
            the same operations.
        known: the module's outline, if somebody has it.
    """
    if not KNOBS.cache_enabled:
        return compile_()
    cache = default_cache()
    start = (known or outline(module))[:_OUTLINE]
    if cache.has_any(start):
        found = cache.get(cache_key(module, target, options, text()))
        if found is not None:
            COUNTERS.cache_hits += 1
            return unpack(found)
    code = compile_()
    cache.put(cache_key(module, target, options, text()), pack(code))
    return code


def pack(code: DeviceCode) -> dict[str, bytes]:
    """Machine code and its report as bytes."""
    return {
        "llvm": code.llvm_ir.encode(),
        "ptx": code.ptx.encode(),
        "cubin": code.cubin,
        "report": json.dumps(dataclasses.asdict(code.report)).encode(),
    }


def unpack(blobs: dict[str, bytes]) -> DeviceCode:
    """The inverse of `pack`."""
    facts: dict[str, Any] = json.loads(blobs["report"])
    report = AsmReport(
        tuple(FunctionReport(**f) for f in facts["functions"]),
        tuple(facts["diagnostics"]),
        facts["log"],
    )
    return DeviceCode(blobs["llvm"].decode(), blobs["ptx"].decode(), blobs["cubin"], report)
