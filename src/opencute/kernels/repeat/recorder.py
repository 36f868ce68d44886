# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of an operator does on the GPU: memory that it gets, launches, torch's operations.

In: the tensors of a call. Out: a `Tape`, if the call only did what can be done again::

    recorder = Recorder(tensors, addresses)
    with recorder:
        result = operator(*args)
    tape = recorder.tape(result)          # None: recorder.why says what is in the way

Where a kernel's addresses come from is told by the memory that they are in, which stays where it is
as long as the recorder lives. torch tells of each of its operations; views need no step.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from opencute.jit.again import Launch, merged
from opencute.jit.recording import watched_calls
from opencute.kernels.repeat.tape import (
    MADE,
    Alias,
    Apart,
    Launched,
    Made,
    Number,
    Operation,
    Part,
    Step,
    Tape,
    Viewed,
)

__all__ = ["Recorder"]

_EMPTY = frozenset({"empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided"})
_ZEROS = frozenset({"zeros", "new_zeros", "zeros_like"})
# Done twice they give the same: a tape that is given up halfway is no harm.
_REPEATED = frozenset({"clone", "_to_copy", "copy_", "fill_", "zero_"})
_APART = 512  # bytes of which multiples begin pieces of new memory, as torch's do on a GPU


class Recorder:
    """Sees what a block does; a context manager.

    Args:
        tensors, addresses: of the call.
        written: numbers of those that the call may write to.

    Attributes:
        why: why the call cannot be made again from what was seen; empty if it can.
        elsewhere: whether it ran somewhere else, such as in the simulator.
    """

    def __init__(
        self, tensors: list[Any], addresses: list[int], written: Sequence[int] = ()
    ) -> None:
        self.why = ""
        self.elsewhere = False
        self._things: list[Any] = [*tensors]  # kept, so that nothing else gets their memory
        self._spans = [(at, at + _bytes(t)) for at, t in zip(addresses, tensors, strict=True)]
        self._steps: list[Step | tuple[Launch, list[tuple[int, int, int]]]] = []
        self._numbers: dict[int, int] = {}
        self._aliases: set[Alias] = set()
        self._given = len(tensors)
        self._written = written
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Recorder:
        self._stack.enter_context(watched_calls(self))
        self._stack.enter_context(_mode()(self))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    # ---- what jit functions tell
    def launched(self, call: Any, values: list[Any], guard: Any) -> None:
        """A jit function was called."""
        if call is None:
            self.elsewhere = True
            self.once_only("a call ran elsewhere, or returned numbers")
            return
        if guard is None:
            self.once_only("a function is traced at each call")
            return
        launch = Launch(call, values, guard)
        if launch.checks is None:
            self.once_only("guards take Python")
        patches: list[tuple[int, int, int]] = []
        for slot, address in launch.addresses.items():
            found = self._find(address)
            if found is None:
                self.once_only("memory that is not an argument's")
                return
            patches.append((slot, *found))
        for slot, number in launch.numbers.items():
            if number in self._numbers:
                patches.append((slot, self._numbers[number], 0))
        self._steps.append((launch, patches))

    def fresh(self, number: int, numbers: Iterator[int]) -> None:
        """A call takes the next one of some numbers."""
        self._numbers[number] = len(self._things)
        self._things.append(None)
        self._spans.append((number, number))
        self._steps.append(Number(numbers))

    def once_only(self, why: str) -> None:
        """The call does what depends on more than its description."""
        self.why = self.why or why

    # ---- what torch tells
    def operation(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An operation of torch's was done."""
        name = func.overloadpacket.__name__
        if name in _EMPTY or name in _ZEROS:
            self._made(name, result)
        elif name in _REPEATED:
            self._operation(func, args, kwargs, result)
        elif not (_is_tensor(result) and self._find(result.data_ptr()) is not None):
            self.once_only(f"torch's {func}")
        elif any(r.alias_info is not None and r.alias_info.is_write for r in func._schema.returns):
            self.once_only(f"torch's {func}")

    def _made(self, name: str, result: Any) -> None:
        if not result.is_contiguous():
            self.once_only("new memory that is not contiguous")
        self._steps.append(
            Made(
                tuple(result.shape), result.dtype, result.device, result.data_ptr(),
                zero=name in _ZEROS,
            )
        )  # fmt: skip
        self._add(result)

    def _operation(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        taken = [self._viewed(a) if _is_tensor(a) else a for a in args]
        if None in (t for t, a in zip(taken, args, strict=True) if _is_tensor(a)):
            self.once_only(f"torch's {func} of other tensors")
            return
        new = self._find(result.data_ptr()) is None
        low = result.data_ptr() % MADE if new else None
        self._steps.append(Operation(func, taken, dict(kwargs), low))
        if new:
            self._add(result)

    def _add(self, tensor: Any) -> None:
        at = tensor.data_ptr()
        self._things.append(tensor)
        self._spans.append((at, at + _bytes(tensor)))

    # ---- where things are
    def _find(self, address: int) -> tuple[int, int] | None:
        """The thing that an address is in, and how far it is from its beginning.

        Where tensors overlap it may belong to either: what is true of all of them is noted.
        """
        inside = [i for i, (a, b) in enumerate(self._spans) if a <= address < b]
        if not inside:
            return None
        first = inside[0]
        start = self._spans[first][0]
        for other in inside[1:]:
            self._aliases.add(Alias(first, other, self._spans[other][0] - start))
        return first, address - start

    def _viewed(self, tensor: Any) -> Viewed | None:
        """A tensor as part of a thing, None if it is not."""
        for i, thing in enumerate(self._things):
            if thing is tensor:
                if tensor.numel():
                    self._find(tensor.data_ptr())  # another argument may be this one as well
                return Viewed(i, tuple(tensor.shape), tensor.stride(), 0, True)
        found = self._find(tensor.data_ptr()) if tensor.numel() else None
        if found is None or self._things[found[0]].dtype != tensor.dtype:
            return None
        step, rest = divmod(found[1], tensor.element_size())
        if rest:
            return None
        thing = self._things[found[0]]
        shape, stride = tuple(tensor.shape), tuple(tensor.stride())
        made = found[0] >= self._given  # an argument that is returned is that very object
        whole = made and not step and shape == tuple(thing.shape) and stride == thing.stride()
        return Viewed(found[0], shape, stride, step, whole)

    # ---- the tape
    def tape(self, result: Any) -> Tape | None:
        """What was seen, to be done again; None if that cannot be.

        Args:
            result: what the call returned.
        """
        returned = self._returned(result)
        launches = [s[0] for s in self._steps if isinstance(s, tuple)]
        if not launches:
            self.once_only("nothing was launched")
        if self.why:
            return None
        checks = merged(launches)
        steps: list[Step] = []
        for step in self._together(returned):
            if not isinstance(step, tuple):
                steps.append(step)
                continue
            launch = step[0].again(step[1], checks, launches)
            if launch is None:
                self.once_only("a launch takes Python")
                return None
            steps.append(Launched(launch))
            checks = ()  # once for all
        apart = self._apart()
        return Tape(steps, returned, sorted(self._aliases), apart)

    def _apart(self) -> list[Apart]:
        """The tensors of which nothing is in what is written. Those of which something is, the
        operator might have refused if they lay otherwise."""
        out: list[Apart] = []
        for i in self._written:
            for j in range(self._given):
                (a, end), (b, last) = self._spans[i], self._spans[j]
                if j == i or a == end or b == last or (j in self._written and j < i):
                    continue
                if b < end and a < last:
                    self._aliases.add(Alias(i, j, b - a))
                else:
                    out.append(Apart(i, j, end - a, last - b))
        return out

    def _together(self, returned: Any) -> list[Any]:
        """The steps; new memory that only kernels see, and nothing is in at first, is one piece."""
        seen = _seen(returned)
        for step in self._steps:
            if isinstance(step, Operation):
                seen |= _seen((*step.args, *step.kwargs.values()))
        steps: list[Any] = []
        pieces: list[Made] = []
        number, first, where, size = self._given, 0, 0, 0
        for step in self._steps:
            if isinstance(step, Made) and number not in seen and not step.zero:
                size += -size % _APART
                if pieces:
                    steps.append(Part(first, size))
                else:
                    first, where = number, len(steps)
                    steps.append(step)
                pieces.append(step)
                size += step.bytes()
            else:
                steps.append(step)
            number += not isinstance(step, tuple) and step.adds
        if len(pieces) > 1:
            steps[where] = pieces[0].larger(size)
        return steps

    def _returned(self, result: Any) -> Any:
        if isinstance(result, tuple):
            parts: Any = result
            return tuple(self._returned(part) for part in parts)
        if _is_tensor(result):
            viewed = self._viewed(result)
            if viewed is None:
                self.once_only("a result that is no argument's and was not made")
            return viewed
        if result is not None and not isinstance(result, bool | int | float):
            self.once_only("a result that is no tensor")
        return result


def _seen(what: Any) -> set[int]:
    """The numbers of the things of which something is a part."""
    if isinstance(what, tuple):
        parts: Any = what
        return {n for part in parts for n in _seen(part)}
    return {what.thing} if isinstance(what, Viewed) else set()


def _bytes(tensor: Any) -> int:
    """Bytes from a tensor's first element to the end of its last one."""
    if not tensor.numel():
        return 0
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return (reach + 1) * tensor.element_size()


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "storage_offset")


@functools.cache
def _mode() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operations(TorchDispatchMode):
        """Tells a recorder of torch's operations."""

        def __init__(self, recorder: Recorder) -> None:
            super().__init__()
            self.recorder = recorder

    def dispatch(
        self: Operations, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.recorder.operation(func, args, kwargs, result)
        return result

    # A class that is made with it imports torch's compiler, which takes seconds.
    Operations.__torch_dispatch__ = dispatch  # pyright: ignore[reportAttributeAccessIssue]
    return Operations
