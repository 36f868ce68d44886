# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM set up once per process, its target machines, and its two pass lists.

In: a CPU name and a feature string, e.g. ``nvptx_target_machine("sm_90a", "+ptx86")``. Out: an
llvmlite TargetMachine, the same object for the same arguments. An unknown processor or a PTX
version below a processor's minimum makes LLVM abort or guess, so `opencute.native.nvptx` checks
both first.

LLVM is not entered by two threads at once: every user of this module holds `LOCK` meanwhile.
"""

from __future__ import annotations

import threading
from typing import Any, Literal, cast

from opencute.base.errors import MissingPieceError

__all__ = [
    "LOCK",
    "Passes",
    "host_description",
    "host_target_machine",
    "initialize",
    "llvm_version",
    "nvptx_target_machine",
    "run_passes",
]

LOCK = threading.RLock()

Passes = Literal["none", "small", "O1", "O2", "O3"]

_NVPTX_TRIPLE = "nvptx64-nvidia-cuda"
_llvm: Any = None
_machines: dict[tuple[object, ...], Any] = {}
_host: list[tuple[str, str, str]] = []


def initialize() -> Any:
    """Load llvmlite and LLVM's targets, once, and return ``llvmlite.binding``.

    Raises:
        MissingPieceError: llvmlite is not installed.
    """
    global _llvm
    if _llvm is not None:
        return _llvm
    with LOCK:
        if _llvm is None:
            try:
                import llvmlite.binding as loaded  # pyright: ignore[reportMissingTypeStubs]
            except ImportError as e:
                raise MissingPieceError(
                    f"llvmlite cannot be imported: {e}",
                    code="OC5013",
                    hint="pip install 'llvmlite>=0.45'",
                ) from e
            llvm = cast(Any, loaded)
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            # The vectorizer is quadratic in the block size, and we emit vector accesses ourselves.
            # An option may be given to LLVM only once per process.
            llvm.set_option("opencute", "-disable-nvptx-load-store-vectorizer")
            # Addresses of shared memory take one register, not two.
            llvm.set_option("opencute", "-nvptx-short-ptr")
            # A pointer that each iteration moves, for every row of a tile, costs two registers
            # each; sums of one base and what stays the same cost none that matter.
            llvm.set_option("opencute", "-disable-lsr")
            _llvm = llvm
    return _llvm


def llvm_version() -> tuple[int, int, int]:
    """LLVM's version, e.g. ``(22, 1, 0)``."""
    major, minor, patch = initialize().llvm_version_info
    return int(major), int(minor), int(patch)


def nvptx_target_machine(cpu: str = "sm_90a", features: str = "+ptx86") -> Any:
    """The NVPTX target machine for a processor and a PTX version; made once for each pair.

    Its level is 2, which gives the code of 3 in less time. At 0 LLVM skips the register coalescer,
    and the moves that remain between wgmma instructions make ptxas serialise them.
    """
    llvm = initialize()
    key = ("nvptx", cpu, features)
    with LOCK:
        if key not in _machines:
            target = llvm.Target.from_triple(_NVPTX_TRIPLE)
            _machines[key] = target.create_target_machine(
                cpu=cpu, features=features, opt=2, codemodel="default"
            )
        return _machines[key]


def host_description() -> tuple[str, str, str]:
    """Triple, CPU name and features of this machine: what native object code depends on."""
    llvm = initialize()
    with LOCK:
        if not _host:
            features = llvm.get_host_cpu_features().flatten()
            _host.append((llvm.get_process_triple(), llvm.get_host_cpu_name(), features))
        return _host[0]


def host_target_machine(opt: int = 2) -> Any:
    """The target machine of this CPU with all its features, for code that runs in this process."""
    llvm = initialize()
    key = ("host", opt)
    with LOCK:
        if key not in _machines:
            triple, cpu, features = host_description()
            # pic: imported symbols may lie anywhere in the address space, data included.
            _machines[key] = llvm.Target.from_triple(triple).create_target_machine(
                cpu=cpu, features=features, opt=opt, reloc="pic", jit=True
            )
        return _machines[key]


def run_passes(module: Any, machine: Any, passes: Passes) -> None:
    """Optimise a parsed module in place.

    Args:
        module: an llvmlite ModuleRef.
        machine: the target machine that will emit it.
        passes: "none", "small" (what says alwaysinline is inlined, then sroa, instcombine,
            simplifycfg, dce), or LLVM's own "O1" to "O3".
    """
    if passes == "none":
        return
    llvm = initialize()
    options = llvm.create_pipeline_tuning_options(
        speed_level=int(passes[1]) if passes != "small" else 1
    )
    # On a GPU the compiler has unrolled what it wants unrolled, and emits the vectors itself.
    wide = passes != "small" and not str(machine.triple).startswith("nvptx")
    options.loop_unrolling = wide
    options.loop_vectorization = wide
    options.slp_vectorization = wide
    builder = llvm.create_pass_builder(machine, options)
    if passes != "small":
        builder.getModulePassManager().run(module, builder)
        return
    inlines = any(
        not f.is_declaration and b"alwaysinline" in f.attributes for f in module.functions
    )
    if inlines:
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.run(module, builder)
    manager = llvm.create_new_function_pass_manager()
    manager.add_sroa_pass()
    if inlines:
        # Library functions choose between tables of constants; without this pass ptxas keeps more
        # of them in registers (a gelu of eight f16: 37 registers instead of 31).
        manager.add_sccp_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_dead_code_elimination_pass()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, builder)
