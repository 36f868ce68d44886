# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A number that is a member of a struct in memory.

In: a pointer to it. Out: an object with a pointer, which reads as a number wherever a number is
wanted::

    s.count.ptr                     # where it lies
    s.count += 1                    # a load, an addition, and a store
    before = s.count ; s.count = 0  # `before` is what it was

It is loaded where the member is named, and only if its value is used: naming it for its pointer
reads nothing.
"""

from __future__ import annotations

from typing import Any

from opencute.ir.builder import at_loc, current_block, current_loc, insert_at
from opencute.ir.core import Block, Value
from opencute.lang.numeric_meta import NumericMeta
from opencute.lang.pointers import Pointer

__all__ = ["NUMBER_OPERATORS", "ScalarMember"]

_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor",
    "lshift", "rshift",
)  # fmt: skip
_UNARY = ("neg", "pos", "abs", "invert", "round", "trunc", "int", "float")
_COMPARE = ("lt", "le", "gt", "ge")
NUMBER_OPERATORS = tuple(
    f"__{n}__" for n in (*_BINARY, *(f"r{n}" for n in _BINARY), *_UNARY, *_COMPARE)
)
"""Special methods of numbers; besides, they compare and have a truth value."""


class ScalarMember:
    """A number in memory.

    Args:
        ptr: where it lies.
    """

    __slots__ = ("_after", "_block", "_loc", "_number", "_ptr")
    __hash__ = object.__hash__

    def __init__(self, ptr: Pointer) -> None:
        self._ptr = ptr
        self._block = current_block()
        self._after = _last(self._block)
        self._loc = current_loc()
        self._number: Any = None

    def __extract_mlir_values__(self) -> list[Value]:
        return [self._ptr.value]

    def __new_from_mlir_values__(self, values: list[Value]) -> ScalarMember:
        return ScalarMember(Pointer(values[0], self._ptr.dtype))

    @property
    def ptr(self) -> Pointer:
        """Where it lies."""
        return self._ptr

    @property
    def dtype(self) -> NumericMeta:
        """Its type."""
        return self._ptr.dtype

    @property
    def __opencute_value__(self) -> Any:
        """What it was where it was named."""
        if self._number is None:
            self._number = self._loaded()
        return self._number

    def _loaded(self) -> Any:
        block = self._block
        if block is None or (block is current_block() and _last(block) is self._after):
            return self._ptr.load()
        made = Block()
        with insert_at(made), at_loc(self._loc):
            number = self._ptr.load()
        at = 0 if self._after is None else _index(block, self._after) + 1
        for op in made.ops:
            op.parent = block
        block.ops[at:at] = made.ops
        return number

    @property
    def value(self) -> Any:
        """Its value now."""
        return self._ptr.load()

    def load(self, *, loc: Any = None, ip: Any = None) -> Any:
        """Its value now."""
        return self._ptr.load()

    def store(self, value: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Give it another value."""
        self._ptr.store(value)

    def to(self, dtype: Any, **options: Any) -> Any:
        """Its value as another type; see `Numeric.to`."""
        return self.__opencute_value__.to(dtype, **options)

    def bitcast(self, dtype: Any) -> Any:
        """The bits of its value as another type."""
        return self.__opencute_value__.bitcast(dtype)

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """Its value as an SSA value."""
        return self.__opencute_value__.ir_value()

    def __str__(self) -> str:
        return f"{self.dtype.__name__} at {self._ptr}"

    __repr__ = __str__


def _last(block: Block | None) -> Any:
    """The last operation, which stays where it is, as do the stores before it."""
    if block is None or not block.ops:
        return None
    if block.held is not None:
        block.held.read()
    return block.ops[-1]


def _index(block: Block, op: Any) -> int:
    """Where an operation stands; it is likely one of the last."""
    at = len(block.ops) - 1
    while block.ops[at] is not op:
        at -= 1
    return at


def _forwarded(name: str) -> Any:
    def operator(self: Any, *args: Any) -> Any:
        method = getattr(self.__opencute_value__, name)
        return method(*(getattr(a, "__opencute_value__", a) for a in args))

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = "As of the number."
    return operator


for _name in (*NUMBER_OPERATORS, "__eq__", "__ne__", "__bool__"):
    setattr(ScalarMember, _name, _forwarded(_name))
