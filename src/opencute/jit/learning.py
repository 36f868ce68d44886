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
from opencute.jit.decorated import HostFunction
from opencute.jit.entry import code
from opencute.jit.entry.fast_call import MOST_NAMES
from opencute.jit.entry.versions import describe
from opencute.jit.entry.words import Check
from opencute.jit.guards import Guard
from opencute.jit.places import Item, PlaceCheck
from opencute.lang.external import ExternalTensor, make_native

if TYPE_CHECKING:
    from opencute.jit.request import Request

__all__ = ["by_position", "environment_words", "guard_words", "learn_call", "place_words"]

_MOST = 1024  # kinds of calls of a function that are known to be learnt


def learn_call(
    fn: HostFunction, args: tuple[Any, ...], request: Request, prepared: Any, guard: Guard,
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
    if kind in fn.in_python:
        _remember(fn, args, prepared, guard)
        return
    if watched and fn.learnt.get(kind) is guard:
        return
    version = _version(fn, args, request, prepared, guard)
    if version is None:
        fn.in_python.add(kind)
        _remember(fn, args, prepared, guard)
        return
    if len(fn.learnt) >= _MOST:
        fn.learnt.clear()
    fn.learnt[kind] = guard
    _fast(fn).learn(version)


def _fast(fn: HostFunction) -> Any:
    """The native code in front of a function."""
    if fn.fast is None:
        from opencute.jit.fastcall import FastCall

        kind: Any = type(fn)
        slow = functools.partial(kind.__call__, fn)
        fn.fast = FastCall(slow, _names(fn) or (), fn.fn)
        fn.__class__ = type(kind.__name__, (kind,), {"__call__": fn.fast.function})
    return fn.fast


def _names(fn: HostFunction) -> list[str] | None:
    """Names of the parameters of a function, if all take arguments by position and by name."""
    parameters = fn.signature.parameters
    usual = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())
    return [*parameters] if usual and len(parameters) <= MOST_NAMES else None


def by_position(
    fn: HostFunction, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: dict[str, Any]
) -> tuple[Any, ...] | None:
    """All arguments of a call by position, as native code puts them; None if it does not.

    Args:
        arguments: of all parameters by name, also those that the call does not give.
    """
    if not kwargs:
        return args
    names = _names(fn)
    if names is None or any(k not in names for k in kwargs):
        return None
    count = max(len(args), 1 + max(names.index(k) for k in kwargs))
    return tuple(arguments[n] for n in names[:count])


def _remember(fn: HostFunction, args: tuple[Any, ...], prepared: Any, guard: Guard) -> None:
    """Have native code know a call by the identity of its arguments, where it does not read them:
    one call of a function."""
    from opencute.jit.fastcall import FIXED

    fast = _fast(fn)
    if fast.remembers and fast.remembered_for is guard:
        return  # programs that rotate arguments keep the first
    guarded = guard_words(guard)
    if guarded is None or not all(isinstance(a, FIXED) for a in args):
        return
    words, places = environment_words()
    version = prepared.native(None, (*words, *guarded[0]), (guarded[1], places, guard))
    if version is not None:
        for a in args:
            if isinstance(a, ExternalTensor):
                a.prepared = True
        fast.remembered_for = guard
        fast.remember(args, version)


def _make_native(args: tuple[Any, ...]) -> None:
    """Have native code see the marks of tensors, also of those in tuples."""
    for a in args:
        if type(a) is ExternalTensor:
            make_native(a)
        elif type(a) is tuple:
            _make_native(a)


def _version(
    fn: HostFunction, args: tuple[Any, ...], request: Request, prepared: Any, guard: Guard
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
