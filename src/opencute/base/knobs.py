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

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from opencute.base.errors import ArgumentError

__all__ = ["KNOBS", "Knob", "Knobs", "table"]

T = TypeVar("T")


def _flag(text: str) -> bool:
    value = text.strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("", "0", "false", "no", "off"):
        return False
    raise ValueError(f"expected 0 or 1, got {text!r}")


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
    """

    env: str
    default: T
    parse: Callable[[str], T]
    help: str
    in_cache_key: bool = False
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
        text = os.environ.get(self.env)
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except ValueError as e:
            raise ArgumentError(
                f"{self.env}={text!r}: {e}", code="OC2900", hint=self.help
            ) from None


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
    cache_dir = Knob(
        "OPENCUTE_CACHE_DIR", None, _path, "where compiled kernels are kept (default: user cache)"
    )
    user_cache = Knob("XDG_CACHE_HOME", None, _path, "the user's cache folder, by the XDG rules")
    cache_enabled = Knob("OPENCUTE_CACHE_ENABLED", True, _flag, "use the disk cache")
    cache_size_mb = Knob("OPENCUTE_CACHE_SIZE_MB", 1024, int, "size cap of the disk cache in MiB")
    dump_dir = Knob("OPENCUTE_DUMP_DIR", None, _path, "write every stage of every kernel here")
    dump_override = Knob(
        "OPENCUTE_DUMP_OVERRIDE", None, _path,
        "take edited stages from here, from files as OPENCUTE_DUMP_DIR has them",
    )  # fmt: skip
    dump_match = Knob("OPENCUTE_DUMP_MATCH", "*", str, "dump only functions whose name matches")
    full_traceback = Knob(
        "OPENCUTE_DIAG_FULL_TRACEBACK", False, _flag, "show frames inside OpenCuTe in tracebacks"
    )
    verify_passes = Knob(
        "OPENCUTE_VERIFY_PASSES", False, _flag, "run the IR verifier after every pass"
    )
    sim_seed = Knob("OPENCUTE_SIM_SEED", 0, int, "seed of the simulator's scheduling order")
    sim_check = Knob(
        "OPENCUTE_SIM_CHECK", False, _flag,
        "let the simulator look for races, early reads of copies and barriers that not all reach",
    )  # fmt: skip
    sim_profile = Knob(
        "OPENCUTE_SIM_PROFILE", False, _flag,
        "let the simulator count sectors and bank conflicts for each source line",
    )  # fmt: skip
    sim_step_limit = Knob(
        "OPENCUTE_SIM_STEP_LIMIT", 50_000_000, int,
        "turns of one loop after which the simulator takes it for endless; 0: no limit",
    )  # fmt: skip
    log_autotune = Knob(
        "OPENCUTE_LOG_AUTOTUNE", False, _flag, "say on standard error what autotuning tries"
    )
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
            self.overrides = before


KNOBS = Knobs()


def table(knobs: type[Knobs] = Knobs) -> str:
    """The knobs as a Markdown document, ``docs/knobs.md``; ``python -m opencute.base.knobs > ...``.

    Args:
        knobs: the class that declares them.
    """
    rows: list[str] = []
    for k in knobs.declared():
        changes = "yes" if k.in_cache_key else "no"
        rows.append(f"| `{k.env}` | {_cell(k.default)} | {changes} | {k.help.replace('|', '/')} |")
    return "\n".join([
        "# Environment variables", "",
        "Generated by `python -m opencute.base.knobs`; edit `src/opencute/base/knobs.py` instead.",
        "Flags take 1 or 0. A variable that changes generated code is part of the cache key.", "",
        "| variable | default | changes generated code | meaning |",
        "|---|---|---|---|",
        *rows, "",
    ])  # fmt: skip


def _cell(value: object) -> str:
    """A default as one would set it."""
    value = int(value) if isinstance(value, bool) else value
    return f"`{value}`" if value not in (None, "") else "–"


if __name__ == "__main__":
    print(table(), end="")
