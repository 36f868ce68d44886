# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a host function passes to a kernel, against what the kernel's parameters are annotated as.

In: a kernel, its annotations and the bound arguments. Out: nothing, or an error that names the
argument, at the launch::

    @cute.kernel
    def k(t: cute.Tensor, n: cutlass.Int32): ...

    k(atom, t.shape).launch(...)   # argument 't' does not fit its annotation

Only what is plainly of another kind is refused. None, users' objects and annotations of other
kinds pass, and a number of one type may stand where another is named, as arithmetic converts it;
but a float is no integer.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.lang.hopper.tma_copy import TmaAtom
from opencute.lang.numbers import Numeric, NumericMeta, number_in
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import Tensor
from opencute.lang.tiled.atoms import CopyAtom, MmaAtom
from opencute.layout import ComposedLayout, Layout

__all__ = ["check_passed"]

_TENSOR, _POINTER, _NUMBER, _TUPLE, _TEXT = "tensor", "pointer", "number", "tuple", "text"
_COPY, _MMA, _LAYOUT = "copy atom", "MMA atom", "layout"
_KINDS: tuple[tuple[Any, str], ...] = (
    (Tensor, _TENSOR), (Pointer, _POINTER), (CopyAtom, _COPY), (MmaAtom, _MMA),
    ((Layout, ComposedLayout), _LAYOUT), ((Numeric, bool, int, float), _NUMBER), (str, _TEXT),
)  # fmt: skip
_ELEMENT = "pass an element, such as x[0]"
_MAP = (
    "a tensor map is an atom and a tensor, which make_tiled_tma_atom gives together: pass each in "
    "the place of its parameter"
)
_HINTS = {
    (_TENSOR, _POINTER): "a pointer and a layout are one: cute.make_tensor(pointer, layout)",
    (_POINTER, _TENSOR): "pass its pointer, x.iterator",
    (_LAYOUT, _TENSOR): "pass its layout, x.layout",
    (_NUMBER, _TUPLE): f"{_ELEMENT}, or cute.size(x)",
    (_NUMBER, _TENSOR): "the kernel reads elements itself: annotate the parameter as cute.Tensor",
    (_NUMBER, _TEXT): "pass a number, or annotate the parameter as cutlass.Constexpr",
    (_TENSOR, _LAYOUT): "a tensor has memory: pass the tensor, whose layout is x.layout",
}
_ORDER = "arguments go to parameters in their order: are two of them exchanged?"


def _kind(value: Any) -> str | None:
    """What an argument is; None where that says nothing, as of users' objects."""
    if type(value) in (tuple, list):
        return _TUPLE
    return next((kind for cls, kind in _KINDS if isinstance(value, cls)), None)


def _wanted(note: Any) -> str | None:
    """What an annotation asks for; None if for something else."""
    if isinstance(note, NumericMeta) or note in (int, float, bool):
        return _NUMBER
    if note is Tensor:
        return _TENSOR
    if not isinstance(note, type):
        return None
    for cls, kind in ((Pointer, _POINTER), (CopyAtom, _COPY), (MmaAtom, _MMA)):
        if issubclass(note, cls):
            return kind
    return _LAYOUT if issubclass(note, (Layout, ComposedLayout)) else None


def _fits(value: Any, kind: str, note: Any) -> bool:
    if typing.get_origin(note) in (typing.Union, types.UnionType):
        several = [n for n in typing.get_args(note) if n is not type(None)]
        return any(_fits(value, kind, n) for n in several)
    wanted = _wanted(note)
    if wanted == _LAYOUT:
        return kind in (_LAYOUT, _TUPLE, _NUMBER)
    if wanted == kind == _NUMBER:
        return not (_is_integral(note) and _is_float(value))
    return wanted is None or wanted == kind


def _is_integral(note: Any) -> bool:
    dtype = getattr(note, "dtype", None)
    return note is int or (dtype is not None and not dtype.is_float and not dtype.is_bool)


def _is_float(value: Any) -> bool:
    return value.dtype.is_float if isinstance(value, Numeric) else isinstance(value, float)


def _hint(value: Any, kind: str, wanted: str) -> str:
    if wanted == kind == _NUMBER:
        return "pass an integer, such as x.to(cutlass.Int32), or change the annotation"
    if isinstance(value, TmaAtom) or (wanted == _COPY and kind == _TENSOR):
        return _MAP
    return _HINTS.get((wanted, kind), _ORDER)


def _shown(value: Any) -> str:
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


def check_passed(kernel: str, notes: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of another kind than the parameters of a kernel are annotated as.

    Args:
        kernel: its name.
        notes: the annotations, by parameter.
        arguments: what is passed, by parameter.

    Raises:
        TypeMismatchError: OC1256, one does not fit.
    """
    for name, value in arguments.items():
        note = notes.get(name)
        value = number_in(value)
        kind = None if note is None else _kind(value)
        if kind is None or _fits(value, kind, note):
            continue
        raise TypeMismatchError(
            f"argument {name!r} of kernel {kernel!r} does not fit its annotation", code="OC1256",
            expected=getattr(note, "__name__", note), found=f"{_shown(value)}: {value!r:.60}",
            hint=_hint(value, kind, _wanted(note) or ""),
        )  # fmt: skip
