# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One object for all that are equal, so that native code can tell them by their address.

What a kernel is compiled for is often a frozen object that is made anew at each call. Equal ones
are the same to a trace; to see that at a call takes Python, unless they are one object::

    plan = interned(Plan(threads=256))
    assert interned(Plan(threads=256)) is plan

Those that were asked for last are kept. Threads may share them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from opencute.base.bounded import Recent

__all__ = ["interned", "is_interned"]

T = TypeVar("T")

_MOST = 4096
_known: Recent[Any, Any] = Recent(_MOST)


def interned(obj: T) -> T:
    """The first object that was equal to this one, a frozen dataclass; of very many different ones
    not all are kept."""
    found = _known.get(obj)
    if found is not None:
        return found  # type: ignore[no-any-return]
    fixed = getattr(type(obj), "__dataclass_params__", None)
    if fixed is not None and fixed.frozen and dataclasses.is_dataclass(obj):
        return _known.setdefault(obj, obj)  # type: ignore[no-any-return]
    return obj


def is_interned(obj: Any) -> bool:
    """Whether all that is equal to an object, and was asked for by `interned`, is this one."""
    try:
        return _known.get(obj) is obj
    except TypeError:  # it has no hash, and was not
        return False
