# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""All stages of one compiled function, each made when it is first asked for.

    cute      the module as it was traced
    lowered   addresses, loads and stores
    llvm      LLVM IR of the kernels
    ptx, cubin, sass

With OPENCUTE_DUMP_DIR every stage that is made is also written there, in one folder per compiled
function (``relu``, and ``relu-1`` when it is compiled again for other arguments)::

    relu/00-cute.mlir  01-contract_fma.mlir  ...  07-llvm.ll  08-ptx.ptx  09-cubin.cubin

Any of these files can be edited and taken instead of what the compiler makes:
``compiled.artefacts.restart_from(file)`` does it for one function; and with OPENCUTE_DUMP_OVERRIDE
naming a folder that holds ``relu/04-tiles.mlir``, a program runs with that stage replaced. Of
several files there the last stage counts.
"""

from __future__ import annotations

import fnmatch
import logging
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from opencute.arch.target import target
from opencute.base import log
from opencute.base.errors import CompileError, ToolchainError
from opencute.base.knobs import KNOBS
from opencute.codegen.asm.origin import number_assembly, place
from opencute.codegen.debug.advisories import advisories
from opencute.codegen.debug.explain import KernelFacts, explain
from opencute.codegen.device import DeviceCode, assemble, compile_to_ptx, llvm_to_ptx
from opencute.codegen.host import HostCode, compile_host_text
from opencute.codegen.ptxas import FunctionReport
from opencute.compiler.cached import cached_device_code
from opencute.compiler.options import Options
from opencute.dialects import builtin
from opencute.dialects.gpu import LaunchFuncOp
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import collect_young, paused_gc
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.ir.passes import PassRecord
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify
from opencute.passes.assertions import drop_assertions
from opencute.passes.loops.requests import unmet_requests
from opencute.passes.pipelines import (
    DEVICE,
    cute_pipeline,
    device_pipeline,
    host_pipeline,
    verify_functions,
)

__all__ = ["Artefacts"]

_LOG = logging.getLogger("opencute.compiler")
_SUFFIXES = {"llvm": ".ll", "ptx": ".ptx", "cubin": ".cubin", "sass": ".sass"}
_FIRST = len(DEVICE) + 1
_FILES = {s: f"{n:02}-{s}{_SUFFIXES[s]}" for n, s in enumerate(("llvm", "ptx", "cubin"), _FIRST)}
_STAGE = re.compile(r"[0-9]{2,}-\w+\.(mlir|ll|ptx|cubin)\Z")
_names: dict[tuple[Path | None, Path | None, str], int] = {}


class Artefacts:
    """The stages of one module.

    Args:
        name: symbol of the host function.
        module: the traced module; it is not changed.
        arch: architecture of the kernels.
        options: compile options.
        later: verify the module while the assembler works, not at once; with assembly of the
            user's, that comes first all the same.

    Attributes:
        records: what each pass on the kernels did, once they are lowered.
        outline: that of the module (`ir.printer.outline`), from who has it anyway.
        printed: what `text` gives, if somebody has it; None to save the room.

    Raises:
        VerificationError: the module breaks a rule. No machine code of one is given back, and what
            else may go wrong with it is not what is reported.
    """

    def __init__(
        self, name: str, module: Op, arch: str, options: Options, *, later: bool = False
    ) -> None:
        log.configure()
        self.name = name
        self.module = module
        self.target = target(arch)
        self.options = options
        self.records: list[PassRecord] = []
        self.dump_dir: Path | None = None
        self.outline: str | None = None
        self.printed: str | None = None
        self._passed = 0
        self._verified = False
        self._given: dict[str, str | bytes] = {}
        self._assembly = number_assembly(module)
        if KNOBS.dump_dir is not None or KNOBS.dump_override is not None:
            self._dump_and_override(KNOBS.dump_dir, KNOBS.dump_override)
        if not later or self.replaced or self._assembly:  # LLVM may die of what is wrong with that
            self._verify()

    # ---------------------------------------------------------------- dumps
    def _dump_and_override(self, dumps: Path | None, override: Path | None) -> None:
        """Choose the folder of this function, and take a stage from the one of that name."""
        count = _names.get((dumps, override, self.name), 0)
        _names[dumps, override, self.name] = count + 1
        folder = f"{self.name}-{count}" if count else self.name
        if override is not None and (override / folder).is_dir():
            files = [f for f in (override / folder).iterdir() if _STAGE.match(f.name)]
            if files:
                self._take(max(files))
        if dumps is not None and fnmatch.fnmatch(self.name, KNOBS.dump_match):
            self.dump_dir = dumps / folder
            if not self.replaced:  # the pipeline writes it too, but this one may be refused first
                text = print_op(self.module, locations=True)
                _write(self.dump_dir / "00-cute.mlir", f"// 00 cute\n{text}")

    def _dump(self, stage: str, data: str | bytes) -> None:
        """Write a stage that is not the result of a pass; those `Pipeline.run` writes."""
        if self.dump_dir is not None and data:
            _write(self.dump_dir / _FILES[stage], data)

    def keep(self) -> None:
        """Write the stages that the options ask for."""
        options = self.options
        folder = Path(options.dump_dir or ".")
        if KNOBS.print_ir:
            print(self.cute)
        if options.keep_ir_debug:
            _write(folder / f"{self.name}-debug.mlir", print_op(self.module, locations=True))
        if options.keep_ir:
            _write(folder / f"{self.name}.mlir", self.lowered)
        for stage in ("ptx", "cubin", "sass"):
            if getattr(options, f"keep_{stage}"):
                _write(folder / f"{self.name}-kernels{_SUFFIXES[stage]}", getattr(self, stage))

    # ---------------------------------------------------------------- replacing a stage
    def restart_from(self, file: Path) -> Artefacts:
        """The same function from a stage on that `file` holds.

        Args:
            file: a file as OPENCUTE_DUMP_DIR has it, perhaps edited; its name says which stage.

        Raises:
            CompileError: OC1050, if the name is not that of a stage.
        """
        new = Artefacts(self.name, self.module, self.target.name, self.options)
        new._take(file)
        new._verified = False
        new._verify()
        return new

    def take_cubin(self, cubin: bytes) -> None:
        """Use this machine code instead of compiling the kernels."""
        self._given = {"cubin": cubin}

    def _take(self, file: Path) -> None:
        stage = next((s for s, name in _FILES.items() if name == file.name), None)
        if stage is None and file.suffix != ".mlir":
            raise CompileError(
                f"{file.name} is no stage", code="OC1050", expected=", ".join(_FILES.values())
            )
        _LOG.info("%s: goes on from %s", self.name, file)
        if stage is None:
            self._passed = device_pipeline(self.target).stage_of(file)
            self.module = parse(file.read_text(encoding="utf-8"), str(file))
        else:
            data = file.read_bytes()
            self._given = {stage: data if stage == "cubin" else data.decode()}

    @paused_gc()
    def _verify(self) -> None:
        """Verify the module, once."""
        if not self._verified:
            (verify_functions if self._passed else verify)(self.module)
            self._verified = True

    @property
    def replaced(self) -> bool:
        """Whether a stage was taken from a file."""
        return bool(self._given) or self._passed > 0

    # ---------------------------------------------------------------- stages
    @property
    def cute(self) -> str:
        """The traced module as text."""
        return str(self.module)

    def text(self) -> str:
        """The module as text, with source lines where the code keeps them: the caches go by it."""
        if self.printed is None:
            self.printed = print_op(self.module, locations=self.options.line_info)
        return self.printed

    @cached_property
    def lowered_module(self) -> Op:
        """The module after all passes."""
        self._verify()
        module = self.module.clone({})
        self._lower(module)
        host_pipeline(self.target).run(module)
        return module

    def _check_or_drop(self, module: Op) -> None:
        """Remove assertions from a module unless they are asked for."""
        if not self.options.assertions:
            drop_assertions(module)

    def _lower(self, module: Op) -> None:
        """Bring the kernels to the llvm level in place."""
        self._check_or_drop(module)
        pipeline = device_pipeline(self.target)
        self.records = pipeline.run(module, dump_dir=self.dump_dir, start=self._passed)

    @property
    def lowered(self) -> str:
        """The lowered module as text."""
        return str(self.lowered_module)

    @cached_property
    def host(self) -> HostCode:
        """The host function for this machine's processor, as LLVM IR."""
        self._verify()
        module = _host_side(self.module)
        self._check_or_drop(module)
        host_pipeline(self.target).run(module)
        return compile_host_text(module, self.name)

    @cached_property
    def simulated_module(self) -> Op:
        """What the simulator runs: the traced module with multiplications and additions contracted,
        as the machine code has them."""
        self._verify()
        module = self.module.clone({})
        pipeline = cute_pipeline(self.target)
        pipeline.run(module, dump_dir=self.dump_dir, start=min(self._passed, len(pipeline.passes)))
        return module

    @cached_property
    def _until_ptx(self) -> DeviceCode:
        self._verify()
        return self._emit()

    @paused_gc()
    def _emit(self) -> DeviceCode:
        ir, ptx = self._given.get("llvm"), self._given.get("ptx")
        if isinstance(ptx, str):
            code = DeviceCode("", ptx)
        elif isinstance(ir, str):
            code = llvm_to_ptx(ir, self.target, isolated=bool(self._assembly))
        else:
            module = self.module.clone({})
            start = time.perf_counter()
            self._lower(module)
            lowered = (time.perf_counter() - start) * 1e3
            code = compile_to_ptx(
                module, self.target, line_info=self.options.line_info,
                isolated=bool(self._assembly),
            )  # fmt: skip
            code = replace(code, timings={"lower": lowered, **code.timings})
        self._dump("llvm", code.llvm_ir)
        self._dump("ptx", code.ptx)
        return code

    @cached_property
    def device(self) -> DeviceCode:
        """The kernels, assembled."""
        return self.make_device(lambda: None)

    def make_device(self, meanwhile: Callable[[], None]) -> DeviceCode:
        """The kernels, assembled; from the disk cache if they were assembled before.

        Args:
            meanwhile: work to do while the assembler runs.
        """
        made = self.__dict__.get("device")
        if isinstance(made, DeviceCode):
            meanwhile()
            return made
        done: list[bool] = []

        def compile_() -> DeviceCode:
            done.append(True)
            return self._compile(meanwhile)

        cubin = self._given.get("cubin")
        if isinstance(cubin, bytes):
            code = DeviceCode("", "", cubin)
        elif self.replaced or self.dump_dir is not None:
            code = compile_()
        else:
            code = cached_device_code(
                self.module, self.target, self.options, compile_, self.text, self.outline
            )
        if not done:
            self._verify()
            meanwhile()
        self.__dict__["device"] = code
        self._dump("cubin", code.cubin)
        self._advise(code)
        return code

    @paused_gc()
    def _compile(self, meanwhile: Callable[[], None]) -> DeviceCode:
        """Compile the kernels; what the assembler's work hides is checked and printed then."""
        made: list[str] = []

        def emit() -> DeviceCode:
            code = self._emit()
            made.append(code.ptx)
            return code

        def rest() -> None:
            self._verify()
            meanwhile()
            self.text()
            collect_young()

        try:
            return assemble(
                emit, self.target, self.options.opt_level, self.options.line_info,
                written_for=_written_for(self.module), meanwhile=rest,
                extra=self.options.ptxas_arguments,
            )  # fmt: skip
        except Exception as e:
            self._verify()  # a module that breaks a rule may break anything
            if isinstance(e, ToolchainError) and made and self._assembly:
                raise place(e, made[0], self._assembly) from None
            raise

    def _advise(self, code: DeviceCode) -> None:
        if KNOBS.advisories:
            for advisory in advisories(code.report, self.module):
                log.warn(str(advisory), log.PerformanceWarning, advisory.loc)
            for request in unmet_requests(self.module):
                log.warn(str(request), log.PerformanceWarning, request.loc)

    def take_device_code(self, code: DeviceCode) -> None:
        """Use machine code that was made elsewhere for the same module and options."""
        self.__dict__["device"] = code
        self._advise(code)

    @property
    def kernel_info(self) -> dict[str, FunctionReport]:
        """Registers, stack, spills and shared memory of each kernel, by its name."""
        return {f.name: f for f in self.device.report.functions}

    def explain(self) -> list[KernelFacts]:
        """What each kernel costs, with source lines; compiles once more to have them.

        Raises:
            MissingPieceError: there is no ptxas or no disassembler.
        """
        options = replace(self.options, line_info=True)
        lined = self if self.options.line_info else Artefacts(
            self.name, self.module, self.target.name, options
        )  # fmt: skip
        code = lined.device
        return [
            replace(f, arch=self.target.name, dynamic_smem=_dynamic_smem(self.module, f.name))
            for f in explain(code.cubin, code.report)
        ]

    def _made(self) -> DeviceCode:
        made = self.__dict__.get("device")
        return made if isinstance(made, DeviceCode) else self._until_ptx

    @property
    def llvm(self) -> str:
        """LLVM IR of the kernels."""
        return self._made().llvm_ir

    @property
    def ptx(self) -> str:
        """PTX of the kernels."""
        return self._made().ptx

    @property
    def cubin(self) -> bytes:
        """Machine code of the kernels."""
        return self.device.cubin

    @cached_property
    def sass(self) -> str:
        """Disassembly of the machine code.

        Raises:
            MissingPieceError: there is no disassembler.
        """
        from opencute.codegen.sass import disassemble

        return disassemble(self.cubin, tuple(shlex.split(self.options.nvdisasm_options)))


def _written_for(module: Op) -> int | None:
    """The lowest level of ptxas that a kernel's launch asked for."""
    kernels = [
        kernel
        for part in module.regions[0].block.ops if part.name == "gpu.module"
        for kernel in part.regions[0].block.ops
    ]  # fmt: skip
    asked = [kernel.attributes.get("cute.opt_level") for kernel in kernels]
    return min((a.value for a in asked if isinstance(a, IntAttr)), default=None)


def _dynamic_smem(module: Op, kernel: str) -> int | None:
    """The most dynamic shared memory that launches of a kernel ask for; None: run time decides."""
    found = 0
    for op in module.walk():
        if isinstance(op, LaunchFuncOp) and op.kernel.path[-1] == kernel and op.smem is not None:
            size = op.smem.op.attributes.get("value") if op.smem.op is not None else None
            if not isinstance(size, IntAttr):
                return None
            found = max(found, size.value)
    return found


def _host_side(module: Op) -> Op:
    """A copy of a module without the kernels, which may be a thousand times as much."""
    copy, block = builtin.module()
    block.set_ops([op.clone({}) for op in module.regions[0].block.ops if op.name != "gpu.module"])
    copy.attributes.update(module.attributes)
    return copy


def _write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.write_text(data, encoding="utf-8")
