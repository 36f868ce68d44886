# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native functions of the simulator, from LLVM IR text.

In: the text, and for each function its name and the types of its arguments: ``i`` for an integer of
64 bits, ``p`` for an array, which has to be contiguous. Out: a `Compiled`, which makes them when
they are first asked for, once there was enough work to be worth a compiler::

    sums = Compiled(TEXT, {"total": "ip"}, patience=1 << 20)
    if sums.ready(x.size):
        sums("total", x.size, x)

Without LLVM they are never ready, and NumPy does the work.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from opencute.base.errors import MissingPieceError, ToolchainError
from opencute.native.jit import compile_host

__all__ = ["Compiled"]

_TYPES: dict[str, Any] = {"i": ctypes.c_int64, "p": ctypes.c_void_p}


class Compiled:
    """See the module.

    Args:
        text: LLVM IR.
        functions: argument types by name; all return an integer of 64 bits.
        patience: elements of work that NumPy still does.
    """

    def __init__(self, text: str, functions: Mapping[str, str], patience: int) -> None:
        self.text, self.functions, self.patience = text, functions, patience
        self._found: dict[str, Any] | None = None

    def ready(self, work: int) -> bool:
        """Whether they can be called, for so many elements."""
        if self.patience > 0:
            self.patience -= work
            return False
        if self._found is None:
            self._found = self._compile()
        return bool(self._found)

    def _compile(self) -> dict[str, Any]:
        try:
            module = compile_host(self.text, passes="O3", opt=2)
        except (MissingPieceError, ToolchainError):
            return {}
        found: dict[str, Any] = {}
        for name, types in self.functions.items():
            prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *(_TYPES[t] for t in types))
            found[name] = prototype(module.address(name))
            found[name].module = module  # its code lives as long as what calls it
        return found

    def __call__(self, name: str, *args: Any) -> int:
        """Call one; arrays stand for where their data is."""
        assert self._found is not None
        plain = [a if type(a) is int else a.ctypes.data for a in args]
        found: int = self._found[name](*plain)
        return found
