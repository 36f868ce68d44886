# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a call did on the GPU, done again for other tensors of the same description.

In: steps, in order, and what the call returned. Out: a `Tape`; `play` does the steps::

    tape.play([a, b], [a.data_ptr(), b.data_ptr()])       # what the operator would have returned

Things are numbered: the tensors of the call first, then what steps make. Each has an address, or
is a number that each call has for itself.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opencute.jit.entry import front_words as words
from opencute.jit.entry.front_words import MADE, MOST_THINGS, Action
from opencute.runtime import device

__all__ = [
    "MADE", "MISSED", "Alias", "Apart", "Launched", "Made", "Number", "Operation", "Part", "Step",
    "Tape", "Viewed",
]  # fmt: skip


class _Missed:
    """Stands for no result."""


MISSED = _Missed()
"""What `Tape.play` gives where the operator has to be called."""


class Alias(NamedTuple):
    """That one thing begins so many bytes behind another."""

    first: int
    second: int
    distance: int


class Apart(NamedTuple):
    """That two things share no memory.

    Args:
        first, second: their numbers.
        size, other: bytes from the beginning of the first, and of the second, to its end.
    """

    first: int
    second: int
    size: int
    other: int


@dataclass(frozen=True)
class Viewed:
    """Part of a thing, as a tensor of its type.

    Args:
        thing: its number.
        shape, stride: of the part, in elements.
        start: elements from the thing's beginning to the part's.
        whole: whether it is the thing itself.
    """

    thing: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    start: int
    whole: bool

    def of(self, things: list[Any]) -> Any:
        """The part."""
        thing = things[self.thing]
        if self.whole:
            return thing
        return thing.as_strided(self.shape, self.stride, thing.storage_offset() + self.start)


class Step:
    """Something that is done.

    Attributes:
        adds: whether it adds a thing with its address.
    """

    adds = True

    def native(self, keep: list[Any]) -> tuple[int, ...] | None:
        """The step in words (`jit.entry.front_words.Step`), None if native code does not do it.

        Args:
            keep: gets what the words point to.
        """
        return None

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        """Do it; False: it cannot be done as it was."""
        raise NotImplementedError


class Made(Step):
    """Memory: a contiguous tensor.

    Args:
        shape, dtype, device: of the tensor.
        at: where it began, of which only the alignment counts.
        zero: whether there are zeros in it.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: Any, device: Any, at: int, *, zero: bool = False
    ) -> None:
        torch: Any = sys.modules["torch"]
        self.shape, self.dtype, self.device, self.zero = shape, dtype, device, zero
        self.low = at % MADE
        self.make = torch.zeros if zero else torch.empty

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        made = self.make(self.shape, dtype=self.dtype, device=self.device)
        at = made.data_ptr()
        things.append(made)
        addresses.append(at)
        return at % MADE == self.low

    def native(self, keep: list[Any]) -> tuple[int, ...]:
        make, args, names = self._call()
        places = (ctypes.c_int64 * len(args))(*map(id, args))
        keep += [make, args, names, places]
        given = len(args) - len(names or ())
        return (Action.MAKE, id(make), ctypes.addressof(places), given, id(names) if names else 0,
                self.low)  # fmt: skip

    def _call(self) -> tuple[Any, tuple[Any, ...], tuple[str, ...] | None]:
        """A function that makes it, its arguments, and names of the last ones of them.

        torch's compiled code has functions of its own for memory with no more in it, which take a
        third of the time; they know the current device only.
        """
        torch: Any = sys.modules["torch"]
        kind = self.device.type
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        fast = getattr(guards, f"_empty_strided_{kind}", None)
        if fast is not None and not self.zero and (kind == "cpu" or device.count() == 1):
            steps = [
                math.prod(max(n, 1) for n in self.shape[i + 1 :]) for i in range(len(self.shape))
            ]
            return fast, (self.shape, tuple(steps), self.dtype), None
        return self.make, (self.shape, self.dtype, self.device), ("dtype", "device")

    def bytes(self) -> int:
        """How many there are."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    def larger(self, size: int) -> Made:
        """So many bytes instead."""
        torch: Any = sys.modules["torch"]
        return Made((size,), torch.uint8, self.device, self.low)


class Part(Step):
    """Part of memory that was made: nothing but kernels sees it.

    Args:
        thing: the number of the memory.
        start: bytes from its beginning.
    """

    def __init__(self, thing: int, start: int) -> None:
        self.thing, self.start = thing, start

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        things.append(None)
        addresses.append(addresses[self.thing] + self.start)
        return True

    def native(self, keep: list[Any]) -> tuple[int, ...]:
        return (Action.PART, self.thing, self.start)


class Number(Step):
    """A number that only this call has."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        things.append(None)
        addresses.append(next(self.numbers))
        return True

    def native(self, keep: list[Any]) -> tuple[int, ...]:
        keep.append(self.numbers)
        return (Action.NUMBER, id(self.numbers))


class Operation(Step):
    """An operation of torch's.

    Args:
        operation: the operation.
        args, kwargs: its arguments; tensors as `Viewed`.
        low: how the result's address was aligned; None: there is no new memory.
    """

    def __init__(
        self, operation: Any, args: Sequence[Any], kwargs: dict[str, Any], low: int | None
    ) -> None:
        self.operation, self.args, self.kwargs, self.low = operation, args, kwargs, low
        self.adds = low is not None

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        args = [a.of(things) if isinstance(a, Viewed) else a for a in self.args]
        result = self.operation(*args, **self.kwargs)
        if self.low is None:
            return True
        at = result.data_ptr()
        things.append(result)
        addresses.append(at)
        return at % MADE == self.low


class Launched(Step):
    """Kernels that a jit function launched.

    Args:
        launch: a function of addresses.
        words: the same for native code, see `jit.again.Relaunch`.
        keep: what the words point to.
    """

    adds = False

    def __init__(self, launch: Callable[..., Any], words: tuple[int, int, int], keep: Any) -> None:
        self.launch, self.words, self.keep = launch, words, keep

    def do(self, things: list[Any], addresses: list[int]) -> bool:
        return self.launch(*addresses) is None

    def native(self, keep: list[Any]) -> tuple[int, ...]:
        keep.append(self.keep)
        return (Action.LAUNCH, *self.words)


class Tape:
    """A call that can be made again.

    Args:
        steps: what it did. The first launch looks whether all that was compiled still holds; what
            comes before it can be done twice.
        result: what it returned: `Viewed`, None, a number, or a tuple of such.
        aliases, apart: what has to hold of addresses.
        given: how many tensors the call was given.

    Attributes:
        native: the steps and what is returned for native code, None if it cannot do them all.
        stale: whether it was given up, because what was compiled does not hold any more.
    """

    def __init__(
        self, steps: Sequence[Step], result: Any, aliases: Sequence[Alias],
        apart: Sequence[Apart] = (), given: int = 0,
    ) -> None:  # fmt: skip
        self.given = given
        self.stale = False
        self.native = _native(steps, result, given)
        self.steps = tuple(step.do for step in steps)
        self.result = result
        self.aliases = tuple(aliases)
        self.apart = tuple(apart)

    def fits(self, addresses: list[int]) -> bool:
        """Whether tensors lie to each other as they did where that counts."""
        for a, b, d in self.aliases:
            if addresses[b] - addresses[a] != d:
                return False
        for a, b, size, other in self.apart:
            if -other < addresses[b] - addresses[a] < size:
                return False
        return True

    def play(self, tensors: list[Any], addresses: list[int]) -> Any:
        """What the operator would return for these tensors, or `MISSED`.

        Args:
            tensors, addresses: of a call with the same key, which `fits`; both get longer.
        """
        for do in self.steps:
            if not do(tensors, addresses):
                return MISSED
        return _result(self.result, tensors)


def _result(what: Any, things: list[Any]) -> Any:
    if isinstance(what, Viewed):
        return what.of(things)
    if isinstance(what, tuple):
        parts: Any = what
        return tuple(_result(part, things) for part in parts)
    return what


class Native(NamedTuple):
    """A tape for native code: records of steps, and of what is returned (`jit.entry.front`).

    Args:
        steps, step_count: what it does.
        results: what it returns.
        result_count: how many in a tuple; -1: the one is not in a tuple.
        keep: what the records point to.
    """

    steps: Any
    step_count: int
    results: Any
    result_count: int
    keep: list[Any]


def _native(steps: Sequence[Step], result: Any, given: int) -> Native | None:
    keep: list[Any] = [result]
    several = isinstance(result, tuple)
    parts: Any = result if several else (result,)
    found = [step.native(keep) for step in steps]
    items = [_given(part, given, keep) for part in parts]
    if None in found or None in items or given + sum(s.adds for s in steps) > MOST_THINGS:
        return None
    return Native(
        _records(found, words.Step.size()), len(found), _records(items, words.Given.size()),
        len(items) if several else -1, keep,
    )  # fmt: skip


def _records(rows: Sequence[Any], size: int) -> Any:
    flat = [n for row in rows for n in (*row, *[0] * (size - len(row)))]
    return (ctypes.c_int64 * max(len(flat), 1))(*flat)


def _given(part: Any, given: int, keep: list[Any]) -> tuple[int, ...] | None:
    """What is returned, in words; None if native code cannot give it."""
    if isinstance(part, tuple):
        return None
    if not isinstance(part, Viewed):
        return (words.OBJECT, 0, id(part))
    if part.whole:
        return (words.THING, part.thing)
    if part.thing < given:  # where an argument begins in its storage is not known
        return None
    args = (part.shape, part.stride, part.start)
    places = (ctypes.c_int64 * len(args))(*map(id, args))
    keep += [args, places]
    return (words.VIEW, part.thing, ctypes.addressof(places))
