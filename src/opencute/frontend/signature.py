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
import types
import typing
from collections.abc import Iterator
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.frontend.arguments.adapters import adapted, is_adapted, register_jit_arg_adapter
from opencute.frontend.arguments.declared import CallCheck
from opencute.frontend.arguments.kinds import (
    EnvStreamSpec,
    EventSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    StreamSpec,
    SymbolSpec,
    TensorSpec,
    check_number,
    is_array,
    plain_number,
)
from opencute.frontend.arguments.protocols import ProtocolSpec, has_protocol
from opencute.ir.core import Value
from opencute.ir.types import Type
from opencute.lang.arguments.fakes import FakeStream, FakeTensor
from opencute.lang.arguments.symbols import SymInt
from opencute.lang.external import ExternalTensor, from_dlpack
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import Numeric, NumericMeta, class_of, number_in
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lang.tensors import Tensor
from opencute.lang.typing import ALGEBRA, is_constexpr
from opencute.layout import ComposedLayout, Layout
from opencute.layout.ints import is_sequence

__all__ = [
    "EnvStreamSpec",
    "PartsSpec",
    "PointerSpec",
    "ScalarSpec",
    "Spec",
    "StaticSpec",
    "StreamSpec",
    "TensorSpec",
    "annotations_of",
    "as_tensor",
    "is_adapted",
    "register_jit_arg_adapter",
    "spec_of",
]


class PartsSpec(Spec):
    """A tuple, list, dict, NamedTuple or dataclass of arguments."""

    def __init__(self, obj: Any, name: str, annotation: Any, space: AddressSpace | None) -> None:
        self.kind: Any = type(obj)
        self.names, items = parts_of(obj)
        hints = _item_annotations(annotation, self.kind, self.names)
        self._set(
            [
                spec_of(x, h, f"{name}[{n!r}]", space)
                for n, x, h in zip(self.names, items, hints, strict=True)
            ]
        )

    def _set(self, items: list[Spec]) -> None:
        self.items = items
        head = (self.kind, self.names)
        self.key = ("parts", head, tuple(i.key for i in self.items))
        self.base = ("parts", head, tuple(i.base for i in self.items))

    def types(self) -> list[Type]:
        return [t for i in self.items for t in i.types()]

    def static(self) -> list[Any]:
        return [x for i in self.items for x in i.static()]

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
            spec.extract(adapted(x), out)

    def forget(self) -> None:
        for spec in self.items:
            spec.forget()

    def like(self, obj: Any, call: CallCheck, path: str, annotation: Any, space: Any) -> Spec:
        alike = type(obj) is self.kind or (is_sequence(obj) and issubclass(self.kind, tuple | list))
        if not alike:
            raise call.mistyped(path, self.kind.__name__, obj)
        names, items = parts_of(obj)
        if len(items) != len(self.items) or (isinstance(obj, dict) and names != self.names):
            raise ArgumentError(
                f"argument {path!r} does not fit: {call.function}() was compiled for other parts",
                code="OC2131", expected=self.names, found=names,
                hint="pass as many parts, by the same names, or compile for these",
            )  # fmt: skip
        hints = _item_annotations(annotation, self.kind, self.names)
        new = object.__new__(PartsSpec)
        new.kind, new.names = self.kind, self.names
        new._set(
            [
                spec.like(adapted(x), call, f"{path}[{n!r}]", h, space)
                for spec, n, x, h in zip(self.items, self.names, items, hints, strict=True)
            ]
        )
        return new

    def describe(self, call: CallCheck) -> str:
        inner = ", ".join(spec.describe(call) for spec in self.items)
        return f"({inner})"


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


def _is_stream(obj: Any, annotation: Any) -> bool:
    if type(obj).__name__ in ("CUstream", "Stream", "ExternalStream", "cudaStream_t"):
        return True
    if hasattr(obj, "__cuda_stream__"):
        return True
    return getattr(annotation, "__name__", str(annotation)).endswith("CUstream")


def as_tensor(obj: Any) -> ExternalTensor | None:
    """A tensor argument; framework tensors passed as they are have a dynamic layout."""
    if isinstance(obj, ExternalTensor):
        return obj
    if is_array(obj):
        t = from_dlpack(obj)
        # Of several modes with neighbours in memory, as windows that overlap have, the last leads.
        ones = [i for i, n in enumerate(t.shape) if n > 1 and t.stride[i] == 1]
        return t.mark_layout_dynamic(ones[-1] if len(ones) > 1 else None) if t.shape else t
    return None


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
    obj = number_in(adapted(obj))
    if is_constexpr(annotation) or obj is None:
        return StaticSpec(obj)
    annotation = _only(annotation)
    obj = plain_number(obj)
    _check_annotation(obj, annotation, name)
    if isinstance(obj, SymInt):
        return SymbolSpec(obj, name)
    if isinstance(obj, FakeStream):
        return EnvStreamSpec() if obj.use_tvm_ffi_env_stream else StreamSpec()
    tensor = obj if isinstance(obj, FakeTensor) else as_tensor(obj)
    if tensor is not None:
        # On a GPU kernels get a copy of a host array in device memory; host code reads the array.
        host = tensor.memspace == AddressSpace.generic
        return TensorSpec(tensor, space or (AddressSpace.gmem if host else tensor.memspace))
    if isinstance(obj, ExternalPointer):
        return PointerSpec(obj, space or obj.memspace)
    if type(obj).__name__ in ("CUevent", "cudaEvent_t", "Event"):
        return EventSpec()
    if _is_stream(obj, annotation):
        return StreamSpec()
    if has_protocol(obj) and not isinstance(obj, Numeric):
        return ProtocolSpec(obj, name, spec_of, space)
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


def _check_annotation(obj: Any, annotation: Any, name: str) -> None:
    """Refuse an argument that is of another kind than its annotation says."""
    wants: Any = annotation
    if not _fits(obj, wants):
        raise TypeMismatchError(
            f"argument {name!r} does not fit its annotation", code="OC1256",
            expected=getattr(wants, "__name__", wants), found=f"{type(obj).__name__}: {obj!r:.60}",
            hint="a tensor is made of an array: numpy.asarray(x), or from_dlpack(x) of it"
            if isinstance(obj, list | tuple | int | float) and _is_tensor(wants) else None,
        )  # fmt: skip


def _is_tensor(wants: Any) -> bool:
    return getattr(wants, "__name__", "") == "Tensor"


def _fits(obj: Any, wants: Any) -> bool:
    """Whether an argument is of a kind that an annotation names; others name any kind."""
    if isinstance(wants, NumericMeta) or wants in (int, float, bool):
        return isinstance(obj, Numeric | SymInt | bool | int | float)
    if wants is Tensor:
        return isinstance(obj, Tensor) or is_array(obj)
    if wants is Pointer:
        return isinstance(obj, ExternalPointer)
    if typing.get_origin(wants) in (typing.Union, types.UnionType):
        return any(_fits(obj, w) for w in typing.get_args(wants))
    return True


def _only(annotation: Any) -> Any:
    """Optional[T] as T."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    rest = [a for a in typing.get_args(annotation) if a is not type(None)]
    return rest[0] if len(rest) == 1 else annotation


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
