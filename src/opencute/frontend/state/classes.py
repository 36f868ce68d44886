# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a class of the user's consists of, and what it leads to.

Each branch and loop asks that of each class which it can reach, mostly the same ones as before; so
it is found once in a trace, and again only where an attribute has come to be another object.

In: a class. Out: its `Inside`, or None for a class whose attributes are not joined::

    inside = class_of(State)
    inside.state                    # {"count": 3, "step": <function State.step>}
    inside.parts                    # [<function State.step>]
    forget()                        # the trace has ended
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import operator
from typing import Any

from opencute.frontend.state.kept import is_inert, kept_parts, kept_state

__all__ = ["Inside", "class_of", "forget"]


class Inside:
    """A class as it is now.

    Args:
        kind: the class.
        state: its attributes.
    """

    __slots__ = ("_kind", "_mro", "_names", "_values", "parts", "state")

    def __init__(self, kind: Any, state: dict[str, Any]) -> None:
        inside = vars(kind)
        self._kind, self._mro = kind, kind.__mro__
        self._names, self._values = [*inside], [*inside.values()]
        self.state = state
        """Its attributes by name, but those with a meaning for Python. It is not to be changed."""
        self.parts: list[Any] = []
        """What it leads to. The list is not to be changed."""
        for value in (*state.values(), *kept_parts(kind, 0)):
            if type(value) is property:
                self.parts += (value.fget, value.fset)
            elif type(value) is staticmethod or type(value) is classmethod:
                self.parts.append(value.__func__)
            elif not is_inert(type(value)):
                self.parts.append(value)

    def holds(self) -> bool:
        """Whether the class is still what it was."""
        inside = vars(self._kind)
        return (
            len(inside) == len(self._names)
            and all(map(operator.is_, inside.values(), self._values))
            and all(map(operator.is_, inside, self._names))
            and self._kind.__mro__ is self._mro
        )


_known: dict[int, Inside | None] = {}


def class_of(kind: Any) -> Inside | None:
    """What a class consists of; None if it is not one of the user's."""
    found = _known.get(id(kind))
    if found is None or not found.holds():
        state = kept_state(kind)
        if state is None:
            return None
        found = _known[id(kind)] = Inside(kind, state)
    return found


def forget() -> None:
    """The trace has ended: let go of classes."""
    _known.clear()
