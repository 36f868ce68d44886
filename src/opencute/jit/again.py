# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of jit functions that are made again with other addresses, by native code.

In: a call that Python has prepared, with its values and its guard. Out: a `Relaunch`: a builtin
function of addresses, which launches the same kernels with the same extents, strides and numbers,
and the same in words for native code::

    call = Launch(prepared, values, guard)
    call.addresses                    # {2: 0x7f00..., 5: 0x7f10...}: by slot
    launch = call.again([(2, 0, 0), (5, 1, 64)], call.checks)
    launch.function(a.data_ptr(), b.data_ptr())
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opencute.base.native_function import native_function
from opencute.jit.entry import code
from opencute.jit.entry.again import Again
from opencute.jit.guards import Guard
from opencute.jit.learning import environment_words, guard_words
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer

__all__ = ["Launch", "Relaunch", "merged"]

_FIRST = 2  # slot of the first value: behind the stream and the kernels
_WORDS = 4  # of a check


class Launch:
    """A call that was prepared, with what it takes to make it again.

    Args:
        call: what a runner has prepared.
        values: the run-time values of the host function's parameters.
        guard: holds as long as the trace does, and does so now.

    Attributes:
        addresses: of memory, by slot; of no bytes none.
        numbers: integers, by slot.
        checks: guards in words; None if native code cannot do them.
    """

    def __init__(self, call: Any, values: list[Any], guard: Guard) -> None:
        self._call = call
        self.addresses: dict[int, int] = {}
        self.numbers: dict[int, int] = {}
        for slot, value in enumerate(values, _FIRST):
            if isinstance(value, ExternalTensor):
                if 0 not in value.shape:
                    self.addresses[slot] = value.data_ptr
            elif isinstance(value, ExternalPointer):
                self.addresses[slot] = value.address
            elif type(value) is int:
                self.numbers[slot] = value
        self.checks: tuple[int, ...] | None = None
        found = guard_words(guard)
        if found is not None:
            words, places = environment_words()
            self.checks = (*words, *found[0])
            self._keep = (places, found[1], guard)

    def again(
        self, patches: Sequence[tuple[int, int, int]], checks: Sequence[int], keep: Any = None
    ) -> Relaunch | None:
        """The launch with other addresses.

        Args:
            patches: slot, number of the argument that goes there, what is added to it.
            checks: guards that are looked at before.
            keep: kept alive with it, e.g. what the checks of other launches point to.

        Returns:
            None if something has to be done in Python around each launch.
        """
        version = self._call.native(None, tuple(checks), (self._keep, keep))
        if version is None:
            return None
        table = (ctypes.c_int64 * max(3 * len(patches), 1))(*(n for p in patches for n in p))
        record = (ctypes.c_int64 * len(Again))()
        for word, value in (
            (Again.VERSION, version.address), (Again.PATCHES, ctypes.addressof(table)),
            (Again.PATCH_COUNT, len(patches)),
        ):  # fmt: skip
            record[word // 8] = value
        kept = _Kept(version, table, record)
        function = native_function(
            code.load().function("again"), "again", state=ctypes.addressof(record), keep=kept
        )
        return Relaunch(function, (version.address, ctypes.addressof(table), len(patches)), kept)


class _Kept:
    """What native code points to."""

    def __init__(self, *things: Any) -> None:
        self.things = things


@dataclass(frozen=True)
class Relaunch:
    """A launch that native code makes.

    Args:
        function: of integers; it gives None, or 0 if it does not launch, because guards do not hold
            or the launch takes Python.
        words: for native code: the version, the patches and how many
            (`jit.entry.front_words.Action`).
        keep: what the words point to.
    """

    function: Callable[..., Any]
    words: tuple[int, int, int]
    keep: Any


def merged(launches: Sequence[Launch]) -> tuple[int, ...]:
    """The checks of several launches, each once."""
    if len(launches) == 1:
        return launches[0].checks or ()
    found: dict[tuple[int, ...], None] = {}
    for launch in launches:
        words = launch.checks or ()
        for at in range(0, len(words), _WORDS):
            found.setdefault(words[at : at + _WORDS])
    return tuple(word for check in found for word in check)
