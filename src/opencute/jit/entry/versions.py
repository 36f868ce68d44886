# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as native code knows them.

In: the specs and arguments of a call that Python has just made, and what it ran. Out: a
`NativeVersion` that recognises later calls like it, or None where that takes Python::

    words = describe(specs, {"x": x, "n": 4}, ["x", "n"])
    version = NativeVersion(words, slots, host, ...)
"""

from __future__ import annotations

import ctypes
import enum
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencute.base.counters import LAUNCHES
from opencute.base.interned import is_interned
from opencute.dialects.cute import Dyn
from opencute.frontend.signature import (
    PartsSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    StreamSpec,
    TensorSpec,
    as_tensor,
    is_adapted,
)
from opencute.jit.entry.spaces import grouped
from opencute.jit.entry.words import Arg, Kind, Version
from opencute.lang.external import ExternalTensor, mark_word, plain_marks
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import Numeric, numeric_class
from opencute.lang.pointers import element_bits
from opencute.numeric.dtypes import from_dlpack_code

__all__ = ["Described", "NativeVersion", "Stream", "describe"]

_INT64 = (-(1 << 63), (1 << 63) - 1)
_ARG_WORDS = Arg.size()


@dataclass
class Described:
    """Arguments as words; `kept` is what the words point to."""

    words: list[list[int]] = field(default_factory=list[list[int]])
    kept: list[Any] = field(default_factory=list[Any])

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for descriptions of the same arguments."""
        tables = [tuple(k) for k in self.kept if isinstance(k, ctypes.Array)]
        items = [k.key for k in self.kept if isinstance(k, _Items)]
        return (tables, items, _told(self.words))


class _Items:
    """Words of a tuple's items, where native code reads them."""

    def __init__(self, words: list[list[int]]) -> None:
        flat = [w for item in words for w in item]
        self.memory = (ctypes.c_int64 * max(len(flat), 1))(*flat)
        self.key = _told(words)


def _told(words: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Words but for addresses of tables, which are not the same for the same arguments."""
    return tuple(tuple(w for i, w in enumerate(arg) if i != Arg.D // 8) for arg in words)


def describe(
    specs: Mapping[str, Spec], arguments: Mapping[str, Any], given: Sequence[str]
) -> Described | None:
    """Describe the arguments of a call.

    Args:
        specs: of all parameters, in order.
        arguments: by name.
        given: names of those that the call passes, by position.

    Returns:
        The description, None if one of the arguments needs Python.
    """
    places: dict[str, int] = {}
    slot = 2  # behind the stream and the kernels
    for name, spec in specs.items():
        places[name] = slot
        slot += len(spec.types())
    out = Described()
    for name in given:
        words = _argument(specs[name], arguments[name], places[name], out.kept)
        if words is None:
            return None
        out.words.append(words)
    return out


def _argument(spec: Spec, obj: Any, slot: int, kept: list[Any]) -> list[int] | None:
    """Kind, slot and words A to F of one argument."""
    words: list[int] | None = None
    if is_adapted(obj):
        return None
    if isinstance(spec, StaticSpec):
        words = _static(obj, kept)
    elif isinstance(spec, TensorSpec):
        words = _tensor(spec, obj, kept)
    elif type(spec) is ScalarSpec:  # a symbol's value is compared with extents
        words = _number(spec, obj, kept)
    elif type(spec) is PartsSpec and type(obj) is spec.kind and _is_plain_sequence(spec.kind):
        words = _tuple(spec, obj, slot, kept)
    elif isinstance(spec, StreamSpec):
        words = _stream(obj, kept)
    elif isinstance(spec, PointerSpec) and type(obj) is ExternalPointer:
        kept += [obj.dtype, obj.memspace, obj.alignment]
        words = [Kind.POINTER, id(obj.dtype), id(obj.memspace), id(obj.alignment)]
    if words is None:
        return None
    kind, *rest = words
    return [kind, slot, *rest, *[0] * (_ARG_WORDS - 2 - len(rest))]


def _static(obj: Any, kept: list[Any]) -> list[int] | None:
    if type(obj) is int and _INT64[0] <= obj <= _INT64[1]:
        return [Kind.EQUAL_INT, obj]
    fixed = isinstance(
        obj, str | bytes | float | bool | None | type | enum.Enum | types.FunctionType
    )
    # An object whose equality is its identity, or that all equal ones are, stands for nothing else.
    if fixed or type(obj).__hash__ is object.__hash__ or is_interned(obj):
        kept.append(obj)
        return [Kind.SAME, id(obj)]
    params = getattr(type(obj), "__dataclass_params__", None)
    if params is not None and params.frozen and params.eq:
        kept.append(obj)
        return [Kind.EQUAL, id(obj)]
    return None


def _tensor(spec: TensorSpec, obj: Any, kept: list[Any]) -> list[int] | None:
    tensor: ExternalTensor = spec.tensor
    array = tensor.array
    if type(obj) is not ExternalTensor and array.framework != "torch":
        return None
    if not _checked_natively(spec, obj):
        return None
    shape, stride = tensor.marked()
    per = max(spec.facts[0] * 8 // element_bits(tensor.element_type), 1)
    plain = plain_marks(tensor)
    if plain is None or per & (per - 1):
        return None
    dynamic, lead = plain
    facts = iter(spec.facts[1:])
    table = (
        [-1 if i == lead else next(facts) if isinstance(s, Dyn) else 0
         for i, s in enumerate(stride)]
        if dynamic else [*shape, *stride]
    )  # fmt: skip
    memory = (ctypes.c_int64 * max(len(table), 1))(*table)
    kept.append(memory)
    kind, ordinal = array.device
    dtype = array.dtype.code | array.dtype.bits << 8 | array.dtype.lanes << 16
    marks = mark_word(dynamic, lead, 1) | per << 8
    return [Kind.TENSOR, kind | ordinal << 32, dtype, len(shape), ctypes.addressof(memory),
            spec.facts[0], marks]  # fmt: skip


def _tuple(spec: PartsSpec, obj: Any, slot: int, kept: list[Any]) -> list[int] | None:
    items: list[list[int]] = []
    for part, value in zip(spec.items, obj, strict=True):
        words = _argument(part, value, slot, kept)
        if words is None:
            return None
        items.append(words)
        slot += len(part.types())
    table = _Items(items)
    kept.append(table)
    kept.append(spec.kind)
    return [Kind.TUPLE, len(items), id(spec.kind), int(spec.kind is list),
            ctypes.addressof(table.memory)]  # fmt: skip


def _is_plain_sequence(kind: Any) -> bool:
    """Whether native code finds the items of such objects: those of tuples, named ones, lists."""
    if kind in (tuple, list):
        return True
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    same = ("__getitem__", "__iter__", "__len__", "__getattribute__")
    return named and all(getattr(kind, n) is getattr(tuple, n) for n in same)


def _checked_natively(spec: TensorSpec, obj: Any) -> bool:
    """Whether native code checks all that was promised when the tensor was compiled for.

    It compares the marks that the tensor of a call has. Where the call's tensor gets those of the
    compiled one (a fake tensor, or a plain array for a static or compact example), Python checks.
    """
    tensor: ExternalTensor = spec.tensor
    array, own = tensor.array, tensor.array.dtype
    if spec.declared.fake or tensor.promised is not None or array.padded:
        return False
    if numeric_class(from_dlpack_code(own.code, own.bits, own.lanes)) is not spec.dtype:
        return False  # native code looks at the framework's type
    given = as_tensor(obj)
    return given is not None and given.marked() == tensor.marked()


def _number(spec: ScalarSpec, obj: Any, kept: list[Any]) -> list[int] | None:
    dtype = spec.cls.dtype
    if dtype.is_bool:
        return [Kind.BOOL] if type(obj) is bool else None
    own = isinstance(obj, Numeric)
    if own and type(obj) is not spec.cls:
        return None
    kept.append(spec.cls)
    if dtype.is_float:
        if dtype.name not in ("f32", "f64") or not (own or type(obj) in (float, int)):
            return None
        if type(obj) is int:
            return [Kind.INT_FLOAT, dtype.width]
        return [Kind.NUMBER_FLOAT if own else Kind.FLOAT, dtype.width, 0, id(spec.cls)]
    if not own and type(obj) is not int:
        return None
    least, greatest = max(dtype.min, _INT64[0]), min(dtype.max, _INT64[1])
    return [Kind.NUMBER_INT if own else Kind.INT, least, greatest, id(spec.cls)]


def _stream(obj: Any, kept: list[Any]) -> list[int] | None:
    if type(obj) is int:
        return [Kind.INT, 0, _INT64[1]]
    kept.append(type(obj))
    return [Kind.HANDLE, id(type(obj)), int(hasattr(obj, "cuda_stream"))]


@dataclass(frozen=True)
class Stream:
    """Where a call's stream comes from.

    Args:
        exchange: address of DLPack's current_work_stream, 0 for none.
        reader: else a function from a device to its stream; None: the legacy default stream.
    """

    exchange: int = 0
    reader: Callable[[int], int] | None = None


class NativeVersion:
    """Compiled code, and the arguments that it takes; `address` is its record.

    Args:
        arguments: the description; None for a remembered call, whose slots are complete.
        slots: what the host function gets; the parts that arguments fill may hold anything.
        host: address of the host function.
        launches: kernels that one call launches.
        stream: where the stream comes from.
        device: ordinal.
        failed: raises for a CUresult.
        current_device: address of cuCtxGetDevice if calls are to be looked at for their device.
        checks: guards as words, four each.
        keep: kept alive with the version.
    """

    def __init__(
        self,
        arguments: Described | None,
        slots: Any,
        host: int,
        launches: int,
        stream: Stream,
        device: int,
        failed: Callable[[int], None],
        current_device: int = 0,
        checks: Sequence[int] = (),
        keep: tuple[Any, ...] = (),
    ) -> None:
        words = arguments.words if arguments is not None else []
        flat = [w for arg in words for w in arg]
        args = (ctypes.c_int64 * max(len(flat), 1))(*flat)
        prepared = (ctypes.c_uint64 * len(slots))(*slots)
        held = grouped(checks)
        guards = (ctypes.c_int64 * max(len(held), 1))(*held)
        self._record = (ctypes.c_uint64 * Version.size())()
        self.address = ctypes.addressof(self._record)
        self._arguments = arguments
        self._checks = tuple(checks)
        self._kept = (args, prepared, guards, arguments, stream, device, failed, keep)
        for word, value in (
            (Version.COUNT, len(words)), (Version.ARGS, ctypes.addressof(args)),
            (Version.SLOTS, ctypes.addressof(prepared)), (Version.SLOT_COUNT, len(slots)),
            (Version.HOST, host), (Version.LAUNCHES, launches),
            (Version.LAUNCHES_AT, ctypes.addressof(LAUNCHES)), (Version.STREAM, stream.exchange),
            (Version.STREAM_READER, 0 if stream.reader is None else id(stream.reader)),
            (Version.DEVICE_OBJECT, id(device)), (Version.DEVICE, device),
            (Version.CURRENT_DEVICE, current_device), (Version.FAILED, id(failed)),
            (Version.CHECKS, ctypes.addressof(guards)), (Version.CHECK_COUNT, len(held) // 4),
        ):  # fmt: skip
            self._record[word // 8] = value

    def same_as(self, other: NativeVersion) -> bool:
        """Whether it takes the same calls, with the same guards, and runs the same code."""
        host = Version.HOST // 8
        if self._record[host] != other._record[host] or self._checks != other._checks:
            return False
        mine, others = self._arguments, other._arguments
        return mine is not None and others is not None and mine.key == others.key
