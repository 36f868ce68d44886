# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of single arguments: compile-time values, numbers, pointers, streams and tensors.

A `Spec` describes one argument: its SSA parameters, the object that tracing works with, the values
of a call. `Spec.like` makes the spec of a later call's argument and checks it on the way.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import dataclasses
import functools
import sys
import typing
from collections.abc import Iterator
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.base.interned import is_interned, unequal_parts
from opencute.dialects.cute import Dyn, LayoutAttr, PtrType
from opencute.frontend.arguments.declared import CallCheck, Declared, check_memory
from opencute.ir.core import Value
from opencute.ir.types import I64, IntegerType, Type
from opencute.lang.arguments.fakes import FakeStream, FakeTensor
from opencute.lang.arguments.symbols import SymInt
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer, make_ptr
from opencute.lang.numbers import NUMERIC_CLASSES, Int32, Int64, Numeric, ir_type
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
from opencute.lang.streams import Event, Stream
from opencute.lang.tensors import Tensor, TracedTensor
from opencute.layout import Layout
from opencute.layout.ints import is_sequence

__all__ = [
    "EnvStreamSpec",
    "EventSpec",
    "PointerSpec",
    "ScalarSpec",
    "Spec",
    "StaticSpec",
    "StreamSpec",
    "SymbolSpec",
    "TensorSpec",
    "check_number",
    "is_array",
    "plain_number",
    "stream_handle",
]


class Spec:
    """How one argument is passed."""

    key: Any
    base: Any

    def types(self) -> list[Type]:
        """Types of the SSA parameters."""
        return []

    def static(self) -> list[Any]:
        """The compile-time values of the argument, also those inside of it."""
        return []

    def build(self, values: Iterator[Value]) -> Any:
        """The object that tracing works with."""
        raise AssertionError

    def extract(self, obj: Any, out: list[Any]) -> None:
        """Append the run-time values of an argument."""

    def forget(self) -> None:
        """Let go of the argument's memory; keys and texts stay."""

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        """The spec of an argument of a call to what was compiled for this one.

        Args:
            obj: the argument.
            call: what is known of the call so far.
            path: how messages name the argument.
            annotation: the parameter's annotation, if any.
            space: see `spec_of`.

        Raises:
            ArgumentError: it breaks what this argument promised.
        """
        return call.make(obj, annotation, path, space)

    def describe(self, call: CallCheck) -> str:
        """The argument in the signature that messages show."""
        return str(self.base[-1])


class StaticSpec(Spec):
    """A compile-time value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = self.base = ("static", _identity(value))

    def static(self) -> list[Any]:
        return [self.value]

    def build(self, values: Iterator[Value]) -> Any:
        return self.value


def _identity(value: Any) -> Any:
    """A hashable that is equal for equal compile-time values of equal types."""
    if is_sequence(value):
        items: Any = value
        return (type(items), *map(_identity, items))
    if isinstance(value, dict):
        mapping: Any = value
        return (dict, *((k, _identity(v)) for k, v in mapping.items()))
    if isinstance(value, Numeric):
        return (type(value), _identity(value.value))
    if isinstance(value, float):
        return (type(value), float.hex(value))  # -0.0 equals 0.0, and a NaN not even itself
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    by_value = getattr(getattr(type(value), "__dataclass_params__", None), "eq", False)
    if by_value and not is_interned(value):
        # Tracing reads fields as they are: it tells 1 from True, and those not compared, too.
        names = [f.name for f in dataclasses.fields(value)]
        return (type(value), *(_identity(getattr(value, n, None)) for n in names), value)
    return (type(value), value, unequal_parts(value)) if by_value else (type(value), value)


class ScalarSpec(Spec):
    """A number."""

    def __init__(self, cls: Any, name: str = "") -> None:
        self.cls = cls
        self.name = name
        self.key = self.base = ("scalar", cls.dtype.name)

    def types(self) -> list[Type]:
        return [ir_type(self.cls.dtype)]

    def build(self, values: Iterator[Value]) -> Any:
        return self.cls(next(values))

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        obj = plain_number(obj)
        if not isinstance(obj, Numeric | bool | int | float):
            raise call.mistyped(path, self.cls.__name__, obj)
        check_number(obj, self.cls, path)
        return self

    def extract(self, obj: Any, out: list[Any]) -> None:
        if type(obj) is self.cls:
            out.append(obj.value)
        else:
            check_number(obj, self.cls, self.name)
            out.append(self.cls(obj).value)


def check_number(obj: Any, cls: Any, name: str) -> None:
    """Refuse a number that a class cannot hold.

    Raises:
        TypeMismatchError: a float for an integer.
        ArgumentError: an integer that is out of range.
    """
    dtype = cls.dtype
    if dtype.is_float or dtype.is_bool:
        return
    value = obj.value if isinstance(obj, Numeric) else obj
    if isinstance(value, float):
        raise TypeMismatchError(
            f"argument {name!r} is no integer", code="OC1259", expected=cls, found=repr(obj)
        )
    if not dtype.min <= int(value) <= dtype.max:
        wide = " the parameter as cutlass.Int64, or pass cutlass.Int64(...)"
        raise ArgumentError(
            f"argument {name!r} does not fit in {cls.__name__}", code="OC2114", found=value,
            expected=f"{dtype.min} to {dtype.max}",
            hint=f"annotate{wide}" if dtype.width == 32 else None,
        )  # fmt: skip


class SymbolSpec(ScalarSpec):
    """A number that is the extent or stride of tensors too, or has a known divisor."""

    def __init__(self, symbol: SymInt, name: str = "") -> None:
        super().__init__(Int64 if symbol.width == 64 else Int32, name)
        self.symbol = symbol
        self.key = self.base = ("symbol", symbol.width, symbol.divisibility)

    def build(self, values: Iterator[Value]) -> Any:
        out = super().build(values)
        out.div = self.symbol.divisibility
        return out

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        super().like(obj, call, path, annotation, space)
        call.check_symbol(self.symbol, int(getattr(obj, "value", obj)), path, path)
        return self

    def extract(self, obj: Any, out: list[Any]) -> None:
        if isinstance(obj, SymInt):
            obj = int(obj)  # which tells that it has no value
        super().extract(obj, out)

    def describe(self, call: CallCheck) -> str:
        return call.name_of(self.symbol)


class PointerSpec(Spec):
    """A pointer made by `make_ptr`."""

    def __init__(self, p: ExternalPointer, space: AddressSpace) -> None:
        self.dtype = p.dtype
        self.space = space
        self.type = pointer_type(p.dtype, space, p.alignment)
        self.key = self.base = ("pointer", self.type)

    def types(self) -> list[Type]:
        return [self.type]

    def build(self, values: Iterator[Value]) -> Any:
        return Pointer(next(values), self.dtype)

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        if isinstance(obj, ExternalPointer):
            fits = self._fits(obj)
        else:
            fits = isinstance(obj, int) or hasattr(obj, "__tvm_ffi_opaque_ptr__")
            fits = fits or type(obj).__name__ == "c_void_p"
        return self if fits else super().like(obj, call, path, annotation, space)

    def _fits(self, p: ExternalPointer) -> bool:
        """Whether a pointer can stand for this one: it may promise less than its address keeps."""
        spaces = (self.space, AddressSpace.generic)
        return p.dtype is self.dtype and p.memspace in spaces and p.address % self.type.align == 0

    def extract(self, obj: Any, out: list[Any]) -> None:
        if isinstance(obj, ExternalPointer):
            out.append(obj)
            return
        opaque = getattr(obj, "__tvm_ffi_opaque_ptr__", None)
        address = opaque() if opaque is not None else getattr(obj, "value", obj)
        out.append(make_ptr(self.dtype, address or 0, self.space, self.type.align))


class StreamSpec(Spec):
    """A CUDA stream."""

    key = base = ("stream",)

    def types(self) -> list[Type]:
        return [I64]

    def build(self, values: Iterator[Value]) -> Any:
        return Stream(next(values))

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        stream_handle(obj, path)
        return self

    def extract(self, obj: Any, out: list[Any]) -> None:
        out.append(stream_handle(obj))

    def describe(self, call: CallCheck) -> str:
        return "Stream"


class EventSpec(StreamSpec):
    """A CUDA event, a handle like a stream."""

    key = base = ("event",)

    def build(self, values: Iterator[Value]) -> Any:
        return Event(next(values))

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        stream_handle(getattr(obj, "cuda_event", obj), path)
        return self

    def extract(self, obj: Any, out: list[Any]) -> None:
        out.append(stream_handle(getattr(obj, "cuda_event", obj)))

    def describe(self, call: CallCheck) -> str:
        return "Event"


class EnvStreamSpec(Spec):
    """The framework's current stream: calls do not pass it."""

    key = base = ("current stream",)

    def build(self, values: Iterator[Value]) -> Any:
        return None  # what `launch(stream=)` takes for it

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        if obj is None or isinstance(obj, FakeStream):
            return self
        raise ArgumentError(
            f"argument {path!r} is the framework's current stream, which calls do not pass",
            code="OC2137", found=obj,
        )  # fmt: skip


class TensorSpec(Spec):
    """A tensor: a pointer, then its dynamic integers.

    Made at each call, so what only tracing and messages need is computed when they ask.
    """

    def __init__(self, t: ExternalTensor | FakeTensor, space: AddressSpace) -> None:
        self.tensor: Any = t
        self.declared = Declared(t)
        self.space = space
        self.dtype = t.element_type
        self.facts = t.facts()
        self.base = ("tensor", self.dtype, space, t.marked())
        self.key = (self.base, self.facts)
        if _too_long(self.base[3][0], t.shape):
            raise ArgumentError(
                "an extent does not fit in 32 bits", code="OC2113", found=t.shape,
                hint="split the mode in two",
            )  # fmt: skip

    @functools.cached_property
    def layout(self) -> LayoutAttr:
        """The layout with its dynamic integers and what is known of them."""
        shape, stride = self.base[3]
        it = iter(self.facts[1:])
        known = tuple(Dyn(d.width, next(it)) if isinstance(d, Dyn) else d for d in stride)
        return LayoutAttr(shape, known)

    @property
    def type(self) -> PtrType:
        """The pointer's type."""
        return pointer_type(self.dtype, self.space, self.facts[0])

    @functools.cached_property
    def text(self) -> str:
        """The tensor as messages show it."""
        return self.tensor.type

    def forget(self) -> None:
        assert self.text
        self.tensor = None

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        declared = self.declared
        if not declared.fake and isinstance(obj, ExternalTensor) and obj.marked() == self.base[3]:
            return call.make(obj, annotation, path, space)
        if not isinstance(obj, Tensor) and not is_array(obj):
            raise call.mistyped(path, "Tensor", obj)
        return TensorSpec(declared.bind(obj, call, path), space or self.space)

    def describe(self, call: CallCheck) -> str:
        return self.declared.describe(call)

    def types(self) -> list[Type]:
        return [self.type, *(IntegerType(d.width) for d in self.layout.dyns())]

    def build(self, values: Iterator[Value]) -> Any:
        pointer = Pointer(next(values), self.dtype)

        def leaf(value: Value, d: Dyn) -> Any:
            out = (Int64 if d.width == 64 else Int32)(value)
            out.div = d.div
            out.nonneg = out.is_index = True
            return out

        shape, stride = self.layout.bind([next(values) for _ in self.layout.dyns()], leaf)
        return TracedTensor(pointer, Layout(shape, stride))

    def extract(self, obj: Any, out: list[Any]) -> None:
        t = self.tensor
        values = t.dynamic_values()
        check_memory(t)
        out.append(t)
        out += values


def stream_handle(obj: Any, name: str = "stream") -> int:
    """A stream as its handle: CUstream, a torch stream, an object with `__cuda_stream__`, an int;
    None is the legacy default stream.

    Raises:
        TypeMismatchError: none of these.
    """
    if obj is None:
        return 0
    if hasattr(obj, "__cuda_stream__"):
        protocol: Any = obj.__cuda_stream__
        pair: Any = protocol() if callable(protocol) else protocol
        obj = pair[1]
    handle: Any = getattr(obj, "cuda_stream", obj)
    try:
        return int(handle)
    except (TypeError, ValueError):
        raise TypeMismatchError(
            f"argument {name!r} is no stream", code="OC1263",
            expected="a CUstream, a torch stream, or an integer handle", found=repr(obj)[:60],
        ) from None  # fmt: skip


def is_array(obj: Any) -> bool:
    """Whether an object is a framework's array."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return True
    np: Any = sys.modules.get("numpy")
    if np is not None and isinstance(obj, np.ndarray | np.generic):
        return isinstance(obj, np.ndarray)
    return hasattr(obj, "__dlpack__") and hasattr(obj, "shape")


# torch's numbers of a graph with dynamic shapes, and what they are when a kernel is called.
_SYMBOLIC = {"SymInt": int, "SymFloat": float, "SymBool": bool}


def plain_number(obj: Any) -> Any:
    """A NumPy scalar as a number of the same type; a symbolic number of torch by its value, which
    torch then guards."""
    symbolic = _SYMBOLIC.get(type(obj).__name__)
    if symbolic is not None and type(obj).__module__ == "torch":
        return symbolic(obj)
    np: Any = sys.modules.get("numpy")
    if np is None or not isinstance(obj, np.generic) or isinstance(obj, float):
        return obj
    value: Any = obj.item()
    name = {"bool": "i1", "bfloat16": "bf16"}.get(obj.dtype.name, "")
    kind = {"i": "i", "u": "u", "f": "f"}.get(obj.dtype.kind, "")
    cls = NUMERIC_CLASSES.get(name or f"{kind}{obj.dtype.itemsize * 8}")
    return value if cls is None else typing.cast("Any", cls)(value)


def _too_long(marks: tuple[Any, ...], shape: tuple[Any, ...]) -> bool:
    """Whether an extent is passed in fewer bits than it has."""
    return any(
        isinstance(n, int) and n >= 1 << 31 and not (isinstance(d, Dyn) and d.width == 64)
        for d, n in zip(marks, shape, strict=True)
    )
