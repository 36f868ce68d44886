# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Notice, and undo, a kernel file that replaces functions of torch, NumPy or `time`.

In: modules, remembered when they are imported. Out: the names that were replaced since. The
reference must run on the functions it names, not on what a kernel put in their place::

    guard = Guard()
    ...                      # the kernel runs
    guard.restore()          # ["torch.allclose"]
"""

from __future__ import annotations

import importlib
import math
import time
from typing import Any

from opencute.integrations.import_hook import after_import

__all__ = ["Guard"]


class Guard:
    """Remembers the public members of the watched modules from the moment they exist."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, Any, dict[str, Any]]] = []
        self.watch("time", time)
        self.watch("math", math)
        after_import("numpy", lambda module: self.watch("numpy", module))
        after_import("torch", self._watch_torch)

    def _watch_torch(self, torch: Any) -> None:
        self.watch("torch", torch)
        self.watch("torch.Tensor", torch.Tensor)
        self.watch("torch.cuda", torch.cuda)
        for name in ("torch.nn.functional", "torch.testing"):
            self.watch(name, importlib.import_module(name))

    def watch(self, name: str, owner: Any) -> None:
        """Remember the functions that `owner` has now."""
        members = {k: v for k, v in owner.__dict__.items() if not k.startswith("_") and callable(v)}
        self._seen.append((name, owner, members))

    def restore(self) -> list[str]:
        """Put replaced functions back; their names."""
        replaced: list[str] = []
        for name, owner, members in self._seen:
            for key, value in members.items():
                if owner.__dict__.get(key) is not value:
                    setattr(owner, key, value)
                    replaced.append(f"{name}.{key}")
        return replaced
