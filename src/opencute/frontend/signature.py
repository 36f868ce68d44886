# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From the arguments of a Python call to the parameters of the host function, and back at a call.

A *spec* describes one argument: which of it is static, which SSA parameters the rest becomes. Two
calls whose specs have the same `key` can share code. `base` is the key without facts: a call whose
`base` differs from the compiled one is an error, one whose facts differ gets code of its own.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations  # pyright: ignore[reportAssignmentType] - a name below

import dataclasses
import functools
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects.cute import Dyn, LayoutAttr, PtrType
from opencute.ir.core import Value
from opencute.ir.types import I64, IntegerType, Type
from opencute.lang.external import ExternalPointer, ExternalTensor, from_dlpack
from opencute.lang.numbers import (
    NUMERIC_CLASSES,
    Int32,
    Int64,
    Numeric,
    NumericMeta,
    class_of,
    ir_type,
)
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
from opencute.lang.streams import Stream
from opencute.lang.tensors import Tensor, TracedTensor
from opencute.lang.typing import ALGEBRA, is_constexpr
from opencute.layout import ComposedLayout, Layout
from opencute.layout.ints import is_sequence

__all__ = [
    "PointerSpec", "ScalarSpec", "Spec", "StaticSpec", "StreamSpec", "TensorSpec", "annotations_of",
    "is_adapted", "register_jit_arg_adapter", "spec_of",
]  # fmt: skip

_ADAPTERS: dict[type, Callable[[Any], Any]] = {}


def register_jit_arg_adapter(*types: type) -> Callable[[Any], Any]:
    """Decorator: adapt arguments of foreign types; the adapter's result is passed instead."""

    def decorate(adapter: Any) -> Any:
        for t in types:
            _ADAPTERS[t] = adapter
        return adapter

    return decorate


def is_adapted(obj: Any) -> bool:
    """Whether an argument is passed as something else, by an adapter."""
    return type(obj) in _ADAPTERS


class Spec:
    """How one argument is passed."""

    key: Any
    base: Any

    def types(self) -> list[Type]:
        """Types of the SSA parameters."""
        return []

    def build(self, values: Iterator[Value]) -> Any:
        """The object that tracing works with."""
        raise AssertionError

    def extract(self, obj: Any, out: list[Any]) -> None:
        """Append the run-time values of an argument."""

    def forget(self) -> None:
        """Let go of the argument's memory; keys and texts stay."""


class StaticSpec(Spec):
    """A compile-time value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = self.base = ("static", _identity(value))

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
        return (type(value), value.value)
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)


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


class PointerSpec(Spec):
    """A pointer made by `make_ptr`."""

    def __init__(self, p: ExternalPointer, space: AddressSpace) -> None:
        self.dtype = p.dtype
        self.type = pointer_type(p.dtype, space, p.alignment)
        self.key = self.base = ("pointer", self.type)

    def types(self) -> list[Type]:
        return [self.type]

    def build(self, values: Iterator[Value]) -> Any:
        return Pointer(next(values), self.dtype)

    def extract(self, obj: Any, out: list[Any]) -> None:
        out.append(obj)


class StreamSpec(Spec):
    """A CUDA stream."""

    key = base = ("stream",)

    def types(self) -> list[Type]:
        return [I64]

    def build(self, values: Iterator[Value]) -> Any:
        return Stream(next(values))

    def extract(self, obj: Any, out: list[Any]) -> None:
        out.append(stream_handle(obj))


class TensorSpec(Spec):
    """A tensor: a pointer, then its dynamic integers.

    Made at each call, so what only tracing and messages need is computed when they ask.
    """

    def __init__(self, t: ExternalTensor, space: AddressSpace) -> None:
        self.tensor = t
        self.space = space
        self.dtype = t.element_type
        self.facts = t.facts()
        self.base = ("tensor", self.dtype, space, t.marked())
        self.key = (self.base, self.facts)
        if t.shape and max(t.shape) >= 1 << 31:
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
        self.tensor: Any = None

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
        out.append(t)
        out += t.dynamic_values()


class PartsSpec(Spec):
    """A tuple, list, dict, NamedTuple or dataclass of arguments."""

    def __init__(self, obj: Any, name: str, annotation: Any, space: AddressSpace | None) -> None:
        self.kind: Any = type(obj)
        self.names, items = parts_of(obj)
        hints = _item_annotations(annotation, self.kind, self.names)
        self.items = [
            spec_of(x, h, f"{name}[{n!r}]", space)
            for n, x, h in zip(self.names, items, hints, strict=True)
        ]
        head = (self.kind, self.names)
        self.key = ("parts", head, tuple(i.key for i in self.items))
        self.base = ("parts", head, tuple(i.base for i in self.items))

    def types(self) -> list[Type]:
        return [t for i in self.items for t in i.types()]

    def build(self, values: Iterator[Value]) -> Any:
        parts = [i.build(values) for i in self.items]
        if self.kind in (tuple, list):
            return self.kind(parts)
        if issubclass(self.kind, tuple):
            return self.kind(*parts)
        if self.kind is dict or self.kind.__name__ == "SimpleNamespace":
            mapping = dict(zip(self.names, parts, strict=True))
            return mapping if self.kind is dict else self.kind(**mapping)
        new = object.__new__(self.kind)
        for n, v in zip(self.names, parts, strict=True):
            object.__setattr__(new, n, v)
        return new

    def extract(self, obj: Any, out: list[Any]) -> None:
        for spec, x in zip(self.items, parts_of(obj)[1], strict=True):
            spec.extract(x, out)

    def forget(self) -> None:
        for spec in self.items:
            spec.forget()


def parts_of(obj: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Names and values of the parts of a container."""
    if is_sequence(obj):
        items: Any = obj
        return getattr(items, "_fields", tuple(range(len(items)))), list(items)
    if isinstance(obj, dict):
        mapping: Any = obj
        return tuple(mapping), list(mapping.values())
    if dataclasses.is_dataclass(obj):
        names = tuple(f.name for f in dataclasses.fields(obj))
    else:
        names = tuple(vars(obj))
    return names, [getattr(obj, n) for n in names]


def _item_annotations(annotation: Any, kind: Any, names: tuple[Any, ...]) -> list[Any]:
    if dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and kind is not tuple):
        hints = annotations_of(kind)
        return [hints.get(n) for n in names]
    if _is_algebra(annotation):
        return [annotation] * len(names)
    args = typing.get_args(annotation)
    if kind is tuple and args and args[-1] is not Ellipsis and len(args) == len(names):
        return list(args)
    return [args[0] if args else None] * len(names)


def annotations_of(obj: Any) -> dict[str, Any]:
    """Annotations by name; text that cannot be resolved stays text."""
    try:
        return typing.get_type_hints(obj)
    except Exception:
        return dict(getattr(obj, "__annotations__", {}))


def stream_handle(obj: Any) -> int:
    """A stream as its handle: CUstream, an object with `cuda_stream`, or an int."""
    return int(getattr(obj, "cuda_stream", obj))


def _is_stream(obj: Any, annotation: Any) -> bool:
    if type(obj).__name__ in ("CUstream", "Stream", "ExternalStream"):
        return True
    return getattr(annotation, "__name__", str(annotation)).endswith("CUstream")


def as_tensor(obj: Any) -> ExternalTensor | None:
    """A tensor argument; framework tensors passed as they are have a dynamic layout."""
    if isinstance(obj, ExternalTensor):
        return obj
    if _is_array(obj):
        t = from_dlpack(obj)
        return t.mark_layout_dynamic() if t.shape else t
    return None


def _is_array(obj: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return True
    if type(obj).__module__.split(".")[0] in ("numpy", "ml_dtypes"):
        return type(obj).__name__ in ("ndarray", "memmap")
    return hasattr(obj, "__dlpack__") and hasattr(obj, "shape")


def spec_of(obj: Any, annotation: Any, name: str, space: AddressSpace | None = None) -> Spec:
    """The spec of an argument.

    Args:
        obj: the argument.
        annotation: the parameter's annotation, if any.
        name: for messages.
        space: the memory space of host tensors (the simulator takes them for device memory).

    Raises:
        TypeMismatchError: the argument does not fit its annotation, or cannot be passed.
    """
    if type(obj) in _ADAPTERS:
        obj = _ADAPTERS[type(obj)](obj)
    if is_constexpr(annotation) or obj is None:
        return StaticSpec(obj)
    obj = _plain_number(obj)
    _check_annotation(obj, annotation, name)
    tensor = as_tensor(obj)
    if tensor is not None:
        return TensorSpec(tensor, space or tensor.memspace)
    if isinstance(obj, ExternalPointer):
        return PointerSpec(obj, space or obj.memspace)
    if _is_stream(obj, annotation):
        return StreamSpec()
    if isinstance(obj, Numeric | bool | int | float):
        return _scalar(obj, annotation, name)
    if isinstance(obj, Layout | ComposedLayout):
        return StaticSpec(obj)
    if isinstance(obj, tuple | list | dict) or _is_record(obj):
        if _is_algebra(annotation) and not _has_numbers(obj):
            return StaticSpec(_frozen(obj))
        return PartsSpec(obj, name, annotation, space)
    return _other(obj, annotation, name)


def _is_record(obj: Any) -> bool:
    if isinstance(obj, type):
        return False
    return dataclasses.is_dataclass(obj) or type(obj).__name__ == "SimpleNamespace"


def _frozen(obj: Any) -> Any:
    return tuple(map(_frozen, obj)) if is_sequence(obj) else obj


def _is_algebra(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, ALGEBRA)


def _has_numbers(obj: Any) -> bool:
    return any(map(_has_numbers, obj)) if is_sequence(obj) else isinstance(
        obj, Numeric
    )  # fmt: skip


def _plain_number(obj: Any) -> Any:
    """A NumPy scalar as a number of the same type."""
    np: Any = sys.modules.get("numpy")
    if np is None or not isinstance(obj, np.generic) or isinstance(obj, float):
        return obj
    value: Any = obj.item()
    name = {"bool": "i1", "bfloat16": "bf16"}.get(obj.dtype.name, "")
    kind = {"i": "i", "u": "u", "f": "f"}.get(obj.dtype.kind, "")
    cls = NUMERIC_CLASSES.get(name or f"{kind}{obj.dtype.itemsize * 8}")
    return value if cls is None else typing.cast("Any", cls)(value)


def _check_annotation(obj: Any, annotation: Any, name: str) -> None:
    """Refuse an argument that is of another kind than its annotation says."""
    wants: Any = annotation
    if isinstance(wants, NumericMeta) or wants in (int, float, bool):
        fits = isinstance(obj, Numeric | bool | int | float)
    elif wants is Tensor:
        fits = isinstance(obj, Tensor) or _is_array(obj)
    elif wants is Pointer:
        fits = isinstance(obj, ExternalPointer)
    else:
        return
    if not fits:
        raise TypeMismatchError(
            f"argument {name!r} does not fit its annotation", code="OC1256",
            expected=getattr(wants, "__name__", wants), found=f"{type(obj).__name__}: {obj!r:.60}",
        )  # fmt: skip


def _scalar(obj: Any, annotation: Any, name: str) -> Spec:
    if _is_algebra(annotation) and not isinstance(obj, Numeric):
        return StaticSpec(int(obj))
    wanted: Any = annotation
    if isinstance(wanted, NumericMeta) and hasattr(wanted, "dtype"):  # not Numeric or Integer
        cls: Any = wanted
    elif wanted in (int, float, bool):
        cls = class_of(wanted)
    else:
        plain = next((t for t in (bool, int, float) if isinstance(obj, t)), None)
        cls = type(obj) if plain is None else class_of(plain)
    check_number(obj, cls, name)
    return ScalarSpec(cls, name)


def _other(obj: Any, annotation: Any, name: str) -> Spec:
    if isinstance(obj, str | bytes | type) or callable(obj) or hasattr(obj, "__hash__"):
        return StaticSpec(obj)
    raise TypeMismatchError(
        f"argument {name!r} cannot be passed to a compiled function", code="OC1257",
        found=type(obj).__name__,
    )  # fmt: skip
