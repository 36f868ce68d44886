# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every environment variable that OpenCuTe reads, typed, with its help text.

A knob is named ``OPENCUTE_<NAME>`` or ``OPENCUTE_<GROUP>_<NAME>`` and is read at each access, so a
test may set the variable, or override a knob for a block::

    with KNOBS.override(target="sim"):
        ...

The table in the documentation and the cache key are derived from the declarations below.
"""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from opencute.base.errors import ArgumentError

__all__ = ["KEEP", "KNOBS", "Knob", "Knobs", "table", "unknown_aliases"]

T = TypeVar("T")


def _flag(text: str) -> bool:
    value = text.strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("", "0", "false", "no", "off"):
        return False
    raise ValueError(f"expected 0 or 1, got {text!r}")


def _not(text: str) -> bool:
    return not _flag(text)


KEEP = ("ir", "ir-debug", "ptx", "cubin", "sass")
"""What OPENCUTE_KEEP can name."""


def _keep(text: str) -> tuple[str, ...]:
    words = [w.strip() for w in text.split(",") if w.strip()]
    for w in words:
        if w not in (*KEEP, "all"):
            raise ValueError(f"{w!r} is none of {', '.join(KEEP)}, all")
    return KEEP if "all" in words else tuple(words)


def _level(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 50:
        raise ValueError("a level is 0 (off), 1 (all), 10, 20, 30, 40 or 50")
    return value


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


@dataclass
class Knob(Generic[T]):
    """One environment variable.

    Args:
        env: the variable's full name.
        default: value when the variable is not set.
        parse: text to value; raises ValueError on bad text.
        help: one sentence for the documentation.
        in_cache_key: whether a change must recompile.
        alias: the name that the field's own documents use; OpenCuTe's name wins.
        alias_parse: how the alias's text is read, if otherwise.
        debug: the default in debug mode (OPENCUTE_DEBUG), if another.
    """

    env: str
    default: T
    parse: Callable[[str], T]
    help: str
    in_cache_key: bool = False
    alias: str = ""
    alias_parse: Callable[[str], T] | None = None
    debug: T | None = None
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, obj: None, owner: type) -> Knob[T]: ...
    @overload
    def __get__(self, obj: Knobs, owner: type) -> T: ...
    def __get__(self, obj: Knobs | None, owner: type) -> Knob[T] | T:
        if obj is None:
            return self
        if self.name in obj.overrides:
            return obj.overrides[self.name]
        env, parse = self.env, self.parse
        text = os.environ.get(env)
        if text is None and self.alias:
            env, parse = self.alias, self.alias_parse or self.parse
            text = os.environ.get(env)
        if text is None:
            return self.debug if self.debug is not None and obj.debug else self.default
        try:
            return parse(text)
        except ValueError as e:
            raise ArgumentError(f"{env}={text!r}: {e}", code="OC2900", hint=self.help) from None


@functools.cache
def _encoded(env: str) -> Any:
    encode: Any = getattr(os.environ, "encodekey", None)
    return encode(env)


class Knobs:
    """The knobs of the process; `KNOBS` is the one instance."""

    target = Knob(
        "OPENCUTE_TARGET", "", str,
        "where kernels run: sim, sim:sm_100a, cuda; empty picks cuda when a GPU is present",
        in_cache_key=True,
    )  # fmt: skip
    alias = Knob(
        "OPENCUTE_ALIAS", False, _flag,
        "make `import cutlass` mean OpenCuTe even when the vendor's package is installed",
    )  # fmt: skip
    ptxas = Knob("OPENCUTE_PTXAS", "", str, "path of the ptxas to use", in_cache_key=True)
    cuda_home = Knob("CUDA_HOME", "", str, "where a CUDA toolkit is installed")
    debug = Knob(
        "OPENCUTE_DEBUG", False, _flag,
        "debug mode: line info, full tracebacks and checks between passes become the default",
        alias="CUTE_DSL_DEBUG",
    )  # fmt: skip
    line_info = Knob(
        "OPENCUTE_LINE_INFO", False, _flag, "keep source lines for profilers in every kernel",
        alias="CUTE_DSL_LINEINFO", debug=True,
    )  # fmt: skip
    options = Knob(
        "OPENCUTE_OPTIONS", "", str, "compile options for every compilation, as a string",
        alias="CUTE_DSL_COMPILER_OPT",
    )  # fmt: skip
    keep = Knob(
        "OPENCUTE_KEEP", (), _keep, "stages to write as files: ir, ir-debug, ptx, cubin, sass, all",
        alias="CUTE_DSL_KEEP",
    )  # fmt: skip
    keep_ptx = Knob(
        "OPENCUTE_KEEP_PTX", False, _flag, "as OPENCUTE_KEEP=ptx", alias="CUTE_DSL_KEEP_PTX"
    )
    keep_dir = Knob(
        "OPENCUTE_KEEP_DIR", None, _path, "where kept stages go (default: the current folder)",
        alias="CUTE_DSL_DUMP_DIR",
    )  # fmt: skip
    print_ir = Knob(
        "OPENCUTE_PRINT_IR", False, _flag, "print the IR of every compiled function",
        alias="CUTE_DSL_PRINT_IR",
    )  # fmt: skip
    log_to_console = Knob(
        "OPENCUTE_LOG_TO_CONSOLE", False, _flag, "log to standard error",
        alias="CUTE_DSL_LOG_TO_CONSOLE",
    )  # fmt: skip
    log_to_file = Knob(
        "OPENCUTE_LOG_TO_FILE", False, _flag, "log to opencute-PID.log in the current folder",
        alias="CUTE_DSL_LOG_TO_FILE",
    )  # fmt: skip
    log_level = Knob(
        "OPENCUTE_LOG_LEVEL", 1, _level, "0 off, 1 all, 10 debug, 20 info, 30 warning, 40 error",
        alias="CUTE_DSL_LOG_LEVEL",
    )  # fmt: skip
    log_autotune = Knob(
        "OPENCUTE_LOG_AUTOTUNE", False, _flag, "log every configuration that is tried in tuning",
        alias="CUTE_DSL_LOG_AUTOTUNE",
    )  # fmt: skip
    tune_use = Knob(
        "OPENCUTE_TUNE_USE", True, _flag,
        "let operators use what `opencute tune` has found for their device and shapes",
    )  # fmt: skip
    tune_cluster = Knob(
        "OPENCUTE_TUNE_CLUSTER", "", str,
        "address of a ray cluster that compiles what a search tries; empty compiles here",
    )  # fmt: skip
    enable_tvm_ffi = Knob(
        "OPENCUTE_ENABLE_TVM_FFI", False, _flag, "as the compile option --enable-tvm-ffi",
        alias="CUTE_DSL_ENABLE_TVM_FFI",
    )  # fmt: skip
    advisories = Knob(
        "OPENCUTE_ADVISORIES", True, _flag,
        "warn where ptxas reports spills or serialised matrix instructions",
    )  # fmt: skip
    lib_path = Knob(
        "OPENCUTE_LIB_PATH", "", str, "accepted: folders of libraries, which code does not need",
        alias="CUTE_DSL_LIB_PATH",
    )  # fmt: skip
    include_path = Knob(
        "OPENCUTE_INCLUDE_PATH", "", str, "accepted: folders of headers, which code does not need",
        alias="CUTE_DSL_INCLUDE_PATH",
    )  # fmt: skip
    efc_log_level = Knob(
        "OPENCUTE_EFC_LOG_LEVEL", 0, int, "log level of epilogue fusion examples",
        alias="CUTE_DSL_EFC_LOG_LEVEL",
    )  # fmt: skip
    cache_dir = Knob(
        "OPENCUTE_CACHE_DIR",
        None,
        _path,
        "where compiled kernels are kept (default: user cache)",
        alias="CUTE_DSL_CACHE_DIR",
    )
    user_cache = Knob("XDG_CACHE_HOME", None, _path, "the user's cache folder, by the XDG rules")
    cache_enabled = Knob(
        "OPENCUTE_CACHE_ENABLED", True, _flag, "use the disk cache",
        alias="CUTE_DSL_DISABLE_FILE_CACHING", alias_parse=_not,
    )  # fmt: skip
    cache_size_mb = Knob("OPENCUTE_CACHE_SIZE_MB", 1024, int, "size cap of the disk cache in MiB")
    dump_dir = Knob("OPENCUTE_DUMP_DIR", None, _path, "write every stage of every kernel here")
    dump_override = Knob(
        "OPENCUTE_DUMP_OVERRIDE", None, _path,
        "take edited stages from here, from files as OPENCUTE_DUMP_DIR has them",
    )  # fmt: skip
    dump_match = Knob("OPENCUTE_DUMP_MATCH", "*", str, "dump only functions whose name matches")
    full_traceback = Knob(
        "OPENCUTE_DIAG_FULL_TRACEBACK", False, _flag, "show frames inside OpenCuTe in tracebacks",
        debug=True,
    )  # fmt: skip
    verify_passes = Knob(
        "OPENCUTE_VERIFY_PASSES", False, _flag, "run the IR verifier after every pass", debug=True
    )
    assertions = Knob(
        "OPENCUTE_ASSERTIONS", False, _flag,
        "check `cute.testing.assert_` in machine code too, as --enable-assertions does",
        in_cache_key=True,
    )  # fmt: skip
    sim_seed = Knob("OPENCUTE_SIM_SEED", 0, int, "seed of the simulator's scheduling order")
    sim_check = Knob(
        "OPENCUTE_SIM_CHECK", False, _flag,
        "let the simulator look for races, early reads of copies and barriers that not all reach",
    )  # fmt: skip
    sim_strict = Knob(
        "OPENCUTE_SIM_STRICT", False, _flag,
        "let what the simulator's checks only warn of be errors: what the manual does not promise, "
        "but published kernels do",
    )  # fmt: skip
    sim_profile = Knob(
        "OPENCUTE_SIM_PROFILE", False, _flag,
        "let the simulator count sectors and bank conflicts for each source line",
    )  # fmt: skip
    sim_step_limit = Knob(
        "OPENCUTE_SIM_STEP_LIMIT", 50_000_000, int,
        "turns of one loop after which the simulator takes it for endless; 0: no limit",
    )  # fmt: skip
    upstream = Knob(
        "OPENCUTE_UPSTREAM", None, _path, "path of the public CUTLASS examples and tests"
    )

    def __init__(self) -> None:
        self.overrides: dict[str, Any] = {}

    @classmethod
    def declared(cls) -> list[Knob[Any]]:
        """All knobs, in the order in which they are declared."""
        return [v for v in vars(cls).values() if isinstance(v, Knob)]

    def cache_key(self) -> tuple[tuple[str, object], ...]:
        """The values of the knobs that change generated code."""
        return tuple((k.name, getattr(self, k.name)) for k in self.declared() if k.in_cache_key)

    def places(self, *names: str) -> list[tuple[dict[Any, Any], Any]]:
        """Where knobs' values come from, as dicts and keys: who remembers a value looks there."""
        data: Any = getattr(os.environ, "_data", None)
        out: list[tuple[dict[Any, Any], Any]] = []
        for name in self._with_debug(names):
            knob: Knob[Any] = vars(type(self))[name]
            out.append((self.overrides, name))
            out += [(data, _encoded(env)) for env in (knob.env, knob.alias) if env]
        return out

    def _with_debug(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """These knobs, and the debug mode if it decides what one of them is."""
        knobs = vars(type(self))
        asks = "debug" not in names and any(knobs[n].debug is not None for n in names)
        return (*names, "debug") if asks else names

    @contextmanager
    def override(self, **values: Any) -> Generator[None, None, None]:
        """Set knobs for a block; unknown names raise ArgumentError."""
        known = {k.name for k in self.declared()}
        for name in values:
            if name not in known:
                raise ArgumentError(f"no knob is called {name!r}", code="OC2901")
        before = dict(self.overrides)
        self.overrides.update(values)
        try:
            yield
        finally:
            # The same dict: who asked for `places` keeps looking at it.
            self.overrides.clear()
            self.overrides.update(before)


KNOBS = Knobs()
_ALIASES = "CUTE_DSL_"


def unknown_aliases(environment: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each variable that begins like the field's names and is none of them.

    Args:
        environment: the variables; those of the process by default.
    """
    known = {k.alias for k in Knobs.declared() if k.alias}
    out: list[str] = []
    for name in sorted(os.environ if environment is None else environment):
        if name.startswith(_ALIASES) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            out.append(f"{name} is set, and means nothing to OpenCuTe{hint}")
    return out


def table(knobs: type[Knobs] = Knobs) -> str:
    """The knobs as a Markdown document, ``docs/knobs.md``; ``python -m opencute.base.knobs > ...``.

    Args:
        knobs: the class that declares them.
    """
    rows: list[str] = []
    for k in knobs.declared():
        changes = "yes" if k.in_cache_key else "no"
        alias = f"`{k.alias}`" if k.alias else "–"
        meaning = k.help.replace("|", "/")
        rows.append(f"| `{k.env}` | {alias} | {_cell(k.default)} | {changes} | {meaning} |")
    return "\n".join([
        "# Environment variables", "",
        "Generated by `python -m opencute.base.knobs`; edit `src/opencute/base/knobs.py` instead.",
        "Flags take 1 or 0. A variable that changes generated code is part of the cache key.",
        "The name in the second column works too; the first wins. Any other name that begins with "
        "`CUTE_DSL_` is warned about.", "",
        "| variable | also | default | changes generated code | meaning |",
        "|---|---|---|---|---|",
        *rows, "",
    ])  # fmt: skip


def _cell(value: object) -> str:
    """A default as one would set it."""
    value = int(value) if isinstance(value, bool) else value
    return f"`{value}`" if value not in (None, "", ()) else "–"


if __name__ == "__main__":
    print(table(), end="")
