# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which public names there are, and by which of its names a thing goes.

Many things have several names: `cutlass.Float32` is also `cute.Float32`. In: the tables of the
public modules. Out: one `Name` for each thing, under the first namespace of `ORDER` that has it::

    names()["cutlass.cute.math.exp"].others     # ("cutlass.cute.exp",)
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from opencute.tools.stubs import ALIAS, ROOT, table_of

__all__ = ["ORDER", "Name", "all_names", "names", "namespaces"]

ORDER = (
    "cutlass.cute.math", "cutlass.utils.hopper_helpers", "cutlass.utils.blackwell_helpers",
    "cutlass", "cutlass.cute", "cutlass.cute.arch", "cutlass.cute.runtime",
    "cutlass.cute.testing", "cutlass.cute.nvgpu", "cutlass.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.warp", "cutlass.cute.nvgpu.warpgroup", "cutlass.pipeline",
    "cutlass.utils", "cutlass.torch", "cutlass.cuda", "cutlass.cutlass_dsl",
    "cutlass.base_dsl.dsl", "cutlass.base_dsl.runtime.cuda", "cutlass.experimental.primitives",
    "cutlass.experimental.cuda", "cutlass.vector",
)  # fmt: skip
"""Namespaces that entries stand in; a thing that several have stands in the first."""

# Where a thing belongs that an earlier namespace has too.
_BELONGS = {
    "CopyAtom": "cutlass.cute",
    "map_dsmem_ptr": "cutlass.cute.arch",
    "Swizzle": "cutlass.cute",
    "LayoutEnum": "cutlass.utils",
    "make_smem_layout_atom": "cutlass.cute.nvgpu.warpgroup",
}


# Namespaces that only repeat names of others; the list of all names says so once.
_REPEATS = (
    "cutlass.base_dsl.arch", "cutlass.base_dsl.typing", "cutlass.cute.core", "cutlass.cute.typing",
    "cutlass.cute.nvgpu.common", "cutlass.cutlass_dsl", "cutlass.testing", "cutlass.utils.sm90",
    "cutlass.utils.tensor_helpers", "cutlass.utils.hardware_info",
)  # fmt: skip


@dataclass(frozen=True)
class Name:
    """One public thing.

    Args:
        full: its name, such as ``cutlass.cute.copy``.
        thing: what it names.
        home: the module that the public module takes it from.
        others: its other public names.
    """

    full: str
    thing: Any
    home: str
    others: tuple[str, ...]

    @property
    def namespace(self) -> str:
        """What stands before the last dot."""
        return self.full.rpartition(".")[0]

    @property
    def last(self) -> str:
        """What stands after it."""
        return self.full.rpartition(".")[2]

    @property
    def also(self) -> tuple[str, ...]:
        """Its other names, without those of namespaces that only repeat others."""
        return tuple(o for o in self.others if o.rpartition(".")[0] not in _REPEATS)


@functools.lru_cache(maxsize=1)
def _modules() -> tuple[tuple[str, ModuleType, dict[str, str]], ...]:
    """Each public namespace, its module, and where its names live."""
    queue: list[tuple[str, ModuleType]] = [(ALIAS, importlib.import_module(ROOT))]
    out: list[tuple[str, ModuleType, dict[str, str]]] = []
    while queue:
        spelt, module = queue.pop(0)
        table = table_of(module) or {n: module.__name__ for n in module.__all__}
        out.append((spelt, module, table))
        inner = {n: where[:-1] for n, where in table.items() if where.endswith(":")}
        queue += [(f"{spelt}.{n}", importlib.import_module(path)) for n, path in inner.items()]
    return tuple(out)


@functools.lru_cache(maxsize=1)
def namespaces() -> dict[str, str]:
    """Every public namespace and the first line of what it says of itself."""
    out: dict[str, str] = {}
    for spelt, module, _ in _modules():
        text = (module.__doc__ or "").strip().splitlines()
        out[spelt] = text[0] if text else ""
    return out


def _rank(full: str) -> tuple[int, int, str]:
    space, _, last = full.rpartition(".")
    if _BELONGS.get(last) == space:
        return -1, 0, full
    return (ORDER.index(space) if space in ORDER else len(ORDER)), len(full), full


@functools.lru_cache(maxsize=1)
def names() -> dict[str, Name]:
    """Each thing once, by the name that its entry has, in the order of namespaces and names."""
    homes: dict[str, str] = {}
    things: dict[str, Any] = {}
    spellings: dict[Any, list[str]] = {}
    for space, loaded, table in _modules():
        for name, where in table.items():
            spelt = f"{space}.{name}"
            if where.endswith(":") or name.startswith("_"):
                continue
            things[spelt] = thing = getattr(loaded, name)
            homes[spelt] = where.partition(":")[0]
            # Numbers that are equal are one object, and no less two things.
            spellings.setdefault(id(thing) if callable(thing) else spelt, []).append(spelt)
    out: list[Name] = []
    for several in spellings.values():
        first, *others = sorted(several, key=_rank)
        out.append(Name(first, things[first], homes[first], tuple(others)))
    return {n.full: n for n in sorted(out, key=lambda n: (n.namespace, n.last.lower(), n.last))}


@functools.lru_cache(maxsize=1)
def all_names() -> dict[str, Name]:
    """Every public spelling."""
    return {spelt: n for n in names().values() for spelt in (n.full, *n.others)}
