# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Results of the layout algebra that are worth keeping: those of known integers alone.

A kernel divides and composes the same few layouts over and over, and so does every kernel after it;
layouts never change, so that one result serves all. What has a dynamic integer in it is worked out
each time, as that may make operations.

In: a function of layouts and tilers. Out: the same, with a memory::

    @remembered
    def composition(a, b): ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from opencute.layout.basis import ScaledBasis
from opencute.layout.layout import Layout

__all__ = ["remembered"]

_F = TypeVar("_F", bound=Callable[..., Any])
_LIMIT = 1 << 14
_UNKNOWN = object()
_results: dict[Any, Any] = {}


def _key(x: Any) -> Any:
    """What tells a static argument from all others, `_UNKNOWN` for any other one.

    Types count: True is no 1, and nothing that merely equals an int is taken for one.
    """
    kind = type(x)
    if kind is int or x is None:
        return x
    if kind is tuple:
        for i in x:
            if type(i) is not int:
                break
        else:
            return x
        parts = tuple(map(_key, x))
        return _UNKNOWN if _UNKNOWN in parts else parts
    if kind is Layout:
        shape = _key(x.shape)
        if shape is _UNKNOWN:
            return _UNKNOWN
        stride = _key(x.stride)
        return _UNKNOWN if stride is _UNKNOWN else (Layout, shape, stride)
    if kind is ScaledBasis and type(x.value) is int:
        return ScaledBasis, x.value, x.mode
    return _UNKNOWN


def remembered(f: _F) -> _F:
    """Keep the results of `f` for positional arguments without dynamic integers.

    Its results must not depend on anything else, and must not be changed.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return f(*args, **kwargs)
        key = _key(args)
        if key is _UNKNOWN:
            return f(*args)
        key = f, key
        found = _results.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            if len(_results) >= _LIMIT:
                _results.clear()
            found = _results[key] = f(*args)
        return found

    return cast(_F, call)
