# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Caps on the sizes of modules, tests, functions and packages, and the dated list of exceptions.

Goes in: a path. Comes out: what in it is too large. `size_allowlist.toml` may allow more::

    [[allow]]
    what = "src/opencute/ir/parser.py"            # or "src/.../parser.py::Parser.parse_op"
    lines = 950                                   # it may shrink, not grow
    since = 2026-12-01
    why = "one grammar; splitting it would hide the order of alternatives"
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from meta.project import ROOT
from meta.rules import function_lengths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "Allowed",
    "Size",
    "allowlist",
    "line_count",
    "module_cap",
    "size_violations",
    "sizes_of",
]

FUNCTION_CAP, KERNEL_FUNCTION_CAP = 80, 120
PACKAGE_CAP = 20  # modules in one folder


@dataclass(frozen=True)
class Size:
    """A measured thing: `what` names it as the allow-list does."""

    what: str
    lines: int
    cap: int


@dataclass(frozen=True)
class Allowed:
    """An entry of the allow-list."""

    what: str
    lines: int
    since: date
    why: str


def allowlist(path: Path) -> list[Allowed]:
    """The entries of an allow-list; each must have its four fields and a reason."""
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("allow", [])
    found = [Allowed(**entry) for entry in entries]
    for entry in found:
        if not isinstance(entry.since, date) or len(entry.why) < 10:
            raise ValueError(f"{path}: {entry.what}: needs a date and a reason")
    return found


def line_count(path: Path) -> int:
    """Lines of a file, as editors count them."""
    return len(path.read_text(encoding="utf-8").splitlines())


def _is_kernel(name: str) -> bool:
    return re.search(r"(^|/)kernels/(.*/)?sm[^/]*\.py$", name) is not None


def module_cap(name: str) -> int:
    """The cap of a file, by its path below the project's root."""
    if name.startswith("tests/"):
        return 1000
    return 1200 if _is_kernel(name) else 900


def sizes_of(path: Path, root: Path = ROOT) -> list[Size]:
    """The file itself and each function in it."""
    name = path.relative_to(root).as_posix()
    cap = KERNEL_FUNCTION_CAP if _is_kernel(name) else FUNCTION_CAP
    functions = [Size(f"{name}::{f}", n, cap) for f, n in function_lengths(path)]
    return [Size(name, line_count(path), module_cap(name)), *functions]


def size_violations(sizes: Iterable[Size], allowed: Iterable[Allowed]) -> list[str]:
    """What is over its cap without leave, what outgrew its leave, and leave that nobody needs."""
    leave = {a.what: a for a in allowed}
    bad: list[str] = []
    over: set[str] = set()
    for size in sizes:
        if size.lines <= size.cap:
            continue
        over.add(size.what)
        entry = leave.get(size.what)
        if entry is None:
            bad.append(f"{size.what}: {size.lines} lines, cap {size.cap}")
        elif size.lines > entry.lines:
            bad.append(
                f"{size.what}: {size.lines} lines, allowed {entry.lines} since {entry.since}"
            )
    bad += [f"{w}: on the allow-list, but within its cap or gone" for w in leave if w not in over]
    return bad
