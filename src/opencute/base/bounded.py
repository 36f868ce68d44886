# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A dict that forgets: for caches in processes that run for long.

In: keys and values. Out: the values of the keys that were used last::

    recent = Recent[str, int](2)
    recent["a"], recent["b"], recent["c"] = 1, 2, 3
    list(recent)                                     # ["b", "c"]

Threads may share one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

__all__ = ["Recent"]

K = TypeVar("K")
V = TypeVar("V")


_MISSING: Any = object()


class Recent(OrderedDict[K, V], Generic[K, V]):
    """A dict of bounded size; reading with `get` counts as use, once it is more than half full.

    Args:
        limit: how many items it keeps.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self._guard = threading.RLock()

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        """The value of a key, which becomes the most recently used one."""
        found = super().get(key, _MISSING)
        if found is _MISSING:
            return default
        if 2 * len(self) > self.limit:
            with self._guard:
                if key in self:
                    self.move_to_end(key)
        return found  # type: ignore[no-any-return]

    def setdefault(self, key: K, default: V | None = None) -> V:  # type: ignore[override]
        """The value of a key, which is the given one if there is none yet."""
        with self._guard:
            if key not in self:
                self[key] = default  # type: ignore[assignment]
            self.move_to_end(key)
            return self[key]

    def __setitem__(self, key: K, value: V) -> None:
        if not hasattr(self, "_guard"):  # while the base class starts up
            super().__setitem__(key, value)
            return
        with self._guard:
            super().__setitem__(key, value)
            self.move_to_end(key)
            while len(self) > self.limit:
                self.popitem(last=False)

    def clear(self) -> None:
        """Forget all, between what other threads do to the items."""
        with self._guard:
            super().clear()

    def __delitem__(self, key: K) -> None:
        with self._guard:
            super().__delitem__(key)
