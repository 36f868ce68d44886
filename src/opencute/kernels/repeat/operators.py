# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators whose calls are made again without their Python.

In: an operator. Out: the operator; its second call with arguments of a kind is recorded, later ones
get memory and launch, which takes some microseconds::

    @tuned("softmax", "x")
    @checked(arrays="x", optional="out")
    @repeated
    def softmax(x, *, out=None): ...

An operator's own Python may read types, extents, strides, alignment (up to 256 bytes) and numbers
of its arguments, and the device that it runs on. What else it reads it says with
`jit.recording.once_only`; numbers that each call has for itself are `jit.recording.fresh`.
Operations of torch's that depend on elements are noticed, and keep a call from being made again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from opencute.base.bounded import Recent
from opencute.jit.recording import RECORDING, WATCHER
from opencute.kernels.repeat.described import described
from opencute.kernels.repeat.recorder import Recorder
from opencute.kernels.repeat.tape import MISSED, Tape
from opencute.runtime import driver

__all__ = ["forget_calls", "repeated", "why_not"]

F = TypeVar("F", bound=Callable[..., Any])
_KINDS, _WAYS = 256, 4  # of calls of an operator; in which tensors of one kind overlap
_every: list[Recent[Any, Any]] = []


def repeated(fn: F) -> F:
    """Decorate an operator."""
    kinds: Recent[Any, tuple[Tape, ...] | str] = Recent(_KINDS)
    seen: Recent[Any, bool] = Recent(_KINDS)  # once; many a call's extents never come again
    _every.extend((kinds, seen))

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if WATCHER.get() is not None or RECORDING.get() is not None:
            return fn(*args, **kwargs)
        found = described(args, kwargs)
        if found is None:
            return fn(*args, **kwargs)
        key, tensors, addresses = found
        try:
            tapes = kinds.get(key)
        except TypeError:  # something has no hash
            return fn(*args, **kwargs)
        if tapes is None and not seen.get(key):
            seen[key] = True
            return fn(*args, **kwargs)
        if isinstance(tapes, str):
            return fn(*args, **kwargs)
        for tape in tapes or ():
            if tape.fits(addresses):
                result = tape.play([*tensors], [*addresses])
                if result is MISSED:  # perhaps the first launch of a thread
                    driver.ensure_context()
                    result = tape.play([*tensors], [*addresses])
                if result is not MISSED:
                    return result
                tapes = tuple(t for t in tapes or () if t is not tape)
                break
        recorder = Recorder(tensors, addresses, _written(tensors, kwargs))
        with recorder:
            result = fn(*args, **kwargs)
        tape = recorder.tape(result)
        if tape is not None:
            kinds[key] = (tape, *(tapes or ())[: _WAYS - 1])
        elif not recorder.elsewhere:
            kinds[key] = recorder.why
        return result

    marked: Any = call
    marked.kinds = kinds
    return marked


def _written(tensors: list[Any], kwargs: dict[str, Any]) -> list[int]:
    """The numbers of the tensors that a call may write to: its result, and what an epilogue is
    given."""
    if kwargs.get("epilogue") is not None:
        return [*range(len(tensors))]
    out = kwargs.get("out")
    return [i for i, t in enumerate(tensors) if t is out]


def forget_calls() -> None:
    """Let go of all recorded calls, and what their code holds."""
    for kinds in _every:
        kinds.clear()


def why_not(operator: Any) -> list[str]:
    """Why calls of an operator are not made again, each reason once."""
    fn = operator
    while not hasattr(fn, "kinds"):
        fn = fn.__wrapped__
    return sorted({v for v in fn.kinds.values() if isinstance(v, str)})
