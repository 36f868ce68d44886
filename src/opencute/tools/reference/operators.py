# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which operators there are: what the packages of `opencute.kernels` export.

They are no part of the language, so that the pages of public names leave them out, and
`opencute help` finds them here::

    operators()["opencute.kernels.attention.attention"].last     # "attention"
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType

from opencute import kernels
from opencute.tools.reference.names import Name

__all__ = ["SPACE", "folders", "found_operators", "operators"]

SPACE = kernels.__name__

# Modules that users import by name, though they are no packages.
_MODULES = ("gemm.activations", "gemm.visitors")


@functools.lru_cache(maxsize=1)
def _modules() -> tuple[ModuleType, ...]:
    packages = [m.name for m in pkgutil.iter_modules(kernels.__path__, SPACE + ".") if m.ispkg]
    each = [*packages, *(f"{SPACE}.{m}" for m in _MODULES)]
    return tuple(m for m in map(importlib.import_module, sorted(each)) if m.__all__)


@functools.lru_cache(maxsize=1)
def folders() -> dict[str, str]:
    """Every namespace of operators, `opencute.kernels` first, and the first line of each."""
    return {
        m.__name__: (m.__doc__ or "").strip().partition("\n")[0] for m in (kernels, *_modules())
    }


@functools.lru_cache(maxsize=1)
def operators() -> dict[str, Name]:
    """Everything that they export, by its full name."""
    return {
        f"{m.__name__}.{n}": Name(f"{m.__name__}.{n}", getattr(m, n), m.__name__, ())
        for m in _modules()
        for n in sorted(m.__all__)
    }


def found_operators(name: str) -> list[Name]:
    """What a full name or the end of one may mean; of what two modules export, the first."""
    if name in operators():
        return [operators()[name]]
    for fold in (str, str.lower):
        hits = [n for full, n in operators().items() if fold(full).endswith(fold("." + name))]
        if hits:
            return list({id(n.thing): n for n in reversed(hits)}.values())[::-1]
    return []
