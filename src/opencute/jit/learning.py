# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Telling native code how a call was made, so that it makes the next ones like it.

In: a call that Python has prepared, and its guard. Out: the callable answers such calls natively;
the class of a callable decides what a call does, so each gets a class of its own::

    learn_call(fn, args, request, prepared, guard)
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from opencute.base.knobs import KNOBS
from opencute.compiler.options import OPTION_KNOBS
from opencute.jit.entry import code
from opencute.jit.entry.versions import describe
from opencute.jit.entry.words import Check
from opencute.jit.functions import JitFunction
from opencute.jit.guards import Guard
from opencute.jit.places import Item, PlaceCheck
from opencute.lang.external import ExternalTensor, make_native

if TYPE_CHECKING:
    from opencute.jit.calls import Request

__all__ = ["environment_words", "guard_words", "learn_call", "place_words"]

_MOST = 1024  # kinds of calls of a function that are known to be learnt


def learn_call(
    fn: JitFunction, args: tuple[Any, ...], request: Request, prepared: Any, guard: Guard,
    watched: bool = False,
) -> None:  # fmt: skip
    """Have calls like this one made by native code from now on.

    Args:
        fn: the function.
        args: the arguments of the call, all by position.
        request: what they were described as.
        prepared: the call, on a GPU.
        guard: holds as long as the trace does.
        watched: whether Python makes the call although native code may know it.
    """
    _make_native(args)
    kind = (request.key, *map(type, args))
    if kind in fn.in_python or (watched and fn.learnt.get(kind) is guard):
        return
    version = _version(fn, args, request, prepared, guard)
    if version is None:
        fn.in_python.add(kind)
        return
    if len(fn.learnt) >= _MOST:
        fn.learnt.clear()
    fn.learnt[kind] = guard
    if fn.fast is None:
        from opencute.jit.fastcall import FastCall

        fn.fast = FastCall(functools.partial(JitFunction.__call__, fn))
        fn.__class__ = type("JitFunction", (JitFunction,), {"__call__": fn.fast.function})
    fn.fast.learn(version)


def _make_native(args: tuple[Any, ...]) -> None:
    """Have native code see the marks of tensors, also of those in tuples."""
    for a in args:
        if type(a) is ExternalTensor:
            make_native(a)
        elif type(a) is tuple:
            _make_native(a)


def _version(
    fn: JitFunction, args: tuple[Any, ...], request: Request, prepared: Any, guard: Guard
) -> Any:
    parameters = fn.signature.parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return None
    arguments = describe(request.specs, request.arguments, [*parameters][: len(args)])
    guarded = guard_words(guard)
    if arguments is None or guarded is None:
        return None
    checks, keep = guarded
    words, places = environment_words()
    return prepared.native(arguments, (*words, *checks), (keep, places, guard))


def guard_words(guard: Guard) -> tuple[tuple[int, ...], Any] | None:
    """`Guard.native`; the same words as the last time, if they hold: to find them takes long."""
    if guard.words is None or not code.load().holds(guard.words[0]):
        guard.words = guard.native()
    return guard.words  # type: ignore[no-any-return]


def environment_words() -> tuple[list[int], list[Any]]:
    """That calls still go where this one went, with the same default options."""
    places = KNOBS.places("target", *OPTION_KNOBS)
    words, keep = place_words((s, k) for s, k in places if s or s is not KNOBS.overrides)
    if not KNOBS.overrides:  # one check for all knobs
        words += [Check.LENGTH, id(KNOBS.overrides), 0, 0]
        keep.append(KNOBS.overrides)
    return words, keep


def place_words(places: Iterable[tuple[dict[Any, Any], Any]]) -> tuple[list[int], list[Any]]:
    """That keys of dicts have the values that they have now, and what the words point to."""
    words: list[int] = []
    keep: list[Any] = []
    for space, key in places:
        PlaceCheck(Item(space, key)).native(words, keep)
    return words, keep
