# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters annotated with ``cutlass.Array``: tensors that are read and written in runs.

In: a function's parameters. Out: for those of the annotation, the same tensor with more ways to
access it; a slice of one says where a run begins and *how many* elements it has::

    @cute.kernel
    def add(a: cutlass.Array, b: cutlass.Array, c: cutlass.Array, n: cutlass.Constexpr[int]):
        i = cute.arch.thread_idx()[0] * n
        c[i:n] = a[i:n] + b[i:n]
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LayoutError
from opencute.lang.arrays.arrays import Array
from opencute.lang.pointers import RawPointer
from opencute.lang.tensors import TracedTensor
from opencute.lang.vectors import TensorSSA
from opencute.layout import Layout, size

__all__ = ["ArrayTensor", "with_arrays"]


def _count(n: Any) -> int:
    if hasattr(n, "__index__") and not getattr(n, "is_dynamic", False):
        return int(n)
    raise LayoutError(
        "the length of a run is known at compile time", code="OC1354", found=repr(n),
        hint="array[start:count] are `count` elements from `start` on",
    )  # fmt: skip


class ArrayTensor(TracedTensor):
    """A tensor whose elements are accessed in runs as well; see `TracedTensor`."""

    __slots__ = ()

    def _run(self, index: Any) -> RawPointer:
        """The pointer to an element whose neighbours are neighbours in memory."""
        layout = self.layout
        if not isinstance(layout, Layout) or layout.rank != 1 or layout.stride not in (1, (1,)):
            raise LayoutError(
                "runs are of arrays with one mode of neighbours", code="OC1354", found=layout,
                hint="index the other modes first, or use .iterator",
            )  # fmt: skip
        return self._pointer().raw_ptr() + (index if index is not None else 0)

    def _sliced(self, crd: Any) -> tuple[RawPointer, int] | None:
        if not isinstance(crd, slice) or (crd.start is None and crd.stop is None):
            return None
        if crd.step is not None or crd.stop is None:
            raise LayoutError(
                "a slice of an array is start:count", code="OC1354", found=crd,
                hint="array[start:count] are `count` elements from `start` on",
            )  # fmt: skip
        return self._run(crd.start), _count(crd.stop)

    def __getitem__(self, crd: Any) -> Any:
        run = self._sliced(crd)
        return super().__getitem__(crd) if run is None else run[0].load(run[1])

    def __setitem__(self, crd: Any, value: Any) -> None:
        run = self._sliced(crd)
        if run is None:
            super().__setitem__(crd, value)
            return
        where, count = run
        if isinstance(value, TensorSSA) and size(value.shape) != count:
            raise LayoutError(
                "a vector is stored to a run of another length", code="OC1356", expected=count,
                found=value,
            )  # fmt: skip
        TracedTensor(where, Layout(count, 1)).store(value)

    def load(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, index: Any = None, vector_size: int = 1, *, alignment: int | None = None,
        is_volatile: bool = False, is_invariant: bool = False, loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """An element, or a vector of neighbours; without an index all elements.

        Args:
            index: of the first.
            vector_size: how many.
            alignment, is_volatile, is_invariant: as of `RawPointer.load`.
        """
        if index is None:
            return super().load()
        return self._run(index).load(
            _count(vector_size), alignment=alignment, is_volatile=is_volatile,
            is_invariant=is_invariant,
        )  # fmt: skip

    def store(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, data: Any, idx: Any = None, vector_size: int | None = None, *,
        alignment: int | None = None, is_volatile: bool = False, loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """Write an element, or a vector to neighbours; without an index all elements.

        Args:
            data: what to write.
            idx: of the first element.
            vector_size: how many, as `data` has anyway.
            alignment, is_volatile: as of `RawPointer.load`.
        """
        if idx is None:
            super().store(data)
            return
        count = None if vector_size is None else _count(vector_size)
        if count is not None and isinstance(data, TensorSSA) and size(data.shape) != count:
            raise LayoutError(
                "a vector is stored to a run of another length", code="OC1356", expected=count,
                found=data,
            )  # fmt: skip
        self._run(idx).store(data, alignment=alignment, is_volatile=is_volatile)

    def masked_load(
        self, index: Any, vector_size: int, mask: Any, default: Any = None, *,
        alignment: int | None = None, loc: Any = None, ip: Any = None,
    ) -> TensorSSA:  # fmt: skip
        """Neighbours where a mask holds, and `default` where it does not; those are not read."""
        _same_length(mask, _count(vector_size))
        return self._run(index).masked_load(mask, default, alignment=alignment)

    def masked_store(
        self, index: Any, data: Any, mask: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """Write neighbours where a mask holds."""
        self._run(index).masked_store(data, mask, alignment=alignment)


def _same_length(mask: Any, count: int) -> None:
    if isinstance(mask, TracedTensor | TensorSSA) and size(mask.shape) != count:
        raise LayoutError(
            "a mask has another length than its run", code="OC1356", expected=count,
            found=mask.shape,
        )  # fmt: skip


def with_arrays(fn: Callable[..., Any], annotations: dict[str, Any]) -> Callable[..., Any]:
    """A function whose parameters of the annotation `Array` are such tensors when it is called.

    Args:
        fn: the function.
        annotations: of its parameters.
    """
    names = [name for name, note in annotations.items() if note is Array]
    if not names:
        return fn
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name in names:
            value = bound.arguments.get(name)
            if type(value) is TracedTensor:
                bound.arguments[name] = ArrayTensor(value.iterator, value.layout)
        return fn(*bound.args, **bound.kwargs)

    return call
