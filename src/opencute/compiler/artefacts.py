# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""All stages of one compiled function, each made when it is first asked for.

    cute      the module as it was traced
    lowered   addresses, loads and stores
    llvm      LLVM IR of the kernels
    ptx, cubin, sass

With OPENCUTE_DUMP_DIR every stage that is made is also written there.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from opencute.arch.target import target
from opencute.base.knobs import KNOBS
from opencute.codegen.device import DeviceCode, compile_device, compile_to_ptx
from opencute.codegen.host import HostCode, compile_host_text
from opencute.compiler.cached import cached_device_code
from opencute.compiler.options import Options
from opencute.ir.core import Op
from opencute.ir.verifier import verify
from opencute.passes.pipelines import run_cute_passes, run_device_passes, run_host_passes

__all__ = ["Artefacts"]


class Artefacts:
    """The stages of one module.

    Args:
        name: symbol of the host function.
        module: the traced module; it is not changed.
        arch: architecture of the kernels.
        options: compile options.

    Raises:
        VerificationError: the module breaks a rule; nothing unverified reaches LLVM.
    """

    def __init__(self, name: str, module: Op, arch: str, options: Options) -> None:
        verify(module)
        self.name = name
        self.module = module
        self.target = target(arch)
        self.options = options
        self._count = 0
        self._dump("cute", str(module))

    def _dump(self, stage: str, data: str | bytes) -> None:
        folder = KNOBS.dump_dir
        if folder is None or not fnmatch.fnmatch(self.name, KNOBS.dump_match):
            return
        self._write(folder, f"{self._count:02}-{stage}", stage, data)
        self._count += 1

    def _write(self, folder: Path, stem: str, stage: str, data: str | bytes) -> None:
        suffix = {"llvm": ".ll", "ptx": ".ptx", "cubin": ".cubin", "sass": ".sass"}.get(
            stage, ".mlir"
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{stem}{suffix}"
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            path.write_text(data)

    @property
    def cute(self) -> str:
        """The traced module as text."""
        return str(self.module)

    @cached_property
    def lowered_module(self) -> Op:
        """The module after all passes."""
        module = self.module.clone({})
        self._lower(module)
        run_host_passes(module, self.target)
        return module

    def _lower(self, module: Op) -> None:
        """Bring the kernels to the llvm level in place; prints stages only if they are kept."""
        dumped = KNOBS.dump_dir is not None
        after = (lambda name, m: self._dump(name, str(m))) if dumped else None
        run_device_passes(module, self.target, after)

    @property
    def lowered(self) -> str:
        """The lowered module as text."""
        return str(self.lowered_module)

    @cached_property
    def host(self) -> HostCode:
        """The host function for this machine's processor, as LLVM IR."""
        module = self.module.clone({})
        run_host_passes(module, self.target)
        return compile_host_text(module, self.name)

    @cached_property
    def _until_ptx(self) -> DeviceCode:
        module = self.module.clone({})
        self._lower(module)
        code = compile_to_ptx(module, self.target, line_info=self.options.line_info)
        self._dump("llvm", code.llvm_ir)
        self._dump("ptx", code.ptx)
        return code

    @cached_property
    def simulated_module(self) -> Op:
        """What the simulator runs: the traced module with multiplications and additions contracted,
        as the machine code has them."""
        module = self.module.clone({})
        run_cute_passes(module, self.target)
        return module

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

        code = cached_device_code(self.module, self.target, self.options, compile_)
        if not done:
            meanwhile()
        self.__dict__["device"] = code
        self._dump("llvm", code.llvm_ir)
        self._dump("ptx", code.ptx)
        self._dump("cubin", code.cubin)
        return code

    def _compile(self, meanwhile: Callable[[], None]) -> DeviceCode:
        module = self.module.clone({})
        return compile_device(
            module, self.target, self.options.opt_level, self.options.line_info,
            lower=self._lower, meanwhile=meanwhile,
        )  # fmt: skip

    def keep(self) -> None:
        """Write the stages that the options ask for."""
        if not (self.options.keep_ptx or self.options.keep_cubin or self.options.keep_sass):
            return
        code = self.device
        folder = Path(self.options.dump_dir or ".")
        if self.options.keep_ptx:
            self._write(folder, "kernels", "ptx", code.ptx)
        if self.options.keep_cubin:
            self._write(folder, "kernels", "cubin", code.cubin)
        if self.options.keep_sass:
            self._write(folder, "kernels", "sass", self.sass)

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

        return disassemble(self.cubin)
