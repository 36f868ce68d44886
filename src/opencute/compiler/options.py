# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile options, as a string (``"--opt-level 2"``) or typed (``compile[OptLevel(2)]``)."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

from opencute.base.errors import ArgumentError
from opencute.native.objects import host_target

__all__ = [
    "CompileOption",
    "DumpDir",
    "EnableAssertions",
    "EnableTVMFFI",
    "GPUArch",
    "GenerateLineInfo",
    "KeepCUBIN",
    "KeepPTX",
    "KeepSASS",
    "OptLevel",
    "Options",
    "PtxasOptions",
    "parse_options",
]


@dataclass(frozen=True)
class Options:
    """What changes the code, and what is kept.

    Args:
        opt_level: level of ptxas, 0 to 3.
        line_info: keep source lines for profilers.
        assertions: check `assert_` on the device.
        keep_ptx, keep_cubin, keep_sass: write the stage next to the program, or to `dump_dir`.
        gpu_arch: architecture such as sm_90a; the target's own when empty.
        ptxas_options: further flags for ptxas.
        dump_dir: where kept stages go.
        enable_tvm_ffi: accepted; the native calling convention is used in any case.
        host_target: processor that exported host code is for; this machine's when empty.
    """

    opt_level: int = 3
    line_info: bool = False
    assertions: bool = False
    keep_ptx: bool = False
    keep_cubin: bool = False
    keep_sass: bool = False
    gpu_arch: str = ""
    ptxas_options: str = ""
    dump_dir: str = ""
    enable_tvm_ffi: bool = False
    host_target: str = ""


class CompileOption:
    """A typed option; a class without parentheses means True."""

    field: ClassVar[str] = ""
    default: ClassVar[Any] = True

    def __init__(self, value: Any = True) -> None:
        self.value = value


def _option(name: str, field: str, doc: str) -> Any:
    return type(name, (CompileOption,), {"field": field, "__doc__": doc, "__module__": __name__})


OptLevel = _option("OptLevel", "opt_level", "Level of ptxas, 0 to 3.")
GenerateLineInfo = _option("GenerateLineInfo", "line_info", "Keep source lines for profilers.")
EnableAssertions = _option("EnableAssertions", "assertions", "Check device assertions.")
KeepPTX = _option("KeepPTX", "keep_ptx", "Write the PTX.")
KeepCUBIN = _option("KeepCUBIN", "keep_cubin", "Write the cubin.")
KeepSASS = _option("KeepSASS", "keep_sass", "Write the disassembly.")
GPUArch = _option("GPUArch", "gpu_arch", "Architecture, such as sm_90a.")
PtxasOptions = _option("PtxasOptions", "ptxas_options", "Further flags for ptxas.")
DumpDir = _option("DumpDir", "dump_dir", "Where kept stages are written.")
EnableTVMFFI = _option("EnableTVMFFI", "enable_tvm_ffi", "Accepted; calls are native in any case.")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"compile options: {message}", code="OC2120", hint=self.format_usage())


def _parser() -> _Parser:
    p = _Parser(prog="options", add_help=False, allow_abbrev=False)
    p.add_argument("--opt-level", type=int, choices=range(4), default=3)
    p.add_argument("--generate-line-info", dest="line_info", action="store_true")
    p.add_argument("--enable-assertions", dest="assertions", action="store_true")
    p.add_argument("--keep-ptx", action="store_true")
    p.add_argument("--keep-cubin", action="store_true")
    p.add_argument("--keep-sass", action="store_true")
    p.add_argument("--gpu-arch", default="")
    p.add_argument("--ptxas-options", default="")
    p.add_argument("--dump-dir", default="")
    p.add_argument("--enable-tvm-ffi", action="store_true")
    p.add_argument("--host-target", default="")
    return p


def parse_options(text: str = "", typed: Any = ()) -> Options:
    """Options from a string and from typed ones, which win.

    Raises:
        ArgumentError: an unknown option or value.
    """
    out = Options()
    if text:
        out = Options(**vars(_parser().parse_args(shlex.split(text))))
    for item in typed if isinstance(typed, tuple | list) else (typed,):
        option: Any = item() if isinstance(item, type) and issubclass(item, CompileOption) else item
        if not isinstance(option, CompileOption):
            raise ArgumentError("not a compile option", code="OC2121", found=repr(item))
        out = replace(out, **{option.field: option.value})
    if out.opt_level not in range(4):
        raise ArgumentError("opt level is 0 to 3", code="OC2120", found=out.opt_level)
    host_target(out.host_target)
    if out.host_target and out.enable_tvm_ffi:
        raise ArgumentError(
            "--host-target and --enable-tvm-ffi cannot be combined", code="OC2120",
            hint="leave out --enable-tvm-ffi: the exported header has plain C functions",
        )  # fmt: skip
    return out
