# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a run did, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["RunReport"]


@dataclass
class RunReport:
    """Counts over everything that one `Simulator` ran.

    Args:
        launches: kernels launched.
        threads: threads that ran.
        lane_ops: operations times the lanes that executed them.
        splits: how often lanes that ran together parted.
        waits: how often lanes had to wait.
        read_bytes: bytes read, by memory space.
        written_bytes: bytes written, by memory space.
        accesses: single reads and writes by (verb, space, bytes of the widest instruction).
        sectors: 32-byte sectors touched by warps, by (verb, space); only when asked for.
        lines: 128-byte lines touched by warps, likewise.
        max_lanes: the most lanes that ran together.
    """

    launches: int = 0
    threads: int = 0
    lane_ops: int = 0
    splits: int = 0
    waits: int = 0
    max_lanes: int = 0
    read_bytes: Counter[str] = field(default_factory=Counter[str])
    written_bytes: Counter[str] = field(default_factory=Counter[str])
    accesses: Counter[tuple[str, str, int]] = field(default_factory=Counter[tuple[str, str, int]])
    sectors: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    lines: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
