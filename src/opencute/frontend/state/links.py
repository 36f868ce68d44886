# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that are one in one path of the program and two in another.

After ``b = a if c else other`` the name `b` stands for a joined copy of two lists. That is right as
long as nobody changes one of them and looks at the other. A *link* remembers such pairs; `check`
refuses a change of one while the user's variables still reach the other::

    b = a if i > 2 else other
    b[0] = 5                    # OC1124, unless neither `a` nor `other` is used by a variable
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.frontend.locations import here, is_internal, is_traced
from opencute.frontend.state.objects import parts_of, state_of
from opencute.frontend.unbound import Unbound

__all__ = ["check", "clear", "cut", "drop", "given", "link", "mark"]


@dataclass(eq=False)
class _Link:
    objects: tuple[Any, Any]
    before: tuple[dict[Any, Any], dict[Any, Any]]
    name: str
    loc: Location | None


class _State(threading.local):
    def __init__(self) -> None:
        self.links: list[_Link] = []


_STATE = _State()


def clear() -> None:
    """Forget all links, as before each tracing run."""
    _STATE.links.clear()


def mark() -> int:
    """Where to `cut` after a branch or body: its own objects end with it."""
    return len(_STATE.links)


def cut(to: int) -> None:
    """Check, and forget the links since `mark`; what the branch gives back gets links of its own
    where paths meet.

    Raises:
        LanguageError: as `check`.
    """
    check()
    drop(to)


def drop(to: int) -> None:
    """Forget the links since `mark`, of a branch or body that is traced again."""
    del _STATE.links[to:]


def link(a: Any, b: Any, name: str) -> None:
    """Note that two objects may be the same one.

    Args:
        a, b: the objects.
        name: the variable or item that stands for them.
    """
    before = state_of(a), state_of(b)
    if a is not b and before[0] is not None and before[1] is not None:
        _STATE.links.append(_Link((a, b), (before[0], before[1]), name, here()))


def check() -> None:
    """Refuse changes since the last call that another name would have to see.

    Raises:
        LanguageError: OC1124.
    """
    if not _STATE.links:
        return
    reached: set[int] | None = None
    for one in _STATE.links:
        changed = [
            _differ(state_of(x), old) for x, old in zip(one.objects, one.before, strict=True)
        ]
        if not any(changed):
            continue
        if reached is None:
            reached = _reached()
        a, b = (id(x) in reached for x in one.objects)
        if (changed[0] and b) or (changed[1] and a):
            raise LanguageError(
                f"{one.name} stands for different objects on the paths that meet here, and one "
                "of them is changed afterwards", code="OC1124", loc=one.loc,
                found=f"two objects of type {type(one.objects[0]).__name__}",
                hint="change the object before the paths meet, or give each name an object of its "
                "own",
            )  # fmt: skip


def given(value: Any) -> Any:
    """What a function returns; its variables are still there to be looked at.

    Raises:
        MaybeUnboundError: it is, or has, a variable that some paths do not bind.
        LanguageError: as `check`.
    """
    for part in value if type(value) in (tuple, list) else (value,):
        if isinstance(part, Unbound):
            bool(part)
    check()
    return value


def _differ(new: dict[Any, Any] | None, old: dict[Any, Any]) -> bool:
    assert new is not None
    return new.keys() != old.keys() or any(
        new[k] is not old[k] and not isinstance(new[k], frozenset) for k in new
    )


def _reached() -> set[int]:
    """The identities of the objects that the user's variables reach."""
    queue: list[Any] = []
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way to the callers
    while frame is not None and not is_traced(frame.f_code):
        if not is_internal(frame.f_code):
            queue += [v for k, v in frame.f_locals.items() if not k.startswith("__oc_")]
        frame = frame.f_back
    seen: dict[int, Any] = {}
    while queue:
        obj = queue.pop()
        if id(obj) not in seen:
            seen[id(obj)] = obj
            queue += parts_of(obj)
    return set(seen)
