# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute cache ls|stat|clear`, as text.

In: the disk cache (`opencute.runtime.cache`). Out: tables on standard output.
"""

from __future__ import annotations

import time
from typing import Any

from opencute.runtime import cache

__all__ = ["clear", "show_entries", "show_statistics"]


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def show_entries() -> None:
    """One line for each entry: when it was written, its size, its key; newest first."""
    entries: list[tuple[str, int, float]] = sorted(cache.ls(), key=lambda e: -e[2])
    for key, count, modified in entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(modified))
        print(f"{when}  {_size(count):>10}  {key}")
    if not entries:
        print("the cache is empty")


def show_statistics() -> None:
    """One line for each fact."""
    facts: dict[str, Any] = cache.stat()
    width = max((len(k) for k in facts), default=0)
    for name, value in facts.items():
        text = _size(value) if "bytes" in name and isinstance(value, int) else str(value)
        print(f"{name:<{width}}  {text}")


def clear() -> None:
    """Remove everything and say how much it was."""
    print(f"removed {cache.clear()} entries")
