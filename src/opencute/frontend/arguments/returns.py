# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a host function called from Python gives back.

In: the object that the traced function returned. Out: the SSA values that the host code returns,
and a way from their numbers at run time to the object that the caller gets. Numbers become Python
numbers, containers of them stay containers, compile-time values are given as they are::

    returned = Returned((Int32(x), "ok"))     # values: [x]
    returned.object([7])                      # (7, "ok")
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opencute.base.errors import LanguageError
from opencute.ir.core import Value
from opencute.lang.numbers import Numeric
from opencute.lang.pointers import Pointer
from opencute.lang.streams import Stream
from opencute.lang.tensors import TracedTensor
from opencute.lang.vectors import TensorSSA
from opencute.layout import Layout
from opencute.layout.ints import is_sequence
from opencute.numeric.dtypes import DType

__all__ = ["Returned", "python_number"]

_Make = Callable[[Iterator[Any]], Any]
_COMPILED_ONLY = (TracedTensor, TensorSSA, Pointer, Stream, Value)


class Returned:
    """The result of a traced host function.

    Args:
        result: what the function returned.

    Raises:
        LanguageError: it has parts that only compiled code can hold.
    """

    def __init__(self, result: Any) -> None:
        self.nothing = result is None
        self.values: list[Value] = []
        self.dtypes: list[DType] = []
        """Element types of the numbers among the results."""
        self._make = self._describe(result)

    def object(self, numbers: Sequence[Any]) -> Any:
        """The object for the caller, from the numbers that the host code returned."""
        return self._make(iter(numbers))

    def forget_values(self) -> None:
        """Let go of the trace."""
        self.values = []

    def _describe(self, x: Any) -> _Make:
        if isinstance(x, Numeric):
            if not x.is_dynamic:
                return _constant(x.value)
            self.values.append(x.ir_value())
            self.dtypes.append(x.dtype)
            return _number(x.dtype)
        if isinstance(x, type):
            return _constant(x)
        if isinstance(x, _COMPILED_ONLY) or hasattr(x, "__extract_mlir_values__"):
            raise LanguageError(
                "a host function called from Python returns something that only compiled code can "
                "hold", code="OC1131", found=type(x).__name__, hint="store it to a tensor",
                expected="numbers, containers of numbers, or compile-time values",
            )  # fmt: skip
        before = len(self.values)
        make = self._parts(x)
        # What holds no number is the very object: its identity may matter.
        return make if make is not None and len(self.values) > before else self._static(x, make)

    def _static(self, x: Any, make: _Make | None) -> _Make:
        return _constant(x) if make is None or not is_sequence(x) else make

    def _parts(self, x: Any) -> _Make | None:
        """How an object with parts is put together; None for anything else."""
        if is_sequence(x):
            kind: Any = type(x)
            items = [self._describe(i) for i in x]
            plain = kind in (tuple, list)
            return lambda it: _sequence(kind, plain, [make(it) for make in items])
        if isinstance(x, dict):
            named = {k: self._describe(v) for k, v in x.items()}
            return lambda it: {k: make(it) for k, make in named.items()}
        if isinstance(x, Layout):
            shape, stride = self._describe(x.shape), self._describe(x.stride)
            return lambda it: Layout(shape(it), stride(it))
        if type(x).__name__ == "SimpleNamespace":
            fields = {k: self._describe(v) for k, v in vars(x).items()}
            return lambda it: type(x)(**{k: make(it) for k, make in fields.items()})
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            fields = {f.name: self._describe(getattr(x, f.name)) for f in dataclasses.fields(x)}
            return lambda it: _record(type(x), {k: make(it) for k, make in fields.items()})
        return None


def _constant(x: Any) -> _Make:
    return lambda it: x


def _sequence(kind: Any, plain: bool, items: list[Any]) -> Any:
    return kind(items) if plain else kind(*items)


def _record(kind: Any, fields: dict[str, Any]) -> Any:
    new = object.__new__(kind)  # a dataclass: fields may be frozen, and __init__ may compute
    for name, value in fields.items():
        object.__setattr__(new, name, value)
    return new


def _number(dtype: DType) -> _Make:
    return lambda it: python_number(next(it), dtype)


def python_number(value: Any, dtype: DType) -> bool | int | float:
    """A result of host code as Python's number: integers and truth values are given as bits."""
    if dtype.is_bool:
        return bool(int(value) & 1)
    if dtype.is_float:
        return float(value)
    # Neither the simulator's registers nor a slot of the native call has a sign.
    bits = int(value) & (1 << dtype.width) - 1
    return bits - (1 << dtype.width) if dtype.signed and bits >> dtype.width - 1 else bits
