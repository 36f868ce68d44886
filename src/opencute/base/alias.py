# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Making one package be another under a second name.

``cutlass.cute`` and ``opencute.cute`` are the same module object, so that classes and states are
the same across both spellings.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType

from opencute.base.coming import MODULES
from opencute.base.knobs import KNOBS

__all__ = ["install", "vendor_spec"]

_TARGET = "opencute"


class _Loader(importlib.abc.Loader):
    """Hands out a module that exists already, and leaves its `__spec__` as it was."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias's spec there; lazy relative imports need ours.
        module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, alias: str) -> None:
        self.alias = alias

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        head, _, rest = fullname.partition(".")
        if head != self.alias or not rest:
            return None
        real = f"{_TARGET}.{rest}"
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as e:
            if e.name != real:
                raise
            if any(rest == m or rest.startswith(m + ".") for m in MODULES):
                raise ModuleNotFoundError(
                    f"{fullname} is not in OpenCuTe yet; docs/compatibility.md says what is",
                    name=fullname,
                ) from None
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=True)
        spec.submodule_search_locations = list(getattr(module, "__path__", []))
        return spec


def vendor_spec(alias: str, own_file: str) -> importlib.machinery.ModuleSpec | None:
    """Where another package of the name `alias` would be loaded from, None if there is none.

    A second copy of OpenCuTe, as a checkout beside an installed one is, is no other package: it
    would step aside for this one in turn, without end.
    """
    own = os.path.dirname(os.path.abspath(own_file))
    for entry in sys.path:
        folder = os.path.join(os.path.abspath(entry or "."), alias)
        init = os.path.join(folder, "__init__.py")
        copy = os.path.isfile(os.path.join(os.path.dirname(folder), _TARGET, "base", "alias.py"))
        if os.path.isfile(init) and not copy and not os.path.samefile(folder, own):
            return importlib.util.spec_from_file_location(
                alias, init, submodule_search_locations=[folder]
            )
    return None


def install(alias: str, own_file: str) -> None:
    """Called by the alias package's `__init__`: become OpenCuTe, or step aside for the vendor's."""
    spec = None if KNOBS.alias else vendor_spec(alias, own_file)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[alias] = module
        spec.loader.exec_module(module)
        return
    if not any(isinstance(f, _Finder) and f.alias == alias for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(alias))
    sys.modules[alias] = importlib.import_module(_TARGET)
