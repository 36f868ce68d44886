# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute cache ls|stat|clear`, as text.

In: the disk cache (`opencute.runtime.cache`). Out: tables on standard output.
"""

from __future__ import annotations

import time
from dataclasses import asdict

from opencute.base.words import singular
from opencute.runtime.cache import default_cache

__all__ = ["clear", "show_entries", "show_statistics"]


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def show_entries() -> None:
    """One line for each entry: when it was last used, its size, its key; newest first."""
    entries = sorted(default_cache().ls(), key=lambda e: -e.used)
    for e in entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(e.used))
        print(f"{when}  {_size(e.size):>10}  {e.key}")
    if not entries:
        print("the cache is empty")


def show_statistics() -> None:
    """One line for each fact."""
    facts = asdict(default_cache().stat())
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {_size(value) if name in ('size', 'capacity') else value}")


def clear() -> None:
    """Remove everything and say how much it was."""
    print(singular(f"removed {default_cache().clear()} entries"))
