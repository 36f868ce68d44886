# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a variable holds that is not bound on every path: an object that no use gets past.

In: the name, and where paths meet that bind it differently. Out: an error on the line of the use::

    if c:
        late = 1
    f(late)         # OC1126, with the line of the `if`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opencute.base.errors import LanguageError, OpenCuTeError
from opencute.base.location import Location

__all__ = ["Later", "MaybeUnboundError", "Mixed", "Partial", "Unbound"]


class MaybeUnboundError(LanguageError, UnboundLocalError):
    """A variable is used that some paths do not bind."""

    default_code = "OC1126"


class Unbound:
    """What a variable holds that only some paths bind. Any use of it is an error."""

    def __init__(self, name: str = "", loc: Location | None = None, why: str = "") -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_loc", loc)
        object.__setattr__(self, "_why", why)

    def _fail(self, *args: Any, **kwargs: Any) -> Any:
        name, loc, why = (object.__getattribute__(self, n) for n in ("_name", "_loc", "_why"))
        raise MaybeUnboundError(
            f"variable {name!r} is not bound on every path that leads here",
            found=f"paths that differ meet at {loc}" if loc is not None else None,
            hint=why or "bind it before the 'if' or loop, or in every branch",
        )

    def __getattr__(self, name: str) -> Any:
        return self._fail()

    def _use(self, *args: Any, **kwargs: Any) -> Any:
        return type(self)._fail(self)

    __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __index__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _use
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _use
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __xor__ = __rand__ = _use
    __ror__ = __rxor__ = __str__ = __invert__ = __float__ = __int__ = __setattr__ = _use
    __eq__ = __ne__ = __contains__ = __pow__ = __rpow__ = __abs__ = __enter__ = __exit__ = _use
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __divmod__ = __round__ = _use
    __hash__ = None  # type: ignore[assignment]


class Later(Unbound):
    """What a variable holds at first that is bound wherever the program reads it: on paths that
    have no value yet, any value will do."""


class Mixed(Unbound):
    """What a variable holds that has values of different kinds on the paths that meet.

    Args:
        error: what a use of it raises.
        loc: where the paths meet.
    """

    def __init__(self, error: OpenCuTeError, loc: Location | None) -> None:
        super().__init__("", loc)
        object.__setattr__(self, "_error", error.at(loc))

    def _fail(self, *args: Any, **kwargs: Any) -> Any:
        raise object.__getattribute__(self, "_error")

    def __getattr__(self, name: str) -> Any:
        return self._fail()


class Partial(Unbound):
    """What is bound on all paths that go on, where others leave a loop or function.

    Args:
        name: the variable.
        value: what it is where code goes on; of no meaning elsewhere.
        flags: sets of flags; it is bound if one flag of each set is known not to be set.
    """

    def __init__(
        self, name: str, value: Any, flags: frozenset[frozenset[str]], loc: Location | None = None
    ) -> None:
        super().__init__(name, loc)
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_flags", flags)

    @staticmethod
    def value(x: Any) -> Any:
        """The value of a variable where code goes on."""
        return object.__getattribute__(x, "_value") if isinstance(x, Partial) else x

    @staticmethod
    def flags(x: Any) -> frozenset[frozenset[str]]:
        """The flags of a variable."""
        return object.__getattribute__(x, "_flags") if isinstance(x, Partial) else frozenset()

    @staticmethod
    def under(x: Any, clear: Iterable[str]) -> Any:
        """A variable where flags are known not to be set."""
        if isinstance(x, Partial) and all(not s.isdisjoint(clear) for s in Partial.flags(x)):
            return Partial.value(x)
        return x
