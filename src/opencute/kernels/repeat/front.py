# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native code in front of operators: calls that are made again take no Python at all.

In: an operator with all its decorators. Out: a `Front`, whose `call` is the operator until a tape
of it is known, and native code (`jit.entry.front`) from then on::

    front = Front(operator)
    front.call(x)                   # Python; what it played or recorded is learnt
    front.call(x)                   # native
    front.hits, front.known         # 1, 1

Native code tells calls by the identity of what is no tensor, number or tuple, where Python
compares. An object that equals another one is learnt as well, a few for each tape.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from opencute.base.errors import OpenCuTeError
from opencute.base.native_function import native_function
from opencute.base.tracebacks import cut, hidden
from opencute.jit.entry import code
from opencute.jit.entry import front_words as words
from opencute.jit.entry.front_words import Known
from opencute.jit.recording import WATCHED
from opencute.kernels.repeat.tape import Tape

__all__ = ["PLAYED", "Front", "fronted", "plain"]

F = TypeVar("F", bound=Callable[..., Any])
_MOST = 256  # kinds of calls of an operator
_EQUALS = 4  # kinds of calls, told by identity, that one tape serves


class _Played(threading.local):
    """The tape of the last call of an operator in this thread, None if it had none."""

    tape: Tape | None = None


PLAYED = _Played()


class Front:
    """Calls of an operator that native code knows.

    Args:
        slow: the operator in Python; decorators that are put around it replace it.

    Attributes:
        call: what to call.
    """

    def __init__(self, slow: Callable[..., Any]) -> None:
        self.slow = slow
        self._asks = self._python  # native code points to this very object
        self.call: Callable[..., Any] = self._asks
        self.entries: dict[Any, _Entry] = {}
        self._state = (ctypes.c_int64 * words.Front.size())()
        self._table: Any = None
        self._lock = threading.RLock()  # parts of arguments may call operators
        self._key: Callable[..., bytes | None] | None = None

    @property
    def hits(self) -> int:
        """How many calls took no Python."""
        return self._state[words.Front.HITS // 8]

    @property
    def known(self) -> int:
        """How many kinds of calls are known."""
        return len(self.entries)

    def _python(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # it only passes errors on
        PLAYED.tape = None
        result = self.slow(*args, **kwargs)
        tape, PLAYED.tape = PLAYED.tape, None
        if tape is not None and tape.native is not None:
            self._learn(args, kwargs, tape)
        return result

    def _learn(self, args: tuple[Any, ...], kwargs: dict[str, Any], tape: Tape) -> None:
        with self._lock:
            if self._key is None:
                self._key = self._load()
            parted: set[type] = set()
            objects = [*kwargs, *_objects((*args, *kwargs.values()), parted)]
            if not all(code.load().see_parts(cls) for cls in parted):
                return
            key = self._key(*args, **kwargs)
            if key is None or struct.unpack_from("qq", key)[1] != tape.given:
                return
            # One that does not hold any more may lie before those that do.
            entries = {k: e for k, e in self.entries.items() if not e.tape.stale}
            whole = (key, tape.aliases, tape.apart)
            known = whole in entries and entries[whole].tape is tape
            if not known and sum(e.tape is tape for e in entries.values()) < _EQUALS:
                entries[whole] = _Entry(key, tape, objects)
            elif len(entries) == len(self.entries):
                return
            if len(entries) > _MOST:
                for old in [*entries][: _MOST // 2]:
                    del entries[old]
            self.entries = entries
            self._publish()

    def _load(self) -> Callable[..., bytes | None]:
        """Have native code take the calls; the key of one is returned."""
        entry = code.load()
        entry.see_torch()
        for word, value in (
            (words.Front.SLOW, id(self._asks)), (words.Front.WATCHED_AT, _address(WATCHED)),
        ):  # fmt: skip
            self._state[word // 8] = value
        make = functools.partial(
            native_function, keywords=True, state=ctypes.addressof(self._state), keep=self
        )
        key = make(entry.function("front_key"), "key")
        self.call = make(entry.function("front_call"), "call")
        return key

    def _publish(self) -> None:
        """Have native code see the entries: all of a new table, then where it is.

        A table keeps its entries: calls of other threads, and of what is finalized meanwhile, look
        into it until there is another one.
        """
        entries = [*self.entries.values()]
        size = 16
        while size < 2 * len(entries):
            size *= 2
        table = (ctypes.c_int64 * size)()
        for entry in entries:
            at = entry.hash % size
            while table[at]:
                at = (at + 1) % size
            table[at] = entry.address
        old, self._table = self._table, (table, entries)
        state = self._state
        # A call may begin between any two of these: it finds the old table, or none.
        state[words.Front.TABLE // 8] = 0
        state[words.Front.MASK // 8] = size - 1
        state[words.Front.TABLE // 8] = ctypes.addressof(table)
        del old

    def forget(self) -> None:
        """Send all calls to Python again."""
        with self._lock:
            self._state[words.Front.TABLE // 8] = 0
            old = (self.entries, self._table)
            self.entries, self._table = {}, None
            del old  # what is finalized now may call the operator


def _address(value: Any) -> int:
    return ctypes.addressof(value)


class _Entry:
    """A kind of calls for native code; `address` is its record."""

    def __init__(self, key: bytes, tape: Tape, objects: Sequence[Any]) -> None:
        assert tape.native is not None
        self.tape = tape
        self.hash, _ = struct.unpack_from("Qq", key)
        own = (ctypes.c_char * len(key)).from_buffer_copy(key)
        aliases, apart = (
            (ctypes.c_int64 * max(len(rows) * size, 1))(*(n for row in rows for n in row))
            for rows, size in ((tape.aliases, 3), (tape.apart, 4))
        )
        steps, count, results, many, _ = tape.native
        record = (ctypes.c_uint64 * Known.size())()
        self.address = ctypes.addressof(record)
        self._kept = (own, aliases, apart, record, objects)
        for word, value in (
            (Known.HASH, self.hash), (Known.COUNT, len(key) // 8 - 2),
            (Known.KEY, ctypes.addressof(own) + 16), (Known.ALIASES, ctypes.addressof(aliases)),
            (Known.ALIAS_COUNT, len(tape.aliases)), (Known.APART, ctypes.addressof(apart)),
            (Known.APART_COUNT, len(tape.apart)), (Known.STEPS, ctypes.addressof(steps)),
            (Known.STEP_COUNT, count), (Known.RESULTS, ctypes.addressof(results)),
            (Known.RESULT_COUNT, many & 0xFFFFFFFFFFFFFFFF), (Known.OWNER, id(self)),
        ):  # fmt: skip
            record[word // 8] = value


def _objects(values: Sequence[Any], parted: set[type]) -> Iterator[Any]:
    """What native code tells by its identity; classes with `described_parts` go to `parted`."""
    torch: Any = sys.modules["torch"]
    tensors = (torch.Tensor, torch.nn.Parameter)
    for value in values:
        if type(value) is tuple:
            yield from _objects(value, parted)
        elif hasattr(type(value), "described_parts"):
            parted.add(type(value))
            yield from _objects(value.described_parts(), parted)
        elif type(value) not in tensors:
            yield value


def fronted(call: F, front: Front) -> F:
    """An operator that asks native code first.

    Args:
        call: all of it that is there so far: what is called where native code does not know.
        front: of the operator.
    """
    front.slow = call

    @functools.wraps(call)
    def operator(*args: Any, **kwargs: Any) -> Any:
        try:
            return front.call(*args, **kwargs)
        except OpenCuTeError as e:
            __tracebackhide__ = hidden()
            raise cut(e)  # noqa: B904 - the same error

    marked: Any = operator
    marked.front, marked.plain = front, call
    return marked


def plain(fn: Any) -> tuple[Any, Front | None]:
    """An operator without what is in front of it, for decorators that go between, and that."""
    return getattr(fn, "plain", fn), getattr(fn, "front", None)
