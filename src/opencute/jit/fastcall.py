# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A call that costs no Python: arguments are recognised, read and checked in native code.

A `FastCall` stands in front of a Python function. It remembers one call by the identity of its
arguments (the shortest way), and any number of *versions*: compiled code with a description of the
arguments that it takes, wrapped tensors, torch's own tensors, numbers, streams. What fits neither
goes to the Python function with the same arguments, which raises the error, or compiles another
version and has it learnt. Remembered tensors are held weakly; when one goes, the call is forgotten.

Measured costs are in docs/performance.md.
"""

from __future__ import annotations

import ctypes
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.native_function import native_function
from opencute.frontend.tracing import TRACING
from opencute.jit.entry import code
from opencute.jit.entry.fast_call import MOST_NAMES, Call
from opencute.jit.entry.versions import NativeVersion
from opencute.lang.external import MARKS, ExternalTensor
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import Numeric

__all__ = ["FIXED", "FastCall"]

FIXED = (ExternalTensor, ExternalPointer, Numeric, int, float, str, type(None))
"""What stands for the same as long as it is the same object, its marks unchanged."""

_NEVER = (1 << 63) - 1  # no call has this many arguments
_MAX_ARGS = 32
# A version that was learnt stays: native code of another thread may be reading it. Who needs more
# than these gets Python's answer for the rest.
_MAX_VERSIONS = 256


class FastCall:
    """Remembered calls in front of a Python function.

    Args:
        slow: called with the same arguments when nothing that is remembered fits.
        names: of the parameters that take arguments by position or by name, where these are all.
        fn: whose defaults stand where an argument is not given.

    Attributes:
        function: the builtin function to call.
        remembered_for: what the caller of `remember` knows the call by.
    """

    def __init__(self, slow: Callable[..., Any], names: Sequence[str] = (), fn: Any = None) -> None:
        self.remembered_for: Any = None
        if len(names) > MOST_NAMES:
            names = ()
        self._names = ([sys.intern(n) for n in names], fn)
        self._name_places = (ctypes.c_int64 * max(len(names), 1))(*map(id, self._names[0]))
        self.slow = slow
        self.state = (ctypes.c_int64 * (Call.ARGS // 8 + _MAX_ARGS))()
        self._places = (ctypes.c_int64 * _MAX_VERSIONS)()
        self._set(Call.COUNT, _NEVER)
        self._set(Call.SLOW, id(slow))
        self._set(Call.MARKS_AT, ctypes.addressof(MARKS))
        self._set(Call.TRACING_AT, ctypes.addressof(TRACING))
        self._set(Call.VERSIONS, ctypes.addressof(self._places))
        if names:
            self._set(Call.NAMES, ctypes.addressof(self._name_places))
            self._set(Call.NAME_COUNT, len(names))
        if isinstance(fn, types.FunctionType):
            self._set(Call.FUNCTION, id(fn))
        self.kept: tuple[Any, ...] = ()
        self.versions: list[NativeVersion] = []
        self._prepared: list[NativeVersion] = []  # the last one may be running in another thread
        self.function = native_function(
            code.load().function("fast_call"), "call", keywords=True,
            state=ctypes.addressof(self.state), keep=self,
        )  # fmt: skip

    def _set(self, word: Call, value: int) -> None:
        self.state[word // 8] = value

    def remember(self, args: tuple[Any, ...], version: NativeVersion) -> None:
        """Serve the next calls with these very arguments natively.

        Args:
            args: the arguments; tensors are held weakly, others kept.
            version: what to run, with complete slots.
        """
        self.forget()
        if len(args) > _MAX_ARGS:
            return
        refs = [weakref.ref(a, self.forget) if isinstance(a, ExternalTensor) else a for a in args]
        self.kept = (refs, version)
        self._prepared = [*self._prepared[-1:], version]
        self._set(Call.MARKS, MARKS.value)
        self._set(Call.PREPARED, version.address)
        for i, a in enumerate(args):
            self.state[Call.ARGS // 8 + i] = id(a)
        self._set(Call.COUNT, len(args))

    @property
    def remembers(self) -> bool:
        """Whether there is a remembered call now."""
        return self.state[Call.COUNT // 8] != _NEVER

    def learn(self, version: NativeVersion) -> None:
        """Serve calls whose arguments a version describes natively from now on."""
        count = len(self.versions)
        if count < _MAX_VERSIONS and not any(v.same_as(version) for v in self.versions):
            self.versions.append(version)
            self._places[count] = version.address
            self._set(Call.VERSION_COUNT, count + 1)

    def forget(self, _: object = None) -> None:
        """Send the next call of remembered arguments to the versions, or to the Python function."""
        self._set(Call.COUNT, _NEVER)
        self.kept = ()

    def forget_versions(self) -> None:
        """Send all calls to the Python function; what is running may go on."""
        self._set(Call.VERSION_COUNT, 0)
