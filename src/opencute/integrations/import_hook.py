# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Run a callback right after a module is imported, without importing it now.

In: a module name and a callback that takes the module. Out: nothing; the callback runs at once when
the module is already there, else when somebody imports it and before that import returns::

    after_import("torch", lambda torch: print("torch", torch.__version__))
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["after_import", "no_longer_after_import"]

Callback = Callable[[ModuleType], None]


class _NotifyingLoader(Loader):
    """The real loader, followed by the callbacks."""

    def __init__(self, real: Loader, callbacks: list[Callback]) -> None:
        self.real = real
        self.callbacks = callbacks

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module must not notice the detour: tools read __spec__.loader to find sources.
        module.__loader__ = self.real
        if module.__spec__ is not None:
            module.__spec__.loader = self.real
        self.real.exec_module(module)
        for callback in self.callbacks:
            callback(module)


class _Finder(MetaPathFinder):
    """Stands in front of the other finders for the names that somebody waits for."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callback]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        callbacks = self.waiting.pop(fullname, None)
        if callbacks is None:
            return None
        spec = importlib.util.find_spec(fullname)  # the name is popped: the other finders answer
        if spec is None or spec.loader is None:
            self.waiting[fullname] = callbacks
            return None
        spec.loader = _NotifyingLoader(spec.loader, callbacks)
        return spec


_FINDER = _Finder()


def after_import(name: str, callback: Callback) -> None:
    """Call `callback(module)` as soon as module `name` is imported.

    Args:
        name: a top-level module such as ``"torch"``.
        callback: called once, with the fully executed module.
    """
    module = sys.modules.get(name)
    if module is not None:
        callback(module)
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.waiting.setdefault(name, []).append(callback)


def no_longer_after_import(name: str, callback: Callback) -> None:
    """Undo `after_import`, if the module has not been imported yet."""
    waiting = _FINDER.waiting.get(name, [])
    if callback in waiting:
        waiting.remove(callback)
    if not waiting:
        _FINDER.waiting.pop(name, None)
