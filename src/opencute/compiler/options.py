# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile options, as a string (``"--opt-level 2"``) or typed (``compile[OptLevel(2)]``).

>>> parse_options("--opt-level 2 --keep-ptx").keep_ptx
True
>>> parse_options("", (OptLevel(1), KeepPTX)).opt_level
1

Both start from what the environment asks for (`default_options`).
"""

from __future__ import annotations

import difflib
import functools
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from opencute.arch.target import target
from opencute.base.errors import ArgumentError, ArgumentTypeError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.native.objects import host_target

__all__ = [
    "OPTION_KNOBS",
    "CompileOption",
    "DumpDir",
    "EnableAssertions",
    "EnableTVMFFI",
    "FrontendNext",
    "GPUArch",
    "GenerateLineInfo",
    "HostTarget",
    "Iket",
    "KeepCUBIN",
    "KeepIR",
    "KeepPTX",
    "KeepSASS",
    "NvdisasmOptions",
    "OptLevel",
    "Options",
    "PtxasOptions",
    "default_options",
    "parse_options",
]


@dataclass(frozen=True)
class Options:
    """What changes the code, and what is kept.

    Args:
        opt_level: level of ptxas, 0 to 3.
        line_info: keep source lines for profilers.
        assertions: check `assert_` on the device.
        keep_ir, keep_ir_debug, keep_ptx, keep_cubin, keep_sass: write the stage next to the
            program, or to `dump_dir`; ir-debug is the module as it was traced.
        gpu_arch: architecture such as sm_90a; the target's own when empty.
        ptxas_options: further flags for ptxas.
        nvdisasm_options: flags of the disassembler.
        dump_dir: where kept stages go.
        enable_tvm_ffi: accepted; the native calling convention is used in any case.
        host_target: processor of exported host code; empty is this machine's.
        iket: accepted; markers in kernels cost nothing without it.
        frontend_next: accepted; there is one frontend.
    """

    opt_level: int = 3
    line_info: bool = False
    assertions: bool = False
    keep_ir: bool = False
    keep_ir_debug: bool = False
    keep_ptx: bool = False
    keep_cubin: bool = False
    keep_sass: bool = False
    gpu_arch: str = ""
    ptxas_options: str = ""
    nvdisasm_options: str = "-g -c"
    dump_dir: str = ""
    enable_tvm_ffi: bool = False
    host_target: str = ""
    iket: bool = False
    frontend_next: bool = False

    @property
    def ptxas_arguments(self) -> tuple[str, ...]:
        """The further flags for ptxas, one each."""
        return tuple(shlex.split(self.ptxas_options))


_FIELDS = {f.name: f for f in fields(Options)}
_WORDS = {
    "opt-level": "opt_level",
    "enable-assertions": "assertions",
    "keep-ir": "keep_ir",
    "keep-ptx": "keep_ptx",
    "keep-cubin": "keep_cubin",
    "keep-sass": "keep_sass",
    "nvdisasm-options": "nvdisasm_options",
    "ptxas-options": "ptxas_options",
    "generate-line-info": "line_info",
    "gpu-arch": "gpu_arch",
    "dump-dir": "dump_dir",
    "host-target": "host_target",
    "enable-tvm-ffi": "enable_tvm_ffi",
}
_PLAIN = {"iket": "iket"}


def _checked(field: str, value: Any, name: str) -> Any:
    """A value of an option's type.

    Raises:
        ArgumentError: it is not.
    """
    kind = type(_FIELDS[field].default)
    if kind is bool:
        words = {"true": True, "1": True, "false": False, "0": False}
        value = words.get(value.lower(), value) if isinstance(value, str) else value
    elif kind is int and isinstance(value, str) and value.lstrip("-").isdecimal():
        value = int(value)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        raise ArgumentError(
            f"compile option {name} takes {'a flag' if kind is bool else kind.__name__}",
            code="OC2120", found=repr(value),
        )  # fmt: skip
    if field == "opt_level" and value not in range(4):
        raise ArgumentError("opt level is 0 to 3", code="OC2120", found=value)
    if field == "gpu_arch" and value:
        try:
            target(value)
        except OpenCuTeError as e:
            raise ArgumentError(
                f"compile option {name}: {e.message}", code="OC2120", found=value,
                expected=e.expected, hint=e.hint,
            ) from None  # fmt: skip
    if field == "host_target":
        host_target(value)
    if field in ("ptxas_options", "nvdisasm_options"):
        try:
            shlex.split(value)
        except ValueError as e:
            raise ArgumentError(f"compile option {name}: {e}", code="OC2120", found=value) from None
    return value


class CompileOption:
    """A typed option; a class without parentheses means True.

    Args:
        value: what it is set to.

    Raises:
        ArgumentError: OC2120, the option takes no such value.
    """

    field: ClassVar[str] = ""

    def __init__(self, value: Any = True) -> None:
        self.value = _checked(self.field, value, type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == getattr(other, "value", None)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.value))


def _option(name: str, field: str, doc: str) -> Any:
    flag = isinstance(_FIELDS[field].default, bool)
    said = f"{doc}\n\nArgs:\n    value: {'whether it is on' if flag else 'what it is set to'}."
    return type(name, (CompileOption,), {"field": field, "__doc__": said, "__module__": __name__})


OptLevel = _option("OptLevel", "opt_level", "Level of ptxas, 0 to 3.")
GenerateLineInfo = _option("GenerateLineInfo", "line_info", "Keep source lines for profilers.")
EnableAssertions = _option("EnableAssertions", "assertions", "Check device assertions.")
KeepIR = _option("KeepIR", "keep_ir", "Write the IR.")
KeepPTX = _option("KeepPTX", "keep_ptx", "Write the PTX.")
KeepCUBIN = _option("KeepCUBIN", "keep_cubin", "Write the cubin.")
KeepSASS = _option("KeepSASS", "keep_sass", "Write the disassembly.")
GPUArch = _option("GPUArch", "gpu_arch", "Architecture, such as sm_90a.")
PtxasOptions = _option("PtxasOptions", "ptxas_options", "Further flags for ptxas.")
NvdisasmOptions = _option("NvdisasmOptions", "nvdisasm_options", "Flags of the disassembler.")
DumpDir = _option("DumpDir", "dump_dir", "Where kept stages are written.")
HostTarget = _option("HostTarget", "host_target", "Processor of exported host code.")
EnableTVMFFI = _option("EnableTVMFFI", "enable_tvm_ffi", "Accepted; calls are native in any case.")
FrontendNext = _option("FrontendNext", "frontend_next", "Accepted; there is one frontend.")
Iket = _option("Iket", "iket", "Accepted; markers in kernels cost nothing without it.")


OPTION_KNOBS = (
    "assertions", "line_info", "keep", "keep_ptx", "keep_dir", "enable_tvm_ffi", "options",
)  # fmt: skip
"""The knobs that `default_options` reads."""


def default_options() -> Options:
    """The options that the environment asks for; cheap, for it is asked at each call.

    Raises:
        ArgumentError: a variable that says something else.
    """
    return _from_environment(tuple([space.get(key) for space, key in _environment()]))


@functools.cache
def _environment() -> list[tuple[dict[Any, Any], Any]]:
    return KNOBS.places(*OPTION_KNOBS)


@functools.lru_cache(maxsize=64)
def _from_environment(state: tuple[Any, ...]) -> Options:
    """The default options, as long as the environment is in a state."""
    del state
    keep = KNOBS.keep
    out = Options(
        assertions=KNOBS.assertions,
        line_info=KNOBS.line_info,
        keep_ir="ir" in keep,
        keep_ir_debug="ir-debug" in keep,
        keep_ptx="ptx" in keep or KNOBS.keep_ptx,
        keep_cubin="cubin" in keep,
        keep_sass="sass" in keep,
        dump_dir=str(KNOBS.keep_dir or ""),
        enable_tvm_ffi=KNOBS.enable_tvm_ffi,
    )
    return _with_text(out, KNOBS.options) if KNOBS.options else out


def parse_options(text: Any = "", typed: Any = ()) -> Options:
    """Options from a string and from typed ones, which win; both win over the environment.

    Args:
        text: such as ``"--opt-level 2 --ptxas-options '-v'"``; None is none.
        typed: an option, or a tuple or list of them; tuples may be nested.

    Raises:
        ArgumentError: OC2120, an unknown option or value; OC2121, something that is no option.
    """
    text = "" if text is None else text
    if not isinstance(text, str):
        raise ArgumentTypeError(
            "compile options are text", code="OC2121", found=repr(text),
            expected="such as options='--opt-level 2', or cute.compile[OptLevel(2)](...)",
        )  # fmt: skip
    out = _with_text(default_options(), text)
    for item in _flat(typed):
        option: Any = item() if isinstance(item, type) and issubclass(item, CompileOption) else item
        if not isinstance(option, CompileOption):
            raise ArgumentError(
                "not a compile option", code="OC2121", found=repr(item),
                expected="OptLevel(2), KeepPTX, ... of cutlass.cute",
            )  # fmt: skip
        out = replace(out, **{option.field: option.value})
    if out.host_target and out.enable_tvm_ffi:
        raise ArgumentError(
            "--host-target and --enable-tvm-ffi cannot be combined", code="OC2120",
            hint="leave out --enable-tvm-ffi: the exported header has plain C functions",
        )  # fmt: skip
    return out


def _flat(typed: Any) -> Iterable[Any]:
    if isinstance(typed, tuple | list):
        for item in typed:
            yield from _flat(item)
    else:
        yield typed


def _with_text(options: Options, text: str) -> Options:
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise ArgumentError(f"compile options: {e}", code="OC2120", found=text) from None
    found: dict[str, Any] = {}
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word in _PLAIN:
            found[_PLAIN[word]] = True
            continue
        name, equals, value = word.partition("=")
        field = _WORDS.get(name.removeprefix("--").replace("_", "-"))
        if field is None or not name.startswith("--"):
            raise _unknown(word)
        if equals:
            found[field] = _checked(field, value, name)
        elif isinstance(_FIELDS[field].default, bool):
            found[field] = True
        elif at < len(words):
            found[field] = _checked(field, words[at], name)
            at += 1
        else:
            raise ArgumentError(f"compile option {name} takes a value", code="OC2120", found=text)
    return replace(options, **found)


def _unknown(word: str) -> ArgumentError:
    known = [f"--{w}" for w in _WORDS] + list(_PLAIN)
    close = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return ArgumentError(
        f"compile options: there is no option {word!r}", code="OC2120", expected=", ".join(known),
        hint=f"did you mean {close[0]}?" if close else None,
    )  # fmt: skip
