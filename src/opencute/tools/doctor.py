# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute doctor`: what is installed, what is missing, and what to do about it.

In: this machine. Out: `examine()`, the facts as one dict (printed by `--json`), and `show()`, the
same for people. The sentences about a missing piece are those that its error prints.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen import toolchain
from opencute.integrations import environment

__all__ = ["cutlass_modules", "examine", "show"]

VENDOR = "nvidia-cutlass-dsl"
_OWN_MARK = "The OpenCuTe authors"

# Distribution names of a piece, and what it is for.
_PACKAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "numpy": (("numpy",), "arrays"),
    "ml_dtypes": (("ml_dtypes", "ml-dtypes"), "bf16 and narrow floats"),
    "llvmlite": (("llvmlite",), "code generation"),
    "torch": (("torch",), "files that use torch"),
    "jax": (("jax",), "files that use JAX"),
    "cuda-bindings": (("cuda-bindings",), "launching on a GPU"),
    "apache-tvm-ffi": (("apache-tvm-ffi",), "calls from other languages"),
}
_REQUIRED = ("numpy", "ml_dtypes", "llvmlite")


@dataclass(frozen=True)
class CutlassModule:
    """A `cutlass` package that Python can see.

    Args:
        path: its file.
        owner: opencute, vendor, or other.
    """

    path: str
    owner: str


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _owner(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")[:400]
    except OSError:
        return "other"
    if _OWN_MARK in text:
        return "opencute"
    vendors = "nvidia_cutlass_dsl" in str(path) or _version((VENDOR,)) is not None
    return "vendor" if vendors else "other"


def cutlass_modules() -> list[CutlassModule]:
    """All `cutlass` packages on the path, the one that Python would take first."""
    found: dict[str, CutlassModule] = {}
    spec = importlib.util.find_spec("cutlass")
    candidates = [Path(spec.origin)] if spec is not None and spec.origin else []
    candidates += [Path(entry or ".") / "cutlass" / "__init__.py" for entry in sys.path]
    for path in candidates:
        if path.is_file():
            key = str(path.resolve())
            found.setdefault(key, CutlassModule(key, _owner(path)))
    return list(found.values())


def _cutlass_facts() -> dict[str, Any]:
    modules = cutlass_modules()
    own = any(m.owner == "opencute" for m in modules)
    theirs = any(m.owner != "opencute" for m in modules)
    plain: str | None = None
    if modules:
        # Ours steps aside for another one unless the knob asks for it.
        first = modules[0].owner
        other = next((m.owner for m in modules if m.owner != "opencute"), None)
        plain = first if first != "opencute" or KNOBS.alias or other is None else other
    return {
        "import_cutlass_is": plain,
        "under_opencute_run": "opencute" if own else plain,
        "vendor_version": _version((VENDOR,)),
        "alias_forced": KNOBS.alias,
        "both_present": own and theirs,
        "modules": [{"path": m.path, "owner": m.owner} for m in modules],
    }


def _llvm_version() -> str | None:
    if importlib.util.find_spec("llvmlite") is None:
        return None
    binding: Any = importlib.import_module("llvmlite.binding")
    return ".".join(map(str, binding.llvm_version_info))


def _gpu_facts() -> dict[str, Any]:
    driver = environment.driver_version()
    return {
        "driver_cuda": None if driver is None else f"{driver[0]}.{driver[1]}",
        "devices": [
            {"name": g.name, "capability": f"{g.capability[0]}.{g.capability[1]}"}
            for g in environment.gpus()
        ],
    }


def _tool_facts(tool: toolchain.Tool) -> dict[str, Any]:
    return {"path": str(tool.path), "version": tool.version_text, "found": tool.source}


def _ptxas_facts(problems: list[dict[str, Any]]) -> dict[str, Any]:
    try:
        tool = toolchain.find_ptxas()
    except MissingPieceError as error:
        problems.append(_problem("ptxas", error))
        driver = environment.driver_version()
        fallback = "the driver's own PTX compiler" if driver and environment.gpu_count() else None
        return {"path": None, "fallback": fallback, "architectures": []}
    return {**_tool_facts(tool), "architectures": list(toolchain.supported_archs(tool))}


def _problem(piece: str, error: MissingPieceError, *, needed: bool = False) -> dict[str, Any]:
    return {"piece": piece, "code": error.code, "what": error.message, "do": error.hint,
            "needed": needed}  # fmt: skip


def _cache_facts() -> dict[str, Any]:
    try:
        cache: Any = importlib.import_module("opencute.runtime.cache")
        facts: dict[str, Any] = asdict(cache.default_cache().stat())
        facts["directory"] = str(facts["directory"])
    except (ImportError, OSError) as error:
        return {"enabled": KNOBS.cache_enabled, "error": str(error)}
    return {"enabled": KNOBS.cache_enabled, **facts}


def _knob_facts() -> dict[str, str]:
    """The knobs that the environment sets."""
    return {k.env: os.environ[k.env] for k in KNOBS.declared() if k.env in os.environ}


def examine() -> dict[str, Any]:
    """The facts about this machine; `missing` lists what is not there and what to do."""
    problems: list[dict[str, Any]] = []
    packages = {name: _version(names) for name, (names, _) in _PACKAGES.items()}
    for name in _REQUIRED:
        if packages[name] is None:
            problems.append(_problem(name, toolchain.missing(name), needed=True))
    gpu = _gpu_facts()
    if not gpu["devices"]:
        problems.append(_problem("gpu", toolchain.missing("gpu")))
    elif packages["cuda-bindings"] is None:
        problems.append(_problem("cuda-bindings", toolchain.missing("cuda-bindings"), needed=True))
    if packages["torch"] is None:
        problems.append(_problem("torch", toolchain.missing("torch")))
    ptxas = _ptxas_facts(problems)
    disassembler = libdevice = None
    try:
        disassembler = _tool_facts(toolchain.find_disassembler())
    except MissingPieceError as error:
        problems.append(_problem("disassembler", error))
    try:
        libdevice = str(toolchain.find_libdevice())
    except MissingPieceError as error:
        problems.append(_problem("libdevice", error))
    return {
        "opencute": _version(("opencute",)) or "source checkout",
        "source": str(environment.source_root()),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "llvm": _llvm_version(),
        "target": "simulator" if environment.uses_simulator() else "GPU",
        "gpu": gpu,
        "ptxas": ptxas,
        "disassembler": disassembler,
        "libdevice": libdevice,
        "cutlass": _cutlass_facts(),
        "cache": _cache_facts(),
        "knobs": _knob_facts(),
        "missing": problems,
        "ok": not any(p["needed"] for p in problems),
    }


def _tool_line(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "not found"
    if facts.get("path") is None:
        return f"not found{'; instead: ' + facts['fallback'] if facts.get('fallback') else ''}"
    return f"{facts['version']}  {facts['path']}  ({facts['found']})"


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    gpu, cutlass = facts["gpu"], facts["cutlass"]
    devices = [f"{d['name']} (capability {d['capability']})" for d in gpu["devices"]]
    packages: dict[str, str | None] = facts["packages"]
    return [
        ("opencute", f"{facts['opencute']}  {facts['source']}"),
        ("python", f"{facts['python']}  {facts['platform']}"),
        *((k, f"{v or 'not installed'}  ({_PACKAGES[k][1]})") for k, v in packages.items()),
        ("LLVM", facts["llvm"] or "none"),
        ("GPU", ", ".join(devices) or "none"),
        ("driver", f"CUDA {gpu['driver_cuda']}" if gpu["driver_cuda"] else "none"),
        ("kernels run", f"on the {facts['target']}"),
        ("ptxas", _tool_line(facts["ptxas"])),
        ("architectures", " ".join(facts["ptxas"]["architectures"]) or "none"),
        ("disassembler", _tool_line(facts["disassembler"])),
        ("libdevice", facts["libdevice"] or "not found"),
        ("import cutlass", cutlass["import_cutlass_is"] or "nothing"),
        ("  opencute run", cutlass["under_opencute_run"] or "nothing"),
        *(("  found", f"{m['path']}  ({m['owner']})") for m in cutlass["modules"]),
        *((f"cache {k}", str(v)) for k, v in facts["cache"].items()),
        *facts["knobs"].items(),
    ]


def show(facts: dict[str, Any]) -> None:
    """Print the facts of `examine()` for people."""
    lines = _lines(facts)
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        print(f"{name:<{width}}  {text}")
    if not facts["missing"]:
        print("\nnothing is missing")
        return
    print("\nmissing:")
    for problem in facts["missing"]:
        print(f"  [{problem['code']}] {problem['what']}")
        print(f"      {problem['do']}")
